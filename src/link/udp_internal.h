/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the UDP link share. */
#ifndef ADV_LINK_UDP_INTERNAL_H
#define ADV_LINK_UDP_INTERNAL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/list.h"
#include "link/udp.h"
#include "wire/icrc.h"
#include "wire/slot.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* The longest packet: headers, 4 KiB of payload, ICRC. */
#define UDP_PACKET_MAX (ADV_HEADERS_MAX + 4096 + ADV_ICRC_LEN)

/* What the kernel takes in one segmented send: segments, and bytes with IP and UDP headers. */
#define UDP_GSO_SEGMENTS 64
#define UDP_GSO_BYTES	 (65535 - 40 - 8)

/* Puts payloads behind a BTH on multiples of 16: else copying takes twice as long. */
#define UDP_FIRST_PACKET 4

#define UDP_RX_BUFFER	 65536
#define UDP_RX_BATCH	 8
#define UDP_RX_CONTROL	 256
#define UDP_MAX_SOCKETS	 256
#define UDP_HASH_SIZE	 256
#define UDP_REFUSALS	 16

union udp_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/*
 * A sending socket. It serves the destination QPs of one slot or block only (adv_qpn_target()),
 * whatever their address: a NIC that merges packets by address and port then never merges those of
 * two receivers.
 */
struct udp_socket {
	int fd;
	bool ipv4;
	bool any_target; /* too few sockets: serves several targets after all */
	bool any_source; /* bound to no address: each message says its own */
	uint16_t target; /* adv_qpn_target() */
	uint16_t wish;	 /* the path's source port */
	uint16_t port;	 /* what it is bound to */
	uint16_t next;	 /* index + 1 of the next in its hash chain */
	int tos;	 /* set on the socket just now */
	int ttl;
	int multicast_ttl;
	int last_error; /* the errno logged last */
	uint32_t ifindex;
	struct adv_gid sgid;
};

/* One send call's worth: segments of one length (the last may be shorter), one destination. */
struct udp_message {
	struct udp_socket *socket;
	const struct adv_path *path; /* of its first packet, while it is built */
	union udp_sockaddr to;
	uint8_t *data;
	uint32_t len;
	uint16_t segment_len;
	uint16_t segments;
	struct adv_icrc_run icrc;
	int tos;
	int ttl;
	bool multicast;
	bool alone;  /* one packet only: its ICRC is wrong on purpose, or udp_refusal_holds() */
	bool singly; /* the kernel would not segment it: packet by packet, Identification 0 each */
	uint16_t target;
	uint32_t ifindex;
	struct adv_gid sgid;
	struct adv_gid dgid;
};

/* A destination that segmented sends are not made to for a while; see udp_refusal.c. */
struct udp_refusal {
	struct adv_gid dgid;
	unsigned pause; /* messages until the next try ... */
	unsigned left;	/* ... so many of them are to come */
};

struct udp_tx {
	unsigned count; /* messages built ... */
	unsigned next;	/* ... and those before this one are done with */
	struct udp_message message[ADV_TX_BATCH_PACKETS];
	struct mmsghdr mmsg[ADV_TX_BATCH_PACKETS];
	struct iovec iov[ADV_TX_BATCH_PACKETS];
	union {
		char space[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control[ADV_TX_BATCH_PACKETS];
	_Alignas(64) uint8_t bytes[UDP_FIRST_PACKET + ADV_TX_BATCH_PACKETS * UDP_PACKET_MAX];
};

/* QP numbers that packets may be for. */
struct udp_range {
	uint32_t qpn_first;
	uint32_t qpn_count;
};

/* The socket of the 4791 group. */
struct udp_receiver {
	int fd;
	unsigned vlen;	 /* how many datagrams the next call asks for */
	unsigned streak; /* calls in a row that got all they asked for */
};

struct udp_rx {
	struct mmsghdr mmsg[UDP_RX_BATCH];
	struct iovec iov[UDP_RX_BATCH];
	union udp_sockaddr from[UDP_RX_BATCH];
	union {
		char space[UDP_RX_CONTROL];
		struct cmsghdr align;
	} control[UDP_RX_BATCH];
	/* From UDP_FIRST_PACKET on; 64 more, so that each begins on a line. */
	_Alignas(64) uint8_t buffer[UDP_RX_BATCH][64 + UDP_RX_BUFFER];
};

struct udp_link {
	struct adv_link link;
	uint16_t port; /* where peers listen */
	uint16_t receive_port;
	struct udp_receiver receiver;
	unsigned range_count;
	struct udp_range range[ADV_UDP_RANGES];
	unsigned address_count;
	struct adv_udp_address *address;
	uint16_t generation; /* of these addresses */
	int error_epoll;     /* -1: no socket is told of ICMP */
	unsigned socket_count;
	unsigned socket_limit;
	int last_error;		      /* of making a sending socket, logged already */
	uint16_t hash[UDP_HASH_SIZE]; /* index + 1 of a chain's first socket */
	struct udp_socket socket[UDP_MAX_SOCKETS];
	/* For the machine's own addresses, IPv6 and IPv4: one descriptor, options of each family.
	 */
	struct udp_socket sender[2];
	unsigned refusal_count;
	unsigned refusal_next; /* the one to give up where there are too many */
	struct udp_refusal refusal[UDP_REFUSALS];
	struct udp_tx tx;
	struct udp_rx rx;
};

static inline struct udp_link *udp_link_of(struct adv_link *link)
{
	return adv_container_of(link, struct udp_link, link);
}

/*
 * The socket for a packet of this path to a QP of this target, made if there is none. NULL with
 * errno: EADDRNOTAVAIL the source address is not the machine's, others from socket(2), bind(2).
 */
struct udp_socket *udp_socket_get(struct udp_link *l, struct adv_path *path, uint16_t target);
/* Makes link->sender. False with errno. */
bool udp_sender_open(struct udp_link *l);
/* Closes all sending sockets. */
void udp_sockets_close(struct udp_link *l);
/* The interface that has the address; 0: none. */
uint32_t udp_ifindex_of(const struct udp_link *l, const struct adv_gid *gid);

/*
 * udp_refusal.c. True: a message to this destination is to be one packet, and counts as one of
 * those to go by until the next try. The kernel has refused to segment m, with this errno, and
 * taken its first packet singly. It has taken a segmented send to this destination.
 */
bool udp_refusal_holds(struct udp_link *l, const struct adv_gid *dgid);
void udp_refusal_note(struct udp_link *l, const struct udp_message *m, int err);
void udp_refusal_end(struct udp_link *l, const struct adv_gid *dgid);

/*
 * udp_error.c. A sending socket is told of ICMP from now on, where the link's owner wants that; or
 * is to be closed.
 */
void udp_errors_watch(const struct udp_link *l, const struct udp_socket *s);
void udp_errors_forget(const struct udp_link *l, const struct udp_socket *s);
/* A send has failed: may that have been by what ICMP said before, so that it is to be tried again?
 * *tries: how often it has been, 0 at first. */
bool udp_error_was_pending(const struct udp_link *l, int err, unsigned *tries);

/* The operations of link.h. */
bool udp_send(struct adv_link *link, struct adv_tx_batch *batch);
bool udp_flush(struct adv_link *link);
unsigned udp_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user);

/* Prepares the receive side's message headers; the buffers are part of the link. */
void udp_rx_init(struct udp_link *l);

#endif
