/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a program of messages from processes to adverbd. Several clients of the control
 * protocol and of the connection manager connect to each other while packets are lost and changed.
 * Checks that:
 * - each request gets one answer, and no answer arrives without a request;
 * - the daemon's counts are correct;
 * - the daemon keeps no object of a client that has closed its connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nic/cm/invariants.h"
#include "base/clock.h"
#include "base/rights.h"
#include "daemon.h"
#include "runtime/daemon/client.h"
#include "runtime/daemon/client_notice.h"
#include "runtime/steering/group.h"
#include "runtime/steering/pairs.h"
#include "runtime/steering/slots.h"
#include "runtime/ucma/ucma.h"
#include "runtime/ucma/state.h"
#include "runtime/exchange/fault_exchange.h"
#include "records.h"

#define PEERS	  4  /* connections of each protocol at a time */
#define SLOTS	  24 /* few, so that a program can use them all */
#define KNOWN	  16
#define STEPS_MAX 192
#define BODY	  64

/* One step of a program. */
struct step {
	uint8_t code;
	uint8_t who;
	uint8_t type; /* type of the message */
	uint8_t flags;
	uint8_t id; /* index of a known id; 0x80: the id is `raw` */
	uint8_t channel;
	uint16_t at; /* offset in the body where the bytes are written */
	uint32_t raw;
	uint32_t value;
	uint8_t body[BODY];
};

const size_t fuzz_records_from = 1;
const size_t fuzz_record_len = sizeof(struct step);

/* A process's end of a connection manager's socket, with the numbers of the answers. */
struct cm_peer {
	int fd; /* -1: none */
	uint32_t serial;
	unsigned ids;
	uint32_t id[KNOWN];
	unsigned channels;
	uint32_t channel[KNOWN];
	int channel_fd[KNOWN];
};

struct control_peer {
	int fd;
	uint32_t serial;
	struct adv_client *client;
	uint32_t slot; /* the newest slot; its token follows */
	uint8_t token[ADV_CONTROL_TOKEN_LEN];
};

struct world {
	struct adv_daemon daemon;
	struct adv_users users;
	struct adv_clients clients;
	struct control_peer control[PEERS];
	struct cm_peer cm[PEERS];
	struct adv_gid_page *page;
};

/* ---- creation and destruction ---- */

static void add_gid(struct adv_gid_table *t, struct adv_gid gid, uint32_t ifindex)
{
	t->entry[t->count++] = (struct adv_gid_entry){.gid = gid,
						      .ifindex = ifindex,
						      .if_mtu = 65536,
						      .path_mtu = 4096,
						      .speed_mbps = 10000,
						      .type = ADV_GID_ROCE_V2,
						      .loopback = ifindex == 1,
						      .ifname = "if"};
}

static void make_gids(struct adv_gid_table *t)
{
	t->count = 0;
	t->port_active = 1;
	t->active_mtu = 4096;
	t->node_guid = 0x0102030405060708;
	add_gid(t, (struct adv_gid){{[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}}, 1);
	add_gid(t, (struct adv_gid){{[10] = 0xff, [11] = 0xff, 127, 0, 0, 2}}, 1);
	add_gid(t, (struct adv_gid){{[15] = 1}}, 1);
	add_gid(t, (struct adv_gid){{[0] = 0xfe, [1] = 0x80, [15] = 3}}, 2);
	add_gid(t, (struct adv_gid){{[0] = 0xfd, [15] = 3}}, 2);
}

static void control_connect(struct world *w, struct control_peer *p)
{
	int pair[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ==
		   0);
	p->fd = pair[1];
	p->slot = 0;
	p->client = adv_client_new(&w->clients, pair[0]);
	FUZZ_CHECK(p->client != NULL);
}

static struct world *world_open(bool system)
{
	struct world *w = calloc(1, sizeof(*w));

	FUZZ_CHECK(w != NULL);
	border_open();
	w->daemon.ledger = calloc(1, sizeof(*w->daemon.ledger));
	w->page = calloc(1, sizeof(*w->page));
	FUZZ_CHECK(w->daemon.ledger && w->page);
	w->daemon.gids = &w->page->table;
	w->daemon.senders = &w->page->senders;
	for (unsigned i = 0; i < ADV_GROUP_FIRST; i++)
		w->daemon.socket[w->daemon.sockets++] = border.bell;
	w->daemon.ledger->sockets = w->daemon.sockets;
	w->daemon.slots_most = SLOTS;
	w->daemon.keeper = -1;
	w->daemon.table_fd = border.bell;
	w->daemon.listener = -1;
	w->daemon.system = system;
	w->daemon.uid = getuid();
	make_gids(w->daemon.gids);
	adv_list_init(&w->clients.list);
	w->clients.daemon = &w->daemon;
	adv_users_init(&w->users, adv_clock_ns, 0);
	w->clients.users = &w->users;
	w->clients.ucma = adv_ucma_create(&w->daemon, &w->users);
	w->clients.pairs = adv_pairs_create(ADV_PAIRS_MAX, system);
	FUZZ_CHECK(w->clients.ucma && w->clients.pairs);
	for (unsigned i = 0; i < PEERS; i++) {
		w->control[i].fd = -1;
		w->cm[i].fd = -1;
	}
	return w;
}

static void cm_close(struct cm_peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	for (unsigned i = 0; i < p->channels; i++)
		close(p->channel_fd[i]);
	memset(p, 0, sizeof(*p));
	p->fd = -1;
}

/* Destroys closed clients, like the worker at the end of a round. */
static void drop_dead_clients(struct world *w)
{
	for (unsigned i = 0; i < PEERS; i++) {
		struct control_peer *p = &w->control[i];

		if (!p->client || !p->client->session.dead)
			continue;
		adv_client_drop(p->client);
		p->client = NULL;
		close(p->fd);
		p->fd = -1;
	}
}

/* Checks that an unused user has no objects. Returns the number of the user's ids. */
static unsigned check_user_ids(const struct adv_user *user)
{
	if (!user->held)
		FUZZ_CHECK(!user->clients && !user->cm_clients && !user->channels && !user->joins &&
			   !user->queries && !user->descriptors && !user->pairs.made &&
			   !user->pairs.kept);
	return user->ids;
}

/* Checks that each used block belongs to a slot in use, and that the senders' table names this slot
 * and its port. */
static void check_blocks(const struct world *w)
{
	for (unsigned i = 0; i < ADV_BLOCKS; i++) {
		uint32_t slot = w->daemon.ledger->block[i].slot;
		uint16_t last = adv_qpn_prefix(adv_block_qpn(i) + ADV_BLOCK_QPNS - 1);

		FUZZ_CHECK(slot < w->daemon.sockets);
		if (slot)
			FUZZ_CHECK(w->daemon.ledger->slot[slot].owned &&
				   w->daemon.senders->home[last] == slot &&
				   w->daemon.senders->port[last] == w->daemon.senders->port[slot]);
	}
}

static void check_counts(const struct world *w)
{
	const struct adv_ucma *u = w->clients.ucma;
	unsigned ids = 0, channels = 0, clients = 0, slots = 0, charged = 0;

	adv_list_for_each(const struct adv_ucma_client, c, &u->clients, link) {
		clients++;
		ids += c->id_count;
		channels += adv_list_length(&c->channel_list);
		FUZZ_CHECK(c->query_count <= c->id_count);
	}
	clients += adv_list_length(&u->leaving);
	FUZZ_CHECK(u->client_count == clients);
	adv_list_for_each(const struct adv_user, user, &w->users.list, link)
		charged += check_user_ids(user);
	FUZZ_CHECK(adv_cm_check(u->cm) == NULL);
	FUZZ_CHECK(charged == adv_cm_id_count(u->cm) + adv_cm_ending_count(u->cm));
	if (adv_list_empty(&u->leaving))
		FUZZ_CHECK(u->id_count == ids && u->channel_count == channels);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (w->clients.owner[i])
			FUZZ_CHECK(w->daemon.ledger->slot[i].owned);
		slots += w->daemon.ledger->slot[i].owned;
	}
	FUZZ_CHECK(adv_slots_used(w->daemon.ledger) == slots);
	check_blocks(w);
}

static void run_daemon_rounds(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < PEERS; k++)
			if (w->control[k].client && !w->control[k].client->session.dead)
				adv_session_readable(&w->control[k].client->session);
		adv_ucma_poll(w->clients.ucma);
		adv_users_serve(&w->users);
		drop_dead_clients(w);
		adv_ucma_run(w->clients.ucma);
	}
	check_counts(w);
}

static void world_close(struct world *w)
{
	for (unsigned i = 0; i < PEERS; i++) {
		cm_close(&w->cm[i]);
		if (w->control[i].client) {
			w->control[i].client->session.dead = true;
			drop_dead_clients(w);
		}
	}
	border.full = false;
	for (unsigned i = 0; i < 4000 && adv_ucma_busy(w->clients.ucma); i++) {
		border.now_ns += 50000000;
		run_daemon_rounds(w, 1);
	}
	FUZZ_CHECK(!adv_ucma_busy(w->clients.ucma));
	FUZZ_CHECK(w->clients.count == 0 && adv_slots_used(w->daemon.ledger) == 0);
	FUZZ_CHECK(adv_blocks_used(w->daemon.ledger, 0) == 0);
	FUZZ_CHECK(w->clients.ucma->id_count == 0 && w->clients.ucma->channel_count == 0);
	FUZZ_CHECK(border.memberships == 0);
	FUZZ_CHECK(adv_pairs_count(w->clients.pairs) == 0);
	adv_pairs_destroy(w->clients.pairs);
	adv_ucma_end(w->clients.ucma);
	adv_users_free(&w->users);
	border_close();
	free(w->daemon.ledger);
	for (unsigned i = ADV_GROUP_FIRST; i < w->daemon.sockets; i++)
		close(w->daemon.socket[i]);
	free(w->page);
	free(w);
}

/* ---- messages ---- */

/* Sends a message with the descriptor fd, or -1. False: the daemon closed its end, or the socket's
 * queue is full. */
static bool send_with_descriptor(int sock, const void *message, size_t len, int fd)
{
	union adv_rights_room room = {0};
	struct iovec iov = {(void *)(uintptr_t)message, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0)
		adv_rights_put(&msg, &room, fd);
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

/* Receives a message. Returns its length; 0: the end of the socket; -1: no message is queued. */
static ssize_t receive_with_descriptor(int sock, void *message, size_t len, int *fd)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {message, len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n < 0 && errno == ECONNRESET ? 0 : n;
}

static void put_body(uint8_t *body, size_t room, const struct step *s)
{
	size_t at = s->at % room, len = room - at < BODY ? room - at : BODY;

	memcpy(body + at, s->body, len);
}

/* ---- the control protocol ---- */

static int make_descriptor(const struct step *s)
{
	switch (s->flags >> 4 & 3) {
	case 1:
		return memfd_create("given", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	case 2:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	case 3:
		return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	default:
		return -1;
	}
}

static bool answer_has_descriptor(unsigned type)
{
	return type == ADV_CONTROL_HELLO || type == ADV_CONTROL_OPEN_SLOT ||
	       type == ADV_CONTROL_COUNT || type == ADV_CONTROL_PAIR;
}

static bool answer_may_have_descriptor(unsigned type)
{
	return answer_has_descriptor(type) || type == ADV_CONTROL_FAULT ||
	       type == ADV_CONTROL_ESTATE;
}

/* Queues a request about a fault plan in the socket that the daemon sent. */
static void queue_fault_request(int fd, const struct step *s)
{
	struct adv_fault_exchange_message m = {.magic = ADV_FAULT_EXCHANGE_MAGIC,
					       .version = ADV_FAULT_EXCHANGE_VERSION,
					       .command = s->raw % 5,
					       .text_len = BODY};

	memcpy(m.text, s->body, BODY);
	if (s->at & 1)
		m.text_len = s->value;
	(void)send_with_descriptor(
		fd, &m,
		s->at & 2 ? s->at : offsetof(struct adv_fault_exchange_message, text) + BODY, -1);
}

static void check_control_answer(struct control_peer *p, const struct adv_control_message *asked,
				 const struct step *s)
{
	struct adv_control_message m;
	int fd;
	ssize_t n = receive_with_descriptor(p->fd, &m, sizeof(m), &fd);

	while (n == (ssize_t)sizeof(m) && m.type == ADV_CONTROL_NOTICE) {
		FUZZ_CHECK(m.serial == 0);
		if (fd >= 0)
			close(fd);
		n = receive_with_descriptor(p->fd, &m, sizeof(m), &fd);
	}
	if (fd >= 0 && asked->type == ADV_CONTROL_FAULT)
		queue_fault_request(fd, s);
	if (fd >= 0)
		close(fd);
	if (p->client->session.dead)
		return;
	FUZZ_CHECK(n == (ssize_t)sizeof(m));
	FUZZ_CHECK(m.magic == ADV_CONTROL_MAGIC && m.version == ADV_CONTROL_VERSION);
	FUZZ_CHECK(m.type == asked->type && m.serial == asked->serial && m.reserved == 0);
	FUZZ_CHECK(fd < 0 || (m.result == 0 && answer_may_have_descriptor(m.type)));
	FUZZ_CHECK(fd >= 0 || m.result || !answer_has_descriptor(m.type));
	if (m.result)
		FUZZ_CHECK(memchr(m.body.text, 0, sizeof(m.body.text)));
	if (m.type == ADV_CONTROL_OPEN_SLOT && m.result == 0) {
		p->slot = m.body.slot.slot;
		memcpy(p->token, m.body.slot.token, sizeof(p->token));
	}
	/* Notices that the request caused. */
	while (receive_with_descriptor(p->fd, &m, sizeof(m), &fd) > 0) {
		FUZZ_CHECK(m.type == ADV_CONTROL_NOTICE);
		if (fd >= 0)
			close(fd);
	}
}

static void control_request(struct world *w, const struct step *s)
{
	struct control_peer *p = &w->control[s->who % PEERS];
	const struct control_peer *other = &w->control[s->who / PEERS % PEERS];
	struct adv_control_message m = {.magic = ADV_CONTROL_MAGIC,
					.version = ADV_CONTROL_VERSION,
					.type = s->type % (ADV_CONTROL_ESTATE + 2),
					.serial = ++p->serial,
					.result = (int32_t)s->value,
					.reserved = s->raw};
	int fd = make_descriptor(s);

	if (p->fd < 0)
		control_connect(w, p);
	if (!p->client->greeted && !(s->flags & 1))
		m.type = ADV_CONTROL_HELLO;
	if (m.type == ADV_CONTROL_OPEN_CM) /* cm_open() opens it and keeps the descriptor */
		m.type = ADV_CONTROL_STATUS;
	put_body((uint8_t *)&m.body, sizeof(m.body), s);
	if (!(s->flags & 2)) {
		m.body.slot.slot = other->slot;
		if (m.type == ADV_CONTROL_RESUME)
			memcpy(m.body.slot.token, other->token, sizeof(other->token));
		if (m.type == ADV_CONTROL_PAIR)
			m.body.pair.peer = w->control[s->raw % PEERS].slot;
		if (m.type == ADV_CONTROL_FAULT)
			m.body.fault.kind = s->value % 5;
		if (m.type == ADV_CONTROL_PAIRS)
			m.body.pairs.from = (uint16_t)s->value;
	}
	if (s->flags & 4)
		m.version ^= (uint16_t)s->value;
	if (send_with_descriptor(p->fd, &m, s->flags & 8 ? s->raw % (sizeof(m) + 1) : sizeof(m),
				 fd)) {
		adv_session_readable(&p->client->session);
		adv_users_serve(&w->users);
		check_control_answer(p, &m, s);
	}
	if (fd >= 0)
		close(fd);
	drop_dead_clients(w);
}

/* ---- the connection manager's protocol ---- */

static void cm_open(struct world *w, struct cm_peer *p)
{
	const struct ucred self = {getpid(), getuid(), getgid()};

	p->fd = adv_ucma_open(w->clients.ucma, &self, -1, "fuzz");
	FUZZ_CHECK(p->fd >= 0);
}

static void remember_number(uint32_t *list, unsigned *count, uint32_t number)
{
	if (*count < KNOWN)
		list[(*count)++] = number;
	else
		list[number % KNOWN] = number;
}

static void cm_note_answer(struct cm_peer *p, const struct adv_ucma_message *m, int fd)
{
	if (m->type == ADV_UCMA_CMD_CREATE_CHANNEL && m->result == 0) {
		FUZZ_CHECK(fd >= 0);
		if (p->channels < KNOWN) {
			p->channel_fd[p->channels] = fd;
			p->channel[p->channels++] = m->channel;
			return;
		}
	}
	if (fd >= 0)
		close(fd);
	if (m->result == 0 && m->type == ADV_UCMA_CMD_CREATE_ID)
		remember_number(p->id, &p->ids, m->id);
	if (m->result == 0 && m->type == ADV_UCMA_CMD_GET_EVENT &&
	    m->body.event.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		remember_number(p->id, &p->ids, m->id);
}

/* Checks the answer, unless the daemon closed the connection. */
static void check_cm_answer(struct cm_peer *p, const struct adv_ucma_message *asked)
{
	struct adv_ucma_message m;
	int fd;
	ssize_t n = receive_with_descriptor(p->fd, &m, sizeof(m), &fd);

	if (n == 0) {
		cm_close(p);
		return;
	}
	FUZZ_CHECK(n == (ssize_t)sizeof(m));
	FUZZ_CHECK(m.magic == ADV_UCMA_PROTOCOL_MAGIC && m.version == ADV_UCMA_PROTOCOL_VERSION);
	FUZZ_CHECK(m.type == asked->type && m.serial == asked->serial);
	FUZZ_CHECK((fd >= 0) == (m.type == ADV_UCMA_CMD_CREATE_CHANNEL && m.result == 0));
	for (size_t i = 0; m.result && i < sizeof(m.body); i++)
		FUZZ_CHECK(m.body.room[i] == 0);
	cm_note_answer(p, &m, fd);
	if (receive_with_descriptor(p->fd, &m, sizeof(m), &fd) >= 0)
		cm_close(p); /* the daemon answered and then closed the connection */
}

static void cm_request(struct world *w, const struct step *s)
{
	struct cm_peer *p = &w->cm[s->who % PEERS];
	struct adv_ucma_message m = {.magic = ADV_UCMA_PROTOCOL_MAGIC,
				     .version = ADV_UCMA_PROTOCOL_VERSION,
				     .type = (uint16_t)(1 + s->type % ADV_UCMA_CMD_WRITE_EVENT),
				     .serial = ++p->serial,
				     .value = s->value};
	int fd = make_descriptor(s);
	bool heard;

	if (p->fd < 0)
		cm_open(w, p);
	put_body(m.body.room, sizeof(m.body), s);
	m.id = s->id & 0x80 || !p->ids ? s->raw : p->id[s->id % p->ids];
	m.channel =
		s->channel & 0x80 || !p->channels ? s->raw : p->channel[s->channel % p->channels];
	if (s->flags & 1 && s->flags & 2)
		m.version = 2;
	heard = send_with_descriptor(
		p->fd, &m, s->flags & 4 && s->flags & 8 ? s->raw % (sizeof(m) + 1) : sizeof(m), fd);
	if (fd >= 0)
		close(fd);
	if (!heard)
		return;
	run_daemon_rounds(w, 1);
	check_cm_answer(p, &m);
}

/* ---- peers on the network ---- */

static void change_network(const struct step *s)
{
	struct adv_cm_mad *mad;

	if (s->type % 8 == 7)
		border.full = true;
	if (!border.mads)
		return;
	mad = &border.mad[s->value % border.mads];
	switch (s->type % 8) {
	case 0:
		border.mads--;
		*mad = border.mad[border.mads];
		break;
	case 1:
		if (border.mads < BORDER_MADS)
			border.mad[border.mads++] = *mad;
		break;
	case 2: /* change any bytes */
		memcpy(mad->data + s->at % (ADV_CM_MAD_LEN - 4), s->body, 1 + s->flags % 4);
		break;
	case 3: /* change it to another message with the same numbers */
		mad->data[17] = (uint8_t)(0x10 + s->flags % 12);
		break;
	case 4: { /* swap sender and receiver */
		struct adv_gid from = mad->path.sgid;
		uint8_t id[4];

		mad->path.sgid = mad->path.dgid;
		mad->path.dgid = from;
		memcpy(id, mad->data + 24, 4);
		memcpy(mad->data + 24, mad->data + 28, 4);
		memcpy(mad->data + 28, id, 4);
		break;
	}
	case 5:
		memcpy(mad->path.sgid.raw, s->body, 16);
		break;
	case 6:
		memcpy(mad->data + s->at % (ADV_CM_MAD_LEN - BODY), s->body, BODY);
		break;
	default:
		break;
	}
	border_ring();
}

/* ---- addresses and clients ---- */

static void change_gids(struct world *w, const struct step *s)
{
	struct adv_gid_table *t = w->daemon.gids;

	make_gids(t);
	if (s->flags & 1 && t->count > s->at % 5u)
		t->entry[s->at % 5] = t->entry[--t->count];
	if (s->flags & 2)
		add_gid(t, (struct adv_gid){{[0] = 0xfd, [15] = 4}}, 3);
	adv_ucma_gids_changed(w->clients.ucma);
	for (unsigned i = 0; i < PEERS; i++)
		if (w->control[i].client && !w->control[i].client->session.dead)
			adv_client_notify(w->control[i].client, ADV_CONTROL_NOTICE_GIDS);
	drop_dead_clients(w);
}

static void close_client(struct world *w, const struct step *s)
{
	struct control_peer *p = &w->control[s->who % PEERS];

	if (s->type & 1) {
		cm_close(&w->cm[s->who % PEERS]);
	} else if (p->client) {
		p->client->session.dead = true;
		drop_dead_clients(w);
	}
}

static void run_step(struct world *w, const struct step *s)
{
	switch (s->code % 16) {
	case 0:
	case 1:
	case 2:
		control_request(w, s);
		break;
	case 3:
		border.now_ns += (uint64_t)s->value << s->flags % 6;
		run_daemon_rounds(w, 1);
		break;
	case 4:
	case 5:
		change_network(s);
		break;
	case 6:
		run_daemon_rounds(w, s->type % 8);
		break;
	case 7:
		if (s->flags & 0x80)
			close_client(w, s);
		else if (s->flags & 0x40)
			change_gids(w, s);
		break;
	default:
		cm_request(w, s);
	}
	check_counts(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned before = fuzz_descriptors();
	struct world *w;
	struct step s;

	if (size < 1)
		return 0;
	w = world_open(data[0] & 1);
	for (size_t at = 1, n = 0; at + sizeof(s) <= size && n < STEPS_MAX; at += sizeof(s), n++) {
		memcpy(&s, data + at, sizeof(s));
		run_step(w, &s);
	}
	world_close(w);
	FUZZ_CHECK(fuzz_descriptors() == before);
	return 0;
}
