/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stand-ins for sockets of NETLINK_RDMA: Unix datagram sockets that are connected to themselves.
 * Only a process that has the descriptor can write answers into the socket. So poll(2) and similar
 * calls need no interposition, copies of the descriptor are the same socket, and a close leaves
 * nothing behind. A stand-in is recognized by its inode number. Any thread.
 */
#ifndef ADV_RUNTIME_PRELOAD_NETLINK_SOCKET_H
#define ADV_RUNTIME_PRELOAD_NETLINK_SOCKET_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As socket(2) with SOCK_RAW or SOCK_DGRAM and flags. */
int adv_netlink_open(int type);

/* True if the descriptor is a stand-in. As long as the process has not opened a stand-in, the call
 * costs one comparison. errno is kept. */
bool adv_netlink_is(int fd);

/* Binds the stand-in to this port; if `port` is 0, to a port that it chooses. 0 or errno. */
int adv_netlink_bind(int fd, uint32_t port);
/* Returns the name for getsockname(2). */
void adv_netlink_name(int fd, struct sockaddr_nl *name);

/* Answers a request: when the call returns, the answer is queued. 0 or errno. */
int adv_netlink_request(int fd, const void *request, size_t len);
/* Call it after a datagram was received. If an answer did not fit into the socket, queues more of
 * it. errno is kept. */
void adv_netlink_received(int fd);

#endif
