/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process's connection to the service. */
#ifndef ADV_DAEMON_UCMA_CLIENT_H
#define ADV_DAEMON_UCMA_CLIENT_H

#include "daemon/ucma_state.h"

/* Makes a client of a socket. It owns `fd`, `pidfd` and the caller's hold of `user`, if it
 * succeeds. NULL and errno. */
struct adv_ucma_client *adv_ucma_client_new(struct adv_ucma *u, int fd, struct adv_user *user,
					    const struct ucred *peer, int pidfd, const char *comm);
/* Closes the client's session and moves the client to those that leave. */
void adv_ucma_client_close(struct adv_ucma_client *c);
/* Destroys some ids and channels of a leaving client, and frees it after the last one. */
void adv_ucma_client_drain(struct adv_ucma_client *c);

#endif
