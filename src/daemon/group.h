/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The 256 UDP sockets of port 4791 and the classic BPF program that steers each packet to the
 * one whose index is the top 8 bits of its destination QPN.
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

/*
 * Binds and steers. 0, or errno with the sockets closed and a line in why[]; EADDRINUSE: why[]
 * says who has the port and what to do.
 */
int adv_group_create(int socket[ADV_SLOTS], const struct adv_gid_table *own, char *why,
		     size_t why_len);

/*
 * Attaches the program (again: where the machine's addresses have changed, or a process that holds
 * a socket of the group could have detached it). `unlocked` is the daemon's own socket, of slot 0.
 * 0 or errno.
 *
 * Whoever wants to can send IPv6 datagrams in the name of any address (IPV6_FREEBIND, see ipv6(7));
 * to the machine itself they come by its loopback interface. What does and is not from one of `own`
 * goes where nobody reads. The kernel itself holds IPv4 to local addresses.
 */
int adv_group_steer(int unlocked, const struct adv_gid_table *own);

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
