/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Netlink messages, written one behind the other into memory that grows (netlink(7)). Byte order is
 * the machine's, as everywhere in netlink. */
#ifndef ADV_PRELOAD_NETLINK_WRITER_H
#define ADV_PRELOAD_NETLINK_WRITER_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_NETLINK_MOST (64u << 20) /* bytes that an answer may have */

struct adv_netlink {
	uint8_t *data; /* free(3) when done */
	size_t len;
	size_t room;
	size_t message; /* where the one being written begins */
	bool failed;	/* no memory, or too long: what was written since is not there */
};

/* A message: type, flags and serial, and the port of who gets it. Ended before the next begins. */
void adv_netlink_begin(struct adv_netlink *n, uint16_t type, uint16_t flags, uint32_t serial,
		       uint32_t port);
void adv_netlink_end(struct adv_netlink *n);
/* Bytes of the message so far. */
size_t adv_netlink_length(const struct adv_netlink *n);

/* Bytes behind the head, without a head of their own. */
void adv_netlink_raw(struct adv_netlink *n, const void *data, size_t len);

/* Attributes. */
void adv_netlink_put(struct adv_netlink *n, uint16_t type, const void *data, size_t len);
void adv_netlink_u8(struct adv_netlink *n, uint16_t type, uint8_t value);
void adv_netlink_u32(struct adv_netlink *n, uint16_t type, uint32_t value);
void adv_netlink_u64(struct adv_netlink *n, uint16_t type, uint64_t value);
void adv_netlink_string(struct adv_netlink *n, uint16_t type, const char *value);

/* An attribute that has attributes: what begins returns, its end is told. */
size_t adv_netlink_nest(struct adv_netlink *n, uint16_t type);
void adv_netlink_nest_end(struct adv_netlink *n, size_t nest);

#endif
