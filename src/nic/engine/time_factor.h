/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The speed of a network's time. An emulated fabric (src/fabric/emulator) may be slower than the
 * clock: network time = clock time * numerator / denominator. Timeouts of queue pairs and
 * congestion control are in network time. An engine's timers and pacers follow the clock.
 */
#ifndef ADV_NIC_ENGINE_TIME_FACTOR_H
#define ADV_NIC_ENGINE_TIME_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_TIME_FACTOR_MOST 1000000u

/* Both are from 1 to ADV_TIME_FACTOR_MOST. */
struct adv_time_factor {
	uint32_t numerator;
	uint32_t denominator;
};

static inline bool adv_time_factor_is_one(const struct adv_time_factor *f)
{
	return f->numerator == f->denominator;
}

/* Returns a * b / c, rounded down; UINT64_MAX if that is too large. */
static inline uint64_t adv_time_factor_scale(uint64_t a, uint32_t b, uint32_t c)
{
	unsigned __int128 scaled = (unsigned __int128)a * b / c;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* Returns the network time, ns, of a time of the clock, or the same of a duration. */
static inline uint64_t adv_time_of_network(const struct adv_time_factor *f, uint64_t clock)
{
	if (adv_time_factor_is_one(f))
		return clock;
	return adv_time_factor_scale(clock, f->numerator, f->denominator);
}

/* Returns the first time of the clock, ns, at which the network time is `network`; UINT64_MAX for
 * UINT64_MAX. */
static inline uint64_t adv_time_of_clock(const struct adv_time_factor *f, uint64_t network)
{
	uint64_t clock;

	if (adv_time_factor_is_one(f) || network == UINT64_MAX)
		return network;
	clock = adv_time_factor_scale(network, f->denominator, f->numerator);
	return clock + (adv_time_of_network(f, clock) < network);
}

/* Returns a rate of the network as a rate by the clock, at least 1; 0 for 0. */
static inline uint64_t adv_rate_of_clock(const struct adv_time_factor *f, uint64_t network)
{
	uint64_t rate;

	if (adv_time_factor_is_one(f) || !network)
		return network;
	rate = adv_time_factor_scale(network, f->numerator, f->denominator);
	return rate ? rate : 1;
}

/* Returns a rate by the clock as a rate of the network. */
static inline uint64_t adv_rate_of_network(const struct adv_time_factor *f, uint64_t clock)
{
	if (adv_time_factor_is_one(f))
		return clock;
	return adv_time_factor_scale(clock, f->denominator, f->numerator);
}

#endif
