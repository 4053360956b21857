# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs of congestion controls beside DCQCN, of selective retransmission, and of failures and paths of the
simulated Ethernet: as those in mutants.py."""

DCTCP = "src/nic/congestion/dctcp.c"
FAILURE = "src/fabric/network/failure.c"
FLOW = "src/nic/congestion/flow.c"
HPCC = "src/nic/congestion/hpcc.c"
IDEAL = "src/fabric/network/ideal.c"
RETRANSMIT = "src/nic/requester/retransmit.c"
SELECTIVE = "src/nic/requester/selective.c"
SWIFT = "src/nic/congestion/swift.c"
SWITCH = "src/fabric/switch/switch.c"
TIMELY = "src/nic/congestion/timely.c"

CONTROLS = [
    # ---- the network's time ----
    ("time-rnr", "the RNR NAK timer follows the clock, not the network's time", RETRANSMIT,
     "now + adv_time_of_clock(&qp->engine->time, ns));", "now + ns);"),
    ("time-rate", "the rate of a slow network is that of a fast one", FLOW,
     "f->rate = adv_rate_of_clock(&f->qp->engine->time, f->cc.rate);", "f->rate = f->cc.rate;"),
    ("time-change", "the pacer follows a change of the rate at the network's time", FLOW,
     "adv_flow_rate_changed(f, before, adv_time_of_clock(time, at));", "adv_flow_rate_changed(f, before, at);"),
    ("time-ack", "the round-trip time is that of the clock", "src/nic/congestion/flow_ack.c",
     "adv_time_of_network(time, adv_round_trips_take(&f->round_trips, psn, now)),",
     "adv_round_trips_take(&f->round_trips, psn, now),"),
    # ---- DCTCP ----
    ("dctcp-each-mark", "each mark of a round trip reduces the window", DCTCP,
     "if (ack->marked && !d->cut) {", "if (ack->marked) {"),
    ("dctcp-whole", "a mark reduces the window by alpha, not by half of it", DCTCP,
     "cc->window * d->alpha / (2 * ONE);", "cc->window * d->alpha / ONE;"),
    ("dctcp-slow-start", "slow start goes on after a mark", DCTCP,
     "d->cut = d->congested = true;", "d->cut = true;"),
    ("dctcp-alpha", "the share of marks is that since the beginning", DCTCP,
     "\td->packets = d->marked = 0;\n", ""),
    ("dctcp-least", "the window becomes less than two packets", DCTCP,
     "\t\tif (cc->window < least)\n", "\t\tif (cc->window < least / 2)\n"),
    # ---- TIMELY ----
    ("timely-high", "above T_high the gradient decides", TIMELY,
     "} else if (ack->rtt > high) {", "} else if (ack->rtt > 1000 * high) {"),
    ("timely-low", "below T_low the gradient decides", TIMELY,
     "if (ack->rtt < low) {", "if (!low) {"),
    ("timely-hyper", "the larger steps begin with the sixth increase", TIMELY,
     "t->increases >= HYPER_AFTER ? HYPER_STEPS", "t->increases > HYPER_AFTER ? HYPER_STEPS"),
    ("timely-row", "a positive gradient does not end the row of increases", TIMELY,
     "\tif (t->difference > 0) {\n\t\tt->increases = 0;\n", "\tif (t->difference > 0) {\n"),
    ("timely-line", "the rate rises above that of the line", TIMELY,
     "\tif (cc->rate > link->line)\n\t\tcc->rate = link->line;\n", ""),
    # ---- Swift ----
    ("swift-often", "the window falls with each ACK", SWIFT,
     "\tif (now - s->cut_at < delay)\n\t\treturn;\n", ""),
    ("swift-deep", "a reduction has no bound", SWIFT,
     "\tif (part > p->swift_max_mdf)\n\t\tpart = p->swift_max_mdf;\n", ""),
    ("swift-target", "the target does not depend on the window", SWIFT,
     "p->swift_target * US + flow_scaling(p, s->window);", "p->swift_target * US + 0 * flow_scaling(p, s->window);"),
    ("swift-pace", "a window below a packet is sent as a packet", SWIFT,
     "\tcc->rate = rate ? rate : 1;\n", "\tcc->rate = rate ? 0 : 1;\n"),
    ("swift-least", "the window has no lower bound", SWIFT,
     "\tif (s->window < least)\n", "\tif (s->window < least / 4)\n"),
    # ---- HPCC ----
    ("hpcc-reference", "the reference window moves with each ACK", HPCC,
     "\t\tif (ack->round)\n\t\t\th->reference", "\t\tif (true)\n\t\t\th->reference"),
    ("hpcc-queue", "the larger of two queues counts", HPCC,
     "now->queue < before->queue ? now->queue : before->queue",
     "now->queue > before->queue ? now->queue : before->queue"),
    ("hpcc-first", "the first port counts, not the busiest", HPCC,
     "if (span && u >= most) {", "if (span && i == 0) {"),
    ("hpcc-stages", "additive increase has no last stage", HPCC,
     "\t\tif (round)\n\t\t\th->stage++;\n", ""),
    ("hpcc-path", "telemetry of different paths is compared", HPCC,
     "if (h->last.hops != t->hops)", "if (!h->last.hops)"),
    ("hpcc-most", "the window exceeds what the line carries in the base RTT", HPCC,
     "cc->window = window < most ? window : most;", "cc->window = window < 9 * most ? window : most;"),
    # ---- selective retransmission ----
    ("selective-all", "everything after the first lost packet is sent again", SELECTIVE,
     "if (psn == qp->req.una_psn || !is_noted(s, psn))",
     "if (s->room || !is_noted(s, psn))"),
    ("selective-twice", "a lost packet is sent again with each NAK", SELECTIVE,
     "\ts->resent = later_psn(s->resent, qp->req.next_psn);\n",
     "\ts->resent = later_psn(s->resent, qp->req.una_psn);\n"),
    ("selective-reorder", "a packet that is late by `reorder` packets is lost", SELECTIVE,
     "ADV_PSN_MASK + 1 - qp->engine->reorder);", "ADV_PSN_MASK + 2 - qp->engine->reorder);"),
    ("selective-forged", "a NAK may name a packet that was never sent", SELECTIVE,
     "if (adv_psn_diff(kept, req->una_psn) <= 0 || adv_psn_diff(kept, req->max_psn) >= 0)",
     "if (adv_psn_diff(kept, req->una_psn) <= 0)"),
    ("selective-stale", "the notes of acknowledged packets remain", SELECTIVE,
     "\t\tset_note(s, p, false);\n", "\t\t;\n"),
    ("selective-report", "only the newest kept packet is reported", SELECTIVE,
     "\tif (s->report_head - s->report_tail < s->room)\n",
     "\ts->report_tail = s->report_head;\n\tif (s->report_head - s->report_tail < s->room)\n"),
    ("selective-few", "the short timer runs with four packets in flight", SELECTIVE,
     "#define FEW_PACKETS 3", "#define FEW_PACKETS 4"),
    ("selective-probe", "after a timeout the others are not lost", SELECTIVE,
     "later_psn(s->lost_end, s->recover_psn);\n", "later_psn(s->lost_end, s->probe);\n"),
    ("selective-room", "a packet beyond the window is kept in the place of another", SELECTIVE,
     ">= (int32_t)s->room || in->source", ">= 2 * (int32_t)s->room || in->source"),
    ("selective-retry", "each timeout costs a retry", SELECTIVE,
     "\tif (now - s->since < timeout)\n\t\treturn false;\n", ""),
    # ---- windows, paths, failures ----
    ("bdp-short", "the window of a BDP lacks a packet", IDEAL,
     "most = time > most ? time : most;", "most = time > most + 1 ? time - 1 : most;"),
    ("spray-first", "spraying takes the first path", SWITCH,
     "uint32_t best = (uint32_t)adv_rng_below(&s->rng, set->count), from = best;",
     "uint32_t best = 0, from = best;"),
    ("adaptive-longest", "the longest queue is chosen", SWITCH,
     "queue[priority].bytes <\n\t\t    s->port[port[best]]", "queue[priority].bytes >\n\t\t    s->port[port[best]]"),
    ("failure-flying", "frames on a cable arrive although it fails", FAILURE,
     "\t\tlose_all(adv_part_of(f, w->to.node), &w->flying);\n", ""),
    ("failure-sending", "a frame whose sending began in a failure arrives", FAILURE,
     "w->cut = !works || w->sending;", "w->cut = !works;"),
    ("failure-overlap", "a cable works when the first of two failures ends", FAILURE,
     "*down = (uint16_t)(works ? *down - 1 : *down + 1);", "*down = !works;"),
    ("failure-pause", "a pause outlives its cable", SWITCH,
     "\tadv_egress_resume(&s->port[port].egress, now);\n", ""),
    ("failure-silent", "a switch does not pause its peer again", SWITCH,
     "\tpt->to_tell |= pt->told;\n", ""),
    ("failure-routes", "routes do not use a cable that works again", FAILURE,
     "*avoided = (uint16_t)(used ? *avoided - 1 : *avoided + 1);", "*avoided = (uint16_t)(*avoided + 1);"),
]
