/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/carrier.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define MAGIC	     0x41445645u /* "ADVE" */
#define FURTHER	     4u	  /* descriptors of the first message that are no sockets of the group */
#define A_MESSAGE    250u /* descriptors of one message; the kernel allows SCM_MAX_FD, 253 */
#define PARTS_MAX    ((ADV_SLOTS + FURTHER + A_MESSAGE - 1) / A_MESSAGE)
#define MESSAGES_MAX 1024u

/* The header of a message: describes the message's descriptors. */
struct part {
	uint32_t magic;
	uint32_t version;
	uint32_t ledger_size; /* detects a message of another version of this program */
	uint32_t set;
	uint32_t part;
	uint32_t parts;
	uint32_t sockets; /* sockets of the whole set */
	uint32_t count;	  /* descriptors in this message */
};

union room {
	char space[CMSG_SPACE(A_MESSAGE * sizeof(int))];
	struct cmsghdr align;
};

/* ---- writing ---- */

static int send_part(int feed, struct part *p, const int *fd)
{
	union room room;
	struct iovec iov = {p, sizeof(*p)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &room,
			     .msg_controllen = CMSG_SPACE(p->count * sizeof(int))};
	struct cmsghdr *c;

	memset(&room, 0, sizeof(room));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(p->count * sizeof(int));
	memcpy(CMSG_DATA(c), fd, p->count * sizeof(int));
	return sendmsg(feed, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

static void take_out(struct adv_daemon *d, uint32_t count)
{
	struct part p;

	while (count-- && d->ledger->carried) {
		d->ledger->carried--;
		/* The kernel closes the descriptors for which there is no room. */
		if (recv(d->carrier.queue, &p, sizeof(p), MSG_DONTWAIT) < 0)
			d->ledger->carried = 0;
	}
}

static int write_set(struct adv_daemon *d)
{
	int fd[ADV_SLOTS + FURTHER] = {d->ledger_fd, d->table_fd, d->marker, d->carrier.feed};
	unsigned n = FURTHER + d->sockets, sent = 0;
	struct part p = {.magic = MAGIC,
			 .version = ADV_CONTROL_VERSION,
			 .ledger_size = sizeof(struct adv_ledger),
			 .set = ++d->ledger->carried_set,
			 .parts = (n + A_MESSAGE - 1) / A_MESSAGE,
			 .sockets = d->sockets};
	int error = 0;

	memcpy(fd + FURTHER, d->socket, d->sockets * sizeof(fd[0]));
	for (; p.part < p.parts && !error; p.part++) {
		p.count = n - sent < A_MESSAGE ? n - sent : A_MESSAGE;
		error = send_part(d->carrier.feed, &p, fd + sent);
		d->ledger->carried += !error;
		sent += p.count;
	}
	return error;
}

int adv_carrier_renew(struct adv_daemon *d)
{
	uint32_t old = d->ledger->carried;
	int error = 0;

	/* Without a complete old set no set is written: clients rely on the whole contents. */
	if (d->carrier.queue < 0 || !(old || d->ledger->carried_set == 0))
		return ENOTSUP;
	if (d->sockets > d->carrier.most) {
		adv_info("the group has too many sockets for clients to keep");
		adv_carrier_empty(d);
		return E2BIG;
	}
	error = write_set(d);
	if (error) {
		adv_warn("clients cannot keep the group's sockets: %s", strerror(error));
		adv_carrier_empty(d);
	} else {
		take_out(d, old);
	}
	return error;
}

static void close_pair(struct adv_carrier *c)
{
	if (c->queue >= 0)
		close(c->queue);
	if (c->feed >= 0)
		close(c->feed);
	c->queue = c->feed = -1;
}

int adv_carrier_create(struct adv_daemon *d)
{
	int pair[2], error;

	if (d->system || d->ledger_fd < 0)
		return ENOTSUP;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	d->carrier.queue = pair[0];
	d->carrier.feed = pair[1];
	error = adv_carrier_renew(d);
	if (error)
		close_pair(&d->carrier);
	return error;
}

int adv_carrier_queue(const struct adv_daemon *d)
{
	return d->ledger->carried ? d->carrier.queue : -1;
}

void adv_carrier_empty(struct adv_daemon *d)
{
	if (d->carrier.queue >= 0)
		take_out(d, d->ledger->carried);
}

/* ---- reading ---- */

/* Peeks at the next message, which stays in the queue. False: there is no further message. */
static bool look_at_next(int queue, struct part *p, union room *room, struct msghdr *msg)
{
	struct iovec iov = {p, sizeof(*p)};
	ssize_t n;

	memset(p, 0, sizeof(*p));
	*msg = (struct msghdr){.msg_iov = &iov,
			       .msg_iovlen = 1,
			       .msg_control = room,
			       .msg_controllen = room ? sizeof(*room) : 0};
	n = recvmsg(queue, msg, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	msg->msg_iov = NULL;
	return n == sizeof(*p) && !(msg->msg_flags & MSG_TRUNC);
}

static int rewind_queue(int queue, int offset)
{
	return setsockopt(queue, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset)) < 0 ? errno : 0;
}

static unsigned count_of(const struct part *p)
{
	unsigned n = FURTHER + p->sockets, before = p->part * A_MESSAGE;

	return n - before < A_MESSAGE ? n - before : A_MESSAGE;
}

static bool makes_sense(const struct part *p)
{
	return p->magic == MAGIC && p->version == ADV_CONTROL_VERSION &&
	       p->ledger_size == sizeof(struct adv_ledger) && p->sockets >= 1 &&
	       p->sockets <= ADV_SLOTS &&
	       p->parts == (p->sockets + FURTHER + A_MESSAGE - 1) / A_MESSAGE &&
	       p->part < p->parts && p->count == count_of(p);
}

/* Finds the number and size of the last whole set. 0 or EPROTO. */
static int find_set(int queue, struct adv_carried *c)
{
	struct part p;
	struct msghdr msg;
	uint32_t set = 0, next = 0;
	bool found = false;

	if (rewind_queue(queue, 0) != 0)
		return EPROTO;
	for (c->messages = 0; c->messages < MESSAGES_MAX && look_at_next(queue, &p, NULL, &msg);
	     c->messages++) {
		if (!makes_sense(&p))
			return EPROTO;
		next = p.part == 0 ? 0 : p.set == set ? next : PARTS_MAX;
		set = p.set;
		if (p.part != next++ || next != p.parts)
			continue;
		c->set = set;
		c->sockets = p.sockets;
		found = true;
	}
	return found ? 0 : EPROTO;
}

/* Stores the descriptors of a message. False: their number is not the announced number. */
static bool keep_descriptors(const struct part *p, struct msghdr *msg, int *fd)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	size_t n = c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
			   ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
			   : 0;

	if (n > p->count) /* a foreign message: fd[] has no room for the additional descriptors */
		n = 0;
	if (n)
		memcpy(fd + p->part * A_MESSAGE, CMSG_DATA(c), n * sizeof(int));
	return n == p->count && !(msg->msg_flags & MSG_CTRUNC);
}

static int take_set(int queue, struct adv_carried *c)
{
	int fd[ADV_SLOTS + FURTHER];
	struct msghdr msg;
	union room room;
	struct part p;
	int error = 0;

	memset(fd, 0xff, sizeof(fd));
	if (rewind_queue(queue, 0) != 0)
		return EPROTO;
	for (uint32_t i = 0; i < c->messages && !error; i++) {
		off_t at = (off_t)(i * sizeof(p));

		/* Peeks first without receiving the descriptors: they may belong to another set. */
		if (!look_at_next(queue, &p, NULL, &msg) || !makes_sense(&p))
			error = EPROTO;
		else if (p.set == c->set && p.sockets == c->sockets &&
			 (rewind_queue(queue, (int)at) != 0 ||
			  !look_at_next(queue, &p, &room, &msg) || !keep_descriptors(&p, &msg, fd)))
			error = EMFILE;
	}
	c->ledger_fd = fd[0];
	c->table_fd = fd[1];
	c->marker = fd[2];
	c->feed = fd[3];
	memcpy(c->socket, fd + FURTHER, sizeof(c->socket));
	for (unsigned i = 0; !error && i < FURTHER + c->sockets; i++)
		if (fd[i] < 0)
			error = EPROTO;
	return error;
}

/* Closes the descriptors of a set. */
static void close_carried(struct adv_carried *c)
{
	const int further[FURTHER] = {c->ledger_fd, c->table_fd, c->marker, c->feed};

	for (unsigned i = 0; i < FURTHER; i++)
		if (further[i] >= 0)
			close(further[i]);
	for (unsigned i = 0; i < c->sockets; i++)
		if (c->socket[i] >= 0)
			close(c->socket[i]);
}

int adv_carrier_peek(int queue, struct adv_carried *c)
{
	int error;

	memset(c, 0xff, sizeof(*c));
	c->sockets = 0;
	error = find_set(queue, c);
	if (!error)
		error = take_set(queue, c);
	(void)rewind_queue(queue, -1);
	if (error)
		close_carried(c);
	return error;
}
