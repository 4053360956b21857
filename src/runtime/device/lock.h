/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a call does before it releases the lock of a device: inline, as most calls have nothing left
 * to do. */
#ifndef ADV_RUNTIME_DEVICE_LOCK_H
#define ADV_RUNTIME_DEVICE_LOCK_H

#include "runtime/device/internal.h"

/* With the lock held: true if a call may end by releasing the lock, with nothing to send, to
 * deliver, to publish or to report to `progress`. A link with a deadline of its own is a fault
 * link, so the device is unusual. */
static inline bool adv_device_is_settled(const struct adv_device *d)
{
	uint32_t todo = adv_engine_todo(d->engine);

	return !d->unusual && !(todo & (ADV_TODO_TX | ADV_TODO_EVENT)) &&
	       !adv_progress_on_trial(&d->progress) &&
	       (!adv_progress_heeds_calls(&d->progress) ||
		adv_progress_is_covered(&d->progress, adv_engine_timers(d->engine),
					todo & ADV_TODO_ACK));
}

/* As adv_device_end_call(), if there is more to do than to release the lock. */
void adv_device_report_and_release(struct adv_device *d);

/* With the lock held: ends a call that leaves nothing to send, and releases the lock. */
static inline void adv_device_end_call(struct adv_device *d)
{
	if (adv_device_is_settled(d))
		adv_lock_release(&d->lock);
	else
		adv_device_report_and_release(d);
}

static inline bool adv_device_may_send(const struct adv_device *d)
{
	return !d->link_full && adv_engine_todo(d->engine) & ADV_TODO_TX;
}

/* Sends a batch. False: the engine had no packet. */
static inline bool adv_device_send_batch(struct adv_device *d, uint64_t now)
{
	if (adv_engine_tx(d->engine, now, &d->batch) == 0)
		return false;
	adv_device_note_activity(d, 1);
	d->link_full = !d->link->ops->send(d->link, &d->batch);
	return true;
}

/* As adv_device_send_packets(), for the batches after the first. */
void adv_device_send_further_batches(struct adv_device *d, uint64_t now);

/* As adv_device_send_packets(), if the device is not unusual and the engine may have packets. */
static inline void adv_device_send_usually(struct adv_device *d, uint64_t now)
{
	if (adv_device_send_batch(d, now) && adv_device_may_send(d))
		adv_device_send_further_batches(d, now);
}

/* With the lock held: sends packets of the engine, at least one batch. 50 us after `now`, when the
 * call began, it sets d->cut and leaves the rest to the next call or to the receiving thread. */
static inline void adv_device_send_packets(struct adv_device *d, uint64_t now)
{
	if (d->pumped)
		return;
	d->cut = false;
	if (adv_device_may_send(d))
		adv_device_send_usually(d, now);
}

/* Sends held requests. */
void adv_device_end_hold(struct adv_device *d, uint64_t now);

/* Blocks until an answer of adverbd was handled, or until the time `until`. Call it with
 * the lock held; it releases the lock while it blocks. False: `until` has passed. */
bool adv_device_wait_for_answer(struct adv_device *d, uint64_t until);

#endif
