/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs of RoCE: IP addresses of 16 bytes. */
#ifndef ADV_NIC_WIRE_GID_H
#define ADV_NIC_WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ADV_GID_TEXT_LENGTH 46 /* bytes of the text of an address, with its end */

/* A GID: an IPv6 address, or an IPv4-mapped IPv6 address (::ffff:a.b.c.d). Network order. */
struct adv_gid {
	uint8_t raw[16];
};

static inline bool adv_gid_equal(const struct adv_gid *a, const struct adv_gid *b)
{
	return memcmp(a->raw, b->raw, 16) == 0;
}

/* True if a is equal to b, and c to d. Without a branch between the two. */
static inline bool adv_gids_equal(const struct adv_gid *a, const struct adv_gid *b,
				  const struct adv_gid *c, const struct adv_gid *d)
{
	uint64_t x[8];

	memcpy(x, a->raw, 16);
	memcpy(x + 2, b->raw, 16);
	memcpy(x + 4, c->raw, 16);
	memcpy(x + 6, d->raw, 16);
	return ((x[0] ^ x[2]) | (x[1] ^ x[3]) | (x[4] ^ x[6]) | (x[5] ^ x[7])) == 0;
}

static inline bool adv_gid_is_ipv4(const struct adv_gid *g)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(g->raw, mapped, 12) == 0;
}

/* Sets the GID of an IPv4 address: 4 bytes in network order. */
static inline void adv_gid_set_ipv4(struct adv_gid *g, const void *address)
{
	memset(g->raw, 0, 10);
	memset(g->raw + 10, 0xff, 2);
	memcpy(g->raw + 12, address, 4);
}

static inline bool adv_gid_is_multicast(const struct adv_gid *g)
{
	return adv_gid_is_ipv4(g) ? (g->raw[12] & 0xf0) == 0xe0 : g->raw[0] == 0xff;
}

/* Writes the IP address that the GID stands for, in its shortest form. Returns text. */
const char *adv_gid_text(const struct adv_gid *gid, char text[ADV_GID_TEXT_LENGTH]);

#endif
