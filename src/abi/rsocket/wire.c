/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <byteswap.h>
#include <endian.h>
#include <string.h>

#include "abi/rsocket/wire.h"

#define CONN_VERSION 1
#define FLAG_NET     1 /* big endian */
#define FLAG_IOMAP   2
#define UDP_TAG	     0x55555555
#define QPN_MASK     0xffffff

struct conn_wire {
	uint8_t version;
	uint8_t flags;
	uint16_t credits;
	uint8_t reserved[3];
	uint8_t mapping_count;
	struct adv_rs_sge targets;
	struct adv_rs_sge buffer;
};

_Static_assert(sizeof(struct conn_wire) == ADV_RS_CONN_LEN, "private data of rsockets");
_Static_assert(sizeof(struct adv_rs_sge) == 16, "entry of a target list");
_Static_assert(sizeof(struct adv_rs_mapping) == 24, "entry of a table of mappings");

/* Encodes a count in one byte: up to 128 as it is, larger counts in steps of 256 with bit 7 set. */
static uint8_t scale_count(uint32_t count)
{
	return count <= 128 ? (uint8_t)count : (uint8_t)(128 | count >> 8);
}

static uint32_t unscale_count(uint8_t value)
{
	return value <= 128 ? value : (value & 127u) << 8;
}

uint32_t adv_rs_round_mappings(uint32_t count)
{
	return unscale_count(scale_count(count > 127 << 8 ? 127 << 8 : count));
}

bool adv_rs_host_is_big_endian(void)
{
	return __BYTE_ORDER == __BIG_ENDIAN;
}

static struct adv_rs_sge sge_to_wire(const struct adv_rs_sge *sge)
{
	struct adv_rs_sge wire = {htobe64(sge->addr), htobe32(sge->key), htobe32(sge->length)};

	return wire;
}

static struct adv_rs_sge sge_from_wire(const struct adv_rs_sge *wire)
{
	struct adv_rs_sge sge = {be64toh(wire->addr), be32toh(wire->key), be32toh(wire->length)};

	return sge;
}

void adv_rs_pack_conn(uint8_t *p, const struct adv_rs_conn *conn)
{
	struct conn_wire wire = {.version = CONN_VERSION};

	wire.flags = (conn->mappings ? FLAG_IOMAP : 0) | (conn->big_endian ? FLAG_NET : 0);
	wire.credits = htobe16(conn->credits);
	wire.mapping_count = scale_count(conn->mapping_count);
	wire.targets = sge_to_wire(&conn->targets);
	wire.buffer = sge_to_wire(&conn->buffer);
	memcpy(p, &wire, sizeof(wire));
}

bool adv_rs_unpack_conn(struct adv_rs_conn *conn, const void *p, size_t len)
{
	struct conn_wire wire;

	if (len < sizeof(wire))
		return false;
	memcpy(&wire, p, sizeof(wire));
	conn->version = wire.version;
	conn->big_endian = wire.flags & FLAG_NET;
	conn->mappings = wire.flags & FLAG_IOMAP;
	conn->credits = be16toh(wire.credits);
	conn->mapping_count = conn->mappings ? unscale_count(wire.mapping_count) : 0;
	conn->targets = sge_from_wire(&wire.targets);
	conn->buffer = sge_from_wire(&wire.buffer);
	return conn->version == CONN_VERSION && conn->targets.length >= ADV_RS_TARGETS;
}

void adv_rs_swap_sge(struct adv_rs_sge *sge)
{
	sge->addr = bswap_64(sge->addr);
	sge->key = bswap_32(sge->key);
	sge->length = bswap_32(sge->length);
}

void adv_rs_swap_mapping(struct adv_rs_mapping *mapping)
{
	mapping->offset = bswap_64(mapping->offset);
	adv_rs_swap_sge(&mapping->sge);
}

socklen_t adv_rs_addr_len(sa_family_t family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

bool adv_rs_addr_equal(const union adv_rs_addr *a, const union adv_rs_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->sin.sin_port == b->sin.sin_port &&
		       a->sin.sin_addr.s_addr == b->sin.sin_addr.s_addr;
	return a->sin6.sin6_port == b->sin6.sin6_port &&
	       memcmp(&a->sin6.sin6_addr, &b->sin6.sin6_addr, sizeof(a->sin6.sin6_addr)) == 0;
}

bool adv_rs_addr_is_any(const union adv_rs_addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return a->sin.sin_addr.s_addr == htonl(INADDR_ANY) ||
		       a->sin.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
	return IN6_IS_ADDR_UNSPECIFIED(&a->sin6.sin6_addr) ||
	       IN6_IS_ADDR_LOOPBACK(&a->sin6.sin6_addr);
}

in_port_t *adv_rs_addr_port(union adv_rs_addr *a)
{
	return a->sa.sa_family == AF_INET ? &a->sin.sin_port : &a->sin6.sin6_port;
}

void adv_rs_addr_map(union adv_rs_addr *a, sa_family_t family)
{
	struct sockaddr_in sin = a->sin;

	if (family != AF_INET6 || a->sa.sa_family != AF_INET)
		return;
	memset(a, 0, sizeof(*a));
	a->sin6.sin6_family = AF_INET6;
	a->sin6.sin6_port = sin.sin_port;
	if (sin.sin_addr.s_addr == htonl(INADDR_ANY))
		return;
	a->sin6.sin6_addr.s6_addr[10] = a->sin6.sin6_addr.s6_addr[11] = 0xff;
	memcpy(a->sin6.sin6_addr.s6_addr + 12, &sin.sin_addr, 4);
}

void adv_rs_addr_unmap(union adv_rs_addr *a)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = a->sin6.sin6_port};

	if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->sin6.sin6_addr))
		return;
	memcpy(&sin.sin_addr, a->sin6.sin6_addr.s6_addr + 12, 4);
	memset(a, 0, sizeof(*a));
	a->sin = sin;
}

void adv_rs_addr_return(const union adv_rs_addr *from, struct sockaddr *to, socklen_t *len)
{
	socklen_t whole = adv_rs_addr_len(from->sa.sa_family);

	if (to)
		memcpy(to, from, *len < whole ? *len : whole);
	*len = whole;
}

/* Returns the four bytes of an IPv4 address, mapped or not; NULL: another family. */
static const void *v4_of(const union adv_rs_addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return &a->sin.sin_addr;
	return IN6_IS_ADDR_V4MAPPED(&a->sin6.sin6_addr) ? a->sin6.sin6_addr.s6_addr + 12 : NULL;
}

/*
 * The header consists of the version (1 byte), its length (1), the port (2), and the address: 4
 * bytes for IPv4; flow information (4) and 16 bytes for IPv6.
 */
size_t adv_rs_pack_ds(uint8_t *p, const union adv_rs_addr *source)
{
	const void *v4 = v4_of(source);
	size_t len = v4 ? 8 : ADV_RS_DS_MAX_HEADER;

	p[0] = v4 ? 4 : 6;
	p[1] = (uint8_t)len;
	memcpy(p + 2, &source->sin.sin_port, 2); /* the port: same offset in both families */
	if (v4) {
		memcpy(p + 4, v4, 4);
		return len;
	}
	memcpy(p + 4, &source->sin6.sin6_flowinfo, 4);
	memcpy(p + 8, &source->sin6.sin6_addr, 16);
	return len;
}

size_t adv_rs_unpack_ds(union adv_rs_addr *source, const uint8_t *p, size_t len)
{
	memset(source, 0, sizeof(*source));
	if (len >= 8 && p[0] == 4 && p[1] == 8) {
		source->sin.sin_family = AF_INET;
		memcpy(&source->sin.sin_port, p + 2, 2);
		memcpy(&source->sin.sin_addr, p + 4, 4);
		return p[1];
	}
	if (len >= ADV_RS_DS_MAX_HEADER && p[0] == 6 && p[1] == ADV_RS_DS_MAX_HEADER) {
		source->sin6.sin6_family = AF_INET6;
		memcpy(&source->sin6.sin6_port, p + 2, 2);
		memcpy(&source->sin6.sin6_flowinfo, p + 4, 4);
		memcpy(&source->sin6.sin6_addr, p + 8, 16);
		return p[1];
	}
	return 0;
}

/* The header consists of a tag (4 bytes), version (1), op (1), length (1), a reserved byte, QP
 * number (4) and address (4 or 16). */
size_t adv_rs_pack_udp(uint8_t *p, unsigned op, uint32_t qpn, const union adv_rs_addr *local)
{
	const void *v4 = v4_of(local);
	uint32_t tag = htobe32(UDP_TAG);
	uint32_t number = htobe32(qpn & QPN_MASK);

	memcpy(p, &tag, 4);
	p[4] = v4 ? 4 : 6;
	p[5] = (uint8_t)op;
	p[6] = v4 ? 16 : ADV_RS_UDP_MAX_HEADER;
	p[7] = 0;
	memcpy(p + 8, &number, 4);
	if (v4)
		memcpy(p + 12, v4, 4);
	else
		memcpy(p + 12, &local->sin6.sin6_addr, 16);
	return p[6];
}

size_t adv_rs_unpack_udp(unsigned *op, uint32_t *qpn, const union adv_rs_addr *from,
			 const uint8_t *p, size_t len)
{
	uint8_t version = v4_of(from) ? 4 : 6;
	size_t header = version == 4 ? 16 : ADV_RS_UDP_MAX_HEADER;
	uint32_t tag, number;

	if (len < header)
		return 0;
	memcpy(&tag, p, 4);
	memcpy(&number, p + 8, 4);
	if (be32toh(tag) != UDP_TAG || p[4] != version || p[6] != header)
		return 0;
	if (p[5] != ADV_RS_OP_DATA && p[5] != ADV_RS_OP_CTRL)
		return 0;
	*op = p[5];
	*qpn = be32toh(number) & QPN_MASK;
	return header;
}
