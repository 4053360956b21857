/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Progress in the thread that holds the device's lock: receives, runs timers and sends. */
#include "runtime/device/turn.h"

void adv_device_take_packet(void *user, const struct adv_rx_packet *pkt)
{
	const struct device_receiving *r = user;
	struct adv_device *d = r->device;

	adv_engine_rx(d->engine, d->now, pkt);
	if (r->cq && adv_cq_waiting(r->cq) >= r->wanted)
		d->link->enough = true;
}

void adv_device_handle_rest(struct adv_device *d)
{
	if (d->held)
		adv_device_end_hold(d, d->now);
	if (d->link_full)
		d->link_full = !d->link->ops->flush(d->link);
}

void adv_device_note_skipped_polls(struct adv_device *d)
{
	uint64_t looked_at = adv_progress_last_poll(&d->progress);

	adv_progress_polled(&d->progress,
			    adv_idle_last_poll(&d->idle, adv_ticks(), d->now, looked_at));
	adv_idle_store(&d->idle.gap, 0);
}

/* True if a timer of the engine, or the delay of an ACK, has passed. */
static bool is_timer_due(const struct adv_device *d)
{
	return adv_engine_timers(d->engine) <= d->now ||
	       (adv_engine_todo(d->engine) & ADV_TODO_ACK &&
		adv_engine_deadline(d->engine) <= d->now);
}

void adv_device_handle_due(struct adv_device *d)
{
	if (d->faulty) /* the fault link has read the clock after `now`, and acted by that time */
		adv_device_fault_look(d, adv_clock_ns());
	if (is_timer_due(d)) {
		adv_engine_expire(d->engine, d->now);
		d->counters_due = true;
	}
	if (d->counters_next <= d->now)
		d->counters_due = true;
}

unsigned adv_device_progress(struct adv_device *d, bool polling)
{
	struct device_receiving r = {.device = d};

	return adv_device_receive(d, &r, polling);
}

bool adv_device_poll(struct adv_device *d, struct adv_cq *cq, unsigned wanted)
{
	struct device_receiving r = {d, cq, wanted};
	unsigned packets = adv_device_receive(d, &r, true);

	return adv_progress_poll_ends(&d->progress, d->now, packets);
}
