# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in the sanitizer's rules that tests/abi/check and tests/abi/rules must find; see mutants.py."""

CONNECTION = "src/abi/rules/connection.c"
DATAGRAM = "src/abi/rules/datagram.c"
ENDS = "src/abi/check/ends.c"
ENTRY = "src/abi/check/entry.c"
EVENTS = "src/abi/rules/events.c"
FAILED = "src/abi/rules/failed.c"
FREED = "src/abi/rules/freed.c"
KEYS = "src/abi/rules/keys.c"
LIFETIME = "src/abi/rules/lifetime.c"
LIMITS = "src/abi/rules/limits.c"
MEMORY = "src/abi/check/memory.c"
MODIFY = "src/abi/rules/modify.c"
OBJECT = "src/abi/check/object.c"
ORDER = "src/abi/rules/order.c"
PAYLOAD = "src/abi/rules/payload.c"
PEER = "src/abi/rules/peer.c"
POSTING = "src/abi/rules/posting.c"
QUEUE = "src/abi/rules/queue.c"
REMOTE = "src/abi/rules/remote.c"
SGE = "src/abi/rules/sge.c"
SIZES = "src/abi/rules/sizes.c"
STACK = "src/abi/check/stack.c"
WAIT = "src/abi/check/interpose_wait.c"
WORK = "src/abi/check/work.c"

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
     "own.attr.path_mtu != peer->attr.path_mtu", "false"),
    ("check-rd-atomic-mismatch", "equal numbers of READs are found", PEER,
     "from->attr.max_rd_atomic > to", "from->attr.max_rd_atomic >= to"),
    ("check-far-earlier-connection", "attributes of an earlier connection are compared", PEER,
     "|| other.at < qp->reset_at", ""),
    ("check-ends-of-the-dead", "ends of processes that have ended are compared", ENDS,
     "start_of(end->pid) == end->started", "true"),
    ("check-ends-tidy", "the file of the ends is never removed", ENDS,
     "if (!used)\n", "if (used)\n"),
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
    # memory
    ("check-sge-outside-region", "an SGE may end behind its region", SGE,
     "offset <= mr->length && sge->length <= mr->length - offset", "offset <= mr->length"),
    ("check-local-write-missing", "requests that fill memory need no access", SGE,
     "!(mr->access & IBV_ACCESS_LOCAL_WRITE)", "false"),
    ("check-path-port-number", "the port of a path is not compared", MODIFY,
     "path_port < 1 ||", ""),
    ("check-memory-unmapped", "a protected page is taken for an unmapped one", MEMORY,
     "errno == ENOMEM", "errno == EFAULT"),
    ("check-send-buffer-changed", "the contents of send buffers are not compared", PAYLOAD,
     "if (now != w->mark)", "if (false)"),
    ("check-send-buffer-answered", "sent datagrams are not compared at an answer", PAYLOAD,
     "if (ended == qp->sends_compared)", "if (ended != qp->sends_compared)"),
    ("check-receive-buffer-changed", "a message that arrives is taken for a change by the program", PAYLOAD,
     "if ((int32_t)(w->number - taken) < 0)", "if (false)"),
    ("check-receive-buffer-twice", "receives that share a buffer are not found", PAYLOAD,
     "recv != w && i < w->num_sge * recv->num_sge", "false"),
    ("check-stale-lkey", "an lkey of no region is not found", KEYS,
     "!adv_check_mr_of_lkey(w->sge[i].lkey)", "false"),
    ("check-access-refused", "a refused access is not found", KEYS,
     "status == IBV_WC_REM_ACCESS_ERR && !w->reported", "false"),
    ("check-dereg-while-posted", "the end of other regions is found", KEYS,
     "w->sge[i].lkey == mr->lkey && w->sge[i].length > 0", "w->sge[i].lkey != mr->lkey"),
    ("check-inline-too-long", "inline data of any length are permitted", SIZES,
     "w->length > qp->granted.max_inline_data", "false"),
    ("check-freed-registered", "only the addresses of regions are watched, not their memory", FREED,
     "atomic_store(&highest, mr->addr + mr->length)", "atomic_store(&highest, mr->addr)"),
    ("check-unmapped-posted", "memory of other regions is found", FREED,
     "name && mr_overlaps(mr, addr, length)", "name && !mr_overlaps(mr, addr, length)"),
    ("check-overlapping-writes", "only WRITEs of one queue pair are compared", REMOTE,
     "a->owner != b->owner", "a->owner == b->owner"),
    ("check-atomic-and-write", "an atomic is compared with nothing", REMOTE,
     "!(is_atomic(a) && is_atomic(b))", "!(is_atomic(a) || is_atomic(b))"),
    ("check-memory-end", "the last bytes of a payload are not hashed", MEMORY,
     "(const void *)addr, length)", "(const void *)addr, length - 1)"),
    ("check-memory-forget", "pages of an earlier call are taken for readable", MEMORY,
     "\tcall++;\n", ""),
    ("check-memory-unreadable", "memory that cannot be read is read", MEMORY,
     "errno != EFAULT", "errno != 0"),
    ("check-stack", "stacks that begin in the same place are taken for the same", STACK,
     "set->walk[i].start == start && is_present(&set->walk[i])", "set->walk[i].start == start"),
    # queues and events
    ("check-unsignaled-queue-full", "signaled requests are taken for unsignaled ones", QUEUE,
     "\t\tif (w->signaled)\n", "\t\tif (!w->signaled)\n"),
    ("check-cq-too-small", "polled completions still count", WORK,
     "--*w->unpolled;", "(void)w;"),
    ("check-cq-for-full-queue", "receives that are refused count", POSTING,
     "adv_check_queue_drop_newest(queue, not_posted);", "(void)queue;"),
    ("check-receive-queue-empty", "each RNR NAK is blamed on the acceptance of the connection", QUEUE,
     "if (naks != qp->rnr_naks && is_first)", "if (naks != qp->rnr_naks && !is_first)"),
    ("check-receive-too-small", "a receive that is too small is not found", QUEUE,
     "if (status == IBV_WC_LOC_LEN_ERR)", "if (status == IBV_WC_LOC_PROT_ERR)"),
    ("check-never-polled", "a few completions that are never polled are not found", QUEUE,
     "\tif (left > 0)", "\tif (left > 100)"),
    ("check-error-ignored", "posts in the error state are not found", QUEUE,
     "++qp->posts_in_error == POSTS_IN_ERROR", "++qp->posts_in_error == 100 * POSTS_IN_ERROR"),
    ("check-lost-wakeup", "a poll after arming is not seen", ENTRY,
     "cq->armed_late = 0;", ""),
    ("check-lost-wakeup-epoll", "the members of an epoll set are those that are not in it", WAIT,
     "return strstr(text, wanted) != NULL;", "return strstr(text, wanted) == NULL;"),
    ("check-lost-wakeup-select", "descriptors that select(2) does not wait for are found", WAIT,
     "FD_ISSET(fd, s->fds)", "!FD_ISSET(fd, s->fds)"),
    ("check-event-not-acknowledged", "acknowledged events are found", EVENTS,
     "if (cq->events > cq->acked && cq->receiver == gettid())", "if (cq->events > 0 && cq->receiver == gettid())"),
    ("check-event-of-another-thread", "events that another thread received and may acknowledge count", EVENTS,
     "cq->events > cq->acked && cq->receiver == gettid()", "cq->events > cq->acked"),
]
