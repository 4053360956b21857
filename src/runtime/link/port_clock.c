/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/port_clock.h"

void adv_port_time_set(struct adv_port_time *t, uint64_t given_up, uint64_t promised)
{
	uint64_t limit = promised == UINT64_MAX ? UINT64_MAX : promised - given_up;

	/* A reader that finds the new promise also finds the new sum. */
	atomic_store_explicit(&t->given_up, given_up, memory_order_relaxed);
	atomic_store_explicit(&t->promised, limit, memory_order_release);
}

/* Returns how far the clock, without what was given up, is past the promise; 0: it is not. *at: the
 * promise, or that clock if it is not past it. */
static uint64_t past_promise(const struct adv_port_clock *c, uint64_t clock, uint64_t *at)
{
	uint64_t promised = atomic_load_explicit(&c->time->promised, memory_order_acquire);
	uint64_t given_up = atomic_load_explicit(&c->time->given_up, memory_order_relaxed);

	*at = clock > given_up ? clock - given_up : 0;
	if (*at <= promised)
		return 0;
	clock = *at - promised;
	*at = promised;
	return clock;
}

/* The clock does not go back when the emulator gives up time that the process has counted already.
 */
static uint64_t raise_last(struct adv_port_clock *c, uint64_t now)
{
	uint64_t last = atomic_load_explicit(&c->last, memory_order_relaxed);

	while (last < now &&
	       !atomic_compare_exchange_weak_explicit(&c->last, &last, now, memory_order_relaxed,
						      memory_order_relaxed))
		;
	return last < now ? now : last;
}

uint64_t adv_port_clock_at(struct adv_port_clock *c, uint64_t clock)
{
	uint64_t ended = atomic_load_explicit(&c->ended, memory_order_relaxed), now, past;

	if (ended)
		return raise_last(c, clock - (ended - 1));
	past = past_promise(c, clock, &now);
	return raise_last(c, now + past / ADV_PORT_CLOCK_CREEP);
}

bool adv_port_clock_is_late(const struct adv_port_clock *c, uint64_t clock, uint64_t ns)
{
	uint64_t at;

	return !atomic_load_explicit(&c->ended, memory_order_relaxed) &&
	       past_promise(c, clock, &at) >= ns;
}

bool adv_port_clock_stood(struct adv_port_clock *c, uint64_t clock, uint64_t *behind)
{
	uint64_t now = adv_port_clock_at(c, clock);

	/* Another thread may have read a later time of the clock. */
	if (now >= clock || clock - now < *behind + ADV_PORT_CLOCK_STOOD)
		return false;
	*behind = clock - now;
	return true;
}

void adv_port_clock_end(struct adv_port_clock *c, uint64_t clock)
{
	uint64_t last = adv_port_clock_at(c, clock), none = 0;

	atomic_compare_exchange_strong_explicit(&c->ended, &none,
						1 + (clock > last ? clock - last : 0),
						memory_order_relaxed, memory_order_relaxed);
}
