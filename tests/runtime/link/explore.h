/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Explores all interleavings of a few actors that share memory by C11 atomics.
 *
 * The code under test is compiled with `-include explore_atomic.h`, which passes each of its atomic
 * operations to the explorer. An actor runs until its next load, read-modify-write, fence or wait.
 * Then the explorer chooses the actor that continues. Stores enter a buffer of the actor and reach
 * memory at any later point, in any order, with two exceptions: two stores to one address keep
 * their order, and a release store follows all earlier stores. This model is weaker than x86 (TSO),
 * where stores reach memory in order. The model has no loads that overtake each other, and writes
 * non-atomic memory at once.
 *
 * An execution is repeated from its start for each open decision (stateless search). A state that
 * was seen before is not explored again. One thread; not reentrant.
 */
#ifndef ADV_TESTS_RUNTIME_LINK_EXPLORE_H
#define ADV_TESTS_RUNTIME_LINK_EXPLORE_H

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
	/* Called before each execution: sets actors, count, regions. */
	void (*begin)(struct explore *e);
	/* Called after each execution, when all actors have ended. Returns NULL, or the error. */
	const char *(*end)(struct explore *e);
	void (*actor[EXPLORE_ACTORS])(void *user);
	unsigned actors;
	/* The shared memory. The state consists of it and the values that actors read and wrote. */
	struct explore_region shared[EXPLORE_REGIONS];
	unsigned regions;
	void *user;
};

struct explore_result {
	uint64_t executions;
	uint64_t states;
	const char *wrong; /* error of the first execution that failed; else NULL */
};

/* Explores all executions, or until the first one that fails. */
struct explore_result explore_all(struct explore *e);

/*
 * For actors: sleeps until ready(user) is true. Returns false if no actor will make it true. That
 * is an error of the execution, and the actor returns. The store buffer need not be empty.
 */
bool explore_wait(bool (*ready)(void *user), void *user);

/* For actors: a system call; all stores before it reach memory. */
void explore_system_call(void);

/* For explore_atomic.h. Outside of actors they take effect at once. */
uint64_t explore_load(const volatile void *at, size_t len);
void explore_store(volatile void *at, size_t len, uint64_t value, int order);
uint64_t explore_exchange(volatile void *at, size_t len, uint64_t value);
void explore_fence(int order);

#endif
