/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One switch on a bench: frames put in and taken out by hand, at times that the test says. */
#ifndef ADV_TESTS_FABRIC_BENCH_H
#define ADV_TESTS_FABRIC_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric/calendar.h"
#include "fabric/egress.h"
#include "fabric/switch.h"

#define BENCH_PORTS 4
#define GBPS_100    80 /* ps a byte */

/* Host n is behind port n. */
struct bench {
	struct adv_packet_pool pool;
	struct adv_route_table routes;
	struct adv_class class[ADV_PRIORITIES];
	struct adv_switch_config config;
	struct adv_switch *s;
	uint32_t ps_per_byte[BENCH_PORTS];
	uint64_t events[8]; /* by enum adv_switch_event */
};

/* Priority 3 is lossless by a limit of 10,000 bytes, the others are not; all are strict. May be
 * changed before bench_start(). */
void bench_open(struct bench *b);
void bench_start(struct bench *b);
void bench_close(struct bench *b);

/* A frame for the host behind port `to` comes in. */
void bench_in(struct bench *b, uint64_t now, unsigned port, unsigned to, uint8_t priority,
	      uint32_t bytes);
/* The port sends, at once and whole. What it was: bytes of data; -1: a pause frame, described in
 * *pause where that is not NULL; 0: nothing. */
int64_t bench_out(struct bench *b, uint64_t now, unsigned port, struct adv_packet *pause);
/* The peer of the port pauses it. */
void bench_pause(struct bench *b, uint64_t now, unsigned port, unsigned priority, uint16_t quanta);
/* No byte was lost or made. */
void bench_conserved(const struct bench *b);

#endif
