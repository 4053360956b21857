/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program that waits for an event takes the thread's place. Else a packet that it waits for wakes
 * two sleepers, one after the other: the thread, which receives it, and then the program.
 *
 * One thread of the program at a time serves: it sleeps on the sockets, on the descriptor of its
 * events, and on `serve_fd`, by which others tell it that there is more to do, or sooner. The turn
 * is STANDBY meanwhile. The device's own thread looks as it does where the program polls, and once
 * it has found the same wait going on twice it sleeps for good (`deep`): who ends the wait kicks it
 * then. Where another thread of the program still waits, the device's own thread takes over.
 */
#include "host/device_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/sys.h"
#include "link/bell.h"

#define NS_PER_S    1000000000ull
#define MOST	    5  /* descriptors */
#define BUSY_ROUNDS 16 /* without a look at them */

struct wait {
	struct adv_device *device;
	struct pollfd fd[MOST]; /* the first is the caller's */
	nfds_t fds;
	bool serves;
	bool mine;	  /* an event came, and its eventfd was not written to */
	int cancel_state; /* the caller's */
	int error;	  /* errno of the last sleep, or 0 */
};

static void add(struct wait *w, int fd, short events)
{
	if (fd >= 0)
		w->fd[w->fds++] = (struct pollfd){.fd = fd, .events = events};
}

static void list_descriptors(struct wait *w)
{
	struct adv_device *d = w->device;

	w->fds = 1;
	if (!w->serves)
		return;
	add(w, d->bg.serve_fd, POLLIN);
	add(w, d->bell_fd, POLLIN);
	if (d->link_full)
		add(w, d->link->send_fd, POLLOUT);
	add(w, d->slot.receive_fd, POLLIN);
}

/* With the lock held. */
static void begin(struct wait *w)
{
	struct device_thread *t = &w->device->bg;

	/* A signal handler has jumped out of this thread's last wait. */
	if (atomic_load(&t->served) && pthread_equal(t->server, pthread_self())) {
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
		t->waiting--;
	}
	w->serves = ++t->waiting == 1;
	if (w->serves) {
		t->server = pthread_self();
		atomic_store(&t->served, true);
		t->serves = true;
	}
}

/* The lock is not held. Runs as well where the thread is cancelled while it sleeps. */
static void end(void *arg)
{
	struct wait *w = arg;
	struct adv_device *d = w->device;
	struct device_thread *t = &d->bg;

	adv_device_lock(d);
	t->waiting--;
	if (w->serves) {
		atomic_store(&t->served, false);
		if (d->link->ops->sleep)
			(void)d->link->ops->sleep(d->link, false);
		device_thread_stir(d);
		if (t->waiting)
			device_thread_take_over(d);
	}
	device_release(d);
}

static void drain_eventfd(const struct pollfd *p)
{
	uint64_t count;

	if (p->revents)
		(void)!adv_sys_read(p->fd, &count, sizeof(count));
}

/* Receives, sends, and says when that is to be done again; true: at once. Takes the lock, and
 * gives it up. */
static bool serve(struct wait *w, uint64_t *deadline)
{
	struct adv_device *d = w->device;
	bool again = false;

	adv_device_lock(d);
	if (w->serves) {
		device_thread_stand_aside(d);
		(void)adv_engine_hasten_acks(d->engine); /* no answer comes soon */
		again = adv_device_progress(d, false) > 0 || d->cut;
		if (!again && d->link->ops->sleep && !d->link->ops->sleep(d->link, true))
			again = true;
		*deadline = device_deadline(d);
		d->bg.serve_at = *deadline;
		d->counters_due = true;
	}
	list_descriptors(w);
	device_deliver_events(d);
	w->mine = w->serves && device_wake_cancel(d, w->fd[0].fd);
	device_release(d);
	return again;
}

/* Signals of a fault: what is handled there was not asleep. */
static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
	       number == SIGTRAP || number == SIGSYS || number == SIGABRT;
}

/* Whether a signal may have come after which a call is to fail: then this one does. Which one it
 * was cannot be known. */
static bool may_interrupt(void)
{
	struct sigaction action;

	for (int i = 1; i <= SIGRTMAX; i++)
		if (!is_fault(i) && sigaction(i, NULL, &action) == 0 &&
		    action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    !(action.sa_flags & SA_RESTART))
			return true;
	return false;
}

/* A thread that is cancelled ends here, and nowhere else in a wait: as in read(2) of the C library,
 * it may be cancelled at any time while it is in the system call. */
static void sleep_cancellable(struct wait *w, struct timespec *ts)
{
	int type;

	pthread_cleanup_push(end, w);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_setcancelstate(w->cancel_state, NULL);
	w->error = adv_sys_ppoll(w->fd, w->fds, ts) < 0 ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_setcanceltype(type, NULL);
	pthread_cleanup_pop(0);
}

/* 0: something is ready, or the time has come; else EINTR. */
static int sleep_until(struct wait *w, uint64_t deadline)
{
	uint64_t now = deadline == ADV_NEVER ? 0 : adv_clock_ns();
	uint64_t ns = deadline > now ? deadline - now : 0;
	struct timespec ts = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

	sleep_cancellable(w, deadline == ADV_NEVER ? NULL : &ts);
	if (w->error) {
		w->fd[0].revents = 0;
		return w->error == EINTR && may_interrupt() ? EINTR : 0;
	}
	if (w->serves) {
		drain_eventfd(&w->fd[1]);
		if (w->device->bell_fd >= 0 && w->fd[2].revents)
			adv_bell_still(w->device->bell_fd);
		atomic_fetch_add_explicit(&w->device->bg.serve_count, 1, memory_order_relaxed);
	}
	return 0;
}

int adv_device_wait(struct adv_device *d, int fd, adv_device_come_fn *come, void *user, bool *mine)
{
	struct wait w = {.device = d, .fd = {{.fd = fd, .events = POLLIN}}};
	unsigned busy = 0;
	int err = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w.cancel_state);
	adv_device_lock(d);
	begin(&w);
	device_release(d);
	while (!err && !w.mine && !w.fd[0].revents && !come(user)) {
		uint64_t deadline = ADV_NEVER;
		bool again = serve(&w, &deadline);

		/* Peers that send all the time must not keep us from hearing of anything else. */
		busy = again ? busy + 1 : 0;
		if (busy == BUSY_ROUNDS) {
			busy = deadline = 0;
			again = false;
		}
		if (!again && !w.mine && !come(user))
			err = sleep_until(&w, deadline);
	}
	end(&w);
	*mine = w.mine;
	pthread_setcancelstate(w.cancel_state, NULL);
	return err;
}
