/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of completion queues. A queue pair completes into a CQ of its own engine. If a program
 * creates a queue pair with CQs of two shards of the device, or with an SRQ and a CQ of two shards,
 * then one CQ gets a part in the queue pair's shard. Each part is a CQ of an engine, with the whole
 * capacity, under the lock of its shard. A poll takes completions from all parts. The completions
 * of one work queue are in one part, so they keep their order.
 *
 * Parts are only added until the CQ is destroyed. `context->mutex` protects the addition.
 */
#include <stdlib.h>

#include "base/ticks.h"
#include "abi/verbs/cq_part.h"

struct adv_ibv_cq_more {
	atomic_uint count;
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING - 1];
	atomic_bool armed; /* the program waits for an event, which no part has raised yet */
	atomic_uint turn;  /* index of the part to poll first; free running */
};

unsigned adv_ibv_cq_parts(const struct adv_ibv_cq *cq, struct adv_ibv_cq_part *part)
{
	const struct adv_ibv_cq_more *more = atomic_load(&cq->more);
	unsigned further = more ? atomic_load(&more->count) : 0;

	part[0] = cq->first;
	for (unsigned i = 0; i < further; i++)
		part[i + 1] = more->part[i];
	return further + 1;
}

/* ---- creation and destruction ---- */

/* Arms a new part if the CQ is armed. A call that arms the CQ from now on arms the part, too. */
static void arm_new_part(const struct adv_ibv_cq *cq, const struct adv_ibv_cq_part *part)
{
	bool solicited_only, armed;

	adv_device_lock(cq->first.device);
	armed = adv_cq_is_armed(cq->first.cq, &solicited_only);
	adv_device_unlock(cq->first.device);
	if (!armed)
		return;
	adv_device_lock(part->device);
	adv_cq_arm(part->cq, solicited_only);
	adv_device_app_sleeps(part->device);
	adv_device_unlock(part->device);
}

/* With context->mutex held: adds a part. NULL with errno. */
static struct adv_cq *add_part(struct adv_ibv_cq *cq, struct adv_device *device)
{
	struct adv_ibv_cq_more *more = atomic_load(&cq->more);
	struct adv_ibv_cq_part part = {.device = device};
	struct adv_engine *e;
	unsigned count;

	if (!more)
		more = calloc(1, sizeof(*more));
	if (!more)
		return NULL;
	e = adv_device_lock(device);
	adv_engine_set_owner(e, adv_ibv_context_of(cq->ibv.context));
	part.cq = adv_cq_create(e, (unsigned)cq->ibv.cqe, cq);
	if (part.cq)
		(void)adv_cq_moderate(part.cq, cq->moderation.cq_count,
				      cq->moderation.cq_period * 1000ull);
	adv_device_unlock(device);
	if (!part.cq) {
		if (!atomic_load(&cq->more))
			free(more);
		errno = ENOMEM;
		return NULL;
	}
	count = atomic_load(&more->count);
	more->part[count] = part;
	atomic_store(&more->count, count + 1);
	if (!atomic_load(&cq->more)) {
		atomic_store(&more->armed, true);
		atomic_store(&cq->more, more);
		atomic_store(&cq->polled, adv_device_none());
	}
	arm_new_part(cq, &part);
	adv_debug("cq %u: has %u parts now", cq->ibv.handle, count + 2);
	return part.cq;
}

struct adv_cq *adv_ibv_cq_part_in(struct adv_ibv_cq *cq, struct adv_device *device)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	struct adv_cq *found = NULL;

	if (device == cq->first.device)
		return cq->first.cq;
	if (adv_device_is_foreign(device)) {
		adv_ibv_refuse_foreign();
		return NULL;
	}
	pthread_mutex_lock(&cq->ibv.context->mutex);
	for (unsigned i = adv_ibv_cq_parts(cq, part); i-- > 0 && !found;)
		found = part[i].device == device ? part[i].cq : NULL;
	if (!found)
		found = add_part(cq, device);
	pthread_mutex_unlock(&cq->ibv.context->mutex);
	return found;
}

static bool is_part_in_use(const struct adv_ibv_cq_part *part)
{
	bool in_use;

	adv_device_lock(part->device);
	in_use = adv_cq_in_use(part->cq);
	adv_device_unlock(part->device);
	return in_use;
}

int adv_ibv_cq_drop_parts(struct adv_ibv_cq *cq)
{
	struct adv_ibv_cq_more *more = atomic_load(&cq->more);
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	unsigned parts = adv_ibv_cq_parts(cq, part);
	int err = 0;

	if (parts == 1)
		return 0;
	for (unsigned i = 0; i < parts; i++)
		if (is_part_in_use(&part[i]))
			return adv_reason(EBUSY, "queue pairs or SRQs use it: destroy them first");
	for (unsigned i = parts; i-- > 1 && !err;) {
		adv_device_lock(part[i].device);
		err = adv_cq_destroy(part[i].cq);
		if (!err)
			atomic_store(&more->count, i - 1);
		adv_device_unlock(part[i].device);
	}
	return err;
}

void adv_ibv_cq_free_parts(struct adv_ibv_cq *cq)
{
	free(atomic_load(&cq->more));
}

/* ---- polling ---- */

unsigned adv_ibv_cq_turn(struct adv_ibv_cq *cq)
{
	return atomic_fetch_add(&atomic_load(&cq->more)->turn, 1);
}

/* Polls a part. Receives first if the part is empty. As adv_cq_poll(). */
static int poll_part(const struct adv_ibv_cq_part *part, int n, struct ibv_wc *wc)
{
	int got;

	adv_device_lock(part->device);
	if (!adv_cq_empty(part->cq) || n <= 0)
		adv_device_polled(part->device);
	else
		(void)adv_device_poll(part->device, part->cq, (unsigned)n);
	got = adv_cq_poll(part->cq, n, wc);
	adv_device_unlock(part->device);
	return got;
}

static int poll_once(struct adv_ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	unsigned parts = adv_ibv_cq_parts(cq, part), turn = adv_ibv_cq_turn(cq);
	bool overrun = false;
	int total = 0;

	for (unsigned i = 0; i < parts && total < n; i++) {
		int got = poll_part(&part[(turn + i) % parts], n - total, wc + total);

		overrun |= got < 0;
		total += got > 0 ? got : 0;
	}
	return total == 0 && overrun ? -1 : total;
}

int adv_ibv_cq_poll_parts(struct adv_ibv_cq *cq, int n, struct ibv_wc *wc)
{
	unsigned tries = 0;
	uint64_t began;
	int got;

	if (adv_device_is_foreign(cq->first.device)) {
		adv_ibv_refuse_foreign();
		return adv_ibv_refuse_minus_one(ADV_EFOREIGN, "ibv_poll_cq(cq %u)", cq->ibv.handle);
	}
	do { /* repeats for the reason in poll_again() in runtime/device/poll.c */
		began = adv_ticks();
		got = poll_once(cq, n, wc);
	} while (got == 0 && adv_held_up(began) && ++tries < ADV_POLL_TRIES);
	return got;
}

/* ---- events ---- */

void adv_ibv_cq_arm_parts(struct adv_ibv_cq *cq, bool solicited_only)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	unsigned parts = adv_ibv_cq_parts(cq, part);

	atomic_store(&atomic_load(&cq->more)->armed, true);
	for (unsigned i = 0; i < parts; i++) {
		adv_device_lock(part[i].device);
		adv_cq_arm(part[i].cq, solicited_only);
		adv_device_app_sleeps(part[i].device);
		adv_device_unlock(part[i].device);
	}
}

bool adv_ibv_cq_takes_event(struct adv_ibv_cq *cq)
{
	struct adv_ibv_cq_more *more = atomic_load(&cq->more);

	return !more || atomic_exchange(&more->armed, false);
}
