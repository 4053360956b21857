/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The UDP sockets of port 4791, and the classic BPF program that steers each packet by the prefix
 * of its destination QPN (wire/slot.h). The kernel knows a socket by its place in the group. A
 * socket that is bound joins at the end; if one is closed, the last one moves to its place. So none
 * is closed while others are in use, and a socket's place is its slot.
 *
 * A socket that is connected, or disconnected by connect(AF_UNSPEC), breaks the whole group. A
 * process that is given one must not do that.
 */
#ifndef ADV_DAEMON_GROUP_H
#define ADV_DAEMON_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/gid_table.h"
#include "wire/packet.h"

/* The sockets that the group begins with: the daemon's and nobody's. */
#define ADV_GROUP_FIRST ADV_SLOT_FIRST

/* Prefixes from `first` to `last` go to `socket`; if spread, to `socket` and the following ones,
 * one each. */
struct adv_group_run {
	uint16_t first;
	uint16_t last;
	uint16_t socket;
	bool spread;
};

/*
 * Founds the group. Returns 0, or errno with the sockets closed and a line in why[]. For EADDRINUSE
 * why[] names the holder of the port and the remedy.
 */
int adv_group_create(int socket[ADV_GROUP_FIRST], const struct adv_gid_table *own, char *why,
		     size_t why_len);

/* Adds a socket at the end of the group of `founder`. It receives nothing until adv_group_steer()
 * includes it. 0 or errno. */
int adv_group_grow(int founder, int *made);

/*
 * Attaches the program. Attach it again if a socket or a block has a new owner, if the machine's
 * addresses have changed, or if a process that holds a socket of the group could have detached it.
 * `unlocked` is the daemon's own socket, of slot 0. The runs are sorted and do not overlap.
 * Prefixes in no run go to nobody's socket. 0 or errno; ENOMEM also if the kernel finds the program
 * too long.
 *
 * Any process can send IPv6 datagrams from any source address (IPV6_FREEBIND, see ipv6(7)); those
 * to the machine itself arrive by its loopback interface. The program sends them to nobody's socket
 * unless their source is one of `own`. For IPv4 the kernel itself requires a local source.
 */
int adv_group_steer(int unlocked, const struct adv_gid_table *own, const struct adv_group_run *run,
		    unsigned runs);

/* Gives a free slot's socket the smallest receive buffer, and empties it. */
void adv_group_deactivate(int fd);

/* Empties a socket and gives it a large receive buffer. Returns the granted size in bytes, as the
 * kernel counts them. */
uint32_t adv_group_activate(int fd);

/* Reads and drops queued packets, at most `limit`. Returns their number. */
unsigned adv_group_drain(int fd, unsigned limit);

/* Joins or leaves a multicast group (IPv4-mapped or IPv6). 0 or errno. */
int adv_group_member(int fd, const struct adv_gid *group, uint32_t ifindex, bool join);

#endif
