/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The port of a device on an emulated host (docs/emulation.md). */
#include "host/device_port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "wire/slot.h"

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

static uint32_t scale(const struct adv_cc_parameter *p, uint32_t value, uint64_t by, uint64_t over)
{
	uint64_t scaled = value * by / over;

	if (!value) /* "no limit", and the like */
		return 0;
	return scaled < p->min ? p->min : scaled > p->max ? p->max : (uint32_t)scaled;
}

void adv_device_port_scale(const struct adv_device *d, struct adv_cc_config *cc)
{
	const struct adv_port_place *place = d->port ? adv_port_place_of(d->port) : NULL;
	const struct adv_cc_parameter *p;

	for (unsigned i = 0; place && (p = adv_cc_parameter(i)); i++) {
		uint32_t *value = (uint32_t *)(void *)((char *)&cc->params + p->offset);

		if (strcmp(p->unit, "us") == 0)
			*value = scale(p, *value, place->denominator, place->numerator);
		else if (strcmp(p->unit, "Mb/s") == 0)
			*value = scale(p, *value, place->numerator, place->denominator);
	}
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
