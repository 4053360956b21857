/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/observe/port_reading.h"

#include "base/clock.h"

#define TRIES	 8
#define QUICK_NS 1000000u

int adv_port_reading_take(struct adv_control *c, struct adv_port_reading *r)
{
	uint64_t quickest = UINT64_MAX;

	for (int i = 0; i < TRIES && quickest > QUICK_NS; i++) {
		uint64_t begin = adv_clock_ns(), took;
		struct adv_counters counters;
		int err = adv_control_counters(c, NULL, &counters);

		if (err)
			return err;
		took = adv_clock_ns() - begin;
		if (took >= quickest)
			continue;
		quickest = took;
		r->at = begin + took / 2;
		r->counters = counters;
	}
	return 0;
}
