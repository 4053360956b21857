/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_ULP_ENDPOINT_INTERNAL_H
#define ADV_ULP_ENDPOINT_INTERNAL_H

#include "ulp/endpoint.h"

/* Handles the events of a device's completion queues that have arrived. */
void adv_device_events(struct adv_device *d);

#endif
