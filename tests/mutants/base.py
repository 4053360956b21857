# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in src/base and src/nic/fault, in the format of mutants.py."""

CLOCK = "src/base/clock.h"
DECIDE = "src/nic/fault/decide.c"
FLOW = "src/nic/fault/flow.c"
HEAP = "src/base/heap.h"
KINDS = "src/nic/fault/kinds.c"
LIST = "src/base/list.h"
NUMBER = "src/base/number.h"
QUEUE = "src/nic/fault/queue.c"
RNG = "src/base/rng.h"
SIPHASH = "src/base/siphash.h"
TABLE = "src/base/table.c"
UNITS = "src/base/units.c"

BASE = [
    # ---- heap, lists, tables ----
    ("heap-last-child", "the last element of a heap is not compared when another one moves down", HEAP,
     "if (child < h->count &&", "if (child + 1 < h->count &&"),
    ("heap-only-down", "the element that fills a removed one's place moves only down", HEAP,
     "if (position > 1 && kind->before(last, adv_heap_at(h, kind, position / 2)))", "if (false)"),
    ("heap-stays", "a removed element keeps its position", HEAP,
     "\tif (kind->moved)\n\t\tkind->moved(adv_heap_at(h, kind, position), 0);\n", ""),
    ("heap-reserve", "a reservation counts though there was no memory for it", HEAP,
     "\tif (!adv_heap_reserve(h, size, h->reserved + 1))\n\t\treturn false;\n\th->reserved++;\n",
     "\tif (!adv_heap_reserve(h, size, ++h->reserved))\n\t\treturn false;\n"),
    ("list-wrong-end", "a node is added before the first one, not after the last one", LIST,
     "\tn->prev = head->prev;\n\tn->next = head;\n\thead->prev->next = n;\n\thead->prev = n;\n",
     "\tn->next = head->next;\n\tn->prev = head;\n\thead->next->prev = n;\n\thead->next = n;\n"),
    ("list-move-order", "a moved list is emptied before the last node of it is read", LIST,
     "\thead->prev = from->prev;\n\tadv_list_init(from);\n", "\tadv_list_init(from);\n\thead->prev = from->prev;\n"),
    ("table-last-bucket", "a table that grows does not move the nodes of the last bucket", TABLE,
     "for (uint32_t i = 0; i < n; i++) {", "for (uint32_t i = 0; i + 1 < n; i++) {"),
    ("table-bucket-only", "a lookup compares as many bits of the hash as the number of the bucket has", TABLE,
     "\t\tif (n->hash == hash)", "\t\tif (((n->hash ^ hash) & (t->buckets - 1)) == 0)"),
    # ---- hashes, random numbers, text ----
    ("siphash-key", "the hash uses only half of the key's first word", SIPHASH,
     "key[0] ^ 0x6c7967656e657261u", "(uint32_t)key[0] ^ 0x6c7967656e657261u"),
    ("siphash-length", "the last block of the hash has the length in words, not bytes", SIPHASH,
     "(uint64_t)(8 * count) << 56", "(uint64_t)count << 56"),
    ("rng-seed", "all words of the generator's state are equal", RNG,
     "(seed += 0x9e3779b97f4a7c15u)", "(seed + 0x9e3779b97f4a7c15u)"),
    ("rng-below", "the upper bound of a random number is a possible result", RNG,
     "adv_rng_next(r) * n) >> 64)", "adv_rng_next(r) * (n + 1)) >> 64)"),
    ("clock-timespec", "the rest of a duration is microseconds in a member for nanoseconds", CLOCK,
     "(long)(ns % 1000000000u)", "(long)(ns / 1000 % 1000000u)"),
    ("number-overflow", "the last digit may carry a number past its maximum", NUMBER,
     "v > (max - (uint64_t)d) / base)", "v > max / base)"),
    ("units-binary", "M is a million bytes", UNITS, '{"M", 1 << 20}', '{"M", 1000000}'),
    ("units-plain", "a number without a unit needs one", UNITS,
     "len && digits == len ? ADV_UNIT_COUNT : kind", "len ? kind : ADV_UNIT_COUNT"),
    ("units-round", "a printed quantity is rounded down", UNITS, "* 1000 + scale / 2) / scale", "* 1000) / scale"),
    ("units-fraction", "the digits behind the point do not make the number smaller", UNITS,
     "*divisor *= point ? 10 : 1;", "*divisor *= 1;"),
    # ---- which packets a fault plan matches ----
    ("fault-direction", "a rule for sent packets acts on received ones", DECIDE,
     "p->tx ? r->tx : r->rx", "p->tx ? r->rx : r->tx"),
    ("fault-seed", "the seed of the plan is ignored", DECIDE,
     "adv_rng_seed(&s->rng, plan->seed);", "adv_rng_seed(&s->rng, now);"),
    ("fault-until", "a rule acts also at the instant at which it ends", DECIDE,
     "since < r->from || (r->until && since >= r->until))\n\t\treturn false;",
     "since < r->from || (r->until && since > r->until))\n\t\treturn false;"),
    ("fault-flow-loss", "the pause of a connection whose bytes are lost again grows only once", FLOW,
     "f->losses++;", "f->losses = 1;"),
    ("fault-flow-delay", "bytes of a connection are delayed again after their delay", FLOW,
     "f->decided = true;", "f->decided = false;"),
    ("fault-nth", "the last packet of a range of packets is not matched", DECIDE,
     "rs->seen > r->nth_last", "rs->seen >= r->nth_last"),
    ("fault-times", "a rule acts once more than its limit", DECIDE,
     "rs->hits >= r->times", "rs->hits > r->times"),
    ("fault-psn-wrap", "a range of PSNs across the largest PSN matches no packet", DECIDE,
     "(p->is_packet && ((p->psn - r->psn_first) & ADV_PSN_MASK) <=\n"
     "\t\t\t\t\t((r->psn_last - r->psn_first) & ADV_PSN_MASK))",
     "(p->is_packet && p->psn >= r->psn_first && p->psn <= r->psn_last)"),
    ("fault-peer-bits", "the last bits of a peer's network are taken from the wrong end of the byte", DECIDE,
     "(0xff00 >> bits & 0xff)", "(0xff >> bits)"),
    ("fault-ect1", "packets with ECT(1) are not marked", DECIDE,
     "p->ecn != ADV_ECN_ECT0 && p->ecn != ADV_ECN_ECT1", "p->ecn != ADV_ECN_ECT0"),
    ("fault-rnr-nak", "RNR NAKs and NAKs are confused", KINDS,
     "\tcase ADV_AETH_RNR_NAK:\n\t\treturn base + 1;\n\tdefault:\n\t\treturn base + 2;",
     "\tcase ADV_AETH_RNR_NAK:\n\t\treturn base + 2;\n\tdefault:\n\t\treturn base + 1;"),
    # ---- what a fault plan decides ----
    ("fault-delays", "of several delays only the last one counts", DECIDE,
     "v->delay += r->time", "v->delay = r->time"),
    ("fault-icrc", "one undetectable corruption hides the detectable ones", DECIDE,
     "r->icrc_right && (v->icrc_right || !v->corrupt)", "r->icrc_right || v->icrc_right"),
    ("fault-cut-bth", "a shortened packet may lose its transport header", DECIDE,
     "len > ADV_BTH_LEN ? len - ADV_BTH_LEN : 0;", "len;"),
    ("fault-event-again", "an event without an object is not tried again", DECIDE,
     "\t\tif (!raised)\n\t\t\ts->again", "\t\tif (raised)\n\t\t\ts->again"),
    ("fault-port-up", "the device is not woken for the end of a port's outage", DECIDE,
     "\t\tif (r->until > since && r->until < next)\n\t\t\tnext = r->until;\n", ""),
    ("fault-blink", "an outage between two checks of the port is not noticed", DECIDE,
     "\treturn blinked && !adv_fault_port_is_down(s, now);", "\treturn blinked && adv_fault_port_is_down(s, now);"),
    # ---- held packets ----
    ("fault-equal-due", "packets that are due at the same time overtake each other", QUEUE,
     "held_of(n)->due > h->due", "held_of(n)->due >= h->due"),
    ("fault-behind-late", "a packet that has waited for enough others waits for its time as well", QUEUE,
     "\t\th->due = now;\n", ""),
    ("fault-behind-count", "released packets still count as waiting for others", QUEUE,
     "\tq->behind -= h->behind != 0;\n", ""),
]
