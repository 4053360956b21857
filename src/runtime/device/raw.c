/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/device/raw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "runtime/identity/roce.h"

int adv_device_raw_start(struct adv_device *d, char *why, size_t why_len)
{
	int err;

	if (adv_roce() == ADV_ROCE_V2 || d->streams)
		return 0;
	if (adv_roce() == ADV_ROCE_UNKNOWN) {
		snprintf(why, why_len, ADV_ROCE_VARIABLE ": '%s' is none of " ADV_ROCE_NAMES,
			 getenv(ADV_ROCE_VARIABLE));
		return EINVAL;
	}
	d->v1 = true;
	if (d->port)
		return 0;
	d->raw = adv_raw_create(d->shm ? d->shm : d->udp, d->slot.qpn_first, d->slot.qpn_count);
	if (!d->raw) {
		err = errno;
		snprintf(why, why_len, "RoCE v1 needs a packet socket%s: %s",
			 err == EPERM ? ", and this process lacks CAP_NET_RAW" : "", strerror(err));
		return err;
	}
	d->receive_fd = d->raw->receive_fd;
	return 0;
}

int adv_device_raw_member(const struct adv_device *d, const struct adv_gid *group, uint32_t ifindex,
			  bool join)
{
	return d->raw ? adv_raw_member(d->raw, group, ifindex, join) : 0;
}
