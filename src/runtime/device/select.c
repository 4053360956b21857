/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects the shard of a thread. Opens one more shard if the threads need one. */
#include "base/log.h"
#include "runtime/device/shared.h"

/* Returns the number of the calling thread: threads are counted when they first call this. */
static uint32_t thread_number(void)
{
	static _Thread_local uint32_t number;
	static atomic_uint numbers;

	if (number == 0)
		number = atomic_fetch_add(&numbers, 1) + 1;
	return number;
}

static unsigned threads_of(const struct device_shards *s, unsigned shard)
{
	unsigned count = 0;

	for (unsigned i = 0; i < s->threads; i++)
		count += s->thread[i].shard == shard;
	return count;
}

static unsigned shard_with_fewest_threads(const struct device_shards *s)
{
	unsigned best = 0;

	for (unsigned i = 1; i < atomic_load(&s->ready); i++)
		if (threads_of(s, i) < threads_of(s, best))
			best = i;
	return best;
}

/* True if the device has a fault plan, whose rules count the packets of all threads. */
static bool is_faulty(struct adv_device *d)
{
	bool faulty;

	adv_lock_take(&d->lock);
	faulty = d->faulty || d->gone;
	adv_lock_release(&d->lock);
	return faulty;
}

/* Selects the shard of a thread that has none. With shards.lock held. */
static unsigned select_shard(struct adv_device *d)
{
	struct device_shards *s = &d->shards;
	unsigned shard = shard_with_fewest_threads(s), ready = atomic_load(&s->ready);

	if (threads_of(s, shard) == 0 || ready >= atomic_load(&s->most) || is_faulty(d) ||
	    !adv_device_shared_has_room())
		return shard;
	if (!adv_device_open_shard(d)) {
		adv_info("slot %u: no shard more than %u", d->slot.number, ready);
		atomic_store(&s->most, ready);
		return shard;
	}
	atomic_store(&s->ready, ready + 1);
	return ready;
}

/* With shards.lock held. */
static unsigned shard_of_thread(struct adv_device *d, uint32_t number)
{
	struct device_shards *s = &d->shards;
	unsigned shard;

	for (unsigned i = 0; i < s->threads; i++)
		if (s->thread[i].number == number)
			return s->thread[i].shard;
	if (s->threads == DEVICE_THREADS_MAX)
		return number % atomic_load(&s->ready);
	shard = select_shard(d);
	s->thread[s->threads].number = number;
	s->thread[s->threads++].shard = shard;
	return shard;
}

struct adv_device *adv_device_of_thread(struct adv_device *d)
{
	struct adv_device *shard;

	if (atomic_load(&d->shards.most) == 1 || adv_device_is_foreign(d))
		return d;
	pthread_mutex_lock(&d->shards.lock);
	shard = d->shards.shard[shard_of_thread(d, thread_number())];
	pthread_mutex_unlock(&d->shards.lock);
	return shard;
}
