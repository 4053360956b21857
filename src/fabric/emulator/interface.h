/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes and configures network interfaces by rtnetlink(7), in the network namespace in which
 * adv_interfaces_open() was called. All functions return 0 or errno. */
#ifndef ADV_FABRIC_EMULATOR_INTERFACE_H
#define ADV_FABRIC_EMULATOR_INTERFACE_H

#include <net/if.h>
#include <stdint.h>

struct mnl_socket;

struct adv_interfaces {
	struct mnl_socket *socket;
	uint32_t serial;
};

int adv_interfaces_open(struct adv_interfaces *n);
void adv_interfaces_close(struct adv_interfaces *n);

int adv_interface_make_bridge(struct adv_interfaces *n, const char *name);

struct adv_interface_pair {
	char here[IFNAMSIZ]; /* name in this namespace */
	const char *there;   /* name in the other namespace */
	int net;	     /* descriptor of the other namespace */
	uint32_t mtu;
	uint8_t mac[6]; /* of the interface there */
};

/* Makes a pair of veth(4) interfaces. That of this namespace is up and belongs to the bridge. */
int adv_interface_make_pair(struct adv_interfaces *n, const struct adv_interface_pair *pair,
			    const char *bridge);
int adv_interface_up(struct adv_interfaces *n, const char *name);
/* Gives an interface an IPv4 address in host byte order. */
int adv_interface_address(struct adv_interfaces *n, const char *name, uint32_t address,
			  unsigned prefix);

#endif
