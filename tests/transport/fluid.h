/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fluid model of DCQCN (Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015,
 * section 5, equations 5 to 9): N flows and one queue as delay differential equations, integrated
 * in steps of a microsecond (Euler).
 *
 * What it assumes: marks by the queue's length a constant time ago, independent of each other; CNPs
 * at the rate at which N us of packets have a mark among them; no hyper increase, no chance; a rate
 * is never above the line's, nor above its target.
 */
#ifndef ADV_TESTS_TRANSPORT_FLUID_H
#define ADV_TESTS_TRANSPORT_FLUID_H

#include "transport/congestion.h"

#define FLUID_FLOWS 16
#define FLUID_PAST  256

struct fluid_flow {
	double rc, rt, alpha; /* packets a second */
};

struct fluid {
	/* Set by whoever uses it: */
	struct adv_cc_params params;
	unsigned count;	 /* of flows that send */
	double packet;	 /* bytes that count in queues and rates */
	double overhead; /* bytes of a packet on the wire besides */
	double line;	 /* b/s */
	unsigned delay;	 /* us, less than FLUID_PAST: from the queue to what a CNP does */
	double k_min, k_max, p_max; /* bytes, bytes, a probability */
	/* The state: */
	struct fluid_flow flow[FLUID_FLOWS];
	double queue; /* packets */
	double past[FLUID_PAST];
	unsigned long now; /* us */
};

/* The share of packets that a queue of so many bytes marks. */
double fluid_marking(const struct fluid *f, double bytes);
/* Packets a second that the line carries. */
double fluid_capacity(const struct fluid *f);
/* Flow i begins at the rate of the line, as no CNP came yet. */
void fluid_start(struct fluid *f, unsigned i);
/* One microsecond. */
void fluid_step(struct fluid *f);
/* Runs for so many us, and returns the mean queue of that time in bytes. */
double fluid_run(struct fluid *f, unsigned long us);

#endif
