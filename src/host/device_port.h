/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_HOST_DEVICE_PORT_H
#define ADV_HOST_DEVICE_PORT_H

#include "host/device_internal.h"
#include "link/port.h"

/* Reports an ADVERB_PKEYS of this program that has no effect, as adverbd runs already. */
void adv_device_check_pkeys(const struct adv_device *d);

/* On an emulated host, sets d->port and connects it to the fabric; elsewhere does nothing. 0, or
 * errno with a line in why. */
int adv_device_port_start(struct adv_device *d, char *why, size_t why_len);

/* On an emulated host, converts the parameters of congestion control, which are in the fabric's
 * time, to those of the clock: times become longer by the speed factor, and rates lower. */
void adv_device_port_scale(const struct adv_device *d, struct adv_cc_config *cc);

/* Returns the speed of the emulated cable, or of the fastest interface that has a GID, in Mb/s; 0:
 * no speed is known. */
uint32_t adv_device_line_rate(const struct adv_device *d, const struct adv_gid_table *t);

#endif
