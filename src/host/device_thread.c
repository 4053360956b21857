/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The background thread: progress where the application makes none.
 *
 * WATCHING	The thread sleeps in epoll on the receive socket and on the next deadline, and
 *		handles what comes. Each packet that finds it asleep costs the sender a wake-up
 *		and, where the program runs on the same processor, the program some 10 to 40 us:
 *		wrong while the application polls.
 * STANDBY	The receive socket is out of the epoll set. The thread looks every now and then,
 *		first after 200 us, later up to every 3.2 ms, whether the application still
 *		polls, or waits and receives itself (device_wait.c). A look costs as much as a
 *		wake-up, so they are rare.
 *
 * WATCHING -> STANDBY: wake-ups were useless too often. One was if the application polled
 * just now: then the thread leaves all to it, does not even take the lock, whose holder it may
 * keep from running, and sleeps on. One also was if the thread took packets and the
 * application's next call, soon after, was to poll: it has only been held up. One was useful if
 * that next call posts, comes late or not at all. A program that polls for its own completions
 * but spins on memory for its peer's writes (ib_write_lat) may make every second wake-up a useful
 * one, so for it the thread stays.
 * STANDBY -> WATCHING: at a look the last poll is too long ago, or the application says that
 * it will sleep (adv_device_app_sleeps), and not as one that receives itself. All changes are made
 * under the device's lock; stepping back is left to the application's own call, as it has the lock
 * all the time.
 *
 * The socket's readiness is edge-triggered: what the thread has left to the application does not
 * wake it again. So it takes all there is or looks again within a millisecond.
 *
 * Timers: while WATCHING, `wake_at` is when the thread looks at the engine's deadline at the
 * latest. Whoever gives up the lock with an earlier deadline kicks the thread. To make that rare
 * the thread does not sleep for ever after traffic, but 10 ms first and longer each time that
 * nothing has happened: retransmission timers that are set and cleared with each message never
 * need a kick.
 */
#include "host/device_internal.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "link/bell.h"

#define US		  1000ull
#define MS		  (1000 * US)

#define USEFUL_WORTH	  4	     /* useless wake-ups that one useful one makes up for */
#define POLLS_EVERY	  (1 * MS)   /* one that sends much in between, at the latest */
#define STOPPED_POLLING	  (50 * US)  /* no call for so long: it has */
#define POLLS_LONG	  (200 * US) /* one call, with what is to be sent for peers */
#define CALLS_NOW	  (10 * US)  /* a wake-up, during which it stood still, and a poll */
#define LEFT_LONGEST	  (1 * MS)   /* until the thread sees to what it has left */
#define STANDBY_FIRST	  (200 * US)
#define STANDBY_LONGEST	  (3200 * US)
#define USELESS_LIMIT	  4
#define USELESS_LIMIT_MAX 128
#define IDLE_FIRST	  (10 * MS)
#define ACKS_WAIT	  (1 * MS)    /* as IDLE_FIRST, where ACKs wait for requests */
#define IDLE_LONGEST	  (1000 * MS) /* then for ever */
#define WAKE_SLACK	  (50 * US)
#define STACK_SIZE	  (256 << 10)
#define THREAD_NICE	  (-10)
#define DRAIN_ROUNDS	  16

enum source { SOURCE_KICK, SOURCE_RECEIVE, SOURCE_BELL, SOURCE_CONTROL, SOURCE_SEND, SOURCES };

static int watch(struct adv_device *d, int op, int fd, uint32_t events, enum source source)
{
	struct epoll_event e = {.events = events, .data.u32 = source};

	return adv_sys_epoll_ctl(d->bg.epoll_fd, op, fd, &e);
}

static void kick(struct adv_device *d)
{
	d->bg.kicked = true;
	atomic_store(&d->bg.kicked_for_rest, false);
	device_wake_later(d, d->bg.kick_fd);
}

/* Where the application polls it sends the rest itself: the thread need only see that it does. */
static void kick_for_rest(struct adv_device *d)
{
	if (d->bg.kicked)
		return;
	kick(d);
	atomic_store(&d->bg.kicked_for_rest, true);
}

static uint64_t since(atomic_uint_fast64_t *time, uint64_t now)
{
	uint64_t last = atomic_load_explicit(time, memory_order_relaxed);

	return now > last ? now - last : 0;
}

/* The application polls now and then, and its last call is less than ns ago. */
static bool polls_within(struct adv_device *d, uint64_t ns)
{
	struct device_thread *t = &d->bg;
	uint64_t now = adv_clock_ns();
	uint64_t since_poll;

	if (atomic_load_explicit(&t->polled, memory_order_relaxed)) {
		atomic_store_explicit(&t->polled, false, memory_order_relaxed);
		atomic_store_explicit(&t->last_poll, now, memory_order_relaxed);
	}
	since_poll = since(&t->last_poll, now);
	return since_poll < ns || (since_poll < POLLS_EVERY && since(&t->last_post, now) < ns);
}

static enum device_turn turn_of(struct device_thread *t)
{
	return atomic_load_explicit(&t->turn, memory_order_relaxed);
}

static uint32_t receive_events(enum device_turn turn)
{
	return turn == DEVICE_WATCHING ? EPOLLIN | EPOLLET : 0;
}

static void set_turn(struct adv_device *d, enum device_turn turn)
{
	struct device_thread *t = &d->bg;

	atomic_store_explicit(&t->turn, turn, memory_order_relaxed);
	atomic_store(&t->step_back, false);
	t->takeover = false;
	t->useless = 0;
	t->judging = 0;
	if (turn == DEVICE_STANDBY)
		atomic_store_explicit(&t->armed, false, memory_order_relaxed);
	(void)watch(d, EPOLL_CTL_MOD, d->slot.receive_fd, receive_events(turn), SOURCE_RECEIVE);
	if (d->bell_fd >= 0)
		(void)watch(d, EPOLL_CTL_MOD, d->bell_fd, turn == DEVICE_WATCHING ? EPOLLIN : 0,
			    SOURCE_BELL);
	if (turn == DEVICE_STANDBY && d->link->ops->sleep)
		(void)d->link->ops->sleep(d->link, false);
}

bool device_thread_stands_by(struct adv_device *d)
{
	return turn_of(&d->bg) == DEVICE_STANDBY && !d->bg.takeover && !d->bg.serves;
}

void device_thread_stand_aside(struct adv_device *d)
{
	d->bg.takeover = false;
	if (turn_of(&d->bg) == DEVICE_STANDBY)
		return;
	set_turn(d, DEVICE_STANDBY);
	/* It may sleep for as long as was right until now. */
	atomic_store(&d->bg.deep, true);
}

void device_thread_take_over(struct adv_device *d)
{
	if (turn_of(&d->bg) != DEVICE_STANDBY || d->bg.takeover)
		return;
	d->bg.takeover = true;
	kick(d);
}

void device_thread_stir(struct adv_device *d)
{
	if (atomic_exchange(&d->bg.deep, false))
		kick(d);
}

/* Who wakes at that time has to be woken for the deadline. */
static bool is_too_late(uint64_t wake_at, uint64_t deadline)
{
	return deadline < wake_at && wake_at - deadline > WAKE_SLACK;
}

/* What was posted may be due before the one that serves looks at the clock, or need room. */
static void see_to_server(struct adv_device *d)
{
	if (is_too_late(d->bg.serve_at, device_firm_deadline(d)) || d->link_full || d->cut)
		device_wake_later(d, d->bg.serve_fd);
}

/* More was to be sent than one call may. An application that polls sends the rest itself, unless it
 * has turned to something else. */
static void see_to_rest(struct adv_device *d)
{
	struct device_thread *t = &d->bg;

	if (atomic_load_explicit(&t->served, memory_order_relaxed))
		return;
	if (turn_of(t) == DEVICE_WATCHING || since(&t->last_poll, adv_clock_ns()) > STOPPED_POLLING)
		kick_for_rest(d);
}

void device_thread_see_to(struct adv_device *d)
{
	struct device_thread *t = &d->bg;

	if (atomic_load(&t->step_back) && turn_of(t) == DEVICE_WATCHING)
		set_turn(d, DEVICE_STANDBY);
	if (atomic_load_explicit(&t->served, memory_order_relaxed))
		see_to_server(d);
	if (d->cut)
		see_to_rest(d);
	if (turn_of(t) != DEVICE_WATCHING || (t->kicked && !t->kicked_for_rest))
		return;
	t->acks_wait = t->acks_wait || adv_engine_acks_wait(d->engine);
	if (is_too_late(t->wake_at, device_firm_deadline(d)) || (d->link_full && t->send_fd < 0))
		kick(d);
}

void adv_device_app_sleeps(struct adv_device *d)
{
	struct device_thread *t = &d->bg;

	t->useless = 0;
	atomic_store_explicit(&t->armed, true, memory_order_relaxed);
	atomic_store_explicit(&t->last_poll, 0, memory_order_relaxed);
	if (!t->serves) /* else it will wait in adv_device_wait(), or the next look shows it */
		device_thread_take_over(d);
}

/* Before the thread sleeps: from now on peers that write to memory wake it. */
static void rest(struct adv_device *d)
{
	if (turn_of(&d->bg) == DEVICE_WATCHING && d->link->ops->sleep &&
	    !d->link->ops->sleep(d->link, true))
		d->bg.again = true;
}

/* The full socket, if there is one, is watched for room; in standby the application tries. */
static void watch_send_fd(struct adv_device *d)
{
	int fd = d->link_full && turn_of(&d->bg) == DEVICE_WATCHING ? d->link->send_fd : -1;

	if (fd == d->bg.send_fd)
		return;
	if (d->bg.send_fd >= 0)
		(void)watch(d, EPOLL_CTL_DEL, d->bg.send_fd, 0, SOURCE_SEND);
	if (fd >= 0)
		(void)watch(d, EPOLL_CTL_ADD, fd, EPOLLOUT, SOURCE_SEND);
	d->bg.send_fd = fd;
}

/*
 * True where the application polls: it will take what has come itself. Where it holds the lock it
 * may have been kept from running in the midst of a poll. One that has asked for an event polls
 * as well, before it sleeps.
 */
static bool application_polls(struct adv_device *d)
{
	return !atomic_load_explicit(&d->bg.armed, memory_order_relaxed) &&
	       polls_within(d, adv_lock_is_taken(&d->lock) ? POLLS_LONG : CALLS_NOW);
}

/*
 * Takes and sends all there is, or sees to it that the thread goes on without a sleep. Others come
 * in between; where one of them has taken over, or polls, all else is left to it.
 */
static unsigned drain(struct adv_device *d)
{
	unsigned packets = 0;

	for (unsigned i = 0; i < DRAIN_ROUNDS && turn_of(&d->bg) == DEVICE_WATCHING; i++) {
		unsigned n = adv_device_progress(d, false);

		packets += n;
		if (n == 0 && !d->cut)
			return packets;
		if (d->cut && adv_engine_has_event(d->engine))
			break; /* somebody waits for it */
		adv_lock_give_way(&d->lock);
		if (d->link->busy_polled)
			break;
	}
	d->bg.again = true;
	return packets;
}

/* When to look at the clock again; sets how long the thread may sleep from what went on. */
static void plan_sleep(struct adv_device *d, uint64_t now)
{
	struct device_thread *t = &d->bg;
	uint64_t deadline = device_deadline(d);

	if (t->activity != t->activity_seen) {
		t->activity_seen = t->activity;
		t->idle_ns = IDLE_FIRST;
	} else if (now >= t->wake_at && t->idle_ns < IDLE_LONGEST) {
		t->idle_ns *= 2;
	}
	d->counters_due = true;
	if (t->acks_wait)
		t->idle_ns = ACKS_WAIT;
	t->acks_wait = false;
	t->wake_at = t->idle_ns < IDLE_LONGEST ? now + t->idle_ns : ADV_NEVER;
	if (deadline < t->wake_at)
		t->wake_at = deadline;
}

static void count_useless(struct device_thread *t)
{
	t->judging = 0;
	t->useless++;
}

static void count_useful(struct device_thread *t)
{
	t->judging = 0;
	t->useless -= t->useless < USEFUL_WORTH ? t->useless : USEFUL_WORTH;
}

void device_thread_judge(struct adv_device *d, bool posted)
{
	if (posted || adv_clock_ns() - d->bg.judging > STOPPED_POLLING)
		count_useful(&d->bg);
	else
		count_useless(&d->bg);
}

/* The thread was woken by a packet. Enough of that for nothing, and it stands by. */
static void judge_wakeup(struct adv_device *d, unsigned packets)
{
	struct device_thread *t = &d->bg;

	if (t->judging) /* the application was silent all the time */
		count_useful(t);
	if (packets)
		t->judging = adv_clock_ns();
	else
		count_useless(t);
	if (t->useless >= t->useless_limit)
		set_turn(d, DEVICE_STANDBY);
}

/*
 * The application no longer polls. Where it has left packets lying, standing by was wrong: next
 * time it takes twice as many useless wake-ups. Where the standby was long it was right.
 */
static void end_standby(struct adv_device *d)
{
	struct device_thread *t = &d->bg;
	bool was_long = t->standby_ns >= STANDBY_LONGEST;

	set_turn(d, DEVICE_WATCHING);
	t->serves = false;
	t->standby_ns = STANDBY_FIRST;
	t->activity++;
	if (drain(d) && !was_long && t->useless_limit < USELESS_LIMIT_MAX)
		t->useless_limit *= 2;
	else if (was_long && t->useless_limit > USELESS_LIMIT)
		t->useless_limit /= 2;
}

/* What goes on behind the lock when the thread has taken it. */
static void settle(struct adv_device *d)
{
	watch_send_fd(d);
	plan_sleep(d, adv_clock_ns());
	rest(d);
	device_release(d);
}

static void start_turn(struct adv_device *d, const bool *ready)
{
	struct device_thread *t = &d->bg;

	t->kicked = false;
	t->again = false;
	if (ready[SOURCE_CONTROL])
		device_read_notices(d);
}

static void run_watching(struct adv_device *d, const bool *ready)
{
	struct device_thread *t = &d->bg;
	unsigned packets;

	if (!(ready[SOURCE_KICK] && !atomic_load(&t->kicked_for_rest)) && !ready[SOURCE_CONTROL] &&
	    !ready[SOURCE_SEND] && application_polls(d)) {
		if (++t->left >= t->useless_limit)
			atomic_store(&t->step_back, true);
		return;
	}
	adv_lock_take(&d->lock);
	atomic_store(&t->step_back, false);
	t->useless += t->left;
	t->left = 0;
	start_turn(d, ready);
	packets = drain(d);
	if (ready[SOURCE_RECEIVE] || ready[SOURCE_BELL])
		judge_wakeup(d, packets);
	settle(d);
}

static bool is_served(struct adv_device *d)
{
	return atomic_load(&d->bg.served);
}

/* The application polls, or is in the midst of a call and will let the thread know. */
static bool still_polls(struct adv_device *d, const bool *ready)
{
	if (ready[SOURCE_KICK] || ready[SOURCE_CONTROL]) {
		adv_lock_take(&d->lock);
		return false;
	}
	return is_served(d) || polls_within(d, STOPPED_POLLING) || !adv_lock_try(&d->lock);
}

/* Where the application is still in the wait of the last look, the next look is when it ends. */
static void look_at_server(struct adv_device *d)
{
	struct device_thread *t = &d->bg;
	unsigned count = atomic_load_explicit(&t->serve_count, memory_order_relaxed);

	if (count != t->serve_seen) {
		t->serve_seen = count;
		return;
	}
	atomic_store(&t->deep, true);
	if (!is_served(d))
		atomic_store(&t->deep, false);
}

static void run_standby(struct adv_device *d, const bool *ready)
{
	struct device_thread *t = &d->bg;

	t->left = 0;
	if (ready[SOURCE_KICK])
		t->standby_ns = STANDBY_FIRST;
	else if (is_served(d))
		look_at_server(d);
	if (still_polls(d, ready)) {
		if (t->standby_ns < STANDBY_LONGEST)
			t->standby_ns *= 2;
		return;
	}
	start_turn(d, ready);
	if (is_served(d)) /* there may be others to be heard since */
		device_wake_later(d, t->serve_fd);
	if (t->takeover || !(is_served(d) || polls_within(d, STOPPED_POLLING)))
		end_standby(d);
	settle(d);
}

/*
 * Sleeps until something is ready or ns have gone by. Milliseconds have to do where there is no
 * better: kernels before 5.11 answer ENOSYS, profiles of containers that do not know the call EPERM
 * or whatever they like.
 */
static int wait_for(struct adv_device *d, struct epoll_event *events, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS))};
	uint64_t ms = (ns + MS - 1) / MS;
	int n;

	if (!d->bg.coarse) {
		n = adv_sys_epoll_pwait2(d->bg.epoll_fd, events, SOURCES,
					 ns == ADV_NEVER ? NULL : &ts);
		if (n >= 0 || errno == EINTR)
			return n;
		d->bg.coarse = true;
	}
	return adv_sys_epoll_wait(d->bg.epoll_fd, events, SOURCES,
				  ns == ADV_NEVER ? -1 : (int)(ms < 60000 ? ms : 60000));
}

/* wake_at and again are read without the lock: only this thread changes them. */
static uint64_t sleep_ns(struct device_thread *t)
{
	uint64_t now;

	if (turn_of(t) == DEVICE_STANDBY)
		return atomic_load(&t->deep) ? ADV_NEVER : t->standby_ns;
	if (t->left)
		return LEFT_LONGEST;
	if (t->again)
		return 0;
	if (t->wake_at == ADV_NEVER)
		return ADV_NEVER;
	now = adv_clock_ns();
	return t->wake_at > now ? t->wake_at - now : 0;
}

/*
 * A program that spins on each processor leaves the thread its fair share, half; when it has
 * had that, its wake-ups wait for the next tick, up to 4 ms. Where we may, we ask for more, as
 * a NIC would simply take it.
 */
static void ask_for_priority(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), THREAD_NICE);
}

static void *thread_main(void *arg)
{
	struct adv_device *d = arg;
	struct epoll_event events[SOURCES];

	pthread_setname_np(pthread_self(), "adverb");
	prctl(PR_SET_TIMERSLACK, 10 * US);
	ask_for_priority();
	while (!atomic_load(&d->bg.stop)) {
		bool ready[SOURCES] = {false};
		int n = wait_for(d, events, sleep_ns(&d->bg));
		uint64_t count;

		for (int i = 0; i < n; i++)
			ready[events[i].data.u32] = true;
		if (ready[SOURCE_KICK])
			(void)!adv_sys_read(d->bg.kick_fd, &count, sizeof(count));
		if (ready[SOURCE_BELL])
			adv_bell_still(d->bell_fd);
		if (turn_of(&d->bg) == DEVICE_WATCHING)
			run_watching(d, ready);
		else
			run_standby(d, ready);
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

void device_thread_abandon(struct adv_device *d)
{
	struct device_thread *t = &d->bg;

	if (t->epoll_fd >= 0)
		adv_sys_close(t->epoll_fd);
	if (t->kick_fd >= 0)
		adv_sys_close(t->kick_fd);
	if (t->serve_fd >= 0)
		adv_sys_close(t->serve_fd);
}

int device_thread_start(struct adv_device *d)
{
	struct device_thread *t = &d->bg;
	int err;

	atomic_store(&t->turn, DEVICE_WATCHING);
	t->send_fd = -1;
	t->idle_ns = IDLE_FIRST;
	t->standby_ns = STANDBY_FIRST;
	t->useless_limit = USELESS_LIMIT;
	t->wake_at = device_deadline(d);
	t->epoll_fd = adv_sys_epoll_create(EPOLL_CLOEXEC);
	t->kick_fd = adv_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->serve_fd = adv_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->epoll_fd < 0 || t->kick_fd < 0 || t->serve_fd < 0 ||
	    watch(d, EPOLL_CTL_ADD, t->kick_fd, EPOLLIN, SOURCE_KICK) < 0 ||
	    watch(d, EPOLL_CTL_ADD, d->link->receive_fd, receive_events(DEVICE_WATCHING),
		  SOURCE_RECEIVE) < 0 ||
	    (d->bell_fd >= 0 && watch(d, EPOLL_CTL_ADD, d->bell_fd, EPOLLIN, SOURCE_BELL) < 0) ||
	    watch(d, EPOLL_CTL_ADD, adv_control_fd(d->control), EPOLLIN, SOURCE_CONTROL) < 0)
		err = errno;
	else
		err = create_thread(d);
	if (err)
		device_thread_abandon(d);
	return err;
}

void device_thread_stop(struct adv_device *d)
{
	uint64_t one = 1;

	atomic_store(&d->bg.stop, true);
	(void)!adv_sys_write(d->bg.kick_fd, &one, sizeof(one));
	pthread_join(d->bg.thread, NULL);
	device_thread_abandon(d);
}
