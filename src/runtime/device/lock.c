/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lock of a device, and what a call does before it releases the lock: it sends and reports. */
#include "runtime/device/lock.h"

#include "runtime/device/clock.h"

#define PUMP_NS	   50000 /* a call begins no further batch this long after its start */
#define ACK_ROUNDS 16	 /* most rounds of adv_device_send_acks() */

/* ---- sending ---- */

/* True if a call that began at `since` must begin no further batch. If the call is a poll, also
 * sets the time of the last poll to the present. */
static __attribute__((noinline)) bool is_long_enough(struct adv_device *d, uint64_t since)
{
	uint64_t now = adv_device_clock(d);

	if (now - since < PUMP_NS)
		return false;
	if (d->link->busy_polled)
		adv_progress_polled(&d->progress, now);
	return true;
}

void adv_device_send_further_batches(struct adv_device *d, uint64_t now)
{
	while (adv_device_may_send(d)) {
		if (is_long_enough(d, now)) {
			d->cut = d->pumped = true;
			return;
		}
		if (!adv_device_send_batch(d, now))
			return;
	}
}

void adv_device_end_hold(struct adv_device *d, uint64_t now)
{
	if (d->held)
		adv_progress_hold_ended(&d->progress.hold, now - d->held_since);
	d->held = 0;
	adv_device_send_packets(d, now);
}

void adv_device_polled(struct adv_device *d)
{
	adv_progress_found(&d->progress);
}

struct adv_engine *adv_device_lock(struct adv_device *d)
{
	adv_lock_take(&d->lock);
	d->now = 0;
	d->pumped = false;
	return d->engine;
}

uint64_t adv_device_now(struct adv_device *d)
{
	if (!d->now)
		d->now = adv_device_clock(d);
	return d->now;
}

/* Reports the end of a call to progress.c, with the state that the call leaves. */
static void report_rest(struct adv_device *d, uint64_t deadline, bool acks_wait)
{
	const struct adv_progress_rest rest = {
		.deadline = deadline,
		.cut_at = d->cut ? adv_device_clock(d) : 0,
		.full = d->link_full,
		.full_unseen = d->link_full && d->bg.send_fd < 0,
		.acks_wait = acks_wait,
	};

	adv_device_perform(d, adv_progress_call_ends(&d->progress, &rest));
}

/* Returns the earliest deadline worth waking a sleeping thread for: like adv_device_deadline(), but
 * without delayed ACKs. */
static inline uint64_t firm_deadline(const struct adv_device *d)
{
	return adv_device_or_link_deadline(d, adv_engine_firm_deadline(d->engine));
}

static void end_call(struct adv_device *d)
{
	uint64_t deadline = firm_deadline(d);
	bool acks_wait = adv_engine_acks_wait(d->engine);

	if (d->cut || d->link_full || !adv_progress_is_covered(&d->progress, deadline, acks_wait))
		report_rest(d, deadline, acks_wait);
}

void adv_device_report_and_release(struct adv_device *d)
{
	if (d->cut || adv_progress_heeds_calls(&d->progress))
		end_call(d);
	adv_device_release(d);
}

void adv_device_unlock(struct adv_device *d)
{
	bool posted = !d->pumped && adv_engine_todo(d->engine) & ADV_TODO_TX;

	if (posted) {
		d->held = 0;
		adv_device_send_packets(d, adv_device_now(d));
	}
	if (adv_progress_on_trial(&d->progress))
		adv_progress_judge(&d->progress, adv_device_now(d), posted);
	if (posted)
		adv_progress_posted(&d->progress, d->now);
	adv_device_end_call(d);
}

bool adv_device_wait_for_answer(struct adv_device *d, uint64_t until)
{
	uint32_t seen = adv_change_count(&d->answers);
	uint64_t now = adv_clock_ns();

	if (now >= until)
		return false;
	adv_device_release(d);
	adv_change_wait(&d->answers, seen, until - now);
	adv_device_lock(d);
	return true;
}

void adv_device_app_sleeps(struct adv_device *d)
{
	adv_device_perform(d, adv_progress_arms(&d->progress));
}

void adv_device_send_acks(struct adv_device *d)
{
	d->pumped = false;
	if (adv_engine_hasten_acks(d->engine) || d->held)
		adv_device_end_hold(d, adv_device_clock(d));
	/* Packets of other QPs may be queued before the ACKs. */
	for (unsigned i = 0; d->cut && i < ACK_ROUNDS; i++) {
		adv_lock_give_way(&d->lock);
		d->pumped = false;
		adv_device_send_packets(d, adv_device_clock(d));
	}
}
