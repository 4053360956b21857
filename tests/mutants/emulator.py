# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs of the emulator of fabrics, in the format of mutants.py."""

CABLE = "src/fabric/emulator/cable.c"
CAPTURE = "src/fabric/emulator/capture.c"
FLOWS = "src/fabric/emulator/flows.c"
PROGRAMS = "src/fabric/emulator/programs.c"
TIME = "src/fabric/emulator/time.c"

EMULATOR = [
    ("frame-foreign", "a program sends from the address of another host", PROGRAMS,
     "adv_port_host_of(place, &pkt->meta->sgid) != p->host || ", ""),
    ("frame-kinds", "a frame goes from an IPv4 address to a link-local one", PROGRAMS,
     " ||\n\t    adv_gid_is_ipv4(&pkt->meta->sgid) != adv_gid_is_ipv4(&pkt->meta->dgid)", ""),
    ("frame-v1-marked", "switches mark frames of RoCE v1", PROGRAMS,
     "\tf->tclass &= (uint8_t)~ADV_ECN_MASK;\n\tf->tag", "\tf->tag"),
    ("ring-broken", "a program whose ring is not valid stays connected", PROGRAMS,
     "!p->reader.broken || ", "p->reader.broken || "),
    ("kept-order", "a frame that waited is sent behind later ones", PROGRAMS,
     "\tif (p->kept[f->priority])\n\t\tp->kept_last[f->priority]->next = f;\n\telse\n"
     "\t\tp->kept[f->priority] = f;\n\tp->kept_last[f->priority] = f;\n",
     "\tf->next = p->kept[f->priority];\n\tp->kept[f->priority] = f;\n"),
    ("kept-bound", "any number of frames waits for a priority", PROGRAMS,
     "!f && p->kept_count < KEPT_MOST && reads", "!f && reads"),
    ("kept-awake", "the emulator spins while frames wait for a priority", PROGRAMS,
     "adv_ring_has(&p->reader) && p->kept_count < KEPT_MOST;", "adv_ring_has(&p->reader);"),
    ("turns", "one program of a host starves the others", PROGRAMS,
     "\t\tadv_list_del(&p->node);\n\t\tadv_list_add_tail(&h->programs, &p->node);\n", ""),
    ("room-half", "a program is woken for each frame that was read", PROGRAMS,
     "p->read_since_full < p->emulator->place.tx_size / 2", "p->read_since_full < 1"),
    ("room-empty", "a program sleeps beside its empty ring", PROGRAMS,
     " && adv_ring_has(&p->reader))\n\t\treturn;", ")\n\t\treturn;"),
    ("owner-left", "frames go to a program that has left", PROGRAMS,
     "\t\tif (h->owner[i] == p)\n\t\t\th->owner[i] = NULL;\n", "\t\t(void)h;\n"),
    ("claim-beyond", "a program claims prefixes that do not exist", PROGRAMS,
     " || count > ADV_PREFIXES - first)", ")"),
    ("promise-late", "time beyond a broken promise counts", TIME,
     "adv_pace_virtual(&t->pace, t->promise) < due", "adv_pace_virtual(&t->pace, t->promise) > due"),
    ("promise-kept", "the emulator promises something without programs", TIME,
     "programs ? now + PROMISE : UINT64_MAX;", "now + PROMISE;"),
    ("time-open", "a program writes the time of the others", TIME, "F_SEAL_FUTURE_WRITE | ", ""),
    ("capture-end", "a capture of the other end of the cable has the frame", CAPTURE,
     "c->link != link || c->end != end)", "c->link != link)"),
    ("capture-untapped", "the end of one capture ends another one of the same port", CAPTURE,
     "\t\tif (!others)\n", "\t\tif (others || !others)\n"),
    ("flow-others", "frames of flows beyond the table are not counted", FLOWS,
     "if (s->others.sent || s->others.received)", "if (false)"),
    ("flow-marked", "marks are not counted", FLOWS, "== ADV_ECN_CE;", "== ADV_ECN_ECT1;"),
    ("cable-rules", "only the first rule counts", CABLE, "if (*text++ != ';')\n\t\t\treturn false;", "return true;"),
]
