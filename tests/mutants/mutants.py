# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs to be found: each a name, what it is, a file, and the text to put in place of another.

The old text must occur exactly once in the file; where it does not any more, `run` says so, and
the mutant is to be written anew.
"""

CM = "src/cm/cm.c"
CM_CONNECT = "src/cm/connect.c"
CM_QP_ATTR = "src/cm/qp_attr.c"
CM_REJECT = "src/cm/reject.c"
CM_RELEASE = "src/cm/release.c"
CM_REQUEST = "src/cm/request.c"
COMPLETER = "src/transport/completer.c"
CQ = "src/transport/cq.c"
DATAGRAM = "src/transport/datagram.c"
ENGINE = "src/transport/engine.c"
GATHER = "src/transport/gather.c"
HEADERS = "src/wire/headers.h"
MCAST = "src/transport/mcast.c"
MR = "src/transport/mr.c"
MW = "src/transport/mw.c"
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
    ("gap-of-one", "a request one packet ahead is taken for the expected one", RESPONDER,
     "\tif (ahead > 0) {\n\t\tqp->engine", "\tif (ahead > 1) {\n\t\tqp->engine"),
    ("old-ack", "an acknowledgement of the packet before the oldest one is taken", COMPLETER,
     "if (adv_psn_diff(psn, qp->req.una_psn) < 0 ||",
     "if (adv_psn_diff(psn, qp->req.una_psn) < -1 ||"),
    ("write-length", "a WRITE may be longer than it said", RESPONDER,
     "\tif (end > resp->write_length ||\n\t    ((in->info->flags & ADV_PKT_END) && end != resp",
     "\tif (((in->info->flags & ADV_PKT_END) && end < resp"),
    ("qkey", "the low bits of a Q_Key are not looked at", ENGINE,
     "in->h->deth.qkey != qp->attr.qkey)", "(in->h->deth.qkey ^ qp->attr.qkey) >> 8)"),
    ("group-left", "a QP that left a group still gets what is sent to it", MCAST,
     "\tgroup->member[i] = group->member[--group->count];",
     "\tif (group->count > 1)\n\t\treturn 0;\n\tgroup->member[i] = group->member[--group->count];"),
    ("group-sender", "a datagram to a group comes back to its sender", ENGINE,
     "if (qp->qpn != in->h->deth.src_qpn)", "if (qp)"),
    ("overrun", "a CQ that is full loses completions without a word", CQ,
     "\tif (cq->head - cq->tail == cq->room) {\n",
     "\tif (cq->head - cq->tail == cq->room) {\n\t\tif (!cq->moderate_ns)\n\t\t\treturn true;\n"),
    ("cq-room", "a CQ overruns one completion too early", CQ,
     "\tif (cq->head - cq->tail == cq->room) {\n",
     "\tif (cq->head - cq->tail + (cq->room > 1) == cq->room) {\n"),
    ("deregistered", "the key of memory that was deregistered still grants access", MR,
     "\tremove_key(&mr->pd->engine->mrs, mr->key);\n\tmr->pd->users--;\n\tfree(mr);",
     "\tmr->pd->users--;"),
    ("window-bound-to", "memory is deregistered while a window is bound to it", MR,
     "\tif (mr->windows)\n\t\treturn EBUSY;\n\tremove_key", "\tremove_key"),
    ("invalidated", "a window that was invalidated still grants access", MW,
     "\t\treturn false;\n\tunbind(mw);\n\treturn true;", "\t\treturn false;\n\treturn true;"),
    ("window-bound", "a window of type 2 is one byte longer than it is", MW,
     "length > mr->length - (va - mr->iova)) {", "length > mr->length + 1 - (va - mr->iova)) {"),
    ("window-tag", "a window answers to its old keys as well", MW,
     "if (!mr || mr->key != key || !mr->window || mr->window->qp",
     "if (!mr || !mr->window || mr->window->qp"),
    ("window-qp", "a window of type 2 serves all QPs", MW,
     "!mr->window || mr->window->qp != qp || mr->window->pd", "!mr->window || mr->window->pd"),
    ("rnr-code", "another RNR time is waited than the NAK asks for", COMPLETER,
     "now + adv_rnr_timer_ns(timer));", "now + adv_rnr_timer_ns(timer ^ 1));"),
    ("rnr-for-ever", "an RNR retry count of 7 is one like the others", COMPLETER,
     "if (qp->attr.rnr_retry != 7)", "if (qp->attr.rnr_retry != 8)"),
    ("timeout-power", "the timeout is twice as long as it should be", REQUESTER,
     "now + (4096ull << qp->attr.timeout));", "now + (8192ull << qp->attr.timeout));"),
    ("retry-less", "one retry less than was asked for", REQUESTER,
     "\tif (req->retry_left == 0) {", "\tif (req->retry_left <= 1) {"),
    ("cm-retry", "messages of the connection manager are not sent again", CM,
     "\t\tqueue(id->cm, &id->route.path, id->mad);\n\t\tadv_cm_timer_set(&id->cm->timers, &id->timer, "
     "now + wait",
     "\t\tadv_cm_timer_set(&id->cm->timers, &id->timer, now + wait"),
    ("cm-rtu", "an RTU that was lost is not sent again", CM_CONNECT,
     "\tif (id->state == ADV_CM_ESTABLISHED)\n\t\tadv_cm_send_rtu(id);\n\telse if",
     "\tif"),
    ("cm-rep", "a repeated REQ is not answered with the REP again", CM_REQUEST,
     "\t\tif (adv_cm_packet_decode(id->mad, sizeof(id->mad), &again))\n\t\t\tadv_cm_send(id, &again);",
     "\t\t(void)again;"),
    ("cm-drep", "a repeated DREQ is not answered again", CM_RELEASE,
     "\t\tcm->counters.rx_duplicates++;\n\t\tsend_drep(cm, meta, packet, id);",
     "\t\tcm->counters.rx_duplicates++;"),
    ("cm-mra", "an MRA does not make anybody wait", CM_REJECT,
     "\tadv_cm_timer_set(&cm->timers, &id->timer, now + id->service_ns);\n", ""),
    ("cm-psn", "the first PSN is taken for the other direction's", CM_QP_ATTR,
     "\tattr->rq_psn = id->local_psn;", "\tattr->rq_psn = id->remote_psn;"),
    ("cm-depth", "the two depths of a connection are swapped", CM_CONNECT,
     "\tid->responder_resources = rep->initiator_depth;\n"
     "\tid->initiator_depth = rep->responder_resources;",
     "\tid->responder_resources = rep->responder_resources;\n"
     "\tid->initiator_depth = rep->initiator_depth;"),
    ("acked-after-all", "a request is acknowledged that cannot be sent again, and stays", REQUESTER,
     "\t\tif (!wqe->started ||\n\t\t    adv", "\t\tif (wqe->failed || !wqe->started ||\n\t\t    adv"),
]
