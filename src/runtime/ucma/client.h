/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process's connection to the service. */
#ifndef ADV_RUNTIME_UCMA_CLIENT_H
#define ADV_RUNTIME_UCMA_CLIENT_H

#include "runtime/ucma/state.h"

/* Makes a client for the socket `fd`. On success the client owns `fd`, `pidfd` and the caller's
 * hold of `user`. NULL and errno. */
struct adv_ucma_client *adv_ucma_client_new(struct adv_ucma *u, int fd, struct adv_user *user,
					    const struct ucred *peer, int pidfd, const char *comm);
/* Closes the client's session and moves the client to the list of leaving clients. */
void adv_ucma_client_close(struct adv_ucma_client *c);
/* Destroys a bounded number of a leaving client's ids and channels. After the last one it frees the
 * client. */
void adv_ucma_client_drain(struct adv_ucma_client *c);

#endif
