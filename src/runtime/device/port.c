/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The port of a device on an emulated host (docs/emulation.md). */
#include "runtime/device/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "runtime/device/clock.h"
#include "nic/wire/slot.h"

int adv_device_port_start(struct adv_device *d, char *why, size_t why_len)
{
	struct adv_link *inner = d->shm ? d->shm : d->udp;

	d->port = adv_port_create(inner, adv_qpn_prefix(d->slot.qpn_first),
				  d->slot.qpn_count >> ADV_PREFIX_SHIFT);
	if (d->port) {
		d->bell_fd = d->port->bell_fd;
		adv_info("slot %u: a port of host h%u of an emulated fabric", d->slot.number,
			 adv_port_place_of(d->port)->host);
		return 0;
	}
	if (errno == ECONNREFUSED)
		return 0;
	snprintf(why, why_len, "the emulator of the fabric refuses a port: %s", strerror(errno));
	return errno;
}

void adv_device_port_time(const struct adv_device *d, struct adv_engine_config *config)
{
	const struct adv_port_place *place = d->port ? adv_port_place_of(d->port) : NULL;

	if (place)
		config->time = (struct adv_time_factor){place->numerator, place->denominator};
}

uint64_t adv_device_time(struct adv_device *d)
{
	return adv_device_clock(d);
}

uint64_t adv_device_time_of_clock(const struct adv_device *d, uint64_t at)
{
	uint64_t clock, now;

	if (!d->port || at == ADV_NEVER)
		return at;
	clock = adv_clock_ns();
	now = adv_port_now(d->port, clock);
	return at > now ? clock + (at - now) : clock;
}

uint64_t adv_device_earlier_deadline(const struct adv_device *d, uint64_t engine)
{
	uint64_t at = d->link->deadline, clock;

	/* A fault link has the clock of the machine. */
	if (d->port) {
		clock = adv_clock_ns();
		at = adv_port_now(d->port, clock) + (at > clock ? at - clock : 0);
	}
	return at < engine ? at : engine;
}

uint32_t adv_device_line_rate(const struct adv_device *d, const struct adv_gid_table *t)
{
	uint32_t fastest = 0;

	if (d->port)
		return adv_port_place_of(d->port)->speed_mbps;
	for (unsigned i = 0; i < t->count; i++)
		if (t->entry[i].speed_mbps > fastest)
			fastest = t->entry[i].speed_mbps;
	return fastest;
}
