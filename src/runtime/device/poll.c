/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Polls a completion queue: takes its completions or, if there are none, receives packets first. */
#include "base/ticks.h"
#include "runtime/device/turn.h"
#include "runtime/link/shm.h"

#define TRIES		3	 /* most tries of a poll whose thread is preempted each time */
#define LOOK_SOCKET_NS	6000	 /* longest time between two looks in a quiet time ... */
#define LOOK_MEMORY_NS	1000	 /* ... if peers send through memory, or an answer is awaited ... */
#define LOOK_ARMED_NS	200000	 /* ... if a packet wakes the background thread, ... */
#define LOOK_NOTHING_NS 1000000	 /* ... and if no queue pair is connected */
#define LONG_QUIET_NS	10000000 /* after that time, a packet may wake the thread */

/* The poll of an empty CQ. */
struct poll {
	struct device_receiving receiving;
	struct ibv_wc *wc;
	uint32_t began; /* ticks */
};

/* Ends a turn, takes completions and releases the lock. *crowded: the CQ is empty, and other
 * processes need the processor. */
static inline __attribute__((always_inline)) int finish_turn(struct poll *p, unsigned packets,
							     bool *crowded)
{
	struct adv_device *d = p->receiving.device;
	int got;

	adv_device_end_turn(d, packets);
	*crowded = adv_progress_poll_ends(&d->progress, d->now, packets);
	got = adv_cq_take(p->receiving.cq, (int)p->receiving.wanted, p->wc);
	*crowded = *crowded && got == 0;
	if (adv_device_is_settled(d))
		adv_lock_release(&d->lock);
	else
		adv_device_unlock(d);
	return got;
}

/* Polls with a whole turn, whatever the turn finds. */
static int poll_once(struct poll *p, bool *crowded)
{
	struct adv_device *d = p->receiving.device;

	adv_lock_take(&d->lock);
	p->began = adv_ticks();
	return finish_turn(p, adv_device_begin_turn(d, &p->receiving, true), crowded);
}

/*
 * Polls again if the calling thread was preempted during an empty poll. Reason: an application may
 * end a connection when its peer has reported the end (by TCP, say) and the application's CQ is
 * empty. It then treats requests without a completion as lost. A NIC has completed them by then.
 * Here, another process may use the CPU for milliseconds after this poll has received. In that time
 * both the acknowledgement and the peer's report may arrive.
 */
static __attribute__((noinline)) int poll_again(struct poll *p)
{
	bool crowded;
	int got = 0;

	for (unsigned tries = 1; tries < TRIES; tries++) {
		got = poll_once(p, &crowded);
		if (got || !adv_held_up(p->began))
			break;
	}
	return got;
}

/* Ends a poll that has received nothing, and has more to do than to release the lock. */
static __attribute__((noinline)) int finish_vain_poll(struct poll *p)
{
	bool crowded;
	int got = finish_turn(p, 0, &crowded);

	if (got)
		return got;
	if (crowded) {
		/* Sleeps until a packet arrives. */
		adv_device_back_off(p->receiving.device, p->receiving.cq);
		return poll_once(p, &crowded);
	}
	return adv_held_up(p->began) ? poll_again(p) : 0;
}

/* Ends a poll that has received packets: `packets` is not 0. */
static __attribute__((noinline)) int finish_poll(struct poll *p, unsigned packets)
{
	bool crowded; /* not after a packet */
	int got;

	if (packets == 0) /* otherwise the compiler tests it twice */
		__builtin_unreachable();
	got = finish_turn(p, packets, &crowded);
	return got || !adv_held_up(p->began) ? got : poll_again(p);
}

/* Returns the longest time between two looks for packets. After a long quiet time, the background
 * thread waits for them beside the polls: its wake-up is short beside that time. */
static uint64_t longest_between_looks(struct adv_device *d)
{
	if (!adv_engine_is_connected(d->engine))
		return LOOK_NOTHING_NS;
	if (d->engine->in_flight || adv_engine_timers(d->engine) != ADV_NEVER)
		return LOOK_MEMORY_NS;
	if (d->now - d->idle.heard_ns >= LONG_QUIET_NS && adv_device_thread_waits(d))
		return LOOK_ARMED_NS;
	return d->shm && adv_shm_has_peers(d->shm) ? LOOK_MEMORY_NS : LOOK_SOCKET_NS;
}

/* Ends a poll that has changed nothing: it does not count as a use of the device. */
static void end_idle_poll(struct poll *p)
{
	struct adv_device *d = p->receiving.device;

	adv_idle_plan(&d->idle, p->began, d->now, longest_between_looks(d));
	adv_lock_count(&d->lock, -1);
	adv_idle_store(&p->receiving.cq->empty_at, adv_lock_uses(&d->lock));
	adv_lock_release(&d->lock);
}

/* Returns the time of the first timer. */
static inline uint64_t next_timer(const struct adv_device *d)
{
	uint64_t timers = adv_engine_timers(d->engine);

	return timers < d->counters_next ? timers : d->counters_next;
}

/*
 * Polls an empty CQ if d->idle lasts: the most frequent poll of a program that spins. All that
 * poll_busy() finds out about the device is as it was, except for the time.
 */
static __attribute__((noinline)) int poll_idle(struct adv_device *d, struct adv_cq *cq, int n,
					       struct ibv_wc *wc)
{
	struct poll p = {{d, cq, (unsigned)n}, wc, adv_ticks()};
	unsigned packets;

	d->now = adv_clock_ns(); /* the device has no port of a fabric */
	d->link->spaced = adv_idle_load(&d->idle.gap) > 0;
	adv_device_note_poll(d);
	packets = adv_device_is_unconnected(d) ? 0 : adv_device_receive_packets(d, &p.receiving);
	if (packets)
		return finish_poll(&p, packets);
	/* A socket of iWARP that has room again gives a queue pair a turn. */
	if (adv_engine_todo(d->engine) || d->now >= d->idle.until ||
	    adv_progress_may_nap(&d->progress, d->now))
		return finish_vain_poll(&p);
	d->progress.vain++;
	end_idle_poll(&p);
	return adv_held_up(p.began) ? poll_again(&p) : 0;
}

/* Polls an empty CQ in any state of the device. */
static __attribute__((noinline)) int poll_busy(struct adv_device *d, struct adv_cq *cq, int n,
					       struct ibv_wc *wc)
{
	struct poll p = {{d, cq, (unsigned)n}, wc, adv_ticks()};
	unsigned packets = adv_device_begin_turn(d, &p.receiving, true);

	if (packets)
		return finish_poll(&p, packets);
	/* If nothing was received and nothing is to be done, the CQ is as empty as before. */
	if (!adv_device_is_quiet(d) || !adv_device_is_settled(d) || p.receiving.cq->overrun ||
	    d->port || adv_progress_may_nap(&d->progress, d->now))
		return finish_vain_poll(&p);
	(void)adv_progress_poll_ends(&d->progress, d->now, 0);
	adv_idle_begin(&d->idle, &d->lock, &d->progress, d->now, next_timer(d), d->activity);
	adv_lock_release(&d->lock);
	return adv_held_up(p.began) ? poll_again(&p) : 0;
}

/* Polls an empty CQ: receives first. Call it with the lock held; it releases the lock. */
static __attribute__((noinline)) int poll_empty_cq(struct adv_device *d, struct adv_cq *cq, int n,
						   struct ibv_wc *wc)
{
	if (adv_idle_lasts(&d->idle, &d->lock, &d->progress) && !cq->overrun)
		return poll_idle(d, cq, n, wc);
	return poll_busy(d, cq, n, wc);
}

/* Takes completions. Call it with the lock held; it releases the lock. */
static __attribute__((noinline)) int take_completions(struct adv_device *d, struct adv_cq *cq,
						      int n, struct ibv_wc *wc)
{
	int got = adv_cq_take(cq, n, wc);

	adv_progress_found(&d->progress);
	if (adv_device_is_settled(d)) {
		adv_lock_release(&d->lock);
		return got;
	}
	d->now = 0;
	d->pumped = false;
	adv_device_unlock(d);
	return got;
}

/* Begins a poll for which the lock is not free. */
static __attribute__((noinline)) int poll_contended(struct adv_device *d, struct adv_cq *cq, int n,
						    struct ibv_wc *wc)
{
	adv_lock_wait(&d->lock);
	if (adv_cq_waiting(cq) || n <= 0)
		return take_completions(d, cq, n, wc);
	return poll_empty_cq(d, cq, n, wc);
}

/* Saves no registers, as it only calls functions whose result it returns. */
int adv_device_poll_cq(struct adv_device *d, struct adv_cq *cq, int n, struct ibv_wc *wc)
{
	if (adv_idle_is_quiet(&d->idle, &d->lock, &d->progress, adv_idle_load(&cq->empty_at)))
		return 0;
	if (!adv_lock_try(&d->lock))
		return poll_contended(d, cq, n, wc);
	if (adv_cq_waiting(cq) || n <= 0)
		return take_completions(d, cq, n, wc);
	return poll_empty_cq(d, cq, n, wc);
}
