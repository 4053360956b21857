/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A barrier of threads that spins before it sleeps: the parts of a simulation meet every few
 * hundred microseconds, and a sleep costs tens of them. On a busy machine a thread may wait for one
 * that has no processor, so it does not spin for long.
 */
#ifndef ADV_FABRIC_PARTS_BARRIER_H
#define ADV_FABRIC_PARTS_BARRIER_H

#include <stdatomic.h>
#include <stdint.h>

struct adv_barrier {
	_Atomic uint32_t generation; /* number of meetings; a futex */
	_Atomic uint32_t arrived;    /* threads that wait for the next meeting */
	_Atomic uint32_t sleepers;
	uint32_t threads;
};

/* Initializes a barrier of `threads`. */
void adv_barrier_init(struct adv_barrier *b, uint32_t threads);

/* Blocks until all threads have called it. What a thread wrote before, the others see after. */
void adv_barrier_meet(struct adv_barrier *b);

/* Arrives for a thread that could not be created. Others must still be missing. */
void adv_barrier_arrive(struct adv_barrier *b);

#endif
