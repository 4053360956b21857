/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the MAC address of a RoCE v1 peer. */
#ifndef ADV_HOST_DEVICE_NEIGHBOUR_H
#define ADV_HOST_DEVICE_NEIGHBOUR_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct adv_device;

/*
 * Finds the MAC address to which packets with these address attributes are sent. Linux resolves it
 * in the same way: a link-local GID contains it; for another GID, the kernel's neighbour table has
 * it. Blocks without a lock, one second at most. Sets mac to 0 if packets need none: those of RoCE
 * v2, to a group, or to this machine. Returns 0; ETIMEDOUT: the neighbour does not answer;
 * EHOSTUNREACH: it is behind a router, which RoCE v1 does not cross; or errno. The reason is that
 * of adv_reason().
 */
int adv_device_find_mac(struct adv_device *d, const struct ibv_ah_attr *attr, uint8_t mac[6]);

#endif
