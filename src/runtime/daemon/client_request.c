/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/daemon/client_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/keeper/carrier.h"
#include "runtime/daemon/client_fault.h"
#include "runtime/daemon/client_notice.h"
#include "runtime/steering/pairs.h"
#include "runtime/steering/slots.h"
#include "runtime/ucma/ucma.h"
#include "runtime/ucma/neighbour.h"

/* Handles a request: changes *m into the answer. Returns the descriptor to send with the answer, or
 * -1. */
typedef int handler(struct adv_client *c, struct adv_control_message *m);

static void fail_request(struct adv_control_message *m, int error, const char *text)
{
	m->result = error;
	memset(&m->body, 0, sizeof(m->body));
	snprintf(m->body.text, sizeof(m->body.text), "%s", text);
}

static int serve_hello(struct adv_client *c, struct adv_control_message *m)
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
	/* Counts the descriptor of the page with the slot's counters. */
	c->session.turn.user->descriptors++;
	adv_pairs_charge(c->all->pairs, slot, &c->session.turn.user->pairs);
}

/* Returns the limit of a resource for this client. The limit is `share` if the daemon serves many
 * users and the client's user is not root; otherwise `all`. */
static unsigned user_limit(const struct adv_client *c, unsigned share, unsigned all)
{
	return c->all->daemon->system && c->session.peer.uid != 0 ? share : all;
}

static void describe_no_slot(const struct adv_daemon *d, char *text, size_t len)
{
	if (d->system)
		snprintf(text, len,
			 "all slots of adverbd for you are in use, or belonged to another user "
			 "(adverb status lists those in use)");
	else
		snprintf(text, len,
			 "all of adverbd's %u slots are in use (adverb status lists them)%s",
			 d->slots_most - ADV_SLOT_FIRST,
			 d->slots_most < ADV_SLOTS ? "; a higher ulimit -n would allow more" : "");
}

/* Copies a device's name from a client's message: it ends with a NUL, and is printable. */
static void copy_device(char to[ADV_CONTROL_DEVICE_LEN], const char from[ADV_CONTROL_DEVICE_LEN])
{
	memcpy(to, from, ADV_CONTROL_DEVICE_LEN - 1);
	to[ADV_CONTROL_DEVICE_LEN - 1] = 0;
	for (char *p = to; *p; p++)
		if (!isgraph((unsigned char)*p))
			*p = '?';
}

static int serve_open_slot(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	unsigned limit = user_limit(c, ADV_USER_SLOTS, ADV_SLOTS);
	unsigned slot = adv_slots_choose(d->ledger, c->session.peer.uid, limit, d->slots_most,
					 adv_clock_ms());
	char text[160], device[ADV_CONTROL_DEVICE_LEN];
	uint32_t buffer;

	if (!slot) {
		describe_no_slot(d, text, sizeof(text));
		fail_request(m, EAGAIN, text);
		return -1;
	}
	copy_device(device, m->body.slot.device);
	buffer = adv_slots_assign(d, slot, c->session.peer.pid, c->session.peer.uid,
				  c->session.comm, device);
	if (!buffer) {
		fail_request(m, ENOMEM, "adverbd cannot make a slot: its log says why");
		return -1;
	}
	own_slot(c, slot);
	memset(&m->body, 0, sizeof(m->body));
	m->body.slot.slot = slot;
	m->body.slot.receive_buffer = buffer;
	memcpy(m->body.slot.token, d->ledger->slot[slot].token, sizeof(m->body.slot.token));
	adv_info("slot %u given to process %d (%s) for %s, receive buffer of %u bytes", slot,
		 (int)c->session.peer.pid, c->session.comm, device, buffer);
	adv_client_fault_slot_opened(c, slot);
	return d->socket[slot];
}

static int serve_resume(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_ledger *l = c->all->daemon->ledger;
	uint32_t slot = m->body.slot.slot;

	if (!adv_slots_token_fits(l, slot, m->body.slot.token) || c->all->owner[slot] ||
	    l->slot[slot].uid != c->session.peer.uid) {
		fail_request(m, EPERM, "the slot no longer belongs to this process");
		return -1;
	}
	own_slot(c, slot);
	adv_info("slot %u resumed by process %d (%s)", slot, (int)c->session.peer.pid,
		 c->session.comm);
	return -1;
}

static int serve_membership(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	uint32_t slot = m->body.group.slot;
	struct adv_gid group;
	int error = EPERM;

	memcpy(group.raw, m->body.group.group, sizeof(group.raw));
	if (adv_client_owns(c, slot))
		error = m->type == ADV_CONTROL_JOIN
				? adv_slots_join(d, slot, &group, m->body.group.ifindex)
				: adv_slots_leave(d, slot, &group, m->body.group.ifindex);
	if (error)
		fail_request(m, error, strerror(error));
	return -1;
}

static int serve_count(struct adv_client *c, struct adv_control_message *m)
{
	uint32_t slot = m->body.slot.slot;
	int fd = -1;

	errno = EPERM;
	if (adv_client_owns(c, slot))
		fd = adv_slots_make_counters(c->all->daemon, slot);
	if (fd < 0)
		fail_request(m, errno, strerror(errno));
	return fd;
}

static int serve_sender(struct adv_client *c, struct adv_control_message *m)
{
	uint32_t slot = m->body.sender.slot, port = m->body.sender.port;

	/* The daemon need not verify the port: a wrong port harms only the client's own
	 * connections. */
	if (!adv_client_owns(c, slot) || port > UINT16_MAX)
		fail_request(m, EPERM, strerror(EPERM));
	else
		adv_slots_set_sender(c->all->daemon, slot, (uint16_t)port);
	return -1;
}

/* Reads the counters of a slot, or for slot 0 the sums of a device or of all. 0 or errno. */
static int read_counters(const struct adv_client *c, uint32_t slot, const char *device,
			 uint64_t value[ADV_COUNTERS])
{
	const struct adv_daemon *d = c->all->daemon;
	uid_t uid = c->session.peer.uid;

	if (slot == 0) {
		if (*device)
			adv_slots_counters_of_device(d, device, value);
		else
			adv_slots_counters(d, value);
		return 0;
	}
	if (slot < ADV_SLOT_FIRST || slot >= d->sockets ||
	    !atomic_load(&d->ledger->slot[slot].owned))
		return ENOENT;
	if (uid != 0 && uid != d->ledger->slot[slot].uid)
		return EPERM; /* as for the objects of the process */
	adv_slots_counters_of(d, slot, value);
	return 0;
}

static int serve_counters(struct adv_client *c, struct adv_control_message *m)
{
	uint64_t value[ADV_COUNTERS];
	uint32_t first = m->body.counters.first, n = ADV_COUNTERS_A_MESSAGE;
	uint32_t slot = m->body.counters.slot;
	char device[ADV_CONTROL_DEVICE_LEN];
	int error = EINVAL;

	copy_device(device, m->body.counters.device);
	if (first < ADV_COUNTERS)
		error = read_counters(c, slot, device, value);

	if (error) {
		fail_request(m, error, strerror(error));
		return -1;
	}
	if (n > ADV_COUNTERS - first)
		n = ADV_COUNTERS - first;
	memset(&m->body, 0, sizeof(m->body));
	m->body.counters.first = first;
	m->body.counters.slot = slot;
	m->body.counters.count = n;
	memcpy(m->body.counters.value, &value[first], n * sizeof(value[0]));
	return -1;
}

static int serve_open_cm(struct adv_client *c, struct adv_control_message *m)
{
	/* Opens a new pidfd. A copy of the session's pidfd would stay in the session's epoll set
	 * after the session closes its pidfd. */
	int pidfd = c->session.pidfd >= 0
			    ? adv_session_open_pidfd(c->session.fd, c->session.peer.pid)
			    : -1;
	int fd = adv_ucma_open(c->all->ucma, &c->session.peer, pidfd, c->session.comm);

	if (fd < 0 && errno == EUSERS)
		fail_request(m, EUSERS,
			     "adverbd's connection manager has its maximum number of clients: try "
			     "again when some have exited");
	else if (fd < 0)
		fail_request(m, errno, strerror(errno));
	return fd;
}

static int serve_fault(struct adv_client *c, struct adv_control_message *m)
{
	uint32_t kind = m->body.fault.kind, number = m->body.fault.number;
	int fd, error;

	if (kind == ADV_CONTROL_FAULT_OPEN) {
		fd = adv_client_fault_open(c);
		if (fd < 0)
			fail_request(m, errno, strerror(errno));
		return fd;
	}
	error = adv_client_fault_pass(c, kind, number);
	if (error == ENOENT)
		fail_request(m, error, "there is no such slot or process");
	else if (error == EPERM)
		fail_request(m, error, "it belongs to another user: only root may request this");
	else if (error == EAGAIN)
		fail_request(m, error, "its process is not connected to adverbd at present");
	else if (error)
		fail_request(m, error, strerror(error));
	adv_client_fault_close(c);
	return -1;
}

static int serve_status(struct adv_client *c, struct adv_control_message *m)
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
	m->body.status.uptime_ms = adv_clock_ms() - d->ledger->started_ms;
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

static int serve_list(struct adv_client *c, struct adv_control_message *m)
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
		m->body.entry.age_ms = adv_clock_ms() - r->opened_ms;
		memcpy(m->body.entry.comm, r->comm, sizeof(r->comm));
		memcpy(m->body.entry.device, r->device, sizeof(r->device));
		m->body.entry.blocks = adv_blocks_used(l, i);
		return -1;
	}
	fail_request(m, ENOENT, "no more slots in use");
	return -1;
}

static int serve_estate(struct adv_client *c, struct adv_control_message *m)
{
	const struct adv_daemon *d = c->all->daemon;
	int fd = d->system ? -1 : adv_carrier_queue(d);

	if (fd < 0)
		fail_request(m, ENOTSUP, "this adverbd gives its sockets to no client");
	return fd;
}

/* Returns the process of the peer's slot, if the client may read its memory: it has the same user.
 * 0: it may not. */
static uint32_t readable_process(const struct adv_clients *all, unsigned slot, unsigned peer)
{
	const struct adv_slot_record *a = &all->daemon->ledger->slot[slot];
	const struct adv_slot_record *b = &all->daemon->ledger->slot[peer];

	return a->uid == b->uid ? b->pid : 0;
}

static int serve_pair(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_clients *all = c->all;
	uint32_t slot = m->body.pair.slot, peer = m->body.pair.peer;
	struct adv_pair_share share;
	int error = EPERM;

	/* Two slots of one process get no pair: a process sends packets to itself by UDP. */
	if (adv_client_owns(c, slot) && !adv_client_owns(c, peer))
		error = peer < ADV_SLOTS && atomic_load(&all->daemon->ledger->slot[peer].owned)
				? adv_pairs_request(all->pairs, slot, peer, &share)
				: ENOENT;
	if (error) {
		fail_request(m, error, strerror(error));
		return -1;
	}
	m->body.pair.size = share.size;
	m->body.pair.side = share.side;
	m->body.pair.process = readable_process(all, slot, peer);
	if (share.made)
		adv_clients_notify_slot(all, peer, ADV_CONTROL_NOTICE_PAIRS);
	return share.memory_fd;
}

static bool has_bit(const uint8_t *bits, unsigned i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static int serve_pairs(struct adv_client *c, struct adv_control_message *m)
{
	uint8_t paired[ADV_SLOTS / 8], ready[ADV_SLOTS / 8];
	unsigned slot = m->body.pairs.slot, from = m->body.pairs.from, n = 0;

	if (!adv_client_owns(c, slot)) {
		fail_request(m, EPERM, strerror(EPERM));
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

static int serve_block(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_daemon *d = c->all->daemon;
	uint32_t slot = m->body.slot.slot;
	int chosen, error;

	if (!adv_client_owns(c, slot)) {
		fail_request(m, EPERM, strerror(EPERM));
		return -1;
	}
	chosen = adv_blocks_choose(d->ledger, c->session.peer.uid,
				   user_limit(c, ADV_USER_BLOCKS, ADV_BLOCKS));
	error = chosen < 0 ? EAGAIN : adv_blocks_assign(d, (unsigned)chosen, slot);
	if (error) {
		fail_request(m, error,
			     chosen < 0 ? "all blocks of queue pair numbers for you are in use: "
					  "destroy queue pairs, or end programs"
					: strerror(error));
		return -1;
	}
	memset(&m->body, 0, sizeof(m->body));
	m->body.block.block = (uint32_t)chosen;
	adv_info("block %d given to slot %u", chosen, slot);
	return -1;
}

static int serve_neighbour(struct adv_client *c, struct adv_control_message *m)
{
	struct adv_gid sgid, dgid;
	uint8_t mac[6] = {0};
	int error;

	memcpy(sgid.raw, m->body.neighbour.sgid, sizeof(sgid.raw));
	memcpy(dgid.raw, m->body.neighbour.dgid, sizeof(dgid.raw));
	error = adv_ucma_neighbour(c->all->ucma, &sgid, &dgid, m->body.neighbour.ifindex, mac);
	if (error)
		fail_request(m, error, strerror(error));
	else
		memcpy(m->body.neighbour.mac, mac, sizeof(mac));
	return -1;
}

/* True if the answer's descriptor was made for the client. The daemon then closes it after
 * sending. */
static bool is_descriptor_passed(uint16_t type)
{
	return type == ADV_CONTROL_OPEN_CM || type == ADV_CONTROL_PAIR || type == ADV_CONTROL_FAULT;
}

static handler *const handlers[] = {
	[ADV_CONTROL_HELLO] = serve_hello,	   [ADV_CONTROL_OPEN_SLOT] = serve_open_slot,
	[ADV_CONTROL_RESUME] = serve_resume,	   [ADV_CONTROL_JOIN] = serve_membership,
	[ADV_CONTROL_LEAVE] = serve_membership,	   [ADV_CONTROL_STATUS] = serve_status,
	[ADV_CONTROL_LIST] = serve_list,	   [ADV_CONTROL_COUNT] = serve_count,
	[ADV_CONTROL_COUNTERS] = serve_counters,   [ADV_CONTROL_OPEN_CM] = serve_open_cm,
	[ADV_CONTROL_SENDER] = serve_sender,	   [ADV_CONTROL_PAIR] = serve_pair,
	[ADV_CONTROL_PAIRS] = serve_pairs,	   [ADV_CONTROL_FAULT] = serve_fault,
	[ADV_CONTROL_BLOCK] = serve_block,	   [ADV_CONTROL_ESTATE] = serve_estate,
	[ADV_CONTROL_NEIGHBOUR] = serve_neighbour,
};

void adv_client_serve(struct adv_client *c, struct adv_control_message *m)
{
	int fd;

	if (m->type >= ADV_ARRAY_SIZE(handlers) || !handlers[m->type] ||
	    (!c->greeted && m->type != ADV_CONTROL_HELLO)) {
		adv_client_refuse(c->session.fd, EPROTO, "adverbd: this request is not valid here");
		c->session.dead = true;
		return;
	}
	m->result = 0;
	m->reserved = 0;
	fd = handlers[m->type](c, m);
	adv_session_answer(&c->session, m, fd);
	if (fd >= 0 && is_descriptor_passed(m->type))
		close(fd);
}
