/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One switch without a fabric. The test passes frames in and out at times that it chooses. */
#ifndef ADV_TESTS_FABRIC_SWITCH_BENCH_H
#define ADV_TESTS_FABRIC_SWITCH_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"
#include "fabric/switch/switch.h"

#define BENCH_PORTS 4
#define GBPS_100    80 /* ps per byte */

/* A switch for tests. Host n is at port n. */
struct bench {
	struct adv_packet_pool pool;
	struct adv_route_table routes;
	struct adv_class class[ADV_PRIORITIES];
	struct adv_switch_config config;
	struct adv_switch *s;
	uint32_t ps_per_byte[BENCH_PORTS];
	uint64_t events[8]; /* number of events, by enum adv_switch_event */
};

/* Sets the configuration. Priority 3 is lossless with a limit of 10,000 bytes. The other priorities
 * are lossy. All have strict priority. The test may change the configuration before
 * bench_start(). */
void bench_open(struct bench *b);
void bench_start(struct bench *b);
void bench_close(struct bench *b);

/* Receives a frame for the host at port `to`. */
void bench_in(struct bench *b, uint64_t now, unsigned port, unsigned to, uint8_t priority,
	      uint32_t bytes);
/* Lets the port send one frame without delay. Returns the bytes of a data frame; 0: no frame; -1: a
 * pause frame. If `pause` is not NULL, copies the pause frame to it. */
int64_t bench_out(struct bench *b, uint64_t now, unsigned port, struct adv_packet *pause);
/* Passes a pause frame of the port's peer to the switch. */
void bench_pause(struct bench *b, uint64_t now, unsigned port, unsigned priority, uint16_t quanta);
/* Checks that the byte counters add up. */
void bench_conserved(const struct bench *b);

#endif
