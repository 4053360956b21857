/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state that adverbd keeps for its clients: the processes connected to it. */
#ifndef ADV_RUNTIME_DAEMON_CLIENT_STATE_H
#define ADV_RUNTIME_DAEMON_CLIENT_STATE_H

#include "base/list.h"
#include "runtime/keeper/estate.h"
#include "runtime/session/session.h"

struct adv_capture_message;
struct adv_client;
struct adv_pairs;
struct adv_ucma;

/* All clients, and the owners of slots. */
struct adv_clients {
	struct adv_daemon *daemon;
	struct adv_users *users;
	struct adv_ucma *ucma;
	struct adv_pairs *pairs;
	struct adv_list list;
	unsigned count;
	bool room_wanted; /* a client's wants_room was set */
	/* NULL: the slot is free, or its client has not yet resumed it at this worker. */
	struct adv_client *owner[ADV_SLOTS];
};

struct adv_client {
	struct adv_list link;
	struct adv_clients *all;
	struct adv_session session;
	struct adv_capture_message *captures; /* request for slots that are opened; NULL: none */
	int fault_socket; /* the kept end of the socket pair of a fault request (client_fault.h);
			     -1: none */
	bool greeted;
	bool wants_room; /* a notice is not sent until the socket is writable */
	uint32_t notices;
};

/* True if the client owns the slot. `slot` may be any number. */
static inline bool adv_client_owns(const struct adv_client *c, uint32_t slot)
{
	return slot < ADV_SLOTS && c->all->owner[slot] == c;
}

#endif
