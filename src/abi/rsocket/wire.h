/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol between rsockets. It is the protocol of rdma-core's rsocket(7), defined by
 * rdma-core's docs/rsocket and implementation. Plain functions on memory: they neither allocate nor
 * wait.
 *
 * Streams: the connection request and its reply carry a struct adv_rs_conn. All further messages
 * are RDMA WRITEs with immediate data, or pairs of a WRITE and a SEND (message.h). The
 * upper three bits of a message are its type. Each end exposes a target list of two entries, in
 * which the peer writes the location for the next bytes.
 *
 * Datagrams: a header precedes each message on the UD queue pairs. Another header precedes each
 * message on the UDP sockets, by which the ends learn each other's QP numbers.
 */
#ifndef ADV_ABI_RSOCKET_WIRE_H
#define ADV_ABI_RSOCKET_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADV_RS_CONN_LEN	      40 /* bytes of private data */
#define ADV_RS_TARGETS	      2	 /* entries of a target list */
#define ADV_RS_DS_MAX_HEADER  24
#define ADV_RS_UDP_MAX_HEADER 28

/* Type of a message, its bits 31 to 29. */
enum adv_rs_op {
	ADV_RS_OP_DATA = 0,	 /* bytes written into the current target */
	ADV_RS_OP_WRITE = 2,	 /* never sent: marks this end's own writes into mappings */
	ADV_RS_OP_SGL = 4,	 /* receive credits; the target list may be new */
	ADV_RS_OP_IOMAP_SGL = 6, /* index of a new mapping */
	ADV_RS_OP_CTRL = 7,
};

enum adv_rs_ctrl { ADV_RS_CTRL_DISCONNECT, ADV_RS_CTRL_KEEPALIVE, ADV_RS_CTRL_SHUTDOWN };

#define ADV_RS_DATA_BITS 29
#define ADV_RS_DATA_MASK ((1u << ADV_RS_DATA_BITS) - 1)

static inline uint32_t adv_rs_msg(enum adv_rs_op op, uint32_t data)
{
	return (uint32_t)op << ADV_RS_DATA_BITS | (data & ADV_RS_DATA_MASK);
}

static inline unsigned adv_rs_msg_op(uint32_t msg)
{
	return msg >> ADV_RS_DATA_BITS;
}

static inline uint32_t adv_rs_msg_data(uint32_t msg)
{
	return msg & ADV_RS_DATA_MASK;
}

/* An entry of a target list in memory, in the byte order of the host that reads it. */
struct adv_rs_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};

/* An entry of a table of mappings in memory, in the byte order of the host that reads it. */
struct adv_rs_mapping {
	uint64_t offset;
	struct adv_rs_sge sge;
};

/* Private data of request and reply, in host byte order. */
struct adv_rs_conn {
	uint8_t version; /* 1 */
	bool big_endian;
	bool mappings; /* the sender has a table of mappings after its target list */
	uint16_t credits;
	uint32_t mapping_count;	   /* entries of the table of mappings */
	struct adv_rs_sge targets; /* the target list; length: entries */
	struct adv_rs_sge buffer;  /* the first receive buffer; length: bytes */
};

/* Writes ADV_RS_CONN_LEN bytes. mapping_count must be a result of adv_rs_round_mappings(). */
void adv_rs_pack_conn(uint8_t *p, const struct adv_rs_conn *conn);

/*
 * Reads private data of len bytes. False if the data is too short, of another version, or has an
 * invalid list; the caller then refuses the connection.
 */
bool adv_rs_unpack_conn(struct adv_rs_conn *conn, const void *p, size_t len);

/* Returns the largest count up to `count` that the 8 bits of the private data can express (at most
 * 32512). */
uint32_t adv_rs_round_mappings(uint32_t count);

bool adv_rs_host_is_big_endian(void);

/* Swaps the bytes of an entry, for a peer whose byte order differs. */
void adv_rs_swap_sge(struct adv_rs_sge *sge);
void adv_rs_swap_mapping(struct adv_rs_mapping *mapping);

/* An IPv4 or IPv6 address. */
union adv_rs_addr {
	struct sockaddr sa;
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;
};

/* Returns the bytes of an address of that family; 0: neither AF_INET nor AF_INET6. */
socklen_t adv_rs_addr_len(sa_family_t family);

/* True if family, address and port are equal. */
bool adv_rs_addr_equal(const union adv_rs_addr *a, const union adv_rs_addr *b);

/* True for the address of all zeros, and for the family's loopback address. */
bool adv_rs_addr_is_any(const union adv_rs_addr *a);

/* Returns a pointer to the port of an AF_INET or AF_INET6 address, in network byte order. */
in_port_t *adv_rs_addr_port(union adv_rs_addr *a);

/* Converts an IPv4 address for a socket of this family: for AF_INET6 to a mapped address. */
void adv_rs_addr_map(union adv_rs_addr *a, sa_family_t family);
/* Converts a mapped address to the IPv4 address. */
void adv_rs_addr_unmap(union adv_rs_addr *a);

/*
 * Copies an address as getsockname(2) returns one: at most *len bytes; *len becomes the whole
 * length.
 */
void adv_rs_addr_return(const union adv_rs_addr *from, struct sockaddr *to, socklen_t *len);

/*
 * Writes the header of a datagram on a UD queue pair: it contains the source address. Returns the
 * length of the header. Here and below, an IPv4 address mapped into IPv6 counts as IPv4.
 */
size_t adv_rs_pack_ds(uint8_t *p, const union adv_rs_addr *source);

/* Reads the header of a datagram on a UD queue pair. Returns its length; 0: len bytes contain no
 * valid header. */
size_t adv_rs_unpack_ds(union adv_rs_addr *source, const uint8_t *p, size_t len);

/* Writes the header of a datagram on a UDP socket: op ADV_RS_OP_DATA or ADV_RS_OP_CTRL. Returns its
 * length. */
size_t adv_rs_pack_udp(uint8_t *p, unsigned op, uint32_t qpn, const union adv_rs_addr *local);

/* Reads the header of a datagram on a UDP socket from the sender at `from`. Returns its length; 0:
 * len bytes contain no valid header for this sender. */
size_t adv_rs_unpack_udp(unsigned *op, uint32_t *qpn, const union adv_rs_addr *from,
			 const uint8_t *p, size_t len);

#endif
