/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/daemon/client_fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/daemon/client_notice.h"
#include "runtime/keeper/given.h"
#include "runtime/ucma/ucma.h"
#include "runtime/exchange/capture_exchange.h"
#include "runtime/exchange/fault_exchange.h"

void adv_client_fault_close(struct adv_client *c)
{
	if (c->fault_socket >= 0)
		close(c->fault_socket);
	c->fault_socket = -1;
}

int adv_client_fault_open(struct adv_client *c)
{
	const int room = 2 * (int)sizeof(struct adv_fault_exchange_message);
	int pair[2];

	adv_client_fault_close(c);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	adv_given_refuse(pair[0]);
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	c->fault_socket = pair[0];
	return pair[1];
}

/* True if the client may send requests to processes of this user. */
static bool may_reach_user(const struct adv_client *c, uid_t uid)
{
	return c->session.peer.uid == 0 || c->session.peer.uid == uid;
}

/* Sends the kept end of the socket pair to the process that owns the slot. That process answers by
 * the socket. Returns 0 or errno. */
static int pass_to_slot(struct adv_client *c, uint32_t slot)
{
	struct adv_ledger *l = c->all->daemon->ledger;

	if (slot < ADV_SLOT_FIRST || slot >= l->sockets || !atomic_load(&l->slot[slot].owned))
		return ENOENT;
	if (!may_reach_user(c, l->slot[slot].uid))
		return EPERM;
	if (!c->all->owner[slot])
		return EAGAIN;
	return adv_client_notify_with(c->all->owner[slot], ADV_CONTROL_NOTICE_FAULT,
				      c->fault_socket);
}

/* Finds the user of a process that is connected to either protocol. */
static bool find_process_user(const struct adv_client *c, pid_t pid, uid_t *uid)
{
	adv_list_for_each(const struct adv_client, other, &c->all->list, link) {
		if (other->session.peer.pid == pid) {
			*uid = other->session.peer.uid;
			return true;
		}
	}
	return adv_ucma_find_process(c->all->ucma, pid, uid);
}

/* Answers a request about a process's plan for its packets of QP1. Number 0 means the client's own
 * process. Returns 0 or errno. */
static int answer_for_process(struct adv_client *c, uint32_t number)
{
	pid_t pid = number ? (pid_t)number : c->session.peer.pid;
	uid_t uid = c->session.peer.uid;

	if (pid <= 0 || (pid != c->session.peer.pid && !find_process_user(c, pid, &uid)))
		return ENOENT;
	if (!may_reach_user(c, uid))
		return EPERM;
	adv_ucma_fault(c->all->ucma, pid, uid, c->fault_socket);
	return 0;
}

/* Answers a request about the daemon's plan for all packets of QP1, or about a capture of these
 * packets. Returns 0 or errno. */
static int answer_for_daemon(struct adv_client *c)
{
	const struct adv_daemon *d = c->all->daemon;

	if (c->session.peer.uid != 0 && (d->system || c->session.peer.uid != d->uid))
		return EPERM;
	if (adv_capture_is_asked(c->fault_socket))
		adv_ucma_capture(c->all->ucma, c->fault_socket);
	else
		adv_ucma_fault(c->all->ucma, 0, 0, c->fault_socket);
	return 0;
}

/* ---- captures of slots that are opened later ---- */

/* Keeps the queued request of a tool. Returns 0 or errno. */
static int keep_captures(struct adv_client *c)
{
	struct adv_capture_message m;

	if (!adv_capture_read(c->fault_socket, &m))
		return EPROTO;
	if (!c->captures)
		c->captures = malloc(sizeof(*c->captures));
	if (!c->captures)
		return ENOMEM;
	*c->captures = m;
	return 0;
}

/* Passes the request of a tool to the owner of the slot. If anything fails, the tool finds the slot
 * in the list. */
static void pass_capture(struct adv_client *tool, struct adv_client *owner, uint32_t slot)
{
	struct adv_capture_message m = *tool->captures;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	adv_given_refuse(pair[0]);
	m.slot = slot;
	m.pid = (uint32_t)owner->session.peer.pid;
	snprintf(m.comm, sizeof(m.comm), "%s", owner->session.comm);
	if (adv_capture_send(pair[1], &m, -1) == 0 &&
	    adv_client_notify_with(owner, ADV_CONTROL_NOTICE_FAULT, pair[0]) == 0)
		(void)adv_client_notify_with(tool, ADV_CONTROL_NOTICE_FAULT, pair[1]);
	close(pair[0]);
	close(pair[1]);
}

void adv_client_fault_slot_opened(struct adv_client *c, uint32_t slot)
{
	adv_list_for_each(struct adv_client, tool, &c->all->list, link) {
		if (tool->captures && may_reach_user(tool, c->session.peer.uid))
			pass_capture(tool, c, slot);
	}
}

int adv_client_fault_pass(struct adv_client *c, uint32_t kind, uint32_t number)
{
	if (c->fault_socket < 0)
		return EINVAL;
	switch (kind) {
	case ADV_CONTROL_FAULT_SLOT:
		return pass_to_slot(c, number);
	case ADV_CONTROL_FAULT_PROCESS:
		return answer_for_process(c, number);
	case ADV_CONTROL_FAULT_DAEMON:
		return answer_for_daemon(c);
	case ADV_CONTROL_FAULT_OBJECTS:
		return adv_ucma_objects(c->all->ucma, c->session.peer.uid, c->fault_socket);
	case ADV_CONTROL_FAULT_CAPTURES:
		return keep_captures(c);
	default:
		return EINVAL;
	}
}
