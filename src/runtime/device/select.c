/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects the shard of a thread. Opens one more shard if the threads need one. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/device/shared.h"

static bool has_ended(pid_t tid)
{
	int err = errno;
	bool ended = syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;

	errno = err;
	return ended;
}

/* Forgets threads that have ended: a program may have a thread for each connection. It keeps them
 * until the table is full, as what they have created may live on in their shards. A thread with the
 * id of one that has ended takes over its shard. */
static void forget_ended_threads(struct device_shards *s)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->threads; i++)
		if (!has_ended(s->thread[i].tid))
			s->thread[kept++] = s->thread[i];
	s->threads = kept;
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
static unsigned shard_of_thread(struct adv_device *d, pid_t tid)
{
	struct device_shards *s = &d->shards;
	unsigned shard;

	for (unsigned i = 0; i < s->threads; i++)
		if (s->thread[i].tid == tid)
			return s->thread[i].shard;
	if (s->threads == DEVICE_THREADS_MAX)
		forget_ended_threads(s);
	if (s->threads == DEVICE_THREADS_MAX)
		return (unsigned)tid % atomic_load(&s->ready);
	shard = select_shard(d);
	s->thread[s->threads].tid = tid;
	s->thread[s->threads++].shard = shard;
	return shard;
}

struct adv_device *adv_device_of_thread(struct adv_device *d)
{
	struct adv_device *shard;

	if (atomic_load(&d->shards.most) == 1 || adv_device_is_foreign(d))
		return d;
	pthread_mutex_lock(&d->shards.lock);
	shard = d->shards.shard[shard_of_thread(d, gettid())];
	pthread_mutex_unlock(&d->shards.lock);
	return shard;
}
