/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The UDP sockets of port 4791 and the classic BPF program that steers each packet by the prefix of
 * its destination QPN (wire/slot.h). The kernel knows a socket by its place in the group: sockets
 * join it at its end, in the order in which they are bound, and one that is closed leaves its place
 * to the last. So none is closed while others are in use, and a socket's place is its slot.
 *
 * A socket that is connected, or disconnected by connect(AF_UNSPEC), breaks the whole group;
 * nobody who is handed one may do that.
 */
#ifndef ADV_DAEMON_GROUP_H
#define ADV_DAEMON_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/gid_table.h"
#include "wire/packet.h"

/* Of the daemon and of nobody: those that the group begins with. */
#define ADV_GROUP_FIRST ADV_SLOT_FIRST

/* Prefixes from `first` to `last` go to `socket`, or, spread, to `socket` and those after it, one
 * each. */
struct adv_group_run {
	uint16_t first;
	uint16_t last;
	uint16_t socket;
	bool spread;
};

/*
 * Founds the group. 0, or errno with the sockets closed and a line in why[]; EADDRINUSE: why[] says
 * who has the port and what to do.
 */
int adv_group_create(int socket[ADV_GROUP_FIRST], const struct adv_gid_table *own, char *why,
		     size_t why_len);

/* One more socket at the end of the group that `founder` is of. It gets nothing until
 * adv_group_steer() says so. 0 or errno. */
int adv_group_grow(int founder, int *made);

/*
 * Attaches the program (again: where a socket or a block has a new owner, the machine's addresses
 * have changed, or a process that holds a socket of the group could have detached it). `unlocked`
 * is the daemon's own socket, of slot 0; the runs are sorted and do not overlap. What no run names
 * goes to nobody's socket. 0 or errno; ENOMEM: also where the kernel finds the program too long.
 *
 * Whoever wants to can send IPv6 datagrams in the name of any address (IPV6_FREEBIND, see ipv6(7));
 * to the machine itself they come by its loopback interface. What does and is not from one of `own`
 * goes where nobody reads. The kernel itself holds IPv4 to local addresses.
 */
int adv_group_steer(int unlocked, const struct adv_gid_table *own, const struct adv_group_run *run,
		    unsigned runs);

/* Makes a free slot's socket hold next to nothing, and empties it. */
void adv_group_idle(int fd);

/* Empties a socket and gives it a large receive buffer. Returns what was granted, in bytes as the
 * kernel counts them. */
uint32_t adv_group_hand_out(int fd);

/* Reads and drops what is queued, at most `limit` packets. Returns how many. */
unsigned adv_group_drain(int fd, unsigned limit);

/* Joins or leaves a multicast group (IPv4-mapped or IPv6). 0 or errno. */
int adv_group_member(int fd, const struct adv_gid *group, uint32_t ifindex, bool join);

#endif
