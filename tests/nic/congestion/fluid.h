/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fluid model of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
 * section 5, equations 5 to 9): N flows and one queue as delay differential equations, integrated
 * in steps of a microsecond (Euler).
 *
 * It assumes:
 * - marks depend on the queue's length a constant time ago, and not on each other;
 * - CNPs are sent at the rate at which N us of packets contain a mark;
 * - there is no hyper increase and no chance;
 * - a rate is never above the line rate, nor above its target.
 */
#ifndef ADV_TESTS_NIC_CONGESTION_FLUID_H
#define ADV_TESTS_NIC_CONGESTION_FLUID_H

#include "nic/congestion/congestion.h"

#define FLUID_FLOWS 16
#define FLUID_PAST  256

struct fluid_flow {
	double rc, rt, alpha; /* packets a second */
};

struct fluid {
	/* Set by the caller: */
	struct adv_cc_params params;
	unsigned count;	 /* number of sending flows */
	double packet;	 /* bytes that count in queues and rates */
	double overhead; /* further bytes of a packet on the wire */
	double line;	 /* b/s */
	unsigned delay;	 /* time from the queue to the effect of a CNP, us; less than FLUID_PAST */
	double k_min, k_max, p_max; /* bytes, bytes, a probability */
	/* The state: */
	struct fluid_flow flow[FLUID_FLOWS];
	double queue; /* packets */
	double past[FLUID_PAST];
	unsigned long now; /* us */
};

/* Returns the share of packets that a queue of `bytes` marks. */
double fluid_marking(const struct fluid *f, double bytes);
/* Returns the capacity of the line, packets a second. */
double fluid_capacity(const struct fluid *f);
/* Starts flow i at the line rate, before any CNP. */
void fluid_start(struct fluid *f, unsigned i);
/* Advances by one microsecond. */
void fluid_step(struct fluid *f);
/* Runs for `us` microseconds. Returns the mean queue of that time, bytes. */
double fluid_run(struct fluid *f, unsigned long us);

#endif
