/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shards of a device: their list, and the locks of all of them. select.c opens them. */
#include "runtime/device/internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"

#define SHARDS_VARIABLE "ADVERB_SHARDS" /* most shards of a device */

/* Returns the most shards of a device: one for each processor that the process may use, unless the
 * environment has a number. */
static unsigned most_shards(void)
{
	const char *text = getenv(SHARDS_VARIABLE);
	uint64_t most = 0;
	cpu_set_t mine;

	if (text && *text && !adv_number_read(text, strlen(text), ADV_DEVICE_SHARDS, &most))
		adv_warn("%s=%s is ignored: it is no number from 1 to %d", SHARDS_VARIABLE, text,
			 ADV_DEVICE_SHARDS);
	if (most == 0)
		most = sched_getaffinity(0, sizeof(mine), &mine) ? 1 : (unsigned)CPU_COUNT(&mine);
	return most < ADV_DEVICE_SHARDS ? (unsigned)most : ADV_DEVICE_SHARDS;
}

void adv_device_shards_init(struct adv_device *d)
{
	d->first = d;
	pthread_mutex_init(&d->shards.lock, NULL);
	d->shards.shard[0] = d;
	atomic_init(&d->shards.count, 1);
	atomic_init(&d->shards.ready, 1);
	atomic_init(&d->shards.most, most_shards());
}

struct adv_device *adv_device_shard(struct adv_device *d, unsigned index)
{
	return index < atomic_load(&d->shards.ready) ? d->shards.shard[index] : NULL;
}

struct adv_device *adv_device_none(void)
{
	static struct adv_device none = {.front.foreign = true};

	return &none;
}

/* ---- all locks ---- */

/* With the first lock held: acquires the others. */
static void take_further_locks(struct adv_device *d)
{
	for (unsigned i = 1; i < atomic_load(&d->shards.count); i++)
		adv_lock_take(&d->shards.shard[i]->lock);
}

static void release_further_locks(struct adv_device *d)
{
	for (unsigned i = atomic_load(&d->shards.count); i-- > 1;)
		adv_lock_release(&d->shards.shard[i]->lock);
}

struct adv_engine *adv_device_lock_all(struct adv_device *d)
{
	struct adv_engine *e = adv_device_lock(d);

	take_further_locks(d);
	return e;
}

void adv_device_unlock_all(struct adv_device *d)
{
	release_further_locks(d);
	adv_device_unlock(d);
}

void adv_device_shards_lock(struct adv_device *d)
{
	adv_lock_take(&d->lock);
	take_further_locks(d);
}

void adv_device_shards_unlock(struct adv_device *d)
{
	release_further_locks(d);
	adv_lock_release(&d->lock);
}

void adv_device_shards_add(struct adv_device *d, struct adv_device *shard)
{
	unsigned count = atomic_load(&d->shards.count);

	adv_lock_take(&shard->lock);
	d->shards.shard[count] = shard;
	atomic_store(&d->shards.count, count + 1);
}

void adv_device_shards_drop(struct adv_device *d)
{
	unsigned last = atomic_load(&d->shards.count) - 1;

	atomic_store(&d->shards.count, last);
	adv_lock_release(&d->shards.shard[last]->lock);
	d->shards.shard[last] = NULL;
}
