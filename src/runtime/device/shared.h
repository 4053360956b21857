/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of this process's devices. */
#ifndef ADV_RUNTIME_DEVICE_SHARED_H
#define ADV_RUNTIME_DEVICE_SHARED_H

#include "runtime/device/internal.h"

/* If the process has ADV_DEVICES_APART devices with these callbacks, adds the user to that device
 * of the rail that has the fewest users. NULL: there are fewer, or none is of the rail. */
struct adv_device *adv_device_shared_join(const struct adv_device_callbacks *callbacks,
					  const struct adv_rail *rail, struct device_user *u);
/* True if the process has fewer than ADV_DEVICES_APART devices and shards. */
bool adv_device_shared_has_room(void);
/* Delays forks, until adv_forks_allow(): the list has no device that is being opened or closed. */
void adv_device_shared_delay_forks(void);
/* Adds a new device, which already has its first user, or a new shard to the list. */
void adv_device_shared_add(struct adv_device *d);
/* Removes a user from the device. If it was the last user, removes the device and its shards from
 * the list and returns true. */
bool adv_device_shared_leave(struct adv_device *d, void *user);
/* open.c. Opens one more shard of the device; false if it cannot be opened. Call it
 * with shards.lock held. */
bool adv_device_open_shard(struct adv_device *first);
/* Adds a user to d->users. Call it with all locks held, or before other threads know the device. */
void adv_device_user_add(struct adv_device *d, struct device_user *u);

#endif
