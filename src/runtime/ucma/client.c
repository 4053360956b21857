/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handles a process's messages, and its start and end. */
#include "runtime/ucma/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/ucma/cm_fault.h"
#include "runtime/ucma/channel.h"
#include "runtime/ucma/id.h"
#include "runtime/ucma/multicast.h"
#include "runtime/ucma/id_resolve.h"

#define MESSAGES_A_ROUND 32
/* Most ids (each with its requests) or channels that one call destroys. */
#define WITHER_AT_ONCE 8

_Static_assert(sizeof(struct adv_ucma_message) <= ADV_SESSION_MESSAGE_MAX, "room for a message");

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

/* ---- messages ---- */

static bool is_request(const struct adv_ucma_message *m)
{
	return m->magic == ADV_UCMA_PROTOCOL_MAGIC && m->version == ADV_UCMA_PROTOCOL_VERSION &&
	       m->type < ADV_ARRAY_SIZE(handlers) && handlers[m->type];
}

static bool serve_ucma_message(struct adv_session *s, void *message)
{
	struct adv_ucma_message *m = message;
	int fd = -1;

	if (!is_request(m))
		return false;
	m->result = handlers[m->type](adv_container_of(s, struct adv_ucma_client, session), m, &fd);
	if (m->result)
		memset(&m->body, 0, sizeof(m->body));
	adv_session_answer(s, m, fd);
	if (fd >= 0)
		close(fd);
	return true;
}

static const struct adv_session_protocol protocol = {
	.name = "the protocol of connections",
	.message_len = sizeof(struct adv_ucma_message),
	.messages_a_round = MESSAGES_A_ROUND,
	.descriptors = ADV_UCMA_DESCRIPTORS,
	.handle = serve_ucma_message,
};

/* ---- start and end ---- */

struct adv_ucma_client *adv_ucma_client_new(struct adv_ucma *u, int fd, struct adv_user *user,
					    const struct ucred *peer, int pidfd, const char *comm)
{
	struct adv_ucma_client *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return NULL;
	c->ucma = u;
	adv_list_init(&c->channel_list);
	adv_list_init(&c->id_list);
	adv_session_begin(&c->session, &protocol, u->users, user, peer, fd, pidfd);
	strncpy(c->session.comm, comm, sizeof(c->session.comm) - 1);
	error = adv_session_watch(&c->session, u->epoll);
	if (error) {
		adv_session_abandon(&c->session);
		free(c);
		errno = error;
		return NULL;
	}
	adv_list_add_tail(&u->clients, &c->link);
	u->client_count++;
	user->cm_clients++;
	return c;
}

void adv_ucma_client_close(struct adv_ucma_client *c)
{
	c->session.dead = true;
	adv_session_close(&c->session);
	adv_cm_faults_process_leaves(c->ucma->faults, c->session.peer.pid);
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
	c->session.turn.user->cm_clients--;
	adv_session_release(&c->session);
	free(c);
}

/* Destroys ids first and channels last. */
void adv_ucma_client_drain(struct adv_ucma_client *c)
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
