/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lock of a device, and progress in the thread that holds it. */
#include "host/device_internal.h"

#include "base/clock.h"

#define RECEIVE_BUDGET 64
#define PUMP_NS	       50000 /* a call begins no further batch this long after its start */
#define HOLD_MOST      48
#define ACK_ROUNDS     16      /* most rounds of adv_device_send_acks() */
#define COUNTED_LATE   1000000 /* ns; longest delay until adverbd can read a counter's value */

/* ---- sending ---- */

/* True if a call that began at `since` must begin no further batch. If the call is a poll, also
 * sets the time of the last poll to the present. */
static bool is_long_enough(struct adv_device *d, uint64_t since)
{
	uint64_t now = adv_clock_ns();

	if (now - since < PUMP_NS)
		return false;
	if (d->link->busy_polled)
		adv_progress_polled(&d->progress, now);
	return true;
}

/*
 * Sends packets of the engine: at least one batch, and no further batch once PUMP_NS have passed
 * since `now`, when the call began. In that case it sets d->cut; the next call sends the rest, or
 * the thread that receives for this device.
 */
static void send_packets(struct adv_device *d, uint64_t now)
{
	bool sent = false;

	if (d->pumped)
		return;
	d->cut = false;
	while (!d->link_full && adv_engine_tx_ready(d->engine)) {
		if (sent && is_long_enough(d, now)) {
			d->cut = d->pumped = true;
			return;
		}
		if (adv_engine_tx(d->engine, now, &d->batch) == 0)
			break;
		d->activity++;
		d->link_full = !d->link->ops->send(d->link, &d->batch);
		sent = true;
	}
}

/*
 * Small requests are held. A program that posts many of them one by one pays for a system call
 * each; a few dozen sent together cost little more than one. So the device holds small requests
 * until there are HOLD_MOST, or until the program makes another call, mostly a poll. It holds a
 * request only while packets are in flight, because a program that waits for a response has nothing
 * else in flight. Requests to shared memory are not held, as they need no system call.
 * adv_progress_may_hold() has the other conditions.
 */
static bool may_hold(struct adv_device *d, const struct adv_qp *qp)
{
	return adv_progress_may_hold(&d->progress) && d->held + 1 < HOLD_MOST && !d->link_full &&
	       !d->cut && adv_qp_may_wait(qp);
}

/* Sends held requests. */
static void end_hold(struct adv_device *d, uint64_t now)
{
	if (d->held)
		adv_progress_held(&d->progress, now - d->held_since);
	d->held = 0;
	send_packets(d, now);
}

/* ---- progress ---- */

struct receiving {
	struct adv_device *device;
	const struct adv_cq *cq; /* the CQ of adv_device_poll(); else NULL */
	unsigned wanted;
};

static void take_packet(void *user, const struct adv_rx_packet *pkt)
{
	const struct receiving *r = user;
	struct adv_device *d = r->device;

	adv_engine_rx(d->engine, d->now, pkt);
	if (r->cq && adv_cq_count(r->cq) >= r->wanted)
		d->link->enough = true;
}

/* Inlined into both callers, as polls that find nothing are frequent. */
static inline __attribute__((always_inline)) unsigned
make_progress(struct adv_device *d, struct receiving *r, bool polling)
{
	unsigned packets;

	d->now = adv_clock_ns();
	if (polling)
		adv_progress_poll_begins(&d->progress, d->now);
	d->link->busy_polled = polling;
	d->pumped = false;
	if (d->held)
		end_hold(d, d->now);
	if (d->link_full)
		d->link_full = !d->link->ops->flush(d->link);
	d->link->enough = false;
	packets = d->link->ops->receive(d->link, RECEIVE_BUDGET, take_packet, r);
	d->activity += packets;
	if (d->faulty) /* the fault link has read the clock after `now`, and acted by that time */
		adv_device_fault_look(d, adv_clock_ns());
	if (adv_engine_deadline(d->engine) <= d->now) {
		adv_engine_expire(d->engine, d->now);
		d->counters_due = true;
	}
	send_packets(d, d->now);
	if (d->counters_written != d->activity && d->now - d->counters_at >= COUNTED_LATE)
		d->counters_due = true;
	return packets;
}

unsigned adv_device_progress(struct adv_device *d, bool polling)
{
	struct receiving r = {.device = d};

	return make_progress(d, &r, polling);
}

bool adv_device_poll(struct adv_device *d, const struct adv_cq *cq, unsigned wanted)
{
	struct receiving r = {d, cq, wanted};
	unsigned packets = make_progress(d, &r, true);

	return adv_progress_poll_ends(&d->progress, d->now, packets);
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
		d->now = adv_clock_ns();
	return d->now;
}

/* Reports the end of a call to progress.c, with the state that the call leaves. */
static __attribute__((noinline)) void report_rest(struct adv_device *d, uint64_t deadline,
						  bool acks_wait)
{
	const struct adv_progress_rest rest = {
		.deadline = deadline,
		.cut_at = d->cut ? adv_clock_ns() : 0,
		.full = d->link_full,
		.full_unseen = d->link_full && d->bg.send_fd < 0,
		.acks_wait = acks_wait,
	};

	adv_device_perform(d, adv_progress_call_ends(&d->progress, &rest));
}

static void end_call(struct adv_device *d)
{
	uint64_t deadline = adv_device_firm_deadline(d);
	bool acks_wait = adv_engine_acks_wait(d->engine);

	if (d->cut || d->link_full || !adv_progress_is_covered(&d->progress, deadline, acks_wait))
		report_rest(d, deadline, acks_wait);
}

void adv_device_unlock(struct adv_device *d)
{
	bool posted = !d->pumped && adv_engine_tx_ready(d->engine);

	if (posted) {
		d->held = 0;
		send_packets(d, adv_device_now(d));
	}
	if (adv_progress_on_trial(&d->progress))
		adv_progress_judge(&d->progress, adv_clock_ns(), posted);
	if (posted)
		adv_progress_posted(&d->progress, adv_clock_ns());
	if (d->cut || adv_progress_heeds_calls(&d->progress))
		end_call(d);
	adv_device_release(d);
}

void adv_device_unlock_unchanged(struct adv_device *d)
{
	if (adv_progress_on_trial(&d->progress) || d->counters_due ||
	    adv_engine_tx_ready(d->engine))
		adv_device_unlock(d);
	else
		adv_lock_release(&d->lock);
}

/* Sends, receives until a WRITE of the peer arrives or the progress machine ends it, and releases
 * the lock. */
static __attribute__((noinline)) void linger_and_unlock(struct adv_device *d)
{
	const struct adv_engine_counters *counters = adv_engine_counters(d->engine);
	uint64_t writes = counters->rx_write_requests, before, until;
	bool written = false;

	before = adv_device_now(d);
	adv_device_perform(d, adv_progress_linger_begins(&d->progress, before, &until));
	while (until) {
		(void)adv_device_progress(d, false);
		written = counters->rx_write_requests != writes;
		if (written || d->now >= until)
			break;
		before = d->now;
		adv_lock_give_way(&d->lock);
	}
	if (until) {
		adv_device_perform(d,
				   adv_progress_linger_ends(&d->progress, before, d->now, written));
		adv_progress_posted(&d->progress, d->now);
	}
	adv_device_unlock(d);
}

void adv_device_unlock_posted(struct adv_device *d, const struct adv_qp *qp, uint64_t now)
{
	if (adv_progress_lingers(&d->progress)) {
		linger_and_unlock(d);
		return;
	}
	if (!may_hold(d, qp)) {
		adv_device_unlock(d);
		return;
	}
	if (d->held++ == 0)
		d->held_since = now;
	adv_device_release(d);
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
		end_hold(d, adv_clock_ns());
	/* Packets of other QPs may be queued before the ACKs. */
	for (unsigned i = 0; d->cut && i < ACK_ROUNDS; i++) {
		adv_lock_give_way(&d->lock);
		d->pumped = false;
		send_packets(d, adv_clock_ns());
	}
}

bool adv_device_is_foreign(const struct adv_device *d)
{
	return atomic_load_explicit(&d->foreign, memory_order_relaxed);
}
