/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lock of a device, and progress in the thread that holds it. */
#include "host/device_internal.h"

#include <time.h>

#include "base/clock.h"

#define RECEIVE_BUDGET 64
#define PUMP_NS	       50000   /* after the begin of a call: it then begins no further batch */
#define ACK_ROUNDS     16      /* such calls */
#define COUNTED_LATE   1000000 /* ns: longest delay until adverbd can read a count */

/* ---- progress ------------------------------------------------------------------------ */

/* An application that polls for so long has not ceased to: the thread shall not take it for that.
 */
static bool is_long_enough(struct adv_device *d, uint64_t since)
{
	uint64_t now = adv_clock_ns();

	if (now - since < PUMP_NS)
		return false;
	if (d->link->busy_polled)
		atomic_store_explicit(&d->bg.last_poll, now, memory_order_relaxed);
	return true;
}

void device_pump(struct adv_device *d, uint64_t now)
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
		d->bg.activity++;
		d->link_full = !d->link->ops->send(d->link, &d->batch);
		sent = true;
	}
}

struct receiving {
	struct adv_device *device;
	const struct adv_cq *cq; /* see adv_device_poll(); NULL */
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

/* Twice there, once for each caller: to find nothing is done all the time. */
static inline __attribute__((always_inline)) unsigned progress(struct adv_device *d,
							       struct receiving *r, bool polling)
{
	unsigned packets;

	d->now = adv_clock_ns();
	if (polling)
		atomic_store_explicit(&d->bg.last_poll, d->now, memory_order_relaxed);
	d->link->busy_polled = polling;
	d->pumped = false;
	if (d->held)
		device_hold_end(d, d->now);
	if (d->link_full)
		d->link_full = !d->link->ops->flush(d->link);
	d->link->enough = false;
	packets = d->link->ops->receive(d->link, RECEIVE_BUDGET, take_packet, r);
	d->bg.activity += packets;
	if (d->faulty) /* the link had its look at the clock: what it has found due is so now */
		device_fault_look(d, adv_clock_ns());
	if (adv_engine_deadline(d->engine) <= d->now) {
		adv_engine_expire(d->engine, d->now);
		d->counters_due = true;
	}
	device_pump(d, d->now);
	if (d->counters_written != d->bg.activity && d->now - d->counters_at >= COUNTED_LATE)
		d->counters_due = true;
	return packets;
}

unsigned adv_device_progress(struct adv_device *d, bool polling)
{
	struct receiving r = {.device = d};

	return progress(d, &r, polling);
}

void adv_device_poll(struct adv_device *d, const struct adv_cq *cq, unsigned wanted)
{
	struct receiving r = {d, cq, wanted};

	progress(d, &r, true);
}

void adv_device_polled(struct adv_device *d)
{
	atomic_store_explicit(&d->bg.polled, true, memory_order_relaxed);
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

void adv_device_unlock(struct adv_device *d)
{
	bool posted = !d->pumped && adv_engine_tx_ready(d->engine);

	if (posted) {
		d->held = 0;
		device_pump(d, adv_device_now(d));
		atomic_store_explicit(&d->bg.last_post, adv_clock_ns(), memory_order_relaxed);
	}
	if (d->bg.judging)
		device_thread_judge(d, posted);
	device_thread_see_to(d);
	device_release(d);
}

void adv_device_unlock_unchanged(struct adv_device *d)
{
	if (d->bg.judging || d->counters_due || adv_engine_tx_ready(d->engine))
		adv_device_unlock(d);
	else
		adv_lock_release(&d->lock);
}

void adv_device_send_acks(struct adv_device *d)
{
	d->pumped = false;
	if (adv_engine_hasten_acks(d->engine) || d->held)
		device_hold_end(d, adv_clock_ns());
	/* They have their turn behind what other queue pairs have to send. */
	for (unsigned i = 0; d->cut && i < ACK_ROUNDS; i++) {
		adv_lock_give_way(&d->lock);
		d->pumped = false;
		device_pump(d, adv_clock_ns());
	}
}

bool adv_device_is_foreign(const struct adv_device *d)
{
	return atomic_load_explicit(&d->foreign, memory_order_relaxed);
}
