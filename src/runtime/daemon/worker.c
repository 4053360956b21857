/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The worker: one epoll loop in one thread. No call in the loop blocks. */
#include "runtime/daemon/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/spare.h"
#include "runtime/keeper/carrier.h"
#include "runtime/daemon/client.h"
#include "runtime/daemon/client_notice.h"
#include "runtime/keeper/counters_file.h"
#include "runtime/daemon/daemon.h"
#include "runtime/steering/gid_publish.h"
#include "runtime/daemon/keeper.h"
#include "runtime/steering/pairs.h"
#include "runtime/keeper/priority.h"
#include "runtime/steering/slots.h"
#include "runtime/steering/snapshot.h"
#include "runtime/ucma/ucma.h"

/* One event for each client: no event waits for the next round. */
#define EVENTS_A_ROUND	ADV_CLIENTS_MAX
#define ACCEPTS_A_ROUND 64
/* Time from a change of addresses until they are published: several often change together. */
#define DEBOUNCE_MS	20
#define KEEPER_RETRY_MS 1000

enum source { FROM_LISTENER, FROM_SIGNALS, FROM_KEEPER, FROM_NETLINK, FROM_UCMA, SOURCES };

struct worker {
	struct adv_daemon *d;
	struct adv_clients clients;
	struct adv_users users;
	int epoll;
	int signals;
	int netlink;
	struct adv_spare spare;
	bool quit;
	bool signalled; /* a signal has requested the end */
	/* Milliseconds of adv_clock_ms(); 0: not set. */
	uint64_t leave_at;
	uint64_t grace_ends;
	uint64_t publish_at;
	uint64_t keeper_at;
};

/* Adds a descriptor to the epoll set. The data of epoll events: a small number is a source; other
 * values are sessions (runtime/session/session.h). */
static int watch_source(struct worker *w, int fd, uint64_t data)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = data};

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void watch_room(struct worker *w, struct adv_client *c)
{
	struct epoll_event e = {.events = EPOLLIN | (c->wants_room ? EPOLLOUT : 0),
				.data.u64 = (uintptr_t)&c->session};

	epoll_ctl(w->epoll, EPOLL_CTL_MOD, c->session.fd, &e);
}

static void drop_dead(struct worker *w)
{
	adv_list_for_each_safe(struct adv_client, c, &w->clients.list, link) {
		if (c->session.dead)
			adv_client_drop(c);
	}
}

static void notify_all(struct worker *w, uint32_t what)
{
	if (!what)
		return;
	adv_list_for_each(struct adv_client, c, &w->clients.list, link)
		adv_client_notify(c, what);
}

static void watch_rooms(struct worker *w)
{
	if (!w->clients.room_wanted)
		return;
	w->clients.room_wanted = false;
	adv_list_for_each(struct adv_client, c, &w->clients.list, link) {
		if (c->wants_room)
			watch_room(w, c);
	}
}

static void accept_clients(struct worker *w)
{
	for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
		int fd = adv_spare_accept(&w->spare, w->d->listener);
		struct adv_client *c;

		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			adv_warn("no descriptor left for another client");
		if (fd < 0)
			return;
		c = adv_client_new(&w->clients, fd);
		if (c && adv_session_watch(&c->session, w->epoll) != 0)
			c->session.dead = true;
	}
}

/* Handles a readable keeper socket. A byte is the keeper's request to end the daemon. End of file
 * means that the keeper has died. */
static void keeper_readable(struct worker *w)
{
	char byte;
	ssize_t n = recv(w->d->keeper, &byte, 1, MSG_DONTWAIT);

	if (n > 0) {
		w->quit = w->signalled = true;
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
	close(w->d->keeper);
	w->d->keeper = -1;
	w->keeper_at = adv_clock_ms();
}

static void replace_keeper(struct worker *w)
{
	adv_warn("the keeper died: starting another");
	w->d->keeper = adv_keeper_replace(w->d);
	w->keeper_at = 0;
	if (w->d->keeper < 0 || watch_source(w, w->d->keeper, FROM_KEEPER) < 0) {
		adv_error("cannot start another keeper: %s", strerror(errno));
		w->keeper_at = adv_clock_ms() + KEEPER_RETRY_MS;
	}
}

static void on_source(struct worker *w, enum source source)
{
	struct signalfd_siginfo info;

	switch (source) {
	case FROM_LISTENER:
		accept_clients(w);
		break;
	case FROM_SIGNALS:
		if (read(w->signals, &info, sizeof(info)) > 0)
			w->quit = w->signalled = true;
		break;
	case FROM_KEEPER:
		keeper_readable(w);
		break;
	case FROM_NETLINK:
		if (adv_snapshot_changed(w->netlink) && !w->publish_at)
			w->publish_at = adv_clock_ms() + DEBOUNCE_MS;
		break;
	case FROM_UCMA:
		adv_ucma_poll(w->clients.ucma);
		break;
	case SOURCES:
		break;
	}
}

static void on_client(struct worker *w, const struct epoll_event *e)
{
	struct adv_session *s = adv_session_on_event(e);
	struct adv_client *c = adv_container_of(s, struct adv_client, session);

	if (!s->dead && (e->events & EPOLLOUT)) {
		adv_client_notify(c, 0);
		watch_room(w, c);
	}
}

/* Releases slots whose clients did not resume in time. */
static void end_grace(struct worker *w)
{
	w->grace_ends = 0;
	for (unsigned i = ADV_SLOT_FIRST; i < w->d->sockets; i++)
		if (atomic_load(&w->d->ledger->slot[i].owned) && !w->clients.owner[i]) {
			adv_info("slot %u was not resumed", i);
			adv_clients_end_pairs(&w->clients, i);
			adv_slots_release(w->d, i);
		}
}

/* Leaves the counters to the next daemon. If clients take over the estate, the ledger has them. */
static void keep_counters(const struct adv_daemon *d)
{
	uint64_t value[ADV_COUNTERS];

	if (atomic_load(&d->ledger->handed))
		return;
	adv_slots_counters(d, value);
	adv_counters_file_save(d->listener, value);
}

/* Decides whether the worker exits: sets, keeps or clears leave_at, the time of the exit. */
static void consider_leaving(struct worker *w, uint64_t now)
{
	if (w->d->system || w->clients.count || w->grace_ends || adv_ucma_busy(w->clients.ucma)) {
		w->leave_at = 0;
		return;
	}
	if (!w->leave_at)
		w->leave_at = now + w->d->linger_ms;
	if (now < w->leave_at)
		return;
	accept_clients(w); /* a client may have connected in the meantime */
	if (w->clients.count || adv_ucma_busy(w->clients.ucma))
		w->leave_at = 0;
	else
		w->quit = true;
}

static void on_time(struct worker *w)
{
	uint64_t now = adv_clock_ms();
	uint32_t what;

	adv_priority_renew(now);
	if (w->publish_at && now >= w->publish_at) {
		w->publish_at = 0;
		what = adv_gid_publish(w->d->gids);
		if (what) {
			(void)adv_slots_steer(w->d);
			adv_ucma_gids_changed(w->clients.ucma);
		}
		notify_all(w, what);
		drop_dead(w);
	}
	if (w->grace_ends && now >= w->grace_ends)
		end_grace(w);
	if (w->d->senders_at && now >= w->d->senders_at)
		adv_slots_forget_senders(w->d, now);
	if (w->keeper_at && now >= w->keeper_at)
		replace_keeper(w);
	adv_ucma_run(w->clients.ucma);
	consider_leaving(w, now);
}

static int until_next(const struct worker *w)
{
	const uint64_t times[] = {w->publish_at,	  w->grace_ends,
				  w->keeper_at,		  w->leave_at,
				  w->d->senders_at,	  adv_ucma_deadline(w->clients.ucma),
				  adv_priority_deadline()};
	uint64_t now = adv_clock_ms(), next = UINT64_MAX;

	if (adv_users_pending(&w->users))
		return 0;
	for (size_t i = 0; i < ADV_ARRAY_SIZE(times); i++)
		if (times[i] && times[i] < next)
			next = times[i];
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : next - now > INT_MAX ? INT_MAX : (int)(next - now);
}

static int prepare_worker(struct worker *w)
{
	unsigned descriptors, kept;
	sigset_t set;

	adv_daemon_signals(&set);
	adv_list_init(&w->clients.list);
	descriptors = adv_daemon_descriptors();
	kept = descriptors / 4 < ADV_PAIRS_MAX ? descriptors / 4 : ADV_PAIRS_MAX;
	adv_users_init(&w->users, adv_clock_ns, w->d->system ? (descriptors - kept) / 2 : 0);
	w->clients.users = &w->users;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w->netlink = adv_snapshot_watch();
	w->clients.ucma = adv_ucma_create(w->d, &w->users);
	w->clients.pairs = adv_pairs_create(kept, w->d->system);
	if (!w->clients.ucma || !w->clients.pairs || w->epoll < 0 || w->signals < 0 ||
	    w->netlink < 0 || adv_spare_open(&w->spare) ||
	    watch_source(w, w->d->listener, FROM_LISTENER) < 0 ||
	    watch_source(w, w->signals, FROM_SIGNALS) < 0 ||
	    watch_source(w, w->d->keeper, FROM_KEEPER) < 0 ||
	    watch_source(w, w->netlink, FROM_NETLINK) < 0 ||
	    watch_source(w, adv_ucma_fd(w->clients.ucma), FROM_UCMA) < 0)
		return -1;
	/* Publishes addresses that changed between the first query and the watch, or since a worker
	 * died. */
	w->publish_at = adv_clock_ms();
	if (adv_slots_used(w->d->ledger))
		w->grace_ends = w->publish_at + ADV_GRACE_MS;
	return 0;
}

static void say_farewell(struct worker *w)
{
	notify_all(w, ADV_CONTROL_NOTICE_LEAVING);
	adv_list_for_each(struct adv_client, c, &w->clients.list, link)
		c->session.dead = true;
	drop_dead(w);
	adv_ucma_end(w->clients.ucma);
	adv_pairs_destroy(w->clients.pairs);
	adv_users_free(&w->users);
	close(w->epoll);
	close(w->signals);
	close(w->netlink);
	adv_spare_close(&w->spare);
	adv_daemon_release(w->d);
	close(w->d->keeper);
}

int adv_worker_run(struct adv_daemon *d, int keeper)
{
	struct worker w = {.d = d, .clients = {.daemon = d}};

	prctl(PR_SET_NAME, "adverbd");
	atomic_store(&d->ledger->worker_pid, (uint32_t)getpid());
	/* These numbers may be those of another worker's descriptors. */
	memset(d->counters, 0, sizeof(d->counters));
	d->keeper = keeper;
	d->ledger->sockets = d->sockets;
	adv_slots_resume_senders(d);
	if (prepare_worker(&w) < 0) {
		adv_daemon_cannot_start(d, errno);
		return 1;
	}
	atomic_store(&d->ledger->served, 1);
	adv_daemon_report(d, ADV_START_READY, "");
	while (!w.quit) {
		struct epoll_event events[EVENTS_A_ROUND];
		int n;

		on_time(&w);
		if (w.quit)
			break;
		n = epoll_wait(w.epoll, events, EVENTS_A_ROUND, until_next(&w));
		for (int i = 0; i < n; i++) {
			if (events[i].data.u64 < SOURCES)
				on_source(&w, (enum source)events[i].data.u64);
			else
				on_client(&w, &events[i]);
		}
		adv_users_serve(&w.users);
		drop_dead(&w);
		watch_rooms(&w);
	}
	/* A signal may be meant for the process group, session or container of the starting
	 * process. Then it does not concern the clients, so the estate is left to them. A signal to
	 * a daemon in the foreground, or to the system's daemon, is meant for the daemon. */
	if (w.signalled && w.clients.count && !d->foreground && !d->system &&
	    adv_carrier_queue(d) >= 0)
		atomic_store(&d->ledger->handed, 1);
	atomic_store(&d->ledger->leaving, 1);
	keep_counters(d);
	if (!atomic_load(&d->ledger->handed))
		say_farewell(&w);
	return 0;
}
