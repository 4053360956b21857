/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which thread receives packets. The decision weighs two costs:
 *
 * - A packet that wakes the background thread costs the sender a wake-up. On the same processor, it
 *   also costs the program 10 to 40 us. This cost is wasted while the program polls.
 * - A packet that no thread receives waits until the background thread checks the program again.
 *
 * A wake-up by a packet is useless in two cases:
 * - The program polls at that moment. The thread then leaves the packet to the program. It does not
 *   try to acquire the lock, as that would keep the holder of the lock from running.
 * - The thread received, and the program's next call is a poll that comes soon. The thread then has
 *   only kept the program from running.
 *
 * A wake-up is useful if the program's next call posts a request or comes late, or if the program
 * makes no further call. ib_write_lat polls for its own completions but spins on memory for its
 * peer's WRITEs: at best every second wake-up is useful for it. For such a program the thread
 * continues to receive.
 *
 * Timers: while the thread receives, it runs timers at wake_at at the latest. A call that ends with
 * an earlier deadline kicks the thread. To make kicks rare, the thread sleeps for at most 10 ms
 * after traffic. It doubles that time after each sleep without traffic. So a retransmission timer
 * that each message sets and clears needs no kick.
 */
#include "runtime/progress/progress.h"

#define US 1000ull
#define MS (1000 * US)

/* Wake-ups of the thread until a polling program that has requested an event counts as polling. */
#define ASKED_WAKE_UPS	  16
#define USEFUL_WORTH	  4	   /* useless wake-ups that one useful wake-up cancels */
#define USELESS_LIMIT	  4	   /* of useless_limit: initial and lowest value */
#define USELESS_LIMIT_MAX 128	   /* of useless_limit: highest value */
#define POLLS_EVERY	  (1 * MS) /* longest pause between polls of a program that also sends */
/* Time without a call after which the program no longer polls. */
#define STOPPED_POLLING (50 * US)
/* Longest time since the last poll of a polling program: a wake-up may have delayed the next
 * poll. */
#define CALLS_NOW (10 * US)
/* As CALLS_NOW, while a thread holds the lock: the call may have been preempted. */
#define POLLS_LONG (200 * US)
/* Time after which the thread receives packets that it left to the program. */
#define LEFT_LONGEST	(1 * MS)
#define LOOK_FIRST	(200 * US)
#define LOOK_LONGEST	(3200 * US)
#define IDLE_FIRST	(10 * MS)
#define IDLE_ACKS	(1 * MS)    /* replaces IDLE_FIRST while ACKs are delayed */
#define IDLE_LONGEST	(1000 * MS) /* from this value on, the sleep has no limit */
#define BACKOFF_LONGEST (500 * US)
#define QUICK_POST	(50 * US) /* from a packet in memory to the program's next post */
#define QUICK_POSTS	8	  /* such posts, until posts linger: first value */
#define QUICK_POSTS_MAX (1u << 14)
#define LINGER_LONGEST	(100 * US) /* two wake-ups, if the peer's posts do not linger */
#define LINGER_VAIN	4	   /* useless lingering posts, until posts do not linger */

/* ---- the table ---- */

enum event {
	/* The program's calls. */
	CALL_ENDS,
	ARMS,	   /* the program requests an event and may sleep */
	WAITS,	   /* the program waits in a call */
	RECEIVES,  /* the waiting thread receives */
	WAIT_OVER, /* the wait of that thread is over */
	WAIT_LEFT, /* as WAIT_OVER, and other threads still wait */
	BACKS_OFF, /* the polling program sleeps for a short time */
	BACKOFF_OVER,
	LINGERS,    /* a post receives until the peer's WRITE arrives */
	GIVES_BACK, /* it did not arrive, or no packet is expected: the thread receives again */
	/* The background thread. */
	LEAVES,	     /* the thread woke while the program polls */
	LEAVES_MUCH, /* as LEAVES, after many such wake-ups */
	TAKES,	     /* the thread woke and receives */
	USELESS,     /* the thread received, after too many useless wake-ups */
	SAME_WAIT,   /* the wait at the thread's last check still continues */
	EVENTS,
};

struct transition {
	enum adv_progress_state to; /* 0: the state stays */
	unsigned actions;	    /* besides ARM and DISARM, which follow from the states */
};

#define S(name) ADV_PROGRESS_##name

/* In a state without a line for an event, the event changes nothing. */
static const struct transition table[ADV_PROGRESS_STATES][EVENTS] = {
	/* No checks: the thread has already planned its sleep. */
	[S(THREAD)][RECEIVES] = {S(WAITER_ALONE), 0},
	[S(THREAD)][BACKS_OFF] = {S(BACKOFF), 0},
	[S(THREAD)][LINGERS] = {S(POLLER), 0},
	[S(THREAD)][LEAVES] = {S(LEFT), 0},
	[S(THREAD)][LEAVES_MUCH] = {S(LEAVING), 0},
	[S(THREAD)][USELESS] = {S(POLLER), 0},

	[S(LEFT)][ARMS] = {S(THREAD), S(KICK)},
	[S(LEFT)][RECEIVES] = {S(WAITER_ALONE), 0},
	[S(LEFT)][BACKS_OFF] = {S(BACKOFF), 0},
	[S(LEFT)][LINGERS] = {S(POLLER), 0},
	[S(LEFT)][LEAVES_MUCH] = {S(LEAVING), 0},
	[S(LEFT)][TAKES] = {S(THREAD), 0},

	[S(LEAVING)][CALL_ENDS] = {S(POLLER), 0}, /* a call holds the lock, so it can disarm */
	[S(LEAVING)][ARMS] = {S(THREAD), S(KICK)},
	[S(LEAVING)][RECEIVES] = {S(WAITER_ALONE), 0},
	[S(LEAVING)][BACKS_OFF] = {S(BACKOFF), 0},
	[S(LEAVING)][LINGERS] = {S(POLLER), 0},
	[S(LEAVING)][TAKES] = {S(THREAD), 0},

	[S(WAITER)][WAIT_OVER] = {S(BETWEEN), 0},
	[S(WAITER)][WAIT_LEFT] = {S(NOBODY), S(KICK)},
	[S(WAITER)][SAME_WAIT] = {S(WAITER_ALONE), 0},

	[S(WAITER_ALONE)][WAIT_OVER] = {S(BETWEEN), S(KICK)},
	[S(WAITER_ALONE)][WAIT_LEFT] = {S(NOBODY), S(KICK)},

	/* Another thread of the program requests an event. */
	[S(BACKOFF)][ARMS] = {S(NOBODY), S(KICK)},
	[S(BACKOFF)][WAIT_LEFT] = {S(NOBODY), S(KICK)},
	[S(BACKOFF)][BACKOFF_OVER] = {S(POLLER), 0},

	[S(POLLER)][BACKS_OFF] = {S(BACKOFF), 0},
	[S(POLLER)][ARMS] = {S(NOBODY), S(KICK)},
	[S(POLLER)][WAITS] = {S(BETWEEN), 0},
	[S(POLLER)][RECEIVES] = {S(WAITER), 0},
	[S(POLLER)][GIVES_BACK] = {S(THREAD), 0},
	[S(POLLER)][WAIT_LEFT] = {S(NOBODY), S(KICK)},
	[S(POLLER)][TAKES] = {S(THREAD), 0},

	[S(BETWEEN)][RECEIVES] = {S(WAITER), 0}, /* ARMS needs no kick: another wait follows */
	[S(BETWEEN)][WAIT_LEFT] = {S(NOBODY), S(KICK)},
	[S(BETWEEN)][TAKES] = {S(THREAD), 0},

	[S(NOBODY)][RECEIVES] = {S(WAITER), 0},
	[S(NOBODY)][TAKES] = {S(THREAD), 0},
};

static bool is_armed(enum adv_progress_state s)
{
	return s <= ADV_PROGRESS_LEAVING;
}

static bool is_waiter(enum adv_progress_state s)
{
	return s == ADV_PROGRESS_WAITER || s == ADV_PROGRESS_WAITER_ALONE ||
	       s == ADV_PROGRESS_BACKOFF;
}

/* Follows the table from the state `from`. False: another thread has changed the state. */
static bool try_transition(struct adv_progress *p, enum adv_progress_state from, enum event event)
{
	enum adv_progress_state to = table[from][event].to;

	return !to || atomic_compare_exchange_strong_explicit(
			      &p->state, &from, to, memory_order_relaxed, memory_order_relaxed);
}

static void set_kick(struct adv_progress *p, enum adv_progress_kick kick)
{
	atomic_store_explicit(&p->kick, kick, memory_order_relaxed);
}

static enum adv_progress_kick kick_of(struct adv_progress *p)
{
	return atomic_load_explicit(&p->kick, memory_order_relaxed);
}

/* Handles a change of the receiving thread: counts useless wake-ups from 0 again. Returns the
 * action. */
static unsigned rearm_thread(struct adv_progress *p, bool armed)
{
	p->useless = 0;
	p->trial = 0;
	p->trial_polled = false;
	if (armed)
		return ADV_PROGRESS_ARM;
	atomic_store_explicit(&p->asked, 0, memory_order_relaxed);
	return ADV_PROGRESS_DISARM;
}

/* With the lock held: follows the table. Returns the actions. */
static unsigned follow_table(struct adv_progress *p, enum event event)
{
	enum adv_progress_state from;
	struct transition t;

	do {
		from = adv_progress_state(p);
		t = table[from][event];
	} while (!try_transition(p, from, event));
	if (t.actions & ADV_PROGRESS_KICK)
		set_kick(p, ADV_PROGRESS_KICK_FULL);
	if (t.to && is_armed(t.to) != is_armed(from))
		t.actions |= rearm_thread(p, is_armed(t.to));
	return t.actions;
}

void adv_progress_init(struct adv_progress *p, uint64_t deadline)
{
	*p = (struct adv_progress){
		.state = ADV_PROGRESS_THREAD,
		.useless_limit = USELESS_LIMIT,
		.wake_at = deadline,
		.idle = IDLE_FIRST,
		.look_interval = LOOK_FIRST,
		.quick_needed = QUICK_POSTS,
		.hold.cost = ADV_PROGRESS_HOLD_COST,
		.nap = ADV_PROGRESS_NAP_START,
		.spin.signs = ADV_PROGRESS_SPIN_SIGNS,
	};
}

/* ---- the program's calls ---- */

static uint64_t time_since(atomic_uint_fast64_t *time, uint64_t now)
{
	uint64_t last = atomic_load_explicit(time, memory_order_relaxed);

	return now > last ? now - last : 0;
}

/* True if the program polls from time to time and made its last call less than ns ago. */
static bool polls_within(struct adv_progress *p, uint64_t now, uint64_t ns)
{
	uint64_t since_poll;

	if (atomic_load_explicit(&p->found, memory_order_relaxed)) {
		atomic_store_explicit(&p->found, false, memory_order_relaxed);
		adv_progress_polled(p, now);
	}
	since_poll = time_since(&p->last_poll, now);
	return since_poll < ns || (since_poll < POLLS_EVERY && time_since(&p->last_post, now) < ns);
}

/*
 * A program that has requested an event also polls before it sleeps: it does not count as polling.
 * But many servers request an event only when they have had nothing to do for some time, and poll
 * as long as they are busy. They would share their processor with the thread until then. So a
 * request counts for ASKED_WAKE_UPS wake-ups. Returns true if it counts for this one, at which the
 * program polls.
 */
static bool will_sleep(struct adv_progress *p)
{
	unsigned left = atomic_load_explicit(&p->asked, memory_order_relaxed);

	if (left > 0) /* if it fails, the program has just requested an event, or disarmed */
		(void)atomic_compare_exchange_strong_explicit(
			&p->asked, &left, left - 1, memory_order_relaxed, memory_order_relaxed);
	return left > 0;
}

/*
 * True if the program polls and will receive the packet itself. If a thread of the program holds
 * the lock, it may have been preempted during a poll: its last poll may then be older.
 */
static bool will_receive(struct adv_progress *p, uint64_t now, bool locked)
{
	return polls_within(p, now, locked ? POLLS_LONG : CALLS_NOW) && !will_sleep(p);
}

static void count_useless(struct adv_progress *p)
{
	p->trial = 0;
	p->useless++;
}

static void count_useful(struct adv_progress *p)
{
	p->trial = 0;
	p->useless -= p->useless < USEFUL_WORTH ? p->useless : USEFUL_WORTH;
}

/* Counts the signs of a program that spins on memory, see adv_progress_linger_begins(). */
static void count_quick(struct adv_progress *p, bool quick)
{
	p->quick_posts = quick ? p->quick_posts + 1 : 0;
	if (p->quick_posts >= p->quick_needed && !p->lingers) {
		p->linger_vain = 0;
		p->lingered = 0;
		p->lingers = true;
	}
}

/* A program may poll before each post, like riowrite(). Only a second poll is a sign of a loop. */
void adv_progress_judge(struct adv_progress *p, uint64_t now, bool posted)
{
	uint64_t took = now - p->trial;

	if (!posted && !p->trial_polled && took <= STOPPED_POLLING) {
		p->trial_polled = true;
		return;
	}
	p->trial_polled = false;
	count_quick(p, posted && took <= QUICK_POST && !adv_progress_looped(p));
	if (posted || took > STOPPED_POLLING)
		count_useful(p);
	else
		count_useless(p);
}

/*
 * Kicks the thread to send the packets that a call left unsent. A polling program sends them itself
 * with its next call, so it gets no kick while it polls. A thread that is kicked for this reason
 * first checks whether the program still polls.
 */
static unsigned kick_for_rest(struct adv_progress *p, uint64_t now)
{
	if (kick_of(p) != ADV_PROGRESS_NO_KICK ||
	    (!adv_progress_is_armed(p) && time_since(&p->last_poll, now) <= STOPPED_POLLING))
		return 0;
	set_kick(p, ADV_PROGRESS_KICK_REST);
	return ADV_PROGRESS_KICK;
}

/* True if the thread has planned to sleep for so long that it would check the program too late. */
static bool sleeps_long(const struct adv_progress *p, uint64_t now)
{
	return adv_progress_is_armed(p) &&
	       atomic_load_explicit(&p->wake_at, memory_order_relaxed) > now + LOOK_LONGEST;
}

/* Kicks the thread to begin its checks of the program. */
static unsigned kick_to_check(struct adv_progress *p)
{
	if (kick_of(p) != ADV_PROGRESS_NO_KICK)
		return 0;
	set_kick(p, ADV_PROGRESS_KICK_FULL);
	return ADV_PROGRESS_KICK;
}

unsigned adv_progress_call_ends(struct adv_progress *p, const struct adv_progress_rest *rest)
{
	unsigned actions = follow_table(p, CALL_ENDS);

	if (adv_progress_waiter_receives(p)) {
		if (adv_progress_is_too_late(p->waiter_at, rest->deadline) || rest->full ||
		    rest->cut_at)
			actions |= ADV_PROGRESS_WAKE_WAITER;
		return actions;
	}
	if (rest->cut_at)
		actions |= kick_for_rest(p, rest->cut_at);
	if (!adv_progress_is_armed(p) || kick_of(p) == ADV_PROGRESS_KICK_FULL)
		return actions;
	p->acks_wait = p->acks_wait || rest->acks_wait;
	if (adv_progress_is_too_late(p->wake_at, rest->deadline) || rest->full_unseen) {
		set_kick(p, ADV_PROGRESS_KICK_FULL);
		actions |= ADV_PROGRESS_KICK;
	}
	return actions;
}

/* Lets the thread receive again. It wakes at its next check of the program at the latest, or at
 * wake_at if it has not woken since it received. */
static unsigned return_to_thread(struct adv_progress *p, uint64_t now)
{
	if (p->wake_at < now + LOOK_LONGEST)
		p->wake_at = now + LOOK_LONGEST;
	return follow_table(p, GIVES_BACK);
}

unsigned adv_progress_gives_back(struct adv_progress *p, uint64_t now)
{
	return adv_progress_state(p) == ADV_PROGRESS_POLLER
		       ? return_to_thread(p, now) | kick_to_check(p)
		       : 0;
}

unsigned adv_progress_arms(struct adv_progress *p)
{
	p->useless = 0;
	p->quick_posts = 0;
	p->lingers = false;
	atomic_store_explicit(&p->asked, ASKED_WAKE_UPS, memory_order_relaxed);
	atomic_store_explicit(&p->last_poll, 0, memory_order_relaxed);
	return follow_table(p, ARMS);
}

bool adv_progress_may_hold(struct adv_progress *p)
{
	return adv_progress_hold_permits(&p->hold) && adv_progress_state(p) == ADV_PROGRESS_POLLER;
}

/* ---- a polling program on a crowded processor ---- */

/*
 * The thread may be the receiver when the program begins to sleep: it took over while the program
 * did not run. Without the sleep the program would then spin for whole time slices.
 */
bool adv_progress_backs_off(struct adv_progress *p, uint64_t now, uint64_t *deadline,
			    unsigned *actions)
{
	enum adv_progress_state state = adv_progress_state(p);

	if (state != ADV_PROGRESS_POLLER && !is_armed(state))
		return false;
	p->unchecked = p->unchecked || sleeps_long(p, now);
	*actions = follow_table(p, BACKS_OFF);
	if (now + BACKOFF_LONGEST < *deadline)
		*deadline = now + BACKOFF_LONGEST;
	p->nap_began = now;
	adv_progress_wait_sleeps(p, *deadline);
	return true;
}

unsigned adv_progress_backoff_ends(struct adv_progress *p, uint64_t now, bool others)
{
	unsigned actions;

	p->waiter_at = 0;
	adv_progress_nap_slept(&p->nap, now > p->nap_began ? now - p->nap_began : 1);
	adv_progress_reset_vain(p);
	if (adv_progress_state(p) == ADV_PROGRESS_BACKOFF)
		adv_progress_polled(p, now);
	actions = follow_table(p, others ? WAIT_LEFT : BACKOFF_OVER);
	if (p->unchecked)
		actions |= kick_to_check(p);
	p->unchecked = false;
	return actions;
}

/* ---- a post that lingers ---- */

/*
 * A program that spins on memory posts, and makes no call until the peer's WRITE has changed its
 * memory. If it has a processor for itself, its fastest receiver is its own post: the post receives
 * until the WRITE arrives. Otherwise each WRITE costs a wake-up of the background thread.
 *
 * A sign of such a program are QUICK_POSTS posts, each soon after the thread received. Lingering
 * was useless if no WRITE arrived, or if the program did not soon post again. After LINGER_VAIN
 * such posts the program needs twice as many signs as before.
 */
static void count_vain_linger(struct adv_progress *p)
{
	if (++p->linger_vain < LINGER_VAIN)
		return;
	p->lingers = false;
	p->quick_posts = 0;
	if (p->quick_needed < QUICK_POSTS_MAX)
		p->quick_needed *= 2;
}

static void count_good_linger(struct adv_progress *p)
{
	p->linger_vain = 0;
	if (p->quick_needed > QUICK_POSTS)
		p->quick_needed--;
}

/* Judges the last lingering post, if it received a WRITE: it was useful if this post, at `now`,
 * comes soon after it and the program did not poll in a loop. Returns actions. */
static unsigned judge_linger(struct adv_progress *p, uint64_t now)
{
	uint64_t since = now - p->lingered;
	bool looped = adv_progress_looped(p);

	if (!p->lingered)
		return 0;
	p->lingered = 0;
	if (since <= QUICK_POST && !looped) {
		count_good_linger(p);
		return 0;
	}
	count_vain_linger(p);
	return p->lingers || looped ? 0 : return_to_thread(p, now);
}

unsigned adv_progress_linger_begins(struct adv_progress *p, uint64_t now, uint64_t *until)
{
	enum adv_progress_state state;
	unsigned actions;

	*until = 0;
	if (p->trial)
		adv_progress_judge(p, now, true);
	actions = judge_linger(p, now);
	state = adv_progress_state(p);
	if (!p->lingers || now < p->crowded_till ||
	    (state != ADV_PROGRESS_POLLER && !is_armed(state)))
		return actions;
	*until = now + LINGER_LONGEST;
	adv_progress_polled(p, now);
	if (sleeps_long(p, now))
		actions |= kick_to_check(p);
	return actions | follow_table(p, LINGERS);
}

unsigned adv_progress_linger_ends(struct adv_progress *p, uint64_t before, uint64_t now,
				  bool written)
{
	adv_progress_polled(p, now);
	if (written && now - before <= ADV_PROGRESS_PREEMPTED) {
		p->lingered = now;
		return 0;
	}
	count_vain_linger(p);
	return return_to_thread(p, now);
}

/* ---- a waiting thread of the program ---- */

unsigned adv_progress_waits(struct adv_progress *p)
{
	return follow_table(p, WAITS);
}

unsigned adv_progress_wait_receives(struct adv_progress *p)
{
	return follow_table(p, RECEIVES);
}

void adv_progress_wait_sleeps(struct adv_progress *p, uint64_t deadline)
{
	p->waiter_at = deadline;
}

void adv_progress_wait_woken(struct adv_progress *p)
{
	atomic_fetch_add_explicit(&p->wakeups, 1, memory_order_relaxed);
}

unsigned adv_progress_wait_ends(struct adv_progress *p, bool others)
{
	p->waiter_at = 0;
	return follow_table(p, others ? WAIT_LEFT : WAIT_OVER);
}

bool adv_progress_waiter_receives(const struct adv_progress *p)
{
	return is_waiter(adv_progress_state(p));
}

/* ---- the background thread ---- */

/* With the sockets armed: true if the thread leaves the packets to the program. */
static bool leaves_to_program(struct adv_progress *p, uint64_t now, unsigned sources, bool locked)
{
	if (sources & (ADV_PROGRESS_BY_NOTICE | ADV_PROGRESS_BY_ROOM | ADV_PROGRESS_CLOCK_STOOD))
		return false;
	if (sources & ADV_PROGRESS_BY_KICK && kick_of(p) != ADV_PROGRESS_KICK_REST)
		return false;
	return will_receive(p, now, locked);
}

/* Continues the sleep after a check which found that the program receives. The interval of checks
 * doubles. */
static enum adv_progress_choice look_again(struct adv_progress *p)
{
	if (p->look_interval < LOOK_LONGEST)
		p->look_interval *= 2;
	return ADV_PROGRESS_SLEEP_ON;
}

void adv_progress_missed(struct adv_progress *p)
{
	(void)look_again(p);
}

static bool still_polls(struct adv_progress *p, uint64_t now, unsigned sources)
{
	return !(sources & ADV_PROGRESS_CLOCK_STOOD) && polls_within(p, now, STOPPED_POLLING);
}

/* Checks whether the program, which received until now, still receives. */
static enum adv_progress_choice look_at_program(struct adv_progress *p,
						enum adv_progress_state state, uint64_t now,
						unsigned sources)
{
	unsigned wakeups = atomic_load_explicit(&p->wakeups, memory_order_relaxed);

	if (!is_waiter(state))
		return still_polls(p, now, sources) ? look_again(p) : ADV_PROGRESS_TRY;
	if (wakeups == p->wakeups_seen)
		(void)try_transition(p, state, SAME_WAIT); /* if it fails, that wait is over */
	p->wakeups_seen = wakeups;
	return look_again(p);
}

enum adv_progress_choice adv_progress_woken(struct adv_progress *p, uint64_t now, unsigned sources,
					    bool locked)
{
	enum adv_progress_state state = adv_progress_state(p);

	if (is_armed(state)) {
		if (!leaves_to_program(p, now, sources, locked))
			return ADV_PROGRESS_ENTER;
		p->left++;
		/* If the transition fails, the program has just changed the state and receives. */
		(void)try_transition(p, state, p->left >= p->useless_limit ? LEAVES_MUCH : LEAVES);
		return ADV_PROGRESS_SLEEP_ON;
	}
	p->left = 0;
	if (sources & ADV_PROGRESS_BY_KICK)
		p->look_interval = LOOK_FIRST;
	if (sources & (ADV_PROGRESS_BY_KICK | ADV_PROGRESS_BY_NOTICE))
		return ADV_PROGRESS_ENTER;
	return look_at_program(p, state, now, sources);
}

unsigned adv_progress_enters(struct adv_progress *p, uint64_t now, struct adv_progress_wakeup *w)
{
	enum adv_progress_state state = adv_progress_state(p);
	unsigned actions;

	set_kick(p, ADV_PROGRESS_NO_KICK);
	if (is_armed(state) && w->sources & ADV_PROGRESS_BY_PACKET)
		adv_progress_spin_slept(&p->spin, now);
	if (is_waiter(state)) /* the notification may be for the waiting thread */
		return ADV_PROGRESS_WAKE_WAITER;
	if (!is_armed(state) && state != ADV_PROGRESS_NOBODY && still_polls(p, now, w->sources))
		return 0;
	actions = follow_table(p, TAKES);
	if (!(actions & ADV_PROGRESS_ARM)) {
		p->useless += p->left;
		p->left = 0;
		return actions;
	}
	p->left = 0;
	w->sources &= ~(unsigned)ADV_PROGRESS_BY_PACKET; /* ignore older packets */
	/* If the thread did not receive for a long time, that was right: fewer useless wake-ups
	 * then end its next period of receiving. */
	w->after_short = p->look_interval < LOOK_LONGEST;
	if (!w->after_short && p->useless_limit > USELESS_LIMIT)
		p->useless_limit /= 2;
	p->look_interval = LOOK_FIRST;
	p->idle = IDLE_FIRST;
	p->wake_at = ADV_PROGRESS_NEVER;
	return actions;
}

unsigned adv_progress_received(struct adv_progress *p, uint64_t now, unsigned packets,
			       const struct adv_progress_wakeup *w)
{
	/* Packets waited while the thread did not receive. Twice as many useless wake-ups must then
	 * end its next period of receiving. */
	if (w->after_short && packets && p->useless_limit < USELESS_LIMIT_MAX)
		p->useless_limit *= 2;
	if (!(w->sources & ADV_PROGRESS_BY_PACKET) || !adv_progress_is_armed(p))
		return 0;
	if (p->trial) /* the program made no call after the last wake-up */
		count_useful(p);
	if (packets)
		p->trial = now;
	else
		count_useless(p);
	return p->useless >= p->useless_limit ? follow_table(p, USELESS) : 0;
}

/* True if the thread receives, and the program has made no call since. */
static bool is_left_alone(const struct adv_progress *p)
{
	return adv_progress_state(p) == ADV_PROGRESS_THREAD && p->trial && !p->trial_polled;
}

bool adv_progress_spins(struct adv_progress *p, uint64_t now)
{
	return is_left_alone(p) && !adv_progress_is_crowded(p, now) &&
	       adv_progress_spin_begins(&p->spin, now);
}

bool adv_progress_spins_on(struct adv_progress *p, uint64_t now, unsigned packets)
{
	if (!packets && now - p->spin.look > ADV_PROGRESS_PREEMPTED)
		adv_progress_assume_crowded(p, now);
	return adv_progress_spin_goes_on(&p->spin, now, packets, is_left_alone(p));
}

void adv_progress_sleeps(struct adv_progress *p, uint64_t now, const struct adv_progress_plan *plan)
{
	if (plan->activity != p->activity)
		p->idle = IDLE_FIRST;
	else if (p->wake_at && now >= p->wake_at && p->idle < IDLE_LONGEST)
		p->idle *= 2;
	p->activity = plan->activity;
	p->spin.slept_at = now;
	if (p->acks_wait)
		p->idle = IDLE_ACKS;
	p->acks_wait = false;
	p->wake_at = p->idle < IDLE_LONGEST ? now + p->idle : ADV_PROGRESS_NEVER;
	if (plan->deadline < p->wake_at)
		p->wake_at = plan->deadline;
	if (plan->more)
		p->wake_at = 0;
}

uint64_t adv_progress_sleep_until(const struct adv_progress *p, uint64_t now)
{
	switch (adv_progress_state(p)) {
	case ADV_PROGRESS_THREAD:
		return p->wake_at;
	case ADV_PROGRESS_LEFT:
	case ADV_PROGRESS_LEAVING:
		return now + LEFT_LONGEST;
	case ADV_PROGRESS_WAITER_ALONE:
		return ADV_PROGRESS_NEVER;
	default:
		return now + p->look_interval;
	}
}
