/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread of the program that waits for an event receives in the background thread's place.
 * Otherwise each packet that it waits for would wake two threads one after the other: first the
 * background thread, which receives the packet, and then the waiting thread. progress.c decides
 * what the background thread does in the meantime.
 *
 * Of all waiting threads of a device, one receives at a time. It sleeps on three things:
 * - the sockets,
 * - the descriptors of its caller, one of which is the eventfd of its events,
 * - `waiting.fd`: other threads signal it if the receiving thread must make progress or run timers
 *   earlier.
 */
#include "runtime/device/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/sys.h"
#include "runtime/progress/slice.h"
#include "runtime/link/bell.h"

#define BUSY_ROUNDS 16 /* rounds without a check of the descriptors */

/* Indices of wait.own. Entries after WAKE exist only if the device has them. */
enum { WAKE, BELL };

struct wait {
	struct adv_device *device;
	struct adv_device_wait *wanted;
	struct pollfd *own; /* the device's descriptors, behind the caller's */
	unsigned owned;	    /* their number */
	bool receives;	    /* this thread receives the packets of the device */
	int cancel_state;   /* cancellation state of the caller */
	int error;	    /* errno of the last sleep, or 0 */
};

static void add_descriptor(struct wait *w, int fd, short events)
{
	if (fd >= 0)
		w->own[w->owned++] = (struct pollfd){.fd = fd, .events = events};
}

static void list_descriptors(struct wait *w)
{
	struct adv_device *d = w->device;

	w->owned = 0;
	if (!w->receives)
		return;
	add_descriptor(w, d->waiting.fd, POLLIN);
	add_descriptor(w, d->bell_fd, POLLIN);
	if (d->link_full)
		add_descriptor(w, d->link->send_fd, POLLOUT);
	add_descriptor(w, d->receive_fd, POLLIN);
}

/* With the lock held. */
static void begin_wait(struct wait *w)
{
	struct adv_device *d = w->device;

	/* If this thread is still recorded as the receiver, a signal handler has left its last wait
	 * by longjmp(). */
	if (adv_progress_waiter_receives(&d->progress) &&
	    pthread_equal(d->waiting.receiver, pthread_self())) {
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
		d->waiting.count--;
	}
	w->receives = ++d->waiting.count == 1;
	if (w->receives) {
		d->waiting.receiver = pthread_self();
		adv_device_perform(d, adv_progress_waits(&d->progress));
	}
}

/* With the lock held: the thread no longer counts as waiting, and peers need not wake it. */
static void stop_waiting(struct wait *w)
{
	w->device->waiting.count--;
	if (w->receives)
		(void)adv_device_link_sleep(w->device, false);
}

/* Without the lock. Also runs if the thread is cancelled while it sleeps. */
static void end_wait(void *arg)
{
	struct wait *w = arg;
	struct adv_device *d = w->device;

	adv_device_lock(d);
	stop_waiting(w);
	if (w->receives)
		adv_device_perform(d, adv_progress_wait_ends(&d->progress, d->waiting.count > 0));
	adv_device_release(d);
}

static void drain_eventfd(const struct pollfd *p)
{
	uint64_t count;

	if (p->revents)
		(void)!adv_sys_read(p->fd, &count, sizeof(count));
}

/* Resets the descriptors that woke the receiving thread, except the sockets, and reports the
 * wake-up. */
static void clear_wakeups(struct wait *w)
{
	drain_eventfd(&w->own[WAKE]);
	if (w->device->bell_fd >= 0 && w->own[BELL].revents)
		adv_bell_still(w->device->bell_fd);
	adv_progress_wait_woken(&w->device->progress);
}

/*
 * Receives and sends. True: more can be done at once. False: *deadline is the time, adv_clock_ns(),
 * at which to run timers. Acquires and releases the lock.
 */
static bool make_progress(struct wait *w, uint64_t *deadline)
{
	struct adv_device *d = w->device;
	bool again = false;

	adv_device_lock(d);
	if (w->receives) {
		adv_device_perform(d, adv_progress_wait_receives(&d->progress));
		/* The program waits, so no answer of it will soon carry these ACKs. */
		(void)adv_engine_hasten_acks(d->engine);
		again = adv_device_progress(d, false) > 0 || d->cut;
		if (!again && !adv_device_link_sleep(d, true))
			again = true;
		*deadline = adv_device_deadline(d);
		adv_progress_wait_sleeps(&d->progress, *deadline);
		*deadline = adv_device_time_of_clock(d, *deadline);
		d->counters_due = true;
	}
	list_descriptors(w);
	adv_device_deliver_events(d);
	w->wanted->mine = w->receives && adv_device_wake_cancel(d, w->wanted->event_fd);
	adv_device_release(d);
	return again;
}

/* Sleeps. If the thread is cancelled, its wait ends here and nowhere else. ppoll() of libc waits
 * until a cancellation that has begun arrives. Only libc can do that: otherwise the cancellation
 * could arrive in a later call of libc and end the thread there, with locks held. */
static void sleep_cancellable(struct wait *w, struct timespec *ts)
{
	pthread_cleanup_push(end_wait, w);
	pthread_setcancelstate(w->cancel_state, NULL);
	w->error = ppoll(w->wanted->fds, w->wanted->count + w->owned, ts, NULL) < 0 ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
}

static void clear_events(struct adv_device_wait *wanted)
{
	for (unsigned i = 0; i < wanted->count; i++)
		wanted->fds[i].revents = 0;
}

/* True if one of the caller's descriptors has events. */
static bool is_ready(const struct adv_device_wait *wanted)
{
	for (unsigned i = 0; i < wanted->count; i++)
		if (wanted->fds[i].revents)
			return true;
	return false;
}

/* Sleeps until a descriptor is ready or the deadline has passed. 0, or EINTR. */
static int sleep_until(struct wait *w, uint64_t deadline)
{
	uint64_t now = deadline == ADV_NEVER ? 0 : adv_clock_ns();
	uint64_t ns = deadline > now ? deadline - now : 0;
	struct timespec ts = adv_clock_timespec(ns);

	sleep_cancellable(w, deadline == ADV_NEVER ? NULL : &ts);
	if (w->error) {
		clear_events(w->wanted);
		if (w->error != EINTR || (w->wanted->restarts && !adv_signals_may_interrupt()))
			return 0;
		return EINTR;
	}
	if (w->receives)
		clear_wakeups(w);
	return 0;
}

/* True if the wait is over. */
static bool has_come(struct adv_device_wait *wanted)
{
	return wanted->mine || is_ready(wanted) || wanted->come(wanted->user) ||
	       (wanted->until != ADV_NEVER && adv_clock_ns() >= wanted->until);
}

int adv_device_wait(struct adv_device *d, struct adv_device_wait *wanted)
{
	struct wait w = {.device = d, .wanted = wanted, .own = wanted->fds + wanted->count};
	unsigned busy = 0;
	int err = 0;

	adv_slice_shorten();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w.cancel_state);
	wanted->mine = false;
	clear_events(wanted);
	adv_device_lock(d);
	begin_wait(&w);
	adv_device_release(d);
	while (!err && !has_come(wanted)) {
		uint64_t deadline = ADV_NEVER;
		bool again = make_progress(&w, &deadline);

		/* Check the descriptors now and then even if peers send all the time. */
		busy = again ? busy + 1 : 0;
		if (busy == BUSY_ROUNDS) {
			busy = deadline = 0;
			again = false;
		}
		if (!again && !wanted->mine && !wanted->come(wanted->user))
			err = sleep_until(&w, deadline < wanted->until ? deadline : wanted->until);
	}
	end_wait(&w);
	pthread_setcancelstate(w.cancel_state, NULL);
	return err;
}

/* ---- a polling program that sleeps ---- */

/* With the lock held: prepares the sleep of a polling program. False: the program must not sleep,
 * because there is something to do at once or another thread waits. */
static bool begin_backoff(struct wait *w, const struct adv_cq *cq, struct timespec *ts)
{
	struct adv_device *d = w->device;
	unsigned actions;
	uint64_t deadline;

	(void)adv_engine_hasten_acks(d->engine);
	if (!adv_engine_is_connected(d->engine) || d->waiting.count ||
	    adv_device_progress(d, false) > 0 || d->cut || !adv_cq_empty(cq))
		return false;
	deadline = adv_device_deadline(d);
	if (deadline <= d->now ||
	    !adv_progress_backs_off(&d->progress, d->now, &deadline, &actions))
		return false;
	adv_device_perform(d, actions);
	d->waiting.count = 1;
	d->waiting.receiver = pthread_self();
	*ts = adv_clock_timespec(deadline - d->now);
	list_descriptors(w);
	return true;
}

void adv_device_back_off(struct adv_device *d, const struct adv_cq *cq)
{
	struct pollfd fds[ADV_DEVICE_WAIT_ROOM];
	struct wait w = {.device = d, .own = fds, .receives = true};
	struct timespec ts = {0};
	bool begun, sleeps;

	adv_slice_shorten();
	adv_device_lock(d);
	begun = begin_backoff(&w, cq, &ts);
	sleeps = begun && adv_device_link_sleep(d, true);
	adv_device_release(d);
	if (!begun)
		return;
	if (sleeps && adv_sys_ppoll(w.own, w.owned, &ts) >= 0)
		clear_wakeups(&w);
	adv_device_lock(d);
	stop_waiting(&w);
	adv_device_perform(d, adv_progress_backoff_ends(&d->progress, adv_device_clock(d),
							d->waiting.count > 0));
	adv_device_release(d);
}
