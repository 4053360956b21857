/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_UDP_H
#define ADV_LINK_UDP_H

#include "link/link.h"

struct adv_udp_config {
	int receive_fd; /* a slot's socket of the 4791 group; the link owns it from now on */
};

/*
 * A RoCE v2 link over UDP sockets. Receives on config->receive_fd (dual-stack AF_INET6 or
 * AF_INET; it is never connected), sends through sockets of its own, one for each
 * (source address, source port), made when first needed. Returns NULL with errno set where
 * a socket option that the link cannot do without is refused.
 */
struct adv_link *adv_udp_create(const struct adv_udp_config *config);

#endif
