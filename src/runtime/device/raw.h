/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RoCE v1 of a device: its link, and the MAC addresses of its peers. */
#ifndef ADV_RUNTIME_DEVICE_RAW_H
#define ADV_RUNTIME_DEVICE_RAW_H

#include <infiniband/verbs.h>

#include "runtime/device/internal.h"
#include "runtime/device/neighbour.h"
#include "runtime/link/raw.h"

/* Wraps d->shm or d->udp, if the process uses RoCE v1 and d->port does not carry it. Needs both,
 * d->port and the slot. 0, or errno with a line in why[]. */
int adv_device_raw_start(struct adv_device *d, char *why, size_t why_len);

/* Joins or leaves a group on the interface, also if frames of it cannot arrive. 0 or errno. */
int adv_device_raw_member(const struct adv_device *d, const struct adv_gid *group, uint32_t ifindex,
			  bool join);

#endif
