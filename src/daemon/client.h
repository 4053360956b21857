/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client: a process connected to adverbd by the control protocol. Whatever it sends, and if it
 * reads nothing, it costs the daemon a bounded amount of work in a round and never blocks it.
 */
#ifndef ADV_DAEMON_CLIENT_H
#define ADV_DAEMON_CLIENT_H

#include "daemon/client_state.h"

/* Takes over an accepted socket. Returns NULL if the process is refused: it has received the
 * reason, and the socket is closed. */
struct adv_client *adv_client_new(struct adv_clients *all, int fd);

/* Notifies the clients that share memory with this slot that the slot's owner has exited. */
void adv_clients_end_pairs(struct adv_clients *all, unsigned slot);

/* Releases the client's slots, closes the session and frees the client. */
void adv_client_drop(struct adv_client *c);

#endif
