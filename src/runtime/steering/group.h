/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The UDP sockets of port 4791, and the classic BPF program that steers each packet by the prefix
 * of its destination QPN (nic/wire/slot.h). The kernel identifies a socket by its place in the
 * group. A newly bound socket joins at the end. If a socket is closed, the last socket moves to its
 * place. So no socket is closed while others are in use, and a socket's place is its slot.
 *
 * Calling connect() on a socket of the group, even with AF_UNSPEC, breaks the whole group. A
 * process that receives such a socket must not call connect() on it.
 */
#ifndef ADV_RUNTIME_STEERING_GROUP_H
#define ADV_RUNTIME_STEERING_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/control/gid_table.h"
#include "nic/wire/packet.h"

/* The number of sockets with which the group begins: of ADV_SLOT_DAEMON and ADV_SLOT_NOBODY. */
#define ADV_GROUP_FIRST ADV_SLOT_FIRST

/* Packets with prefixes from `first` to `last` go to `socket`. If `spread`, prefix first + n goes
 * to socket + n. */
struct adv_group_run {
	uint16_t first;
	uint16_t last;
	uint16_t socket;
	bool spread;
};

/*
 * Creates the group. Returns 0, or errno with the sockets closed and a line of text in why[]. For
 * EADDRINUSE why[] names the holder of the port and the remedy.
 */
int adv_group_create(int socket[ADV_GROUP_FIRST], const struct adv_gid_table *own, char *why,
		     size_t why_len);

/* Adds a socket at the end of the group of `founder`. The new socket receives nothing until
 * adv_group_steer() includes it. 0 or errno. */
int adv_group_grow(int founder, int *made);

/*
 * Attaches the program. Attach it again in these cases:
 *  - a socket or a block has a new owner;
 *  - the machine's addresses have changed;
 *  - a process that holds a socket of the group could have detached the program.
 * `unlocked` is the daemon's own socket, of slot 0. The runs are sorted and do not overlap.
 * Prefixes in no run go to the socket of ADV_SLOT_NOBODY. 0 or errno; ENOMEM also if the program is
 * too long for the kernel.
 *
 * Any process can send IPv6 datagrams from any source address (IPV6_FREEBIND, see ipv6(7)). Such
 * datagrams to the machine itself arrive at its loopback interface. Unless their source is in
 * `own`, the program sends them to the socket of ADV_SLOT_NOBODY. For IPv4 the kernel itself
 * requires a local source.
 */
int adv_group_steer(int unlocked, const struct adv_gid_table *own, const struct adv_group_run *run,
		    unsigned runs);

/* Sets the smallest receive buffer for a free slot's socket, and drops the queued packets. */
void adv_group_deactivate(int fd);

/* Drops a socket's queued packets and sets a large receive buffer. Returns the granted size in
 * bytes, as the kernel counts it. */
uint32_t adv_group_activate(int fd);

/* Joins or leaves a multicast group (IPv4-mapped or IPv6). 0 or errno. */
int adv_group_member(int fd, const struct adv_gid *group, uint32_t ifindex, bool join);

#endif
