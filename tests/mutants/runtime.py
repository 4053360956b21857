# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in links, devices and the daemon, in the format of mutants.py."""

EVENTS = "src/host/device_events.c"
GROUP = "src/daemon/group.c"
LOCK = "src/host/lock.c"
PAIRS = "src/daemon/pairs.c"
PROGRESS = "src/host/progress.c"
PROGRESS_H = "src/host/progress.h"
RING = "src/link/ring.c"
SHM = "src/link/shm.c"
SLOTS = "src/daemon/slots.c"
UDP_FLOW = "src/link/udp_flow.c"
UDP_INTERNAL = "src/link/udp_internal.h"
UDP_RX = "src/link/udp_rx.c"
UDP_SEGMENT = "src/link/udp_segment.c"
UDP_TX = "src/link/udp_tx.c"
THREAD = "src/host/device_thread.c"
USERS = "src/daemon/users.c"
WAIT = "src/host/device_wait.c"

FENCE = "\tatomic_thread_fence(memory_order_seq_cst);\n"

RUNTIME = [
    # ---- sleeping readers of shared memory ----
    ("ring-must-wake", "the writer may check whether the reader sleeps before the packet is visible", RING,
     FENCE + "\tif (atomic_load_explicit(&w->memory->sleeping,",
     "\tif (atomic_load_explicit(&w->memory->sleeping,"),
    ("ring-sleep", "a reader checks for packets before the writer sees that it sleeps", RING,
     "sleeping, sleeping, memory_order_relaxed);\n" + FENCE,
     "sleeping, sleeping, memory_order_relaxed);\n"),
    ("ring-comes", "a reader that attaches checks for packets before its bell is visible", RING,
     "bell, bell, memory_order_relaxed);\n" + FENCE, "bell, bell, memory_order_relaxed);\n"),
    ("ring-once", "the writer leaves a woken reader marked as sleeping, and wakes it again", RING,
     "atomic_exchange_explicit(&w->memory->sleeping, 0, memory_order_relaxed) == 0)", "false)"),
    ("ring-room", "a record may overwrite the word that ends the records", RING,
     "\tif (w->size - (w->head - w->tail) >= need + LINE)\n\t\treturn true;",
     "\tif (w->size - (w->head - w->tail) >= need)\n\t\treturn true;"),
    ("ring-tail", "the writer accepts a tail beyond its head", RING,
     "if (tail < w->tail || tail > w->head)", "if (tail < w->tail)"),
    ("ring-icrc", "a packet with a wrong ICRC on purpose arrives as a good one", RING,
     "\tif (word & BAD_ICRC) {", "\tif (false) {"),
    ("shm-blind", "a link that is put to sleep reports that no packet is queued", SHM,
     "nothing = nothing && !adv_ring_has(&l->peer[i]->reader);", ""),
    ("shm-order", "a link checks for packets before it announces that it sleeps", SHM,
     "\t\tadv_ring_sleep(&l->peer[i]->reader, sleeping);\n"
     "\t\tnothing = nothing && !adv_ring_has(&l->peer[i]->reader);",
     "\t\tnothing = nothing && !adv_ring_has(&l->peer[i]->reader);\n"
     "\t\tadv_ring_sleep(&l->peer[i]->reader, sleeping);"),
    ("shm-attach", "memory attached while the owner sleeps does not announce the sleep", SHM,
     "\tadv_ring_sleep(&p->reader, l->sleeping);\n", ""),
    ("shm-first", "only the first of several readers of a batch is woken", SHM,
     "\t\tif (!p->written)\n", "\t\tif (!p->written || i > 0)\n"),
    ("shm-overtakes", "packets through memory overtake packets sent by UDP", SHM,
     "if (last && now - last < SETTLE)", "if (last && now < last)"),
    ("thread-rest", "the device's thread sleeps though a ring holds a packet", THREAD,
     "\tif (!rest_link(d))\n\t\tplan.more = true;", "\t(void)rest_link(d);"),
    ("wait-rest", "a waiting thread of the program sleeps though a ring holds a packet", WAIT,
     "if (!again && !adv_device_link_sleep(d, true))\n\t\t\tagain = true;",
     "if (!again && !adv_device_link_sleep(d, true))\n\t\t\tagain = false;"),
    # ---- the UDP link ----
    ("flow-dgid", "a path whose destination changes sends to the old one", UDP_INTERNAL,
     "f->generation == l->generation && adv_gid_equal(&f->dgid, &path->dgid) &&",
     "f->generation == l->generation &&"),
    ("flow-generation", "flows outlive a change of the machine's addresses", UDP_INTERNAL,
     "f->generation == l->generation &&", "f->generation &&"),
    ("flow-in-use", "a new flow replaces the flow of an unsent message", UDP_FLOW,
     "\t\tif (l->tx.message[i].flow == f)", "\t\tif (!f)"),
    ("flow-source", "packets to an own address leave from the source that the kernel chooses", UDP_FLOW,
     "f->name_source = s->any_source && !kernel_chooses_source(f);",
     "f->name_source = s->any_source && !kernel_chooses_source(f) && !s;"),
    ("segment-longer", "the kernel divides a single packet that is longer than the socket's option",
     UDP_INTERNAL, "!s->len || len <= s->len;", "!s->len || len;"),
    ("segment-reset", "the segment option stays on after the kernel rejected a packet because of it", UDP_SEGMENT,
     "\tif (!s->len)\n\t\treturn false;", "\tif (s)\n\t\treturn false;"),
    ("icrc-last", "the shorter last packet of a send has the ICRC of a longer one", UDP_TX,
     "\tif (len != m->segment_len)\n", "\tif (len > m->segment_len)\n"),
    ("report-name", "a datagram counts as one from the sender of an earlier one", UDP_RX,
     "memcmp(m->msg_name, &k->report, REPORT_LEN(k->control_len)) == 0", "m->msg_name"),
    ("report-tclass", "a known report leaves the traffic class of another one", UDP_RX,
     "\td->source->meta.tclass = k->tclass;\n", ""),
    # ---- devices ----
    ("thread-deadline", "no call wakes the thread for a deadline earlier than its own",
     PROGRESS_H, "return deadline < wake_at && wake_at - deadline > ADV_PROGRESS_WAKE_SLACK;",
     "return false;"),
    ("thread-takeover", "the thread is not woken when a polling program arms its CQ before it sleeps",
     PROGRESS, "[S(POLLER)][ARMS] = {S(NOBODY), S(KICK)}", "[S(POLLER)][ARMS] = {S(NOBODY)}"),
    ("wait-hands-on", "the thread is not woken when a long wait of the program ends", PROGRESS,
     "[S(WAITER_ALONE)][WAIT_OVER] = {S(BETWEEN), S(KICK)}",
     "[S(WAITER_ALONE)][WAIT_OVER] = {S(BETWEEN)}"),
    ("progress-left", "the thread sleeps long after it has left packets to the program", PROGRESS,
     "\t\treturn now + LEFT_LONGEST;", "\t\treturn p->wake_at;"),
    ("progress-post", "a wake-up that a post follows counts as useless", PROGRESS,
     "if (posted || took > STOPPED_POLLING)", "if (took > STOPPED_POLLING)"),
    ("progress-lone-poll", "one poll before each post counts as a polling loop", PROGRESS,
     "if (!posted && !p->trial_polled && took", "if (!posted && p->trial_polled && took"),
    ("progress-found-post", "a completion found before a post counts as a poll at the thread's next wake-up",
     PROGRESS_H, "\t\tatomic_store_explicit(&p->found, false, memory_order_relaxed);\n\t\tadv_progress_polled(p, now);\n",
     "\t\tadv_progress_polled(p, now);\n"),
    ("linger-loop", "posts of a program that polls in a loop linger", PROGRESS,
     "took <= QUICK_POST && !adv_progress_looped(p)", "took <= QUICK_POST"),
    ("linger-late", "posts linger though the program reacts to WRITEs late", PROGRESS,
     "count_quick(p, posted && took <= QUICK_POST &&", "count_quick(p, posted &&"),
    ("linger-vain", "useless lingering never ends", PROGRESS,
     "\tp->lingers = false;\n\tp->quick_posts = 0;\n\tif", "\tp->quick_posts = 0;\n\tif"),
    ("linger-again", "useless lingering begins again as soon as before", PROGRESS,
     "\t\tp->quick_needed *= 2;", "\t\tp->quick_needed *= 1;"),
    ("linger-thread", "the thread does not receive after a useless lingering post", PROGRESS,
     "[S(POLLER)][LINGERS_VAIN] = {S(THREAD), 0}", "[S(POLLER)][LINGERS_VAIN] = {S(POLLER), 0}"),
    ("linger-sleep", "the thread sleeps on for long when a post lingers", PROGRESS,
     "\t    p->wake_at > now + LOOK_LONGEST) {", "\t    p->wake_at == 0) {"),
    ("linger-preempted", "a post lingers beside processes that need the processor", PROGRESS,
     "if (written && now - before <= PREEMPTED) {", "if (written) {"),
    ("linger-waiter", "a post receives although another thread waits and receives", PROGRESS,
     "\t    (state != ADV_PROGRESS_POLLER && !is_armed(state)))\n\t\treturn actions;", "\t    false)\n\t\treturn actions;"),
    ("progress-asked", "packets are left to a program that polls once before it sleeps", PROGRESS,
     "return !atomic_load_explicit(&p->asked, memory_order_relaxed) &&\n\t       polls_within",
     "return polls_within"),
    ("progress-new-wait", "the thread sleeps without end at the first check of a new wait", PROGRESS,
     "if (wakeups == p->wakeups_seen)", "if (wakeups || !p->wakeups_seen)"),
    ("progress-others", "of two waiting threads the one that receives ends, and nobody receives",
     PROGRESS, "[S(WAITER)][WAIT_LEFT] = {S(NOBODY), S(KICK)}",
     "[S(WAITER)][WAIT_LEFT] = {S(NOBODY)}"),
    ("progress-limit", "packets that no thread received do not keep the thread longer", PROGRESS,
     "\t\tp->useless_limit *= 2;", "\t\tp->useless_limit *= 1;"),
    ("backoff-computes", "a program that polls a few times between computations counts as preempted", PROGRESS,
     "if (!loop_paused || last - p->vain_since < LONG_SPIN)", "if (!loop_paused || last < p->vain_since)"),
    ("backoff-peer", "a packet that arrives once another process ran is no sign of a busy processor", PROGRESS,
     "\tif (now >= p->crowded_till)\n", "\tif (p->crowded_till && now >= p->crowded_till)\n"),
    ("backoff-long", "a polling program may sleep without end", PROGRESS,
     "\tif (now + BACKOFF_LONGEST < *deadline)\n\t\t*deadline = now + BACKOFF_LONGEST;\n",
     "\t(void)BACKOFF_LONGEST;\n"),
    ("backoff-others", "a thread that waits is forgotten when the polling one stops sleeping", PROGRESS,
     "[S(BACKOFF)][WAIT_LEFT] = {S(NOBODY), S(KICK)}", "[S(BACKOFF)][WAIT_LEFT] = {S(POLLER), 0}"),
    ("lock-starves", "a thread that waits long for the lock does not reserve it", LOCK,
     "if (!starving && adv_clock_ns() - begin > ADV_LOCK_STARVES) {",
     "if (!starving && begin == 0) {"),
    ("device-wakes", "one of several threads to be woken is forgotten", EVENTS,
     "\tfor (unsigned i = 0; i < n; i++)\n\t\tsignal_eventfd(wakes",
     "\tfor (unsigned i = 1; i < n; i++)\n\t\tsignal_eventfd(wakes"),
    # ---- the daemon ----
    ("group-only-member", "a slot may be the only member of a multicast group (newer kernels)", GROUP,
     "IPPROTO_IP, IP_MULTICAST_ALL, 1);", "IPPROTO_IP, IP_MULTICAST_ALL, 0);"),
    ("group-all", "multicast datagrams reach slots because another socket of the machine has joined", GROUP,
     "IPPROTO_IP, IP_MULTICAST_ALL, 0);", "IPPROTO_IP, IP_MULTICAST_ALL, 1);"),
    ("pairs-share", "a pair counts as unfetched after its second end has fetched it", PAIRS,
     "\t\tcount_pair(p, pair, 0, 0, -1);\n", ""),
    ("slots-user", "a slot is given to another user than its last one", SLOTS,
     "if (is_owned(r) || !r->used_before || r->uid != uid)", "if (is_owned(r) || !r->used_before)"),
    ("slots-newest", "of free slots the most recently released one is given next", SLOTS,
     "if (!best || r->freed < l->slot[best].freed)", "if (!best || r->freed > l->slot[best].freed)"),
    ("slots-rest", "a released slot is given again at once", SLOTS,
     "if (again && now - l->slot[again].freed_ms >= rest)", "if (again && rest)"),
    ("slots-sender", "only the first prefix of a block is entered in the senders' table", SLOTS,
     "\t*count = ADV_BLOCK_PREFIXES;", "\t*count = 1;"),
    ("users-turn", "a user with more messages to read keeps its turn", USERS,
     "\t\tif (u->clock_ns() >= end)\n\t\t\tbreak;\n", ""),
]
