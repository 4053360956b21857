/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_RUNTIME_DEVICE_PORT_H
#define ADV_RUNTIME_DEVICE_PORT_H

#include "runtime/device/internal.h"
#include "runtime/link/port.h"

/* On an emulated host, sets d->port and connects it to the fabric; elsewhere does nothing. 0, or
 * errno with a line in why. */
int adv_device_port_start(struct adv_device *d, char *why, size_t why_len);

/* On an emulated host, gives the engine the fabric's time; elsewhere does nothing. */
void adv_device_port_time(const struct adv_device *d, struct adv_engine_config *config);

/* Returns the speed of the emulated cable, or of the fastest interface that has a GID, in Mb/s; 0:
 * no speed is known. */
uint32_t adv_device_line_rate(const struct adv_device *d, const struct adv_gid_table *t);

#endif
