/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes netlink messages one after the other into memory that grows (netlink(7)). Numbers are
 * in host byte order, as everywhere in netlink. */
#ifndef ADV_RUNTIME_PRELOAD_NETLINK_WRITER_H
#define ADV_RUNTIME_PRELOAD_NETLINK_WRITER_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_NETLINK_MOST (64u << 20) /* maximum length of an answer, bytes */

struct adv_netlink {
	uint8_t *data; /* free(3) when done */
	size_t len;
	size_t room;
	size_t message; /* offset of the message being written */
	bool failed;	/* out of memory, or too long: no further data is written */
};

/* Begins a message to `port`. End it before the next one begins. */
void adv_netlink_begin(struct adv_netlink *n, uint16_t type, uint16_t flags, uint32_t serial,
		       uint32_t port);
void adv_netlink_end(struct adv_netlink *n);
/* Returns the length of the message so far, bytes. */
size_t adv_netlink_length(const struct adv_netlink *n);

/* Appends bytes to the message, without an attribute header. */
void adv_netlink_raw(struct adv_netlink *n, const void *data, size_t len);

/* Appends an attribute. */
void adv_netlink_put(struct adv_netlink *n, uint16_t type, const void *data, size_t len);
void adv_netlink_u8(struct adv_netlink *n, uint16_t type, uint8_t value);
void adv_netlink_u32(struct adv_netlink *n, uint16_t type, uint32_t value);
void adv_netlink_u64(struct adv_netlink *n, uint16_t type, uint64_t value);
void adv_netlink_string(struct adv_netlink *n, uint16_t type, const char *value);

/* Begins an attribute that contains attributes. Returns the value for adv_netlink_nest_end(). */
size_t adv_netlink_nest(struct adv_netlink *n, uint16_t type);
/* Ends the attribute for which adv_netlink_nest() returned `nest`. */
void adv_netlink_nest_end(struct adv_netlink *n, size_t nest);

#endif
