/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One turn of receiving, timers and sending, inline: polls that find nothing are the most frequent
 * calls of a program. All of it runs with the device's lock held. */
#ifndef ADV_RUNTIME_DEVICE_TURN_H
#define ADV_RUNTIME_DEVICE_TURN_H

#include "runtime/device/lock.h"
#include "nic/queue/cq.h"

#define DEVICE_RECEIVE_BUDGET 64

/* One turn. */
struct device_receiving {
	struct adv_device *device;
	struct adv_cq *cq; /* the CQ that the program polls; NULL: none */
	unsigned wanted;   /* completions in cq that end the turn early */
};

/* The link's callback: passes a packet to the engine. user: struct device_receiving. */
void adv_device_take_packet(void *user, const struct adv_rx_packet *pkt);
/* Handles what earlier calls have left, before packets are received. */
void adv_device_handle_rest(struct adv_device *d);
/* Handles what is due beside packets: the fault plan, timers, delayed ACKs, the counters. */
void adv_device_handle_due(struct adv_device *d);

/* True if nothing follows from a turn that received no packet: no packet to send, no event, no
 * timer that is due, no delayed ACK, and no change of the counters to publish. */
static inline bool adv_device_is_quiet(const struct adv_device *d)
{
	return !d->unusual && !adv_engine_todo(d->engine) &&
	       adv_engine_timers(d->engine) > d->now && d->counters_next > d->now;
}

/* Receives packets in a turn. Returns their number. */
static inline __attribute__((always_inline)) unsigned
adv_device_receive_packets(struct adv_device *d, struct device_receiving *r)
{
	return d->link->ops->receive(d->link, DEVICE_RECEIVE_BUDGET, adv_device_take_packet, r);
}

/* Records the last poll between two looks, which read memory only: progress.c does not know it. */
void adv_device_note_skipped_polls(struct adv_device *d);

/* Records a poll at d->now. */
static inline void adv_device_note_poll(struct adv_device *d)
{
	if (adv_idle_load(&d->idle.gap))
		adv_device_note_skipped_polls(d);
	adv_progress_poll_begins(&d->progress, d->now);
}

/* Lets packets wake the background thread while the program polls. True if they do. */
static inline bool adv_device_thread_waits(struct adv_device *d)
{
	adv_device_perform(d, adv_progress_gives_back(&d->progress, d->now));
	return adv_progress_is_armed(&d->progress);
}

/* True if a polling program need not receive: no queue pair is connected, and what arrives all the
 * same wakes the background thread. */
static inline bool adv_device_is_unconnected(struct adv_device *d)
{
	return !adv_engine_is_connected(d->engine) && adv_device_thread_waits(d);
}

/* Begins a turn: receives packets. Returns their number. adv_device_end_turn() ends the turn; it is
 * not needed if no packet was received and adv_device_is_quiet(). */
static inline __attribute__((always_inline)) unsigned
adv_device_begin_turn(struct adv_device *d, struct device_receiving *r, bool polling)
{
	struct adv_link *link = d->link;

	d->now = adv_device_clock(d);
	if (polling)
		adv_device_note_poll(d);
	link->busy_polled = polling;
	link->spaced = false;
	link->enough = false;
	d->pumped = false;
	if (d->unusual)
		adv_device_handle_rest(d);
	return polling && adv_device_is_unconnected(d) ? 0 : adv_device_receive_packets(d, r);
}

/* Ends a turn that has received `packets` packets: runs timers and sends. */
static inline void adv_device_end_turn(struct adv_device *d, unsigned packets)
{
	if (packets)
		adv_device_note_activity(d, packets);
	if (d->unusual || adv_engine_todo(d->engine) & ADV_TODO_ACK ||
	    adv_engine_timers(d->engine) <= d->now || d->counters_next <= d->now) {
		adv_device_handle_due(d);
		if (d->cut || adv_engine_todo(d->engine) & ADV_TODO_TX)
			adv_device_send_packets(d, d->now);
	} else if (adv_engine_todo(d->engine) & ADV_TODO_TX) {
		adv_device_send_usually(d, d->now);
	}
}

/* A whole turn. Returns the number of received packets. */
static inline unsigned adv_device_receive(struct adv_device *d, struct device_receiving *r,
					  bool polling)
{
	unsigned packets = adv_device_begin_turn(d, r, polling);

	adv_device_end_turn(d, packets);
	return packets;
}

#endif
