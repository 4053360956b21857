/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connections of an iWARP device (streams.c). */
#ifndef ADV_RUNTIME_DEVICE_STREAMS_H
#define ADV_RUNTIME_DEVICE_STREAMS_H

#include "runtime/device/internal.h"
#include "nic/engine/resources.h"

struct device_stream;

/* Makes the device an iWARP device, before its links are stacked. 0 or errno. */
int adv_device_streams_start(struct adv_device *d);
const struct adv_protocol *adv_device_streams_protocol(void); /* of such a device's queue pairs */
/* Returns the topmost link: `below`, or of an iWARP device, the link of its connections. */
struct adv_link *adv_device_streams_wrap(struct adv_device *d, struct adv_link *below);
/* Adds to the descriptions of queue pairs of this shard what their connections know. */
void adv_device_streams_describe(const struct adv_device *d, struct adv_object *out,
				 unsigned count);
/* Adds the addresses and the state of the TCP connection (stream_object.c). */
void adv_device_stream_object(struct device_stream *s, struct adv_object_qp *out);
/* After the end of a fault plan: nothing waits any more. */
void adv_device_streams_go_on(struct adv_device *d);
void adv_device_streams_abandon(struct adv_device *d); /* in a child of fork(): closes its copies */

#endif
