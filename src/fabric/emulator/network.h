/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The network namespaces of an emulated fabric. Each host has its own, with an interface for TCP
 * and for the neighbour table; a bridge in a further namespace joins these interfaces. RoCE packets
 * do not pass there. Without privileges the namespaces belong to a new user namespace, in which the
 * caller keeps its user and group.
 */
#ifndef ADV_FABRIC_EMULATOR_NETWORK_H
#define ADV_FABRIC_EMULATOR_NETWORK_H

#include <stdint.h>

#include "runtime/link/port.h"

#define ADV_NETWORK_WHY 256
/* Name of the interface in the namespace of the bridge that leads to a host. */
#define ADV_NETWORK_PORT "h%u"

struct adv_network_host {
	int net; /* descriptors of the namespaces */
	int uts;
};

struct adv_network {
	int user; /* descriptor of the user namespace; -1: that of the caller */
	int net;  /* of the bridge */
	int uts;  /* of the emulator */
	uint32_t hosts;
	uint32_t mtu; /* of the interfaces */
	struct adv_network_host *host;
};

/*
 * Makes the namespaces for place->hosts hosts with the addresses of *place and the path
 * MTU `mtu`. The calling process,
 * which must have one thread, is then in the namespace of the bridge. 0, or errno with a line in
 * why[]; *n must be closed in both cases.
 */
int adv_network_open(struct adv_network *n, const struct adv_port_place *place, uint32_t mtu,
		     char why[ADV_NETWORK_WHY]);
/* Closes the descriptors. A namespace exists as long as a process is in it. */
void adv_network_close(struct adv_network *n);

/* Calls fn within the network namespace of a host; for sockets. 0 or errno, also of fn. */
int adv_network_within(const struct adv_network *n, uint32_t host, int (*fn)(void *user),
		       void *user);

#endif
