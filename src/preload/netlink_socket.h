/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets that stand in for those of NETLINK_RDMA: datagram sockets of the Unix family that are
 * connected to themselves. Who has the descriptor, and nobody else, can put answers into it; so
 * poll(2) and the like work by themselves, copies of the descriptor are the same socket, and
 * closing it leaves nothing behind. They are known by their inode number. Any thread.
 */
#ifndef ADV_PRELOAD_NETLINK_SOCKET_H
#define ADV_PRELOAD_NETLINK_SOCKET_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As socket(2) with SOCK_RAW or SOCK_DGRAM and flags. */
int adv_netlink_open(int type);

/* Whether the descriptor is one; errno is kept. A comparison, as long as the process has never
 * had any. */
bool adv_netlink_is(int fd);

/* 0 or errno: as bind(2) with this port; 0: one is chosen. */
int adv_netlink_bind(int fd, uint32_t port);
/* What getsockname(2) tells. */
void adv_netlink_name(int fd, struct sockaddr_nl *name);

/* A request: answers it, before it returns. 0 or errno. */
int adv_netlink_request(int fd, const void *request, size_t len);
/* After a datagram was received: puts in more of what did not fit. errno is kept. */
void adv_netlink_received(int fd);

#endif
