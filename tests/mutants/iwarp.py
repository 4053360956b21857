# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in src/iwarp, in the format of mutants.py."""

CRC32C = "src/nic/iwarp/crc32c.c"
FPDU = "src/nic/iwarp/fpdu.c"
MPA = "src/nic/iwarp/mpa.c"
NEGOTIATION = "src/nic/iwarp/negotiation.c"
QP_COMPLETE = "src/nic/queue/qp_complete.c"
RDMAP = "src/nic/iwarp/rdmap.c"
STREAM = "src/nic/iwarp/stream.c"
STREAM_FIRST = "src/nic/iwarp/stream_first.c"
STREAM_INTERNAL = "src/nic/iwarp/stream_internal.h"
STREAM_RX = "src/nic/iwarp/stream_rx.c"
STREAM_TX = "src/nic/iwarp/stream_tx.c"

IWARP = [
    # ---- formats ----
    ("mpa-more-key", "the key of a start-up frame is compared only when the frame is complete", MPA,
     "len < KEY_LEN ? len : KEY_LEN) != 0)", "len < KEY_LEN ? 0 : KEY_LEN) != 0)"),
    ("mpa-enhanced-1", "revision 1 has enhanced set-up", MPA,
     "p[FLAGS_AT] & FLAG_ENHANCED && p[REVISION_AT] >= 2", "p[FLAGS_AT] & FLAG_ENHANCED"),
    ("mpa-private-512", "private data may be longer than 512 bytes", MPA,
     "private_len > ADV_MPA_PRIVATE_MAX ||", "private_len > 2 * ADV_MPA_PRIVATE_MAX ||"),
    ("crc32c-order", "the CRC is sent with the most significant byte first", CRC32C, "8 * i)", "8 * (3 - i))"),
    ("terminate-siw", "siw's layout of Terminate is not recognized", RDMAP,
     "!(p[2] & FLAGS_RFC) && p[2] & FLAGS_SIW", "false"),
    # ---- start-up ----
    ("mpa-crc-one-side", "CRCs are used only if the peer requires them", NEGOTIATION,
     ".crc = wish->crc == ADV_MPA_CRC_REQUIRE || peer->crc,", ".crc = peer->crc,"),
    ("mpa-crc-refused", "an end that refuses CRCs accepts a peer that requires them", NEGOTIATION,
     "wish->crc == ADV_MPA_CRC_REFUSE && peer->crc", "false"),
    ("mpa-markers-swapped", "an end sends markers if it has asked for them", NEGOTIATION,
     ".tx_markers = peer->markers,", ".tx_markers = wish->markers,"),
    # ---- FPDUs ----
    ("fpdu-padding", "the padding does not count the length field", FPDU,
     "-(ADV_FPDU_LENGTH_LEN + len) % 4", "-len % 4"),
    ("fpdu-crc-unchecked", "a wrong CRC is accepted", FPDU, "return ADV_FPDU_BAD_CRC;", "(void)sum;"),
    ("fpdu-marker-crc", "a received marker is not covered by the CRC", FPDU,
     "rx->sum = adv_crc32c(rx->sum, rx->marker, ADV_FPDU_MARKER_LEN);",
     "rx->sum = adv_crc32c(rx->sum, rx->marker, 0);"),
    ("fpdu-marker-back", "a marker at the beginning moves the others", FPDU,
     "\t\tif (rx->since_start)\n\t\t\trx->since_start", "\t\trx->since_start"),
    ("fpdu-room-marker", "payload is received directly over a marker", FPDU,
     "return rx->markers && rx->payload_left > rx->to_marker ? rx->to_marker : rx->payload_left;",
     "return rx->payload_left;"),
    ("fpdu-last-marker", "the marker in front of the CRC is added behind its computation", FPDU,
     "\tadd_marker_if_due(&f);\n\tif (tx->crc)", "\tif (tx->crc)"),
    ("fpdu-short", "a segment may be shorter than its header", FPDU, "rx->ulpdu_len < len", "rx->ulpdu_len < 1"),
    # ---- receiving ----
    ("rdmap-msn", "the number of an untagged message is not checked", STREAM_RX,
     "s->header.msn != q->msn", "false"),
    ("rdmap-mo", "the offset of an untagged segment is not checked", STREAM_RX, "s->header.mo != q->mo", "false"),
    ("rdmap-queue", "the queue of an untagged segment is not checked", STREAM_RX,
     "s->header.queue != queue", "false"),
    ("rdmap-recv-length", "the last byte of a SEND may exceed the receive request", STREAM_RX,
     "length > qp->resp.recv->length", "length > qp->resp.recv->length + 1"),
    ("rdmap-take-recv", "each empty segment at the beginning of a message takes a receive request", STREAM_RX,
     "if (!qp->resp.recv)\n\t\tqp->resp.recv =", "if (s->header.mo == 0)\n\t\tqp->resp.recv ="),
    ("rdmap-early-response", "a response may arrive before its request was sent", STREAM_RX,
     "(int32_t)(s->sent_end - index) <= 0)", "index == UINT32_MAX)"),
    ("rdmap-response-stag", "a response may name another READ", STREAM_RX,
     "s->header.stag != s->reads_tail)", "false)"),
    ("rdmap-response-long", "a response may be longer than its READ", STREAM_RX,
     "end <= adv_rdmap_oldest_read(s)->length &&", "true &&"),
    ("rdmap-response-short", "a response may end before its READ", STREAM_RX,
     "(!s->header.last || end == adv_rdmap_oldest_read(s)->length)", "true"),
    ("rdmap-collected", "the payload of a Terminate may exceed its room", STREAM_RX,
     "length > sizeof(s->collected) ||", ""),
    ("rdmap-write-access", "a queue pair without remote write access accepts WRITEs", STREAM_RX,
     "!(s->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) && length", "false"),
    ("rdmap-ird", "the peer may have one READ more outstanding", STREAM_RX, ">= s->config.ird", "> s->config.ird"),
    ("rdmap-solicited", "no SEND is solicited", STREAM_RX,
     "opcode == ADV_RDMAP_SEND_SE || opcode == ADV_RDMAP_SEND_SE_INVALIDATE,", "false,"),
    ("rdmap-placed", "payload that was received directly is not counted", STREAM_RX,
     "\ts->placed += (uint32_t)len;\n\tfor (; len; iov++)", "\tfor (; len; iov++)"),
    # ---- sending ----
    ("iwarp-response-after-end", "an answer to a READ follows the end of the stream", STREAM_TX,
     "if (s->response_head == s->response_tail || s->phase != ADV_RDMAP_OPEN)",
     "if (s->response_head == s->response_tail)"),
    ("rdmap-ord", "READs are not limited", STREAM_TX, "s->reads_head - s->reads_tail >= s->config.ord", "false"),
    ("rdmap-fence", "a fenced request does not wait for READs", STREAM_TX,
     "(wqe->send_flags & IBV_SEND_FENCE) &&", "false &&"),
    ("rdmap-mixed", "an answer is sent in the middle of a message", STREAM_TX,
     "\tif (s->sending == ADV_RDMAP_SENDING_REQUEST)\n\t\treturn frame_request(s, now);\n", ""),
    ("rdmap-early", "a request completes before the connection has taken its last byte", STREAM_TX,
     "if (s->taken < whole)", "if (s->taken + 1 < whole)"),
    ("rdmap-gone", "memory that was deregistered is still sent", STREAM_TX,
     "if (s->generation == s->qp->engine->mr_generation)", "if (true)"),
    ("rdmap-still-open", "the end of the queue pair does not end the stream", STREAM_TX,
     "!adv_qp_can_receive(s->qp))\n\t\tadv_rdmap_finish(s);", "false)\n\t\tadv_rdmap_finish(s);"),
    ("rdmap-first-reply", "a responder begins while its reply is under way", STREAM_FIRST,
     "\ts->first_awaited = true;\n", ""),
    ("rdmap-first-whole", "the wait of a responder begins before its reply is acknowledged", STREAM_FIRST,
     "if (acknowledged && !s->reply_under_way)", "if (acknowledged)"),
    ("rdmap-first-once", "the ready-to-receive message is not repeated", STREAM_FIRST,
     "\ts->first_due = s->config.first == ADV_RDMAP_FIRST_WRITE;\n", ""),
    ("rdmap-first-heard", "the ready-to-receive message is repeated to a peer that answers", STREAM_INTERNAL,
     "\tadv_timer_cancel(&s->first_timer);\n", ""),
    ("rdmap-first-hoped", "a responder waits forever for an initiator that has nothing to send", STREAM_FIRST,
     "if (s->config.first == ADV_RDMAP_FIRST_HOPED &&", "if (false &&"),
    ("rdmap-crc-source", "a CRC covers memory that may change before it is sent", STREAM_TX,
     "if (s->copies && count)", "if (false)"),
    ("rdmap-crc-polled", "a CRC covers memory that the program may have changed", STREAM_RX,
     "\t\tif (s->config.crc)\n\t\t\treturn 0;\n", ""),
    # ---- the end ----
    ("iwarp-error-silent", "an error of a queue pair does not end its connection", QP_COMPLETE,
     "\tif (qp->connection)\n\t\tadv_qp_schedule(qp);", "\tif (false)\n\t\tadv_qp_schedule(qp);"),
    ("rdmap-order", "a failed request completes before an earlier READ", STREAM,
     "wqe->failed && qp->sq.tail == qp->sq.next", "adv_send_wqe_at(qp, qp->sq.next)->failed"),
    ("rdmap-half", "a Terminate follows the first half of another FPDU", STREAM,
     "\ts->taken = 0;\n\treturn false;", "\ts->taken = 0;\n\treturn true;"),
    ("rdmap-recv-kept", "the receive request of a refused SEND is flushed, not failed", STREAM,
     "\ts->qp->resp.recv = NULL;\n\tif (recv) {", "\tif (false) {"),
    ("rdmap-terminated", "a Terminate for a READ fails no request", STREAM,
     "if (s->qp->sq.tail != s->qp->sq.next)", "if (false)"),
]
