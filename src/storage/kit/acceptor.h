/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A listening socket. */
#ifndef ADV_STORAGE_KIT_ACCEPTOR_H
#define ADV_STORAGE_KIT_ACCEPTOR_H

#include <sys/socket.h>

#include "storage/kit/loop.h"

struct adv_acceptor;

/* Listens at an address. `accepted` gets each connection as a descriptor that does not block, which
 * belongs to it. NULL and errno. */
struct adv_acceptor *adv_acceptor_create(struct adv_loop *l, const struct sockaddr *at,
					 void (*accepted)(void *user, int fd), void *user);
/* The same with a socket that listens and does not block. It belongs to the acceptor, unless NULL
 * is returned. */
struct adv_acceptor *adv_acceptor_adopt(struct adv_loop *l, int fd,
					void (*accepted)(void *user, int fd), void *user);
void adv_acceptor_destroy(struct adv_acceptor *a);

#endif
