/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client: a process connected to adverbd by the control protocol. The daemon does a bounded
 * amount of work for each client in a round, for any messages that the client sends. A client that
 * does not read never blocks the daemon.
 */
#ifndef ADV_RUNTIME_DAEMON_CLIENT_H
#define ADV_RUNTIME_DAEMON_CLIENT_H

#include "runtime/daemon/client_state.h"

/* Creates a client, which owns the accepted socket `fd`. Returns NULL if the process is refused:
 * the function has then sent the reason and closed the socket. */
struct adv_client *adv_client_new(struct adv_clients *all, int fd);

/* Notifies the clients that share memory with this slot that the slot's owner has exited. */
void adv_clients_end_pairs(struct adv_clients *all, unsigned slot);

/* Releases the client's slots, closes the session and frees the client. */
void adv_client_drop(struct adv_client *c);

#endif
