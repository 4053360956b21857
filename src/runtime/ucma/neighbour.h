/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MAC addresses of RoCE v1 peers. */
#ifndef ADV_RUNTIME_UCMA_NEIGHBOUR_H
#define ADV_RUNTIME_UCMA_NEIGHBOUR_H

#include <stdint.h>

#include "nic/wire/gid.h"

struct adv_ucma;

/*
 * Finds the MAC address of dgid, which must be on the same link as the interface of sgid, in the
 * kernel's neighbour table. Never blocks. Returns 0; EAGAIN: the kernel is resolving the address
 * now, ask again later; EHOSTUNREACH: a router is between; EINVAL: an own address or a group; or an
 * errno of the routing table.
 */
int adv_ucma_neighbour(struct adv_ucma *u, const struct adv_gid *sgid, const struct adv_gid *dgid,
		       uint32_t ifindex, uint8_t mac[6]);

/* Lets the connection manager use RoCE v1, from now on. 0 or errno, as adv_qp1_start_v1() or
 * epoll_ctl(2); the next call tries again. */
int adv_ucma_start_v1(struct adv_ucma *u);

#endif
