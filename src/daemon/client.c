/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rights.h"
#include "daemon/carrier.h"
#include "daemon/given.h"
#include "daemon/pairs.h"
#include "daemon/slots.h"
#include "daemon/ucma.h"
#include "host/fault_exchange.h"

#define MESSAGES_A_ROUND 16
#define DESCRIPTORS	 3 /* of a client: the socket, the pidfd, `asking` */
#define DESCRIPTORS_READ 8 /* room for those a client should not send; the kernel drops more */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- sending ---- */

/* Never blocks. 0 or errno. */
static int send_message(int sock, const struct adv_control_message *m, int fd)
{
	union adv_rights_room room = {0};
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0)
		adv_rights_put(&msg, &room, fd);
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* A client that asks and does not read the answers is dropped. */
static void answer(struct adv_client *c, const struct adv_control_message *m, int fd)
{
	if (send_message(c->fd, m, fd) != 0)
		c->dead = true;
}

static void init_message(struct adv_control_message *m, uint16_t type, uint32_t serial)
{
	memset(m, 0, sizeof(*m));
	m->magic = ADV_CONTROL_MAGIC;
	m->version = ADV_CONTROL_VERSION;
	m->type = type;
	m->serial = serial;
}

static void refuse(int sock, int error, const char *text)
{
	struct adv_control_message m;

	init_message(&m, ADV_CONTROL_REFUSED, 0);
	m.result = error;
	snprintf(m.body.text, sizeof(m.body.text), "%s", text);
	send_message(sock, &m, -1);
}

/* ---- a connection's start and end ---- */

static void read_comm(struct adv_client *c)
{
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)c->peer.pid);
	fd = c->peer.pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, c->comm, sizeof(c->comm) - 1);
		close(fd);
	}
	c->comm[n > 0 ? n : 0] = 0;
	c->comm[strcspn(c->comm, "\n")] = 0;
	/* It goes to a terminal one day. */
	for (char *p = c->comm; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

static int open_pidfd(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0) {
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		return fd;
	}
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static const char *reason_to_refuse(const struct adv_clients *all, const struct adv_user *user,
				    uid_t uid, int *error)
{
	*error = EACCES;
	if (!all->daemon->system && uid != all->daemon->uid && uid != 0)
		return "this adverbd serves another user";
	*error = EUSERS;
	if (all->count >= ADV_CLIENTS_MAX)
		return "adverbd has as many clients as it serves: try again when some have ended";
	if (all->daemon->system && user &&
	    (user->clients >= ADV_USER_CLIENTS ||
	     !adv_users_may_open(all->users, user, DESCRIPTORS)))
		return "you have as many connections to adverbd as one user may have";
	*error = ENOMEM;
	return user ? NULL : "adverbd has no memory for one more client";
}

static bool serve(struct adv_turn *t, uint64_t end);

struct adv_client *adv_client_new(struct adv_clients *all, int fd)
{
	struct adv_client *c = calloc(1, sizeof(*c));
	socklen_t len = sizeof(c->peer);
	struct adv_user *user = NULL;
	const char *reason;
	int error = ENOMEM;

	if (c && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &len) == 0)
		user = adv_users_hold(all->users, c->peer.uid);
	reason = c ? reason_to_refuse(all, user, c->peer.uid, &error)
		   : "adverbd has no memory for one more client";
	if (reason) {
		refuse(fd, error, reason);
		close(fd);
		if (user)
			adv_users_release(user);
		free(c);
		return NULL;
	}
	adv_turn_init(all->users, &c->turn, user, c->peer.pid, serve);
	user->clients++;
	user->descriptors += DESCRIPTORS;
	c->all = all;
	c->fd = fd;
	c->asking = -1;
	adv_given_refuse(fd);
	c->pidfd = open_pidfd(fd, c->peer.pid);
	read_comm(c);
	adv_list_add_tail(&all->list, &c->link);
	all->count++;
	return c;
}

static void tell(struct adv_clients *all, unsigned slot, uint32_t what)
{
	if (all->owner[slot])
		adv_client_notify(all->owner[slot], what);
}

void adv_clients_end_pairs(struct adv_clients *all, unsigned slot)
{
	uint8_t paired[ADV_SLOTS / 8];

	adv_pairs_release(all->pairs, slot, paired);
	for (unsigned i = 0; i < all->daemon->sockets; i++)
		if (paired[i / 8] >> i % 8 & 1)
			tell(all, i, ADV_CONTROL_NOTICE_PAIRS);
}

static void close_asking(struct adv_client *c)
{
	if (c->asking >= 0)
		close(c->asking);
	c->asking = -1;
}

void adv_client_drop(struct adv_client *c)
{
	for (unsigned i = ADV_SLOT_FIRST; i < c->all->daemon->sockets; i++) {
		if (c->all->owner[i] != c)
			continue;
		c->all->owner[i] = NULL;
		c->turn.user->descriptors--;
		adv_clients_end_pairs(c->all, i);
		adv_slots_release(c->all->daemon, i);
		adv_info("slot %u of process %d (%s) taken back", i, (int)c->peer.pid, c->comm);
	}
	adv_list_del(&c->link);
	adv_turn_end(&c->turn);
	c->all->count--;
	c->turn.user->clients--;
	c->turn.user->descriptors -= DESCRIPTORS;
	adv_users_release(c->turn.user);
	adv_ucma_process_leaves(c->all->ucma, c->peer.pid);
	close_asking(c);
	close(c->fd);
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c);
}

/* ---- requests ---- */

/* Each takes the request and makes it the answer. The descriptor to send along, or -1. */
typedef int handler(struct adv_client *c, struct adv_control_message *m);

static void fail(struct adv_control_message *m, int error, const char *text)
{
	m->result = error;
	memset(&m->body, 0, sizeof(m->body));
	snprintf(m->body.text, sizeof(m->body.text), "%s", text);
}

static int hello(struct adv_client *c, struct adv_control_message *m)
{
	memset(&m->body, 0, sizeof(m->body));
	memcpy(m->body.welcome.instance, c->all->daemon->ledger->instance,
	       sizeof(m->body.welcome.instance));
	c->greeted = true;
	return c->all->daemon->table_fd;
}

static void own_slot(struct adv_client *c, unsigned slot)
{
	c->all->owner[slot] = c;
	c->turn.user->descriptors++; /* the page that it counts in */
	adv_pairs_charge(c->all->pairs, slot, &c->turn.user->pairs);
}

/* What one may have of something: all of it where one user is served, and root. */
static unsigned of_a_user(const struct adv_client *c, unsigned share, unsigned all)
{
	return c->all->daemon->system && c->peer.uid != 0 ? share : all;
}

static void say_none_left(const struct adv_daemon *d, char *text, size_t len)
{
	if (d->system)
		snprintf(text, len,
			 "all of adverbd's slots that you may have are in use, or were another "
			 "user's (adverb status lists those in use)");
	else
		snprintf(text, len,
			 "all of adverbd's %u slots are in use (adverb status lists them)%s",
			 d->slots_most - ADV_SLOT_FIRST,
			 d->slots_most < ADV_SLOTS ? "; a higher ulimit -n would allow more" : "");
}

static int open_slot(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	unsigned limit = of_a_user(c, ADV_USER_SLOTS, ADV_SLOTS);
	unsigned slot =
		adv_slots_choose(d->ledger, c->peer.uid, limit, d->slots_most, adv_daemon_now());
	uint32_t buffer;
	char text[160];

	if (!slot) {
		say_none_left(d, text, sizeof(text));
		fail(m, EAGAIN, text);
		return -1;
	}
	buffer = adv_slots_take(d, slot, c->peer.pid, c->peer.uid, c->comm);
	if (!buffer) {
		fail(m, ENOMEM, "adverbd cannot make a slot: its log says why");
		return -1;
	}
	own_slot(c, slot);
	memset(&m->body, 0, sizeof(m->body));
	m->body.slot.slot = slot;
	m->body.slot.receive_buffer = buffer;
	memcpy(m->body.slot.token, d->ledger->slot[slot].token, sizeof(m->body.slot.token));
	adv_info("slot %u to process %d (%s), receive buffer of %u bytes", slot, (int)c->peer.pid,
		 c->comm, buffer);
	return d->socket[slot];
}

static int resume(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_ledger *l = c->all->daemon->ledger;
	uint32_t slot = m->body.slot.slot;

	if (!adv_slots_token_fits(l, slot, m->body.slot.token) || c->all->owner[slot] ||
	    l->slot[slot].uid != c->peer.uid) {
		fail(m, EPERM, "the slot to be resumed is not yours any more");
		return -1;
	}
	own_slot(c, slot);
	adv_info("slot %u resumed by process %d (%s)", slot, (int)c->peer.pid, c->comm);
	return -1;
}

static int membership(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	uint32_t slot = m->body.group.slot;
	struct adv_gid group;
	int error = EPERM;

	memcpy(group.raw, m->body.group.group, sizeof(group.raw));
	if (slot < ADV_SLOTS && c->all->owner[slot] == c)
		error = m->type == ADV_CONTROL_JOIN
				? adv_slots_join(d, slot, &group, m->body.group.ifindex)
				: adv_slots_leave(d, slot, &group, m->body.group.ifindex);
	if (error)
		fail(m, error, strerror(error));
	return -1;
}

static int count(struct adv_client *c, struct adv_control_message *m)
{
	uint32_t slot = m->body.slot.slot;
	int fd = -1;

	errno = EPERM;
	if (slot < ADV_SLOTS && c->all->owner[slot] == c)
		fd = adv_slots_count(c->all->daemon, slot);
	if (fd < 0)
		fail(m, errno, strerror(errno));
	return fd;
}

static int sender(struct adv_client *c, struct adv_control_message *m)
{
	uint32_t slot = m->body.sender.slot, port = m->body.sender.port;

	/* A port that is another's harms its own connections only: it is believed of this slot. */
	if (slot >= ADV_SLOTS || c->all->owner[slot] != c || port > UINT16_MAX)
		fail(m, EPERM, strerror(EPERM));
	else
		adv_slots_sender(c->all->daemon, slot, (uint16_t)port);
	return -1;
}

static int counters(struct adv_client *c, struct adv_control_message *m)
{
	uint64_t value[ADV_COUNTERS];
	uint32_t first = m->body.counters.first, n = ADV_COUNTERS_A_MESSAGE;

	if (first >= ADV_COUNTERS) {
		fail(m, EINVAL, strerror(EINVAL));
		return -1;
	}
	if (n > ADV_COUNTERS - first)
		n = ADV_COUNTERS - first;
	adv_slots_counters(c->all->daemon, value);
	memset(&m->body, 0, sizeof(m->body));
	m->body.counters.first = first;
	m->body.counters.count = n;
	memcpy(m->body.counters.value, &value[first], n * sizeof(value[0]));
	return -1;
}

static int open_cm(struct adv_client *c, struct adv_control_message *m)
{
	/* Not a copy of ours, which would stay in our epoll set when ours is closed. */
	int pidfd = c->pidfd >= 0 ? open_pidfd(c->fd, c->peer.pid) : -1;
	int fd = adv_ucma_open(c->all->ucma, &c->peer, pidfd, c->comm);

	if (fd < 0 && errno == EUSERS)
		fail(m, EUSERS, "adverbd's connection manager has as many clients as it serves");
	else if (fd < 0)
		fail(m, errno, strerror(errno));
	return fd;
}

/* To the process that has the slot: it answers by the socket itself. 0 or errno. */
static int hand_on(struct adv_client *c, uint32_t slot)
{
	struct adv_ledger *l = c->all->daemon->ledger;
	struct adv_control_message notice;

	if (slot < ADV_SLOT_FIRST || slot >= l->sockets || !atomic_load(&l->slot[slot].owned))
		return ENOENT;
	if (c->peer.uid != 0 && c->peer.uid != l->slot[slot].uid)
		return EPERM;
	if (!c->all->owner[slot])
		return EAGAIN;
	init_message(&notice, ADV_CONTROL_NOTICE, 0);
	notice.body.notice.what = ADV_CONTROL_NOTICE_FAULT;
	return send_message(c->all->owner[slot]->fd, &notice, c->asking);
}

/* What we do ourselves with packets of QP 1, for a process; 0 is the one that asks. 0 or errno. */
static int fault_of_process(struct adv_client *c, uint32_t number)
{
	pid_t pid = number ? (pid_t)number : c->peer.pid;
	bool found = pid == c->peer.pid;
	uid_t uid = c->peer.uid;

	for (struct adv_list *n = c->all->list.next; !found && n != &c->all->list; n = n->next) {
		const struct adv_client *other = adv_container_of(n, struct adv_client, link);

		found = other->peer.pid == pid;
		uid = other->peer.uid;
	}
	if (pid <= 0 || (!found && !adv_ucma_find_process(c->all->ucma, pid, &uid)))
		return ENOENT;
	if (c->peer.uid != 0 && c->peer.uid != uid)
		return EPERM;
	adv_ucma_fault(c->all->ucma, pid, uid, c->asking);
	return 0;
}

/* ... and for all. 0 or errno. */
static int fault_of_daemon(struct adv_client *c)
{
	const struct adv_daemon *d = c->all->daemon;

	if (c->peer.uid != 0 && (d->system || c->peer.uid != d->uid))
		return EPERM;
	adv_ucma_fault(c->all->ucma, 0, 0, c->asking);
	return 0;
}

/* A socket for the client, whose other end is kept until it is known whom it is for. -1: errno. */
static int open_asking(struct adv_client *c)
{
	const int room = 2 * (int)sizeof(struct adv_fault_message);
	int pair[2];

	close_asking(c);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	adv_given_refuse(pair[0]);
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	c->asking = pair[0];
	return pair[1];
}

static int fault(struct adv_client *c, struct adv_control_message *m)
{
	uint32_t kind = m->body.fault.kind, number = m->body.fault.number;
	int fd = -1, error = EINVAL;

	if (kind == ADV_CONTROL_FAULT_OPEN) {
		fd = open_asking(c);
		if (fd < 0)
			fail(m, errno, strerror(errno));
		return fd;
	}
	if (c->asking < 0)
		error = EINVAL;
	else if (kind == ADV_CONTROL_FAULT_SLOT)
		error = hand_on(c, number);
	else if (kind == ADV_CONTROL_FAULT_PROCESS)
		error = fault_of_process(c, number);
	else if (kind == ADV_CONTROL_FAULT_DAEMON)
		error = fault_of_daemon(c);
	else if (kind == ADV_CONTROL_FAULT_OBJECTS)
		error = adv_ucma_objects(c->all->ucma, c->peer.uid, c->asking);
	if (error == ENOENT)
		fail(m, error, "there is no such slot, or process");
	else if (error == EPERM)
		fail(m, error, "another user's: only root may ask");
	else if (error == EAGAIN)
		fail(m, error, "its process does not listen to adverbd at present");
	else if (error)
		fail(m, error, strerror(error));
	close_asking(c);
	return -1;
}

static int status(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	struct adv_ucma_status cm;

	memset(&m->body, 0, sizeof(m->body));
	m->body.status.worker_pid = (uint32_t)getpid();
	m->body.status.keeper_pid = atomic_load(&d->ledger->keeper_pid);
	m->body.status.uid = d->uid;
	m->body.status.system = d->system;
	m->body.status.clients = c->all->count;
	m->body.status.slots_used = adv_slots_used(d->ledger);
	m->body.status.slots_total = d->slots_most - ADV_SLOT_FIRST;
	m->body.status.sockets = d->sockets;
	m->body.status.blocks_used = adv_blocks_used(d->ledger, 0);
	m->body.status.blocks_total = ADV_BLOCKS;
	m->body.status.restarts = atomic_load(&d->ledger->restarts);
	m->body.status.uptime_ms = adv_daemon_now() - d->ledger->started_ms;
	m->body.status.qp1_dropped = d->ledger->qp1_dropped;
	adv_ucma_status(c->all->ucma, &cm);
	m->body.status.cm_clients = cm.clients;
	m->body.status.cm_ids = cm.ids;
	m->body.status.cm_connections = cm.connections;
	m->body.status.cm_ending = cm.ending;
	m->body.status.cm_rx = cm.rx_mads;
	m->body.status.cm_tx = cm.tx_mads;
	m->body.status.cm_retries = cm.tx_retries;
	m->body.status.cm_dropped = cm.rx_dropped;
	return -1;
}

static int list(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_ledger *l = c->all->daemon->ledger;
	uint32_t from = m->body.entry.slot;

	if (from < ADV_SLOT_FIRST)
		from = ADV_SLOT_FIRST;
	for (uint32_t i = from; i < l->sockets; i++) {
		struct adv_slot_record *r = &l->slot[i];

		if (!atomic_load(&r->owned))
			continue;
		memset(&m->body, 0, sizeof(m->body));
		m->body.entry.slot = i;
		m->body.entry.pid = r->pid;
		m->body.entry.uid = r->uid;
		m->body.entry.connected = c->all->owner[i] != NULL;
		m->body.entry.age_ms = adv_daemon_now() - r->opened_ms;
		memcpy(m->body.entry.comm, r->comm, sizeof(r->comm));
		m->body.entry.blocks = adv_blocks_used(l, i);
		return -1;
	}
	fail(m, ENOENT, "no more slots in use");
	return -1;
}

static int estate(struct adv_client *c, struct adv_control_message *m)
{
	const struct adv_daemon *d = c->all->daemon;
	int fd = d->system ? -1 : adv_carrier_queue(d);

	if (fd < 0)
		fail(m, ENOTSUP, "adverbd lets nobody keep its sockets");
	return fd;
}

static bool owns(const struct adv_client *c, uint32_t slot)
{
	return slot < ADV_SLOTS && c->all->owner[slot] == c;
}

static int pair(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_clients *all = c->all;
	uint32_t slot = m->body.pair.slot, peer = m->body.pair.peer;
	struct adv_pair_share share;
	int error = EPERM;

	/* A process hands packets to itself by UDP. */
	if (owns(c, slot) && !owns(c, peer))
		error = peer < ADV_SLOTS && atomic_load(&all->daemon->ledger->slot[peer].owned)
				? adv_pairs_ask(all->pairs, slot, peer, &share)
				: ENOENT;
	if (error) {
		fail(m, error, strerror(error));
		return -1;
	}
	m->body.pair.size = share.size;
	m->body.pair.side = share.side;
	if (share.made)
		tell(all, peer, ADV_CONTROL_NOTICE_PAIRS);
	return share.memory_fd;
}

static bool has_bit(const uint8_t *bits, unsigned i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static int pairs(struct adv_client *c, struct adv_control_message *m)
{
	uint8_t paired[ADV_SLOTS / 8], ready[ADV_SLOTS / 8];
	unsigned slot = m->body.pairs.slot, from = m->body.pairs.from, n = 0;

	if (!owns(c, slot)) {
		fail(m, EPERM, strerror(EPERM));
		return -1;
	}
	adv_pairs_list(c->all->pairs, slot, paired, ready);
	memset(&m->body, 0, sizeof(m->body));
	for (unsigned i = from; i < ADV_SLOTS && n < ADV_PAIRS_A_MESSAGE; i++)
		if (has_bit(paired, i))
			m->body.pairs.peer[n++] =
				(uint16_t)(i | (has_bit(ready, i) ? ADV_CONTROL_PAIR_READY : 0));
	m->body.pairs.slot = (uint16_t)slot;
	m->body.pairs.from = (uint16_t)from;
	m->body.pairs.count = (uint16_t)n;
	return -1;
}

static int block(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	uint32_t slot = m->body.slot.slot;
	int chosen, error;

	if (!owns(c, slot)) {
		fail(m, EPERM, strerror(EPERM));
		return -1;
	}
	chosen = adv_blocks_choose(d->ledger, c->peer.uid,
				   of_a_user(c, ADV_USER_BLOCKS, ADV_BLOCKS));
	error = chosen < 0 ? EAGAIN : adv_blocks_take(d, (unsigned)chosen, slot);
	if (error) {
		fail(m, error,
		     chosen < 0 ? "all of adverbd's blocks of queue pair numbers that you may have "
				  "are in use"
				: strerror(error));
		return -1;
	}
	memset(&m->body, 0, sizeof(m->body));
	m->body.block.block = (uint32_t)chosen;
	adv_info("block %d to slot %u", chosen, slot);
	return -1;
}

/* Descriptors of these answers are made for them, and do not stay here. */
static bool passes_on(uint16_t type)
{
	return type == ADV_CONTROL_OPEN_CM || type == ADV_CONTROL_PAIR || type == ADV_CONTROL_FAULT;
}

static handler *const handlers[] = {
	[ADV_CONTROL_HELLO] = hello,	   [ADV_CONTROL_OPEN_SLOT] = open_slot,
	[ADV_CONTROL_RESUME] = resume,	   [ADV_CONTROL_JOIN] = membership,
	[ADV_CONTROL_LEAVE] = membership,  [ADV_CONTROL_STATUS] = status,
	[ADV_CONTROL_LIST] = list,	   [ADV_CONTROL_COUNT] = count,
	[ADV_CONTROL_COUNTERS] = counters, [ADV_CONTROL_OPEN_CM] = open_cm,
	[ADV_CONTROL_SENDER] = sender,	   [ADV_CONTROL_PAIR] = pair,
	[ADV_CONTROL_PAIRS] = pairs,	   [ADV_CONTROL_FAULT] = fault,
	[ADV_CONTROL_BLOCK] = block,	   [ADV_CONTROL_ESTATE] = estate,
};

static void handle(struct adv_client *c, struct adv_control_message *m)
{
	int fd;

	if (m->type >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[m->type] ||
	    (!c->greeted && m->type != ADV_CONTROL_HELLO)) {
		refuse(c->fd, EPROTO, "adverbd: not a request that fits here");
		c->dead = true;
		return;
	}
	m->result = 0;
	m->reserved = 0;
	fd = handlers[m->type](c, m);
	answer(c, m, fd);
	if (fd >= 0 && passes_on(m->type))
		close(fd);
}

/* One message. False: no more at present, or the end. */
static bool read_one(void *connection)
{
	struct adv_client *c = connection;
	char room[CMSG_SPACE(DESCRIPTORS_READ * sizeof(int))] __attribute__((aligned(8)));
	struct adv_control_message m;
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n >= 0) /* a message of no bytes may bring descriptors too */
		adv_rights_close(&msg);
	if (n <= 0) {
		c->dead = true;
		return false;
	}
	if (n != (ssize_t)sizeof(m) || (msg.msg_flags & MSG_TRUNC) ||
	    m.magic != ADV_CONTROL_MAGIC || m.version != ADV_CONTROL_VERSION) {
		adv_warn("process %d (%s) does not speak our protocol: dropped", (int)c->peer.pid,
			 c->comm);
		refuse(c->fd, EPROTO,
		       "this adverbd speaks another version of the control protocol: end it, "
		       "so that one that fits is started");
		c->dead = true;
		return false;
	}
	handle(c, &m);
	return !c->dead;
}

static bool serve(struct adv_turn *t, uint64_t end)
{
	struct adv_client *c = adv_container_of(t, struct adv_client, turn);

	return !c->dead && adv_turn_read(c->all->users, read_one, c, MESSAGES_A_ROUND, end);
}

void adv_client_readable(struct adv_client *c)
{
	adv_turn_want(c->all->users, &c->turn);
}

void adv_client_notify(struct adv_client *c, uint32_t what)
{
	struct adv_control_message m;
	int error;

	c->notices |= what;
	c->wants_room = false;
	if (!c->notices || !c->greeted)
		return;
	init_message(&m, ADV_CONTROL_NOTICE, 0);
	m.body.notice.what = c->notices;
	error = send_message(c->fd, &m, -1);
	if (!error)
		c->notices = 0;
	else if (error == EAGAIN) /* it may just be stopped in a debugger */
		c->wants_room = c->all->room_wanted = true;
	else
		c->dead = true;
}
