/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Nonblocking TCP sockets, by the addresses of the connection manager. */
#ifndef ADV_RUNTIME_UCMA_TCP_H
#define ADV_RUNTIME_UCMA_TCP_H

#include <stdbool.h>

#include "base/spare.h"
#include "nic/cm/cm.h"

/*
 * Makes a socket that is bound to *local. Port 0: the kernel chooses one, and local->port is set to
 * it. own_family: an IPv6 wildcard does not include IPv4. Returns the descriptor, or -1 with errno
 * (EADDRINUSE, EADDRNOTAVAIL, EMFILE, ...).
 */
int adv_tcp_open(struct adv_cm_addr *local, bool own_family);
/* Sets the TOS or traffic class of the socket's packets. */
void adv_tcp_set_tos(int fd, sa_family_t family, uint8_t tos);
/* Makes the kernel give up the bytes of a closed connection after the peer has taken none for half
 * a minute, and not for the minutes of tcp(7). */
void adv_tcp_limit_rest(int fd);
/* Begins to connect. 0 also while the connection is being made; else errno. */
int adv_tcp_connect(int fd, const struct adv_cm_addr *remote);
/* As adv_spare_accept(). */
int adv_tcp_accept(struct adv_spare *spare, int fd);
/* Reads the addresses of a connected socket. False: it is not connected any more. */
bool adv_tcp_addresses(int fd, struct adv_cm_addr *local, struct adv_cm_addr *remote);
/* Takes the socket's pending error; 0: none. */
int adv_tcp_error(int fd);

#endif
