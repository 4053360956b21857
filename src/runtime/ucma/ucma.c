/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/ucma.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/ucma/cm_fault.h"
#include "runtime/keeper/given.h"
#include "runtime/ucma/address.h"
#include "runtime/ucma/channel.h"
#include "runtime/ucma/client.h"
#include "runtime/ucma/id.h"
#include "runtime/ucma/multicast.h"
#include "runtime/ucma/neighbour.h"
#include "runtime/ucma/id_resolve.h"
#include "runtime/ucma/stream.h"
#include "runtime/ucma/stream_end.h"
#include "runtime/control/counters.h"

/* One event for each client: no client waits for the next round. */
#define BAD_PKEY	(offsetof(struct adv_counters, engine.rx_bad_pkey) / sizeof(uint64_t))
#define EVENTS_A_ROUND	ADV_UCMA_CLIENTS
#define PACKETS_A_ROUND 256
#define MADS_A_ROUND	256
#define ERRORS_A_ROUND	64
#define WITHER_NS	1000000 /* time in each round to destroy objects of leaving clients */
#define FAREWELL_MS	1500
#define EARLY_NS	(100 * 1000000ull) /* time for which a request waits for a new listener */
/* Time for which a request waits at a port whose listener was just closed. */
#define AGAIN_NS (2000 * 1000000ull)

static int watch_descriptor(struct adv_ucma *u, int fd, uint64_t data)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = data};

	return epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? errno : 0;
}

/* ---- creating and freeing ---- */

static struct adv_cm *make_engine(const struct adv_ucma *u)
{
	struct adv_cm_config config = {.node_guid = u->gids.node_guid,
				       .early_ns = EARLY_NS,
				       .again_ns = AGAIN_NS,
				       .pkeys = u->gids.pkeys};
	struct adv_cm *cm;

	if (getrandom(&config.seed, sizeof(config.seed), 0) != (ssize_t)sizeof(config.seed))
		return NULL;
	cm = adv_cm_create(&config);
	if (!cm)
		errno = ENOMEM;
	return cm;
}

/* Returns the largest number of channels that leaves enough descriptors for clients and sending
 * sockets. */
static unsigned channel_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < 512)
		return 32;
	if (r.rlim_cur < 2048)
		return (unsigned)(r.rlim_cur - 384) / 4;
	return r.rlim_cur > 1 << 20 ? 1 << 19 : (unsigned)(r.rlim_cur - 1280) / 2;
}

static void free_ucma(struct adv_ucma *u)
{
	adv_cm_faults_destroy(u->faults);
	if (u->cm)
		adv_cm_destroy(u->cm);
	if (u->qp1)
		adv_qp1_destroy(u->qp1);
	if (u->resolver)
		adv_resolver_destroy(u->resolver);
	adv_ucma_streams_stop(u);
	if (u->epoll >= 0)
		close(u->epoll);
	free(u);
}

struct adv_ucma *adv_ucma_create(struct adv_daemon *d, struct adv_users *users)
{
	struct adv_ucma *u = calloc(1, sizeof(*u));
	int error = 0;

	if (!u)
		return NULL;
	u->daemon = d;
	u->users = users;
	u->channel_limit = channel_limit();
	adv_list_init(&u->clients);
	adv_list_init(&u->leaving);
	adv_list_init(&u->queries);
	memcpy(&u->gids, d->gids, sizeof(u->gids));
	error = adv_ucma_streams_start(u);
	u->streams.make_id = adv_ucma_id_of_request;
	u->epoll = epoll_create1(EPOLL_CLOEXEC);
	u->qp1 = adv_qp1_create(d->socket[ADV_SLOT_DAEMON], &d->senders->port[ADV_SLOT_DAEMON]);
	u->resolver = u->qp1 ? adv_resolver_create() : NULL;
	u->cm = u->resolver ? make_engine(u) : NULL;
	u->faults = u->cm ? adv_cm_faults_create(u) : NULL;
	if (u->epoll < 0 || !u->faults)
		error = errno;
	if (!error)
		error = watch_descriptor(u, d->socket[ADV_SLOT_DAEMON], ADV_UCMA_FROM_QP1);
	if (!error && adv_qp1_bell_fd(u->qp1) >= 0)
		error = watch_descriptor(u, adv_qp1_bell_fd(u->qp1), ADV_UCMA_FROM_QP1_BELL);
	if (!error)
		error = watch_descriptor(u, adv_ucma_streams_fd(u), ADV_UCMA_FROM_STREAMS);
	if (!error)
		error = watch_descriptor(u, adv_qp1_error_fd(u->qp1), ADV_UCMA_FROM_QP1_ERRORS);
	if (!error)
		error = adv_qp1_set_gids(u->qp1, &u->gids);
	if (error) {
		free_ucma(u);
		errno = error;
		return NULL;
	}
	return u;
}

int adv_ucma_fd(const struct adv_ucma *u)
{
	return u->epoll;
}

/* ---- clients ---- */

static bool too_many(const struct adv_ucma *u, const struct adv_user *user,
		     const struct ucred *peer)
{
	unsigned same_process = 0;

	adv_list_for_each(const struct adv_ucma_client, c, &u->clients, link) {
		/* pid 0 stands for all processes outside this PID namespace, so it is not
		 * counted. */
		same_process += peer->pid && c->session.peer.pid == peer->pid;
	}
	return u->client_count >= ADV_UCMA_CLIENTS || same_process >= ADV_UCMA_PROCESS_CLIENTS ||
	       (u->daemon->system && (user->cm_clients >= ADV_UCMA_USER_CLIENTS ||
				      !adv_users_may_open(u->users, user, ADV_UCMA_DESCRIPTORS)));
}

int adv_ucma_open(struct adv_ucma *u, const struct ucred *peer, int pidfd, const char *comm)
{
	struct adv_user *user = adv_users_hold(u->users, peer->uid);
	int pair[2], error = ENOMEM;

	if (user)
		error = too_many(u, user, peer) ? EUSERS : 0;
	if (!error && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		error = errno;
	if (!error) {
		adv_given_refuse(pair[0]);
		if (adv_ucma_client_new(u, pair[0], user, peer, pidfd, comm))
			return pair[1];
		error = errno;
		close(pair[0]);
		close(pair[1]);
	}
	if (user)
		adv_users_release(user);
	if (pidfd >= 0)
		close(pidfd);
	errno = error;
	return -1;
}

bool adv_ucma_find_process(const struct adv_ucma *u, pid_t pid, uid_t *uid)
{
	adv_list_for_each(const struct adv_ucma_client, c, &u->clients, link) {
		if (c->session.peer.pid == pid) {
			*uid = c->session.peer.uid;
			return true;
		}
	}
	return false;
}

void adv_ucma_process_leaves(struct adv_ucma *u, pid_t pid)
{
	adv_cm_faults_process_leaves(u->faults, pid);
}

void adv_ucma_fault(struct adv_ucma *u, pid_t pid, uid_t uid, int fd)
{
	if (pid)
		adv_cm_faults_of_process(u->faults, pid, uid, fd);
	else
		adv_cm_faults_of_daemon(u->faults, fd);
}

void adv_ucma_capture(struct adv_ucma *u, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0 && !adv_qp1_capture(u->qp1, copy))
		close(copy);
}

static void close_dead(struct adv_ucma *u)
{
	adv_list_for_each_safe(struct adv_ucma_client, c, &u->clients, link) {
		if (c->session.dead)
			adv_ucma_client_close(c);
	}
}

/* Destroys objects of each leaving client in turn, because other clients may wait for resources
 * that any of them releases. */
static void wither_clients(struct adv_ucma *u)
{
	uint64_t end = adv_clock_ns() + WITHER_NS;

	while (!adv_list_empty(&u->leaving) && adv_clock_ns() < end) {
		struct adv_ucma_client *c =
			adv_container_of(u->leaving.next, struct adv_ucma_client, link);

		adv_list_del(&c->link);
		adv_list_add_tail(&u->leaving, &c->link);
		adv_ucma_client_drain(c);
	}
}

/* ---- rounds ---- */

static void receive_mad(void *user, const struct adv_rx_meta *meta, const uint8_t *mad)
{
	struct adv_ucma *u = user;

	adv_cm_rx(u->cm, adv_clock_ns(), meta, mad, ADV_CM_MAD_LEN);
}

static void receive_mads(struct adv_ucma *u)
{
	const struct adv_qp1_counters *now = adv_qp1_counters(u->qp1), before = *now;
	struct adv_ledger *ledger = u->daemon->ledger;

	adv_qp1_receive(u->qp1, PACKETS_A_ROUND, receive_mad, u);
	ledger->qp1_dropped += now->dropped - before.dropped;
	ledger->counted[BAD_PKEY] += now->bad_pkey - before.bad_pkey;
}

static void receive_after_bell(struct adv_ucma *u)
{
	adv_qp1_still(u->qp1);
	receive_mads(u);
}

static void port_unreachable(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
			     const uint8_t *mad, size_t len)
{
	struct adv_ucma *u = user;

	adv_cm_port_unreachable(u->cm, adv_clock_ns(), sgid, dgid, mad, len);
}

/* Watches QP1's full sending socket until it is writable. */
static void wait_for_room(struct adv_ucma *u)
{
	struct epoll_event e = {.events = EPOLLOUT | EPOLLONESHOT,
				.data.u64 = ADV_UCMA_FROM_QP1_ROOM};
	int fd = adv_qp1_send_fd(u->qp1);

	if (epoll_ctl(u->epoll, EPOLL_CTL_MOD, fd, &e) < 0)
		epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* Finds the MAC address for a MAD. False: it is not known yet; the CM repeats the MAD. */
static bool find_mac(struct adv_ucma *u, struct adv_path *path)
{
	const struct adv_gid_entry *own = adv_ucma_find_gid(u, &path->sgid, 0);

	return !adv_qp1_needs_mac(u->qp1, path) ||
	       (own &&
		adv_ucma_neighbour(u, &path->sgid, &path->dgid, own->ifindex, path->dmac) == 0);
}

/* Fetches the next MAD that can be sent, and looks at *left MADs at most, which it counts down.
 * False: there is none, or *left is 0. */
static bool next_mad(struct adv_ucma *u, struct adv_cm_mad *mad, unsigned *left)
{
	while (*left && adv_cm_tx(u->cm, adv_clock_ns(), mad)) {
		--*left;
		if (find_mac(u, &mad->path))
			return true;
	}
	return false;
}

static void send_mads(struct adv_ucma *u)
{
	struct adv_cm_mad mads[ADV_QP1_BATCH];
	unsigned left = MADS_A_ROUND, n = ADV_QP1_BATCH;

	while (left && n == ADV_QP1_BATCH && adv_qp1_has_room(u->qp1)) {
		for (n = 0; n < ADV_QP1_BATCH && next_mad(u, &mads[n], &left); n++)
			;
		adv_qp1_send(u->qp1, mads, n);
	}
	u->more_to_send = !left && adv_qp1_has_room(u->qp1);
	if (!adv_qp1_has_room(u->qp1))
		wait_for_room(u);
}

static void on_event(struct adv_ucma *u, const struct epoll_event *e)
{
	if (e->data.u64 == ADV_UCMA_FROM_QP1 || e->data.u64 == ADV_UCMA_FROM_QP1_V1)
		receive_mads(u);
	else if (e->data.u64 == ADV_UCMA_FROM_QP1_BELL)
		receive_after_bell(u);
	else if (e->data.u64 == ADV_UCMA_FROM_QP1_ROOM)
		(void)adv_qp1_flush(u->qp1);
	else if (e->data.u64 == ADV_UCMA_FROM_QP1_ERRORS)
		adv_qp1_errors(u->qp1, ERRORS_A_ROUND, port_unreachable, u);
	else if (e->data.u64 == ADV_UCMA_FROM_STREAMS)
		adv_ucma_streams_poll(u);
	else
		(void)adv_session_on_event(e);
}

void adv_ucma_poll(struct adv_ucma *u)
{
	struct epoll_event events[EVENTS_A_ROUND];
	int n = epoll_wait(u->epoll, events, EVENTS_A_ROUND, 0);

	for (int i = 0; i < n; i++)
		on_event(u, &events[i]);
}

void adv_ucma_run(struct adv_ucma *u)
{
	struct adv_cm_event event;

	if (adv_qp1_deadline(u->qp1) <= adv_clock_ns())
		receive_mads(u);
	if (adv_cm_deadline(u->cm) <= adv_clock_ns())
		adv_cm_expire(u->cm, adv_clock_ns());
	adv_ucma_queries_run(u, adv_clock_ms());
	adv_ucma_streams_run(u, adv_clock_ms());
	while (adv_cm_next_event(u->cm, &event))
		adv_ucma_id_on_event(u, &event);
	close_dead(u);
	wither_clients(u);
	send_mads(u);
}

uint64_t adv_ucma_deadline(const struct adv_ucma *u)
{
	uint64_t cm = adv_cm_deadline(u->cm), kept = adv_qp1_deadline(u->qp1), next = UINT64_MAX;

	if (u->more_to_send || !adv_list_empty(&u->leaving))
		return adv_clock_ms();
	if (kept < cm)
		cm = kept;
	if (cm != UINT64_MAX)
		next = cm / 1000000 + 1;
	if (!adv_list_empty(&u->queries)) {
		uint64_t due =
			adv_container_of(u->queries.next, struct adv_ucma_query, link)->due_ms;

		next = due < next ? due : next;
	}
	if (adv_ucma_streams_due(u) && adv_ucma_streams_due(u) < next)
		next = adv_ucma_streams_due(u);
	return next == UINT64_MAX ? 0 : next;
}

/* ---- changes of addresses ---- */

/* Lists the entries of *a that are not in *b. Returns their number. */
static unsigned gids_missing(const struct adv_gid_table *a, const struct adv_gid_table *b,
			     const struct adv_gid_entry **out)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t j = 0;

		while (j < b->count && !(adv_gid_equal(&a->entry[i].gid, &b->entry[j].gid) &&
					 a->entry[i].ifindex == b->entry[j].ifindex))
			j++;
		if (j == b->count)
			out[n++] = &a->entry[i];
	}
	return n;
}

static bool is_among(const struct adv_ucma_id *id, const struct adv_gid_entry *const *entries,
		     unsigned count)
{
	const struct adv_gid *ip = &adv_cm_id_local(id->cm)->ip;

	for (unsigned i = 0; i < count; i++)
		if (entries[i]->ifindex == id->ifindex && adv_gid_equal(&entries[i]->gid, ip))
			return true;
	return false;
}

static void lose_address(struct adv_ucma_id *id)
{
	if (id->address_lost)
		return;
	id->address_lost = true;
	adv_ucma_memberships_lost(id);
	if (!id->unanswered)
		adv_ucma_event_queue_status(id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
}

void adv_ucma_gids_changed(struct adv_ucma *u)
{
	const struct adv_gid_entry *gone[ADV_GID_TABLE_ENTRIES], *come[ADV_GID_TABLE_ENTRIES];
	static struct adv_gid_table old;
	unsigned gone_count, come_count;
	int error;

	memcpy(&old, &u->gids, sizeof(old));
	memcpy(&u->gids, u->daemon->gids, sizeof(u->gids));
	error = adv_qp1_set_gids(u->qp1, &u->gids);
	if (error)
		adv_warn("QP1 keeps the old addresses: %s", strerror(error));
	gone_count = gids_missing(&old, &u->gids, gone);
	come_count = gids_missing(&u->gids, &old, come);
	adv_list_for_each(struct adv_ucma_client, c, &u->clients, link) {
		adv_list_for_each(struct adv_ucma_id, id, &c->id_list, link) {
			if (id->ifindex && is_among(id, gone, gone_count))
				lose_address(id);
			else if (id->address_lost && is_among(id, come, come_count))
				id->address_lost = false;
		}
	}
}

/* ---- ending ---- */

bool adv_ucma_busy(const struct adv_ucma *u)
{
	return u->client_count || adv_cm_closing_count(u->cm) || adv_ucma_streams_ending(u);
}

void adv_ucma_end(struct adv_ucma *u)
{
	uint64_t end = adv_clock_ms() + FAREWELL_MS, now;

	while (!adv_list_empty(&u->clients))
		adv_ucma_client_close(
			adv_container_of(u->clients.next, struct adv_ucma_client, link));
	for (now = adv_clock_ms(); adv_ucma_busy(u) && now < end; now = adv_clock_ms()) {
		struct pollfd p = {.fd = u->epoll, .events = POLLIN};
		uint64_t next = adv_ucma_deadline(u);

		if (!next || next > end)
			next = end;
		poll(&p, 1, next > now ? (int)(next - now) : 0);
		adv_ucma_poll(u);
		adv_ucma_run(u);
	}
	while (!adv_list_empty(&u->leaving))
		adv_ucma_client_drain(
			adv_container_of(u->leaving.next, struct adv_ucma_client, link));
	free_ucma(u);
}

/* ---- status ---- */

void adv_ucma_status(const struct adv_ucma *u, struct adv_ucma_status *out)
{
	const struct adv_cm_counters *cm = adv_cm_counters(u->cm);
	const struct adv_qp1_counters *qp1 = adv_qp1_counters(u->qp1);

	*out = (struct adv_ucma_status){
		.clients = u->client_count,
		.ids = u->id_count,
		.connections = adv_cm_busy_count(u->cm),
		.ending = adv_cm_ending_count(u->cm),
		.rx_mads = qp1->rx,
		.tx_mads = qp1->tx,
		.tx_retries = cm->tx_retries,
		.rx_dropped = cm->rx_malformed + cm->rx_unmatched + cm->backlog_drops,
	};
}
