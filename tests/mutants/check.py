# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in the sanitizer's rules that tests/check must find; see mutants.py."""

CONNECTION = "src/check/connection.c"
DATAGRAM = "src/check/datagram.c"
FAILED = "src/check/failed.c"
LIFETIME = "src/check/lifetime.c"
LIMITS = "src/check/limits.c"
MODIFY = "src/check/modify.c"
OBJECT = "src/check/object.c"
ORDER = "src/check/order.c"
PEER = "src/check/peer.c"

CHECK = [
    ("check-transition-skipped", "a transition that does not exist is called a missing attribute", MODIFY,
     "ADV_RULE_TRANSITION_INVALID", "ADV_RULE_MASK_MISSING"),
    ("check-mask-superfluous", "superfluous attributes are not found", MODIFY,
     "extra && !has_both", "!extra && !has_both"),
    ("check-psn-zero", "a first PSN of 0 is not found", MODIFY,
     "if (psn == 0)", "if (psn == 1)"),
    ("check-psn-constant", "different first PSNs are found", MODIFY,
     "is_second && first_psn.psn == psn", "is_second && first_psn.psn != psn"),
    ("check-mtu-mismatch", "path MTUs are not compared", PEER,
     "qp->attr.path_mtu != peer->attr.path_mtu", "false"),
    ("check-rd-atomic-mismatch", "equal numbers of READs are found", PEER,
     "from->attr.max_rd_atomic > to", "from->attr.max_rd_atomic >= to"),
    ("check-peer-mismatch", "a peer of another queue pair is not found", PEER,
     "if (mask & IBV_QP_DEST_QPN)", "if (!(mask & IBV_QP_DEST_QPN))"),
    ("check-grh-forgotten", "receives with room for the GRH are found", DATAGRAM,
     "w->length < GRH_LENGTH", "w->length <= GRH_LENGTH + 64"),
    ("check-qkey-mismatch", "equal Q_Keys are found", DATAGRAM,
     "peer->attr.qkey != sent", "peer->attr.qkey == sent"),
    ("check-read-then-send", "sends of memory that a READ fills are not found", ORDER,
     "!adv_check_opcode_reads(w->opcode) && !w->is_inline", "false"),
    ("check-read-then-write", "a fence is not heeded", ORDER,
     "|| send_flags & IBV_SEND_FENCE", "|| false"),
    ("check-post-recv-in-reset", "receives in INIT are found", ORDER,
     "is_recv ? qp->state == IBV_QPS_RESET", "is_recv ? qp->state <= IBV_QPS_INIT"),
    ("check-leak-mr", "objects that others need are not marked", LIFETIME,
     "if (used)\n", "if (!used)\n"),
    ("check-leak-ah", "only objects that others need are leaks", LIFETIME,
     "!o->needed &&", "o->needed &&"),
    ("check-pd-destroyed-first", "the object that prevents a destruction is not found", LIFETIME,
     "if (user)\n", "if (!user)\n"),
    ("check-fork-without-init", "fork() is found only if ibv_fork_init() was called", LIFETIME,
     "if (is_prepared ||", "if (!is_prepared ||"),
    ("check-fork-child-uses-device", "a child of fork() is taken for its parent", OBJECT,
     "\tforks++;", "\tforks += 0;"),
    ("check-failed-data-used", "only changed data of a failed request are found", FAILED,
     "compared_length(sge->length)) == 0", "compared_length(sge->length)) != 0"),
    ("check-error-wc-fields", "undefined fields of completions are not recognized", FAILED,
     "fields_given = true", "fields_given = false"),
    ("check-rd-atomic-limit", "as many READs as a card has are found", LIMITS,
     "wanted <= most", "wanted < most"),
    ("check-ud-over-ethernet-mtu", "UD messages of up to 4096 bytes are not found", DATAGRAM,
     "w->length > ETHERNET_MOST &&", "w->length > 4 * ETHERNET_MOST &&"),
    ("check-cm-event-not-acknowledged", "acknowledged events are still counted", CONNECTION,
     "counted->unacknowledged--;", "(void)counted;"),
    ("check-private-data-too-long", "private data that fill their field are found", CONNECTION,
     "param->private_data_len > room", "param->private_data_len >= room"),
    ("check-reject-reason-ignored", "rejections are not counted", CONNECTION,
     "rejected.count + 1 : 1", "1 : 1"),
]
