/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The deadlines of a device, and the two clocks: internal.h has adv_device_clock().
 */
#ifndef ADV_RUNTIME_DEVICE_CLOCK_H
#define ADV_RUNTIME_DEVICE_CLOCK_H

#include "runtime/device/internal.h"

/* Returns the time, adv_clock_ns(), at which the device's clock will probably have the time `at`;
 * ADV_NEVER for ADV_NEVER. */
uint64_t adv_device_time_of_clock(const struct adv_device *d, uint64_t at);

/* port.c. Returns that of the link, or `engine` if that is earlier. */
uint64_t adv_device_earlier_deadline(const struct adv_device *d, uint64_t engine);

static inline uint64_t adv_device_or_link_deadline(const struct adv_device *d, uint64_t engine)
{
	return d->link->deadline ? adv_device_earlier_deadline(d, engine) : engine;
}

/* With the lock held: returns the earliest time at which adv_device_progress() has to run timers;
 * ADV_NEVER: no timer is set. */
static inline uint64_t adv_device_deadline(const struct adv_device *d)
{
	return adv_device_or_link_deadline(d, adv_engine_deadline(d->engine));
}

#endif
