/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The background thread: it receives, runs timers and sends while the program does not. progress.c
 * decides when it does so. This file reports the thread's wake-ups to progress.c, sleeps in epoll,
 * and makes progress.
 */
#include "runtime/device/clock.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/sys.h"
#include "runtime/progress/slice.h"
#include "runtime/link/bell.h"

#define NS_PER_MS    1000000ull
#define TIMER_SLACK  10000 /* ns */
#define STACK_SIZE   (256 << 10)
#define THREAD_NICE  (-10)
#define DRAIN_ROUNDS 16

/* With the lock held, before the thread sleeps: makes peers that write to shared memory wake the
 * thread. False: a packet is already there. */
static bool rest_link(struct adv_device *d)
{
	return !adv_progress_is_armed(&d->progress) || adv_device_link_sleep(d, true);
}

/* While the sockets are armed, the thread waits for room in a full send socket. Otherwise the
 * program tries again to send. */
static void watch_send_fd(struct adv_device *d)
{
	bool armed = adv_progress_is_armed(&d->progress);

	adv_device_watch_send(d, d->link_full && armed ? d->link->send_fd : -1);
}

/*
 * Receives and sends until nothing is left, or sets *more. Yields the lock between rounds. If
 * another thread then receives or polls, the rest is left to that thread.
 */
static unsigned drain_sockets(struct adv_device *d, bool *more)
{
	unsigned packets = 0;

	*more = false;
	for (unsigned i = 0; i < DRAIN_ROUNDS && adv_progress_is_armed(&d->progress); i++) {
		unsigned n = adv_device_progress(d, false);

		packets += n;
		if (n == 0 && !d->cut)
			return packets;
		if (d->cut && adv_engine_has_event(d->engine))
			break; /* stops here, because a thread may wait for that event */
		adv_lock_give_way(&d->lock);
		if (d->link->busy_polled)
			break;
	}
	*more = true;
	return packets;
}

/* Looks for further packets before the thread sleeps. Releases the lock between two looks. */
static void spin_before_sleep(struct adv_device *d, const struct adv_progress_wakeup *w, bool *more)
{
	unsigned packets;
	uint64_t now;

	if (*more || !adv_progress_spins(&d->progress, adv_device_clock(d)))
		return;
	do {
		adv_device_release(d);
		adv_lock_pause();
		adv_lock_take(&d->lock);
		packets = drain_sockets(d, more);
		now = adv_device_clock(d);
		if (packets)
			adv_device_perform(d, adv_progress_received(&d->progress, now, packets, w));
	} while (adv_progress_spins_on(&d->progress, now, packets) && !*more);
}

/* Plans the thread's sleep. Call it with the lock held; it releases the lock. */
static void plan_sleep(struct adv_device *d, bool more)
{
	struct adv_progress_plan plan = {
		.deadline = adv_device_deadline(d),
		.activity = d->activity,
		.more = more,
	};

	watch_send_fd(d);
	if (!rest_link(d))
		plan.more = true;
	adv_progress_sleeps(&d->progress, adv_device_clock(d), &plan);
	d->counters_due = true;
	adv_device_release(d);
}

/* Makes progress. Call it with the lock held; it releases the lock. Then starts another adverbd if
 * the old one has died and this process is to start it. */
static void make_progress(struct adv_device *d, struct adv_progress_wakeup *w)
{
	bool more = false;

	if (w->sources & ADV_PROGRESS_BY_NOTICE)
		adv_device_read_notices(d);
	adv_device_perform(d, adv_progress_enters(&d->progress, adv_device_clock(d), w));
	if (adv_progress_is_armed(&d->progress)) {
		unsigned packets = drain_sockets(d, &more);

		adv_device_perform(
			d, adv_progress_received(&d->progress, adv_device_clock(d), packets, w));
		spin_before_sleep(d, w, &more);
	}
	plan_sleep(d, more);
	if (w->sources & ADV_PROGRESS_BY_NOTICE)
		adv_control_restart_daemon(d->control);
}

/*
 * Sleeps until a descriptor is ready or until the time `until`. Uses epoll_wait(), whose unit is
 * milliseconds, if epoll_pwait2() fails:
 * - Kernels before 5.11 return ENOSYS.
 * - seccomp profiles that do not know the call return EPERM or any other error.
 */
static int wait_until(struct adv_device *d, struct epoll_event *events, uint64_t now,
		      uint64_t until)
{
	uint64_t ns = until > now ? until - now : 0;
	struct timespec ts = adv_clock_timespec(ns);
	uint64_t ms = (ns + NS_PER_MS - 1) / NS_PER_MS;
	int n;

	if (!d->bg.coarse) {
		n = adv_sys_epoll_pwait2(d->bg.epoll_fd, events, DEVICE_SOURCES,
					 until == ADV_NEVER ? NULL : &ts);
		if (n >= 0 || errno == EINTR)
			return n;
		d->bg.coarse = true;
	}
	return adv_sys_epoll_wait(d->bg.epoll_fd, events, DEVICE_SOURCES,
				  until == ADV_NEVER ? -1 : (int)(ms < 60000 ? ms : 60000));
}

/* Sleeps. Returns the reasons for the wake-up, as enum adv_progress_source. */
static unsigned sleep_in_epoll(struct adv_device *d)
{
	static const unsigned source[DEVICE_SOURCES] = {
		[DEVICE_SOURCE_KICK] = ADV_PROGRESS_BY_KICK,
		[DEVICE_SOURCE_RECEIVE] = ADV_PROGRESS_BY_PACKET,
		[DEVICE_SOURCE_BELL] = ADV_PROGRESS_BY_PACKET,
		[DEVICE_SOURCE_CONTROL] = ADV_PROGRESS_BY_NOTICE,
		[DEVICE_SOURCE_SEND] = ADV_PROGRESS_BY_ROOM,
		[DEVICE_SOURCE_CAPTURE] = ADV_PROGRESS_BY_NOTICE,
	};
	struct epoll_event events[DEVICE_SOURCES];
	unsigned sources = 0;
	uint64_t now = adv_device_clock(d), count;
	int n = wait_until(d, events, now, adv_progress_sleep_until(&d->progress, now));

	for (int i = 0; i < n; i++) {
		sources |= source[events[i].data.u32];
		if (events[i].data.u32 == DEVICE_SOURCE_KICK)
			(void)!adv_sys_read(d->bg.kick_fd, &count, sizeof(count));
		if (events[i].data.u32 == DEVICE_SOURCE_BELL)
			adv_bell_still(d->bell_fd);
	}
	return sources;
}

/*
 * Raises the thread's priority if the process may do so. If a program spins on every processor, the
 * thread gets half of one processor. When the thread has used that up, its wake-ups are delayed
 * until the next tick, up to 4 ms. A higher priority gives it more, as a NIC needs no processor.
 */
static void raise_priority(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), THREAD_NICE);
}

/* Returns ADV_PROGRESS_CLOCK_STOOD if the clock of an emulated host has stood, else 0. A poll does
 * not become old then. */
static unsigned clock_stood(const struct adv_device *d, uint64_t *behind)
{
	return d->port && adv_port_clock_has_stood(d->port, adv_clock_ns(), behind)
		       ? ADV_PROGRESS_CLOCK_STOOD
		       : 0;
}

static void *thread_main(void *arg)
{
	struct adv_device *d = arg;
	uint64_t behind = 0;

	pthread_setname_np(pthread_self(), "adverb");
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK);
	raise_priority();
	adv_slice_shorten();
	while (!atomic_load(&d->bg.stop)) {
		struct adv_progress_wakeup w = {.sources = sleep_in_epoll(d)};

		w.sources |= clock_stood(d, &behind);
		switch (adv_progress_woken(&d->progress, adv_device_clock(d), w.sources,
					   adv_lock_is_taken(&d->lock))) {
		case ADV_PROGRESS_SLEEP_ON:
			continue;
		case ADV_PROGRESS_TRY:
			if (adv_lock_try(&d->lock))
				break;
			adv_progress_missed(&d->progress);
			continue;
		case ADV_PROGRESS_ENTER:
			adv_lock_take(&d->lock);
		}
		make_progress(d, &w);
	}
	return NULL;
}

static int create_thread(struct adv_device *d)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&d->bg.thread, &attr, thread_main, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

void adv_device_thread_abandon(struct adv_device *d)
{
	if (d->bg.epoll_fd >= 0)
		adv_sys_close(d->bg.epoll_fd);
	if (d->bg.kick_fd >= 0)
		adv_sys_close(d->bg.kick_fd);
	if (d->waiting.fd >= 0)
		adv_sys_close(d->waiting.fd);
}

int adv_device_thread_start(struct adv_device *d)
{
	struct device_thread *t = &d->bg;
	int err;

	adv_progress_init(&d->progress, adv_device_deadline(d));
	t->send_fd = -1;
	t->epoll_fd = adv_sys_epoll_create(EPOLL_CLOEXEC);
	t->kick_fd = adv_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->waiting.fd = adv_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->epoll_fd < 0 || t->kick_fd < 0 || d->waiting.fd < 0 ||
	    adv_device_watch(d, EPOLL_CTL_ADD, t->kick_fd, EPOLLIN, DEVICE_SOURCE_KICK) < 0 ||
	    adv_device_watch_receive(d, EPOLL_CTL_ADD, true) < 0 ||
	    (d->bell_fd >= 0 &&
	     adv_device_watch(d, EPOLL_CTL_ADD, d->bell_fd, EPOLLIN, DEVICE_SOURCE_BELL) < 0) ||
	    adv_device_watch(d, EPOLL_CTL_ADD, adv_control_fd(d->control), EPOLLIN,
			     DEVICE_SOURCE_CONTROL) < 0) {
		err = errno;
	} else {
		/* A capture that is requested already gets the first packet, too. */
		adv_lock_take(&d->lock);
		adv_device_read_notices(d);
		adv_device_release(d);
		err = create_thread(d);
	}
	if (err)
		adv_device_thread_abandon(d);
	return err;
}

void adv_device_thread_stop(struct adv_device *d)
{
	uint64_t one = 1;

	atomic_store(&d->bg.stop, true);
	(void)!adv_sys_write(d->bg.kick_fd, &one, sizeof(one));
	pthread_join(d->bg.thread, NULL);
	adv_device_thread_abandon(d);
}
