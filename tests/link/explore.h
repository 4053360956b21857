/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Explores all interleavings of a few actors that share memory by C11 atomics.
 *
 * The code under test is compiled with `-include explore_atomic.h`, so that each of its atomic
 * operations comes here. An actor runs until its next load, read-modify-write, fence or wait; then
 * the explorer decides who goes on. Stores enter a buffer of the actor's and reach memory at any
 * later point: in any order, but for two of one address, and a release store after all that were
 * before it. That is weaker than x86 (TSO), where stores reach memory in order. What it does not
 * model is loads that overtake each other, and other memory than atomic: that is written at once.
 *
 * An execution is repeated from its start for each decision that is still open (stateless search);
 * a state that was seen before is not explored again. One thread; not reentrant.
 */
#ifndef ADV_TESTS_LINK_EXPLORE_H
#define ADV_TESTS_LINK_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_ACTORS	3
#define EXPLORE_REGIONS 16

struct explore_region {
	const void *at;
	size_t len;
};

struct explore {
	void (*begin)(struct explore *e); /* before each execution: sets actors, count, regions */
	/* After each execution, with all actors at their end: NULL, or what is wrong. */
	const char *(*end)(struct explore *e);
	void (*actor[EXPLORE_ACTORS])(void *user);
	unsigned actors;
	/* What is shared, together with what actors have read and written the state. */
	struct explore_region shared[EXPLORE_REGIONS];
	unsigned regions;
	void *user;
};

struct explore_result {
	uint64_t executions;
	uint64_t states;
	const char *wrong; /* NULL; or of the first execution that went wrong */
};

/* Explores everything, or until the first execution that goes wrong. */
struct explore_result explore_all(struct explore *e);

/*
 * For actors: sleeps until ready(user). False: nobody will make it so, which is an error of the
 * execution; the actor returns. The buffer need not be empty.
 */
bool explore_wait(bool (*ready)(void *user), void *user);

/* For actors: a system call, which orders all stores before it. */
void explore_system_call(void);

/* For explore_atomic.h. Outside of actors they act at once. */
uint64_t explore_load(const volatile void *at, size_t len);
void explore_store(volatile void *at, size_t len, uint64_t value, int order);
uint64_t explore_exchange(volatile void *at, size_t len, uint64_t value);
void explore_fence(int order);

#endif
