# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs to be found: each a name, what it is, a file, and the text to put in place of another.

The old text must occur exactly once in the file; where it does not any more, `run` says so, and
the mutant is to be written anew.
"""

COMPLETER = "src/transport/completer.c"
CQ = "src/transport/cq.c"
DATAGRAM = "src/transport/datagram.c"
ENGINE = "src/transport/engine.c"
GATHER = "src/transport/gather.c"
HEADERS = "src/wire/headers.h"
MR = "src/transport/mr.c"
QP = "src/transport/qp.c"
REQUESTER = "src/transport/requester.c"
RESPONDER = "src/transport/responder.c"
RESPONDER_TX = "src/transport/responder_tx.c"
SRQ = "src/transport/srq.c"

MUTANTS = [
    ("psn-wrap", "PSNs are compared as if they never wrapped", HEADERS,
     "return (int32_t)((a - b) << 8) >> 8;",
     "return (int32_t)(a - b);"),
    ("ghost", "a response to the PSN after the newest one is taken", COMPLETER,
     "adv_psn_diff(psn, qp->req.max_psn) >= 0)\n\t\treturn;",
     "adv_psn_diff(psn, qp->req.max_psn) > 0)\n\t\treturn;"),
    ("duplicate-ack", "a repeated request is not acknowledged again", RESPONDER,
     "\t\tif (in->h->bth.ackreq)\n\t\t\tadv_responder_queue_ack(qp, ADV_AETH_ACK",
     "\t\tif (in->h->bth.ackreq && !qp)\n\t\t\tadv_responder_queue_ack(qp, ADV_AETH_ACK"),
    ("atomic-twice", "a repeated atomic is carried out again", RESPONDER,
     "\trepeat_answer(qp, in);\n}",
     "\tif (in->info->flags & ADV_PKT_ATOMIC) {\n"
     "\t\tenum adv_vendor_err why;\n"
     "\t\tuint8_t *p = adv_mr_resolve(qp->engine, qp->pd, in->h->atomiceth.rkey,\n"
     "\t\t\t\t\t    in->h->atomiceth.va, 8, 0, &why);\n\n"
     "\t\tif (p)\n\t\t\texecute_atomic((uint64_t *)(void *)p, in);\n"
     "\t}\n\trepeat_answer(qp, in);\n}"),
    ("duplicate-send", "the newest SEND is received again when it is repeated", RESPONDER,
     "\tif (ahead < 0) {\n\t\trx_duplicate",
     "\tif (ahead < -1 || (ahead < 0 && !(in->info->flags & ADV_PKT_SEND))) {\n\t\trx_duplicate"),
    ("bound", "a region is one byte longer than it is", MR,
     "length > mr->length - (va - mr->iova))",
     "length > mr->length + 1 - (va - mr->iova))"),
    ("stale-key", "the tag of a key is not looked at", MR,
     "if (!mr || mr->key != key) {",
     "if (!mr || mr->key >> 8 != key >> 8) {"),
    ("access", "what a region allows is not looked at", MR,
     "if ((mr->access & need) != need) {",
     "if ((mr->access & need) != need && !length) {"),
    ("flush-last", "the newest request is not flushed", QP,
     "\twhile (qp->sq.tail != qp->sq.head)\n\t\tadv_qp_complete_send(qp, IBV_WC_WR_FLUSH_ERR",
     "\twhile (qp->sq.tail + 1 < qp->sq.head)\n"
     "\t\tadv_qp_complete_send(qp, IBV_WC_WR_FLUSH_ERR"),
    ("flush-order", "the receive in use is flushed behind those that wait", QP,
     "\tif (taken)\n\t\tflush_one_recv(qp, taken, now);\n"
     "\twhile (!qp->srq && qp->rq.next != qp->rq.head)\n"
     "\t\tflush_one_recv(qp, adv_recv_wqe_at(qp, qp->rq.next++), now);\n",
     "\twhile (!qp->srq && qp->rq.next != qp->rq.head)\n"
     "\t\tflush_one_recv(qp, adv_recv_wqe_at(qp, qp->rq.next++), now);\n"
     "\tif (taken)\n\t\tflush_one_recv(qp, taken, now);\n"),
    ("rnr-wait", "the time that an RNR NAK asks for is not waited", COMPLETER,
     "\treq->rnr_wait = true;", "\treq->rnr_wait = false;"),
    ("rnr-count", "RNR retries are not counted", COMPLETER,
     "\t\treq->rnr_left--;", "\t\treq->rnr_left -= 0;"),
    ("retry-count", "retries are not given back by progress", REQUESTER,
     "\treq->retry_left = qp->attr.retry_cnt;\n\treq->rnr_left = qp->attr.rnr_retry;\n\treq->ticks",
     "\treq->rnr_left = qp->attr.rnr_retry;\n\treq->ticks"),
    ("go-back", "what is sent again begins one packet too late", REQUESTER,
     "\tadv_window_lost(qp);\n\tadv_requester_rewind(qp, psn);",
     "\tadv_window_lost(qp);\n"
     "\tadv_requester_rewind(qp, psn == qp->req.max_psn ? psn : adv_psn_add(psn, 1));"),
    ("read-again", "a READ that is asked for again is answered from its beginning", RESPONDER,
     "\t\tres->start = res->offset = (uint32_t)offset;",
     "\t\tres->start = res->offset = 0;"),
    ("read-chunk", "a repeated READ request does not keep to the old borders", REQUESTER,
     "uint64_t end = (qp->req.offset / chunk + 1) * chunk;",
     "uint64_t end = qp->req.offset + chunk;"),
    ("read-gap", "a READ response behind a gap is taken", COMPLETER,
     "now) || qp->req.una_psn != in->h->bth.psn)",
     "now) && qp->state == IBV_QPS_ERR)"),
    ("fence", "the fence does not hold", REQUESTER,
     "if ((wqe->send_flags & IBV_SEND_FENCE) && qp->req.rd_head",
     "if ((wqe->send_flags & IBV_SEND_FENCE) && !qp->engine && qp->req.rd_head"),
    ("depth", "one READ more is out than the peer allows", REQUESTER,
     "qp->req.rd_head - qp->req.rd_tail >= qp->req.rd_limit)",
     "qp->req.rd_head - qp->req.rd_tail > qp->req.rd_limit)"),
    ("late-repeat", "a late repeated READ takes the place of a new one", RESPONDER,
     "\twhile (resp->res_pending >= resp->res_limit || res->pending)\n"
     "\t\tif (!drop_repeated_answer(resp))\n\t\t\treturn NULL;\n",
     "\tif (resp->res_pending >= resp->res_limit || res->pending)\n\t\treturn NULL;\n"
     "\t(void)drop_repeated_answer;\n"),
    ("late-repeats", "more than one late repeated READ does", RESPONDER,
     "\t\tif (!drop_repeated_answer(resp))\n\t\t\treturn NULL;\n",
     "\t\tif (!drop_repeated_answer(resp) || resp->res_pending >= resp->res_limit)\n"
     "\t\t\treturn NULL;\n"),
    ("asked-twice", "a response that a timeout has asked for costs another retry", REQUESTER,
     "\treq->gap_asked = true;\n\tif (++req->ticks", "\tif (++req->ticks"),
    ("silent-error", "an unsignaled request that fails has no completion", QP,
     "if (status == IBV_WC_SUCCESS && !qp->sq_sig_all &&",
     "if (!qp->sq_sig_all &&"),
    ("rnr-write", "a WRITE with immediate that found no receive is half begun", RESPONDER,
     "\t\t\tif (in->info->flags & ADV_PKT_START)\n\t\t\t\tresp->message = ADV_MSG_NONE;\n",
     ""),
    ("message-offset", "a SEND is placed behind the one before", RESPONDER,
     "\t\t\tnot_ready(qp);\n\t\t\treturn;\n\t\t}\n\t\tresp->offset = 0;",
     "\t\t\tnot_ready(qp);\n\t\t\treturn;\n\t\t}\n\t\tresp->offset &= 3;"),
    ("scatter", "each piece but the first is filled from the wrong place", GATHER,
     "\t\tmemcpy(p, data, n);\n\t\tdata += n;",
     "\t\tmemcpy(p, data, n);\n\t\tdata += i ? n - (n > 1) : n;"),
    ("window-leak", "a QP that is reset keeps its share of the window", REQUESTER,
     "\tset_psns(qp, qp->req.max_psn, qp->req.max_psn);",
     "\tqp->req.una_psn = qp->req.next_psn = qp->req.max_psn;"),
    ("stalled", "those who wait for the common window are not woken", REQUESTER,
     "\tif (e->in_flight < e->total_window)\n\t\tunstall(e);",
     "\tif (e->in_flight > e->total_window)\n\t\tunstall(e);"),
    ("no-timer", "no timer runs for what is sent", REQUESTER,
     "\tif (sent && qp->reliable && qp->req.timer.when == ADV_NEVER)",
     "\tif (!sent && qp->reliable && qp->req.timer.when == ADV_NEVER)"),
    ("gap", "missing responses are not asked for again", COMPLETER,
     "\t\tadv_requester_acked(qp, limit, now);\n\t\timplied_nak(qp, now);",
     "\t\tadv_requester_acked(qp, limit, now);\n\t\t(void)implied_nak;"),
    ("nak-lost", "a repeated ACK takes the place of a NAK", RESPONDER_TX,
     "\tif (resp->ack_pending && adv_psn_diff(psn, resp->ack_psn) < 0)\n\t\treturn;\n", ""),
    ("ack-first", "an ACK overtakes READ responses before it", RESPONDER_TX,
     "\t\tif (resp->res_pending)\n\t\t\temit_response",
     "\t\tif (resp->res_pending && !resp->ack_pending)\n\t\t\temit_response"),
    ("srq-slot", "receives of an SRQ are not given back", QP,
     "\tif (qp->srq)\n\t\tadv_srq_release(qp->srq, wqe);\n\tif (wc->status",
     "\tif (wc->status"),
    ("srq-order", "an SRQ hands out the newest receive first", SRQ,
     "slot = srq->fifo[srq->fifo_tail++ & (srq->max_wr - 1)];",
     "slot = srq->fifo[(srq->fifo_head - 1) & (srq->max_wr - 1)];\n"
     "\tsrq->fifo[(srq->fifo_head - 1) & (srq->max_wr - 1)] =\n"
     "\t\tsrq->fifo[srq->fifo_tail & (srq->max_wr - 1)];\n\tsrq->fifo_tail++;"),
    ("purge", "completions of a QP that is gone stay in the CQ", CQ,
     "if (cqe_at(cq, i)->qp != qp)", "if (cqe_at(cq, i)->qp != qp || i == cq->tail)"),
    ("event", "a completion does not wake who armed the CQ", CQ,
     "if (cq->armed == ADV_CQ_ARMED || (",
     "if ((cq->armed == ADV_CQ_ARMED && cq->moderate_count) || ("),
    ("resize", "resizing a CQ loses its newest completion", CQ,
     "\tcq->head = count;", "\tcq->head = count ? count - 1 : 0;"),
    ("peer", "packets from any address are taken", ENGINE,
     "if (!adv_gid_equal(&in->meta->sgid, &qp->path.dgid) ||",
     "if ("),
    ("uc-gap", "a UC message goes on over a gap", RESPONDER,
     "\t\tif (resp->message != ADV_MSG_NONE)\n\t\t\tuc_drop(qp, now);\n",
     ""),
    ("ud-length", "the 40 bytes before a datagram are not counted", DATAGRAM,
     "wc.byte_len = ADV_GRH_LEN + in->payload_len;", "wc.byte_len = in->payload_len;"),
    ("msn-sig", "a request that is acknowledged late stays out", REQUESTER,
     "adv_psn_diff(adv_psn_add(wqe->first_psn, wqe->psn_count), psn) > 0)",
     "adv_psn_diff(adv_psn_add(wqe->first_psn, wqe->psn_count), psn) >= 0)"),
]
