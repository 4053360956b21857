/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shards of a device; shards.c. */
#ifndef ADV_RUNTIME_DEVICE_SHARDS_H
#define ADV_RUNTIME_DEVICE_SHARDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "nic/engine/objects.h"

#define ADV_DEVICE_SHARDS ADV_ENGINES_SHARING /* most shards of a device */

struct adv_device;

#define DEVICE_THREADS_MAX 64

/*
 * The shards of a device. Threads that use queue pairs and CQs of their own would meet on the lock
 * of one device. So a device has up to ADV_DEVICE_SHARDS shards, each with an engine, a lock, a
 * slot, sockets and a background thread of its own. The first shard is the device itself.
 */
struct device_shards {
	/* Held while a shard is opened: acquired before the locks of devices. Protects `ready`,
	 * `most`, `threads` and `thread`. */
	pthread_mutex_t lock;
	struct adv_device *shard[ADV_DEVICE_SHARDS];
	atomic_uint count; /* shards whose engines exist; changes under the first shard's lock */
	atomic_uint ready; /* shards that threads can use; never decreases */
	atomic_uint most;  /* most shards; 1: no thread gets a shard of its own */
	unsigned threads;
	struct {
		pid_t tid; /* of a thread that has created a CQ */
		unsigned shard;
	} thread[DEVICE_THREADS_MAX];
};

/* Initializes the shards of a new device: it has one, itself. */
void adv_device_shards_init(struct adv_device *d);
/* Like adv_device_lock_all() and _unlock_all(), but outside of a call: sends and reports nothing.
 */
void adv_device_shards_lock(struct adv_device *d);
void adv_device_shards_unlock(struct adv_device *d);
/* Adds a shard whose engine now exists: adv_device_lock_all() includes it from now on. Call it with
 * all locks. */
void adv_device_shards_add(struct adv_device *d, struct adv_device *shard);
/* Undoes adv_device_shards_add() for the shard that was added last. */
void adv_device_shards_drop(struct adv_device *d);

#endif
