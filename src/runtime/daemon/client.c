/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/daemon/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/daemon/client_fault.h"
#include "runtime/daemon/client_notice.h"
#include "runtime/daemon/client_request.h"
#include "runtime/keeper/given.h"
#include "runtime/steering/pairs.h"
#include "runtime/steering/slots.h"
#include "runtime/ucma/ucma.h"

#define MESSAGES_A_ROUND 16
#define DESCRIPTORS	 3 /* descriptors of a client: the socket, the pidfd, `fault_socket` */

_Static_assert(sizeof(struct adv_control_message) <= ADV_SESSION_MESSAGE_MAX, "room for a message");

/* ---- messages ---- */

static bool serve_control_message(struct adv_session *s, void *message)
{
	struct adv_control_message *m = message;

	if (m->magic != ADV_CONTROL_MAGIC || m->version != ADV_CONTROL_VERSION)
		return false;
	adv_client_serve(adv_container_of(s, struct adv_client, session), m);
	return true;
}

static void refuse_version(const struct adv_session *s)
{
	adv_client_refuse(s->fd, EPROTO,
			  "this adverbd has another version of the control protocol: stop it, and "
			  "the next program starts one of its own version");
}

static const struct adv_session_protocol protocol = {
	.name = "the control protocol",
	.message_len = sizeof(struct adv_control_message),
	.messages_a_round = MESSAGES_A_ROUND,
	.descriptors = DESCRIPTORS,
	.handle = serve_control_message,
	.refuse = refuse_version,
};

/* ---- start and end ---- */

static void read_comm(struct adv_client *c)
{
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)c->session.peer.pid);
	fd = c->session.peer.pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, c->session.comm, sizeof(c->session.comm) - 1);
		close(fd);
	}
	c->session.comm[n > 0 ? n : 0] = 0;
	c->session.comm[strcspn(c->session.comm, "\n")] = 0;
	/* `adverb status` prints the name to a terminal, so only printable characters are kept. */
	for (char *p = c->session.comm; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

static const char *reason_to_refuse(const struct adv_clients *all, const struct adv_user *user,
				    uid_t uid, int *error)
{
	*error = EACCES;
	if (!all->daemon->system && uid != all->daemon->uid && uid != 0)
		return "this adverbd serves another user";
	*error = EUSERS;
	if (all->count >= ADV_CLIENTS_MAX)
		return "adverbd has its maximum number of clients: try again when some have exited";
	if (all->daemon->system && (user->clients >= ADV_USER_CLIENTS ||
				    !adv_users_may_open(all->users, user, DESCRIPTORS)))
		return "you have the maximum number of connections to adverbd for one user";
	return NULL;
}

struct adv_client *adv_client_new(struct adv_clients *all, int fd)
{
	struct adv_client *c = calloc(1, sizeof(*c));
	struct adv_user *user = NULL;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	const char *reason;
	int error = ENOMEM;

	if (c && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
		user = adv_users_hold(all->users, peer.uid);
	reason = user ? reason_to_refuse(all, user, peer.uid, &error)
		      : "adverbd has no memory for one more client";
	if (reason) {
		adv_client_refuse(fd, error, reason);
		close(fd);
		if (user)
			adv_users_release(user);
		free(c);
		return NULL;
	}
	adv_given_refuse(fd);
	adv_session_begin(&c->session, &protocol, all->users, user, &peer, fd,
			  adv_session_open_pidfd(fd, peer.pid));
	user->clients++;
	c->all = all;
	c->fault_socket = -1;
	read_comm(c);
	adv_list_add_tail(&all->list, &c->link);
	all->count++;
	return c;
}

void adv_clients_end_pairs(struct adv_clients *all, unsigned slot)
{
	uint8_t paired[ADV_SLOTS / 8];

	adv_pairs_release(all->pairs, slot, paired);
	for (unsigned i = 0; i < all->daemon->sockets; i++)
		if (paired[i / 8] >> i % 8 & 1)
			adv_clients_notify_slot(all, i, ADV_CONTROL_NOTICE_PAIRS);
}

void adv_client_drop(struct adv_client *c)
{
	struct adv_clients *all = c->all;
	struct adv_user *user = c->session.turn.user;

	for (unsigned i = ADV_SLOT_FIRST; i < all->daemon->sockets; i++) {
		if (all->owner[i] != c)
			continue;
		all->owner[i] = NULL;
		user->descriptors--;
		adv_clients_end_pairs(all, i);
		adv_slots_release(all->daemon, i);
		adv_info("slot %u of process %d (%s) taken back", i, (int)c->session.peer.pid,
			 c->session.comm);
	}
	adv_list_del(&c->link);
	adv_session_close(&c->session);
	all->count--;
	user->clients--;
	adv_ucma_process_leaves(all->ucma, c->session.peer.pid);
	adv_client_fault_close(c);
	free(c->captures);
	adv_session_release(&c->session);
	free(c);
}
