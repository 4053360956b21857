/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "explore.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_LEN   (256u << 10)
#define BUFFER	    16	 /* stores of one actor that have not reached memory */
#define STEPS	    2000 /* limit of one execution, which detects endless loops */
#define STATES_LOG2 22	 /* size of the table of states */

struct store {
	volatile void *at;
	size_t len;
	uint64_t value;
	bool release;
};

enum pending { STARTING, LOADING, ORDERING, WAITING, ENDED };

struct actor {
	ucontext_t context;
	char *stack;
	void *fake_stack; /* fake stack of the address sanitizer */
	enum pending pending;
	bool (*ready)(void *user);
	void *ready_user;
	struct store buffer[BUFFER];
	unsigned buffered;
	uint64_t history; /* hash of all values that the actor has read */
};

/* One decision: an actor continues, or one of its stores reaches memory. */
struct choice {
	uint8_t actor;
	uint8_t store; /* BUFFER: the actor continues */
};

struct decision {
	uint16_t taken;
	uint16_t of;
};

static struct {
	struct explore *e;
	struct actor actor[EXPLORE_ACTORS];
	struct actor *running; /* NULL: the explorer itself */
	ucontext_t context;
	const void *stack; /* stack of the explorer, for the address sanitizer */
	size_t stack_len;
	void *fake_stack;
	bool lost; /* no actor can continue, so all waits fail */
	struct decision path[STEPS];
	unsigned path_len;
	uint64_t *seen;
	uint64_t states;
} x;

/* ---- switching ---- */

static void to_explorer(struct actor *a)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(a->pending == ENDED ? NULL : &a->fake_stack, x.stack,
				       x.stack_len);
#endif
	swapcontext(&a->context, &x.context);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(a->fake_stack, &x.stack, &x.stack_len);
#endif
}

static void to_actor(struct actor *a)
{
	x.running = a;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&x.fake_stack, a->stack, STACK_LEN);
#endif
	swapcontext(&x.context, &a->context);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(x.fake_stack, NULL, NULL);
#endif
	x.running = NULL;
}

static void actor_main(void)
{
	struct actor *a = x.running;

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &x.stack, &x.stack_len);
#endif
	x.e->actor[a - x.actor](x.e->user);
	a->pending = ENDED;
	to_explorer(a);
	abort();
}

static void stop_at(enum pending pending)
{
	struct actor *a = x.running;

	a->pending = pending;
	to_explorer(a);
}

/* ---- memory ---- */

static uint64_t read_memory(const volatile void *at, size_t len)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)at, len); /* little endian, like all tested machines */
	return value;
}

static void write_memory(volatile void *at, size_t len, uint64_t value)
{
	memcpy((void *)at, &value, len);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash + 0x9e3779b97f4a7c15u) ^ value * 0xbf58476d1ce4e5b9u;
	hash *= 0x94d049bb133111ebu;
	return hash ^ hash >> 29;
}

static void answered(struct actor *a, uint64_t value)
{
	a->history = mix(a->history, value);
}

uint64_t explore_load(const volatile void *at, size_t len)
{
	struct actor *a = x.running;
	uint64_t value;

	if (!a)
		return read_memory(at, len);
	stop_at(LOADING);
	value = read_memory(at, len);
	for (unsigned i = 0; i < a->buffered; i++)
		if (a->buffer[i].at == at)
			value = a->buffer[i].value;
	answered(a, value);
	return value;
}

void explore_store(volatile void *at, size_t len, uint64_t value, int order)
{
	struct actor *a = x.running;

	assert(order != memory_order_seq_cst);
	if (!a) {
		write_memory(at, len, value);
		return;
	}
	assert(a->buffered < BUFFER);
	a->buffer[a->buffered++] = (struct store){at, len, value, order == memory_order_release};
}

uint64_t explore_exchange(volatile void *at, size_t len, uint64_t value)
{
	uint64_t before;

	if (x.running)
		stop_at(ORDERING);
	before = read_memory(at, len);
	write_memory(at, len, value);
	if (x.running)
		answered(x.running, before);
	return before;
}

void explore_fence(int order)
{
	if (x.running && order == memory_order_seq_cst)
		explore_system_call();
}

void explore_system_call(void)
{
	if (!x.running)
		return;
	stop_at(ORDERING);
	answered(x.running, 0);
}

bool explore_wait(bool (*ready)(void *user), void *user)
{
	struct actor *a = x.running;

	a->ready = ready;
	a->ready_user = user;
	stop_at(WAITING);
	answered(a, x.lost);
	return !x.lost;
}

/* ---- choices ---- */

static bool can_go_on(const struct actor *a)
{
	switch (a->pending) {
	case ORDERING:
		return a->buffered == 0;
	case WAITING:
		return x.lost || a->ready(a->ready_user);
	case ENDED:
		return false;
	default:
		return true;
	}
}

/* True if this store may reach memory now. It may overtake earlier stores to other addresses. A
 * release store overtakes no earlier store. */
static bool can_reach_memory(const struct actor *a, unsigned store)
{
	const struct store *s = &a->buffer[store];

	if (s->release && store > 0)
		return false;
	for (unsigned i = 0; i < store; i++)
		if (a->buffer[i].at == s->at)
			return false;
	return true;
}

static unsigned list_choices(struct choice list[EXPLORE_ACTORS * (BUFFER + 1)])
{
	unsigned n = 0;

	for (unsigned i = 0; i < x.e->actors; i++) {
		const struct actor *a = &x.actor[i];

		for (unsigned k = 0; k < a->buffered; k++)
			if (can_reach_memory(a, k))
				list[n++] = (struct choice){(uint8_t)i, (uint8_t)k};
		if (can_go_on(a))
			list[n++] = (struct choice){(uint8_t)i, BUFFER};
	}
	return n;
}

static void carry_out(struct choice c)
{
	struct actor *a = &x.actor[c.actor];
	struct store *s = &a->buffer[c.store % BUFFER];

	if (c.store == BUFFER) {
		to_actor(a);
		return;
	}
	write_memory(s->at, s->len, s->value);
	a->buffered--;
	memmove(s, s + 1, (size_t)(a->buffer + a->buffered - s) * sizeof(*s));
}

/* ---- states ---- */

/* Returns a number for the address that is the same in each execution, wherever the memory is
 * mapped. */
static uint64_t place_of(const volatile void *at)
{
	for (unsigned i = 0; i < x.e->regions; i++) {
		const struct explore_region *r = &x.e->shared[i];
		size_t offset = (size_t)((const volatile char *)at - (const char *)r->at);

		if (offset < r->len)
			return (uint64_t)(i + 1) << 32 | offset;
	}
	assert(!"a store outside of the regions");
	return 0;
}

static uint64_t state_of_all(void)
{
	uint64_t hash = 1;

	for (unsigned i = 0; i < x.e->actors; i++) {
		const struct actor *a = &x.actor[i];

		hash = mix(hash, a->history + (uint64_t)a->pending);
		for (unsigned k = 0; k < a->buffered; k++)
			hash = mix(mix(hash, place_of(a->buffer[k].at)), a->buffer[k].value);
		hash = mix(hash, a->buffered);
	}
	for (unsigned i = 0; i < x.e->regions; i++)
		for (size_t k = 0; k + 8 <= x.e->shared[i].len; k += 8)
			hash = mix(hash, read_memory((const char *)x.e->shared[i].at + k, 8));
	return hash ? hash : 1;
}

/* True if the state is new. */
static bool is_new(uint64_t state)
{
	const uint64_t mask = (1u << STATES_LOG2) - 1;

	for (uint64_t i = state & mask;; i = (i + 1) & mask) {
		if (x.seen[i] == state)
			return false;
		if (x.seen[i] == 0) {
			x.seen[i] = state;
			x.states++;
			assert(x.states < mask / 2);
			return true;
		}
	}
}

/* ---- executions ---- */

static void start_actor(struct actor *a)
{
	char *stack = a->stack;

	memset(a, 0, sizeof(*a));
	a->stack = stack;
	getcontext(&a->context);
	a->context.uc_stack.ss_sp = stack;
	a->context.uc_stack.ss_size = STACK_LEN;
	makecontext(&a->context, actor_main, 0);
}

static bool all_ended(void)
{
	for (unsigned i = 0; i < x.e->actors; i++)
		if (x.actor[i].pending != ENDED)
			return false;
	return true;
}

/*
 * Returns the decision at this depth. The path contains the decisions up to the point where this
 * execution differs from the last one. From there on the decision is the first possible one; it is
 * recorded as long as states are new.
 */
static unsigned choose_step(unsigned depth, unsigned choices, bool *exploring)
{
	if (depth < x.path_len)
		return x.path[depth].taken;
	if (*exploring && !is_new(state_of_all()))
		*exploring = false;
	if (!*exploring)
		return 0;
	x.path[x.path_len++] = (struct decision){0, (uint16_t)choices};
	return 0;
}

/* Runs one execution to its end. Returns NULL, or the error. */
static const char *execute(void)
{
	struct choice list[EXPLORE_ACTORS * (BUFFER + 1)];
	const char *wrong = NULL, *of_end;
	bool exploring = true;

	x.e->begin(x.e);
	x.lost = false;
	for (unsigned i = 0; i < x.e->actors; i++)
		start_actor(&x.actor[i]);
	for (unsigned depth = 0;; depth++) {
		unsigned n = list_choices(list);

		if (n == 0 && all_ended())
			break;
		assert(depth < 2 * STEPS);
		if (n == 0 || depth == STEPS) {
			assert(!x.lost);
			wrong = n ? "an endless loop" : "an actor sleeps that no other wakes";
			x.lost = true;
			exploring = false;
			continue;
		}
		carry_out(list[choose_step(depth, n, &exploring)]);
	}
	of_end = x.e->end(x.e);
	return wrong ? wrong : of_end;
}

/* Moves to the next path. False: there is none. */
static bool branch(void)
{
	while (x.path_len) {
		struct decision *d = &x.path[x.path_len - 1];

		if (++d->taken < d->of)
			return true;
		x.path_len--;
	}
	return false;
}

struct explore_result explore_all(struct explore *e)
{
	struct explore_result r = {0};

	x.e = e;
	x.path_len = 0;
	x.states = 0;
	x.seen = calloc(1u << STATES_LOG2, sizeof(*x.seen));
	assert(x.seen);
	for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
		x.actor[i].stack = malloc(STACK_LEN);
		assert(x.actor[i].stack);
	}
	do {
		r.executions++;
		r.wrong = execute();
	} while (!r.wrong && branch());
	r.states = x.states;
	for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
		free(x.actor[i].stack);
	free(x.seen);
	return r;
}
