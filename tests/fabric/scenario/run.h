/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A scenario for tests, and the bytes of its frames. */
#ifndef ADV_TESTS_FABRIC_SCENARIO_RUN_H
#define ADV_TESTS_FABRIC_SCENARIO_RUN_H

#include "fabric/scenario/scenario.h"
#include "../network/net.h"

/* Bytes on the wire: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and gap 20. A
 * RETH (the first packet of a WRITE, a READ request) has 16 bytes, an AETH (ACKs; the first, last
 * and only packet of a READ response) 4. */
#define RUN_MIDDLE(payload) (14 + 20 + 8 + 12 + (payload) + 4 + 4 + 20ull)
#define RUN_FIRST(payload)  (RUN_MIDDLE(payload) + 16)
#define RUN_ACK		    RUN_MIDDLE(4)

/* A scenario and its simulation. */
struct run {
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f;
};

/* Builds the scenario of a text, with the arguments of printf(3). An error fails the test. */
void run_open(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks that a scenario is refused, with a message that begins with `expected`. */
void expect_refused(const char *text, const char *expected);
void run_close(struct run *r);
/* What a stopped run shows. */
struct run_shown {
	uint64_t now, events, lost, received, outside, bytes, used, rx, tx, marked, pauses;
};
struct run_shown run_show(const struct run *r);
/* A function for adv_fabric_watch(): with it, all events are processed in their order. */
void run_ignore(void *user, const struct adv_fabric_event *e);
/* Runs until all transfers have ended, at most 100 ms. */
void run_to_end(struct run *r);
/* Returns the mean rate of a transfer's payload from time 0 until `now`, Mb/s. */
uint64_t run_mbps(const struct run *r, uint32_t transfer);

#endif
