/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One connection of the control protocol, seen from the daemon. Whatever its peer sends or leaves
 * unread costs the daemon a bounded amount a round and never blocks it.
 */
#ifndef ADV_DAEMON_CLIENT_H
#define ADV_DAEMON_CLIENT_H

#include <sys/socket.h>

#include "base/list.h"
#include "daemon/daemon.h"
#include "daemon/users.h"

struct adv_client;
struct adv_pairs;
struct adv_ucma;

/* All connections, and who has which slot. */
struct adv_clients {
	struct adv_daemon *daemon;
	struct adv_users *users;
	struct adv_ucma *ucma;
	struct adv_pairs *pairs;
	struct adv_list list;
	unsigned count;
	bool room_wanted;		     /* some client's wants_room was set */
	struct adv_client *owner[ADV_SLOTS]; /* NULL: free, or its client has yet to resume */
};

struct adv_client {
	struct adv_list link;
	struct adv_clients *all;
	struct adv_turn turn;
	int fd;
	int asking; /* the other end of the socket for a request about faults, or -1 */
	int pidfd;  /* readable when the process has ended; -1: not known, then EOF has to do */
	struct ucred peer;
	char comm[16];
	bool greeted;
	bool dead;	 /* to be dropped at the end of the round */
	bool wants_room; /* a notice waits for the socket to be writable */
	uint32_t notices;
};

/* Takes over a connection. NULL, with the connection closed, where the peer is refused. */
struct adv_client *adv_client_new(struct adv_clients *all, int fd);

/* There is something to read: it is served, and may be `dead` then, when its turn comes. */
void adv_client_readable(struct adv_client *c);

/* Adds to what the client is to be told, and tells it what fits. */
void adv_client_notify(struct adv_client *c, uint32_t what);

/* A slot is given up: those that share memory with it are told. */
void adv_clients_end_pairs(struct adv_clients *all, unsigned slot);

/* Takes back its slots, closes and frees. */
void adv_client_drop(struct adv_client *c);

#endif
