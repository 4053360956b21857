/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts work requests: holds small send requests, or receives after them
 * (runtime/progress/progress.h). */
#include "base/clock.h"
#include "runtime/device/lock.h"
#include "nic/fast/recv.h"
#include "nic/queue/qp_state.h"

#define HOLD_MOST   48
#define HOLD_LENGTH 1024 /* bytes; a larger send request is not held */

/* True if the list is one small request. NULL is an empty list. */
static bool is_small(const struct ibv_send_wr *wr)
{
	return wr && !wr->next && wr->num_sge == 1 && wr->sg_list->length <= HOLD_LENGTH;
}

/*
 * Small requests are held. A program that posts many of them one by one pays for a system call
 * each; a few dozen sent together cost little more than one. So the device holds small requests
 * until there are HOLD_MOST, or until the program makes another call, mostly a poll. It holds a
 * request only while packets are in flight, because a program that waits for a response has nothing
 * else in flight. Requests to shared memory are not held, as they need no system call.
 * adv_progress_may_hold() has the other conditions.
 */
static inline bool may_hold(struct adv_device *d, const struct adv_qp *qp,
			    const struct ibv_send_wr *wr)
{
	return adv_qp_may_wait(qp) && is_small(wr) && adv_progress_may_hold(&d->progress) &&
	       d->held + 1 < HOLD_MOST && !d->link_full && !d->cut;
}

/* True if a post has lingered until `until`, or on an emulated host until `end` of the machine's
 * clock: the device's clock hardly runs while the emulator is late. */
static bool has_lingered(const struct adv_device *d, uint64_t until, uint64_t end)
{
	return d->now >= until || (d->port && adv_clock_ns() >= end);
}

/* Sends, receives until a WRITE of the peer arrives or the progress machine ends it, and releases
 * the lock. */
static __attribute__((noinline)) void linger_and_unlock(struct adv_device *d)
{
	const struct adv_engine_counters *counters = adv_engine_counters(d->engine);
	uint64_t writes = counters->rx_write_requests, before, until, end;
	bool written = false;

	before = adv_device_now(d);
	adv_device_perform(d, adv_progress_linger_begins(&d->progress, before, &until));
	end = d->port && until ? adv_clock_ns() + (until - before) : 0;
	while (until) {
		(void)adv_device_progress(d, false);
		written = counters->rx_write_requests != writes;
		if (written || has_lingered(d, until, end))
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

/* Sends the posted requests and releases the lock. */
static inline void send_and_unlock(struct adv_device *d)
{
	if (d->unusual || adv_progress_on_trial(&d->progress)) {
		adv_device_unlock(d);
		return;
	}
	if (adv_engine_todo(d->engine) & ADV_TODO_TX) {
		adv_device_send_usually(d, d->now);
		adv_progress_posted(&d->progress, d->now);
	}
	adv_device_end_call(d);
}

int adv_device_post_send(struct adv_device *d, struct adv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad_wr)
{
	int err;

	if (adv_device_is_foreign(d)) {
		*bad_wr = wr;
		return ADV_DEVICE_FOREIGN;
	}
	adv_lock_take(&d->lock);
	d->now = adv_device_clock(d);
	d->pumped = false;
	err = adv_qp_post_send(qp, d->now, wr, bad_wr);
	if (adv_progress_lingers(&d->progress) && !err && is_small(wr)) {
		linger_and_unlock(d);
		return 0;
	}
	if (!err && may_hold(d, qp, wr)) {
		if (d->held++ == 0)
			d->held_since = d->now;
		adv_device_release(d);
		return 0;
	}
	send_and_unlock(d);
	return err;
}

/* True if a call that has posted receive requests must do more than release the lock. */
static inline bool has_more_to_do(const struct adv_device *d)
{
	return d->unusual || adv_engine_todo(d->engine) & (ADV_TODO_TX | ADV_TODO_EVENT) ||
	       adv_progress_on_trial(&d->progress);
}

/* Ends adv_device_post_recv(), which has posted the requests before `rest`. */
static __attribute__((noinline)) int post_rest(struct adv_device *d, struct adv_qp *qp,
					       struct ibv_recv_wr *rest,
					       struct ibv_recv_wr **bad_wr, bool all)
{
	int err = 0;

	d->now = 0;
	d->pumped = false;
	/* In the error state the request is flushed at once, and its completion needs the time. */
	if (!all)
		err = adv_qp_post_recv(qp, qp->state == IBV_QPS_ERR ? adv_device_now(d) : 0, rest,
				       bad_wr);
	if (has_more_to_do(d))
		adv_device_unlock(d);
	else
		adv_lock_release(&d->lock);
	return err;
}

/* Begins a post for which the lock is not free. */
static __attribute__((noinline)) int post_recv_contended(struct adv_device *d, struct adv_qp *qp,
							 struct ibv_recv_wr *wr,
							 struct ibv_recv_wr **bad_wr)
{
	adv_lock_wait(&d->lock);
	return post_rest(d, qp, wr, bad_wr, false);
}

/* Saves no registers, as the functions that it calls end it. */
int adv_device_post_recv(struct adv_device *d, struct adv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *rest;

	if (adv_device_is_foreign(d)) {
		*bad_wr = wr;
		return ADV_DEVICE_FOREIGN;
	}
	if (!adv_lock_try(&d->lock))
		return post_recv_contended(d, qp, wr, bad_wr);
	rest = adv_fast_post_recvs(qp, wr);
	if (rest || !wr || has_more_to_do(d))
		return post_rest(d, qp, rest, bad_wr, !rest && wr);
	adv_lock_release(&d->lock);
	return 0;
}
