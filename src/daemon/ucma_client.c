/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process's connection: messages in, answers out, and its end. */
#include "daemon/ucma_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rights.h"

#define MESSAGES_A_ROUND 32
#define WITHER_AT_ONCE	 8 /* ids, each with its requests, or channels */
#define DESCRIPTORS_READ 8 /* room for those a client should not send; the kernel drops more */

static adv_ucma_handler *const handlers[] = {
	[ADV_UCMA_CMD_CREATE_CHANNEL] = adv_ucma_create_channel,
	[ADV_UCMA_CMD_DESTROY_CHANNEL] = adv_ucma_destroy_channel,
	[ADV_UCMA_CMD_CREATE_ID] = adv_ucma_create_id,
	[ADV_UCMA_CMD_DESTROY_ID] = adv_ucma_destroy_id,
	[ADV_UCMA_CMD_BIND] = adv_ucma_bind,
	[ADV_UCMA_CMD_RESOLVE_ADDR] = adv_ucma_resolve_addr,
	[ADV_UCMA_CMD_RESOLVE_ROUTE] = adv_ucma_resolve_route,
	[ADV_UCMA_CMD_QUERY_ROUTE] = adv_ucma_query_route,
	[ADV_UCMA_CMD_LISTEN] = adv_ucma_listen,
	[ADV_UCMA_CMD_CONNECT] = adv_ucma_connect,
	[ADV_UCMA_CMD_ACCEPT] = adv_ucma_accept,
	[ADV_UCMA_CMD_REJECT] = adv_ucma_reject,
	[ADV_UCMA_CMD_ESTABLISH] = adv_ucma_establish,
	[ADV_UCMA_CMD_DISCONNECT] = adv_ucma_disconnect,
	[ADV_UCMA_CMD_QP_ATTR] = adv_ucma_qp_attr,
	[ADV_UCMA_CMD_SET_OPTION] = adv_ucma_set_option,
	[ADV_UCMA_CMD_JOIN] = adv_ucma_join,
	[ADV_UCMA_CMD_LEAVE] = adv_ucma_leave,
	[ADV_UCMA_CMD_MIGRATE] = adv_ucma_migrate,
	[ADV_UCMA_CMD_GET_EVENT] = adv_ucma_get_event,
	[ADV_UCMA_CMD_WRITE_EVENT] = adv_ucma_write_event,
};

/* ---- life ---- */

static bool serve(struct adv_turn *t, uint64_t end);

struct adv_ucma_client *adv_ucma_client_new(struct adv_ucma *u, int fd, struct adv_user *user,
					    const struct ucred *peer, int pidfd, const char *comm)
{
	struct adv_ucma_client *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return NULL;
	c->ucma = u;
	c->fd = fd;
	c->pidfd = pidfd;
	c->peer = *peer;
	strncpy(c->comm, comm, sizeof(c->comm) - 1);
	adv_list_init(&c->channel_list);
	adv_list_init(&c->id_list);
	error = adv_ucma_watch(u, fd, (uintptr_t)c);
	if (!error && pidfd >= 0)
		error = adv_ucma_watch(u, pidfd, (uintptr_t)c | 1);
	if (error) {
		free(c);
		errno = error;
		return NULL;
	}
	adv_list_add_tail(&u->clients, &c->link);
	adv_turn_init(u->users, &c->turn, user, peer->pid, serve);
	u->client_count++;
	user->cm_clients++;
	user->descriptors += ADV_UCMA_DESCRIPTORS;
	return c;
}

/* Closing alone does not do while a child that is to be the keeper still has copies. */
static void unwatch(struct adv_ucma *u, int fd)
{
	epoll_ctl(u->epoll, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

void adv_ucma_client_close(struct adv_ucma_client *c)
{
	c->dead = true;
	unwatch(c->ucma, c->fd);
	if (c->pidfd >= 0)
		unwatch(c->ucma, c->pidfd);
	adv_turn_end(&c->turn);
	adv_ucma_process_leaves(c->ucma, c->peer.pid);
	adv_list_del(&c->link);
	adv_list_add_tail(&c->ucma->leaving, &c->link);
}

static void client_free(struct adv_ucma_client *c)
{
	adv_handles_free(&c->channels);
	adv_handles_free(&c->ids);
	adv_handles_free(&c->memberships);
	adv_list_del(&c->link);
	c->ucma->client_count--;
	c->turn.user->cm_clients--;
	c->turn.user->descriptors -= ADV_UCMA_DESCRIPTORS;
	adv_users_release(c->turn.user);
	free(c);
}

/* Channels go after all ids. */
void adv_ucma_client_wither(struct adv_ucma_client *c)
{
	for (unsigned i = 0; i < WITHER_AT_ONCE; i++) {
		if (!adv_list_empty(&c->id_list)) {
			adv_ucma_id_free(
				adv_container_of(c->id_list.next, struct adv_ucma_id, link));
		} else if (!adv_list_empty(&c->channel_list)) {
			adv_ucma_channel_free(adv_container_of(c->channel_list.next,
							       struct adv_ucma_channel, link));
		} else {
			client_free(c);
			return;
		}
	}
}

/* ---- messages ---- */

/* Never blocks: a client that asks and does not read the answers is dropped. */
static void answer(struct adv_ucma_client *c, const struct adv_ucma_message *m, int fd)
{
	union adv_rights_room room = {0};
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0)
		adv_rights_put(&msg, &room, fd);
	if (sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		c->dead = true;
}

static void handle(struct adv_ucma_client *c, struct adv_ucma_message *m)
{
	int fd = -1;

	m->result = handlers[m->type](c, m, &fd);
	if (m->result)
		memset(&m->body, 0, sizeof(m->body));
	answer(c, m, fd);
	if (fd >= 0)
		close(fd);
}

static bool is_request(const struct adv_ucma_message *m)
{
	return m->magic == ADV_UCMA_PROTOCOL_MAGIC && m->version == ADV_UCMA_PROTOCOL_VERSION &&
	       m->type < sizeof(handlers) / sizeof(handlers[0]) && handlers[m->type];
}

/* One message. False: no more at present, or the end. */
static bool read_one(void *connection)
{
	struct adv_ucma_client *c = connection;
	char room[CMSG_SPACE(DESCRIPTORS_READ * sizeof(int))] __attribute__((aligned(8)));
	struct adv_ucma_message m;
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
	if (n != (ssize_t)sizeof(m) || (msg.msg_flags & MSG_TRUNC) || !is_request(&m)) {
		adv_warn("process %d (%s) does not speak the protocol of connections: dropped",
			 (int)c->peer.pid, c->comm);
		c->dead = true;
		return false;
	}
	handle(c, &m);
	return !c->dead;
}

static bool serve(struct adv_turn *t, uint64_t end)
{
	struct adv_ucma_client *c = adv_container_of(t, struct adv_ucma_client, turn);

	return !c->dead && adv_turn_read(c->ucma->users, read_one, c, MESSAGES_A_ROUND, end);
}

void adv_ucma_client_readable(struct adv_ucma_client *c)
{
	adv_turn_want(c->ucma->users, &c->turn);
}
