/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal structures and functions of the UDP link. */
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

/* The kernel's limits of one segmented send: segments, and bytes including IP and UDP headers. */
#define UDP_GSO_SEGMENTS 64
#define UDP_GSO_BYTES	 (65535 - 40 - 8)

/* With this offset, payload behind a BTH is aligned to 16; copying takes twice as long otherwise.
 */
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
 * A sending socket. It serves the destination QPs of one slot or block (adv_qpn_target()), at any
 * address: a NIC that merges packets by address and port then never merges packets of two
 * receivers.
 */
struct udp_socket {
	int fd;
	bool ipv4;
	bool any_target; /* serves several targets, because there are too few sockets */
	bool any_source; /* bound to no address: each message names its source */
	uint16_t target; /* adv_qpn_target() */
	uint16_t wish;	 /* preferred source port: that of the path */
	uint16_t port;	 /* port to which the socket is bound */
	uint16_t next;	 /* index + 1 of the next socket in the hash chain */
	int tos;	 /* current option of the socket, like the next two members */
	int ttl;
	int multicast_ttl;
	int last_error; /* last errno that was logged */
	uint32_t ifindex;
	struct adv_gid sgid;
};

/* One send call: segments of one length (the last may be shorter) to one destination. */
struct udp_message {
	struct udp_socket *socket;
	/* Path of the first packet; valid while the message is built. */
	const struct adv_path *path;
	union udp_sockaddr to;
	uint8_t *data;
	uint32_t len;
	uint16_t segment_len;
	uint16_t segments;
	struct adv_icrc_run icrc;
	int tos;
	int ttl;
	bool multicast;
	bool alone;  /* one packet only: a wrong ICRC on purpose, or udp_refusal_holds() */
	bool singly; /* the kernel rejected the segmented send: the link sends single packets,
		      * each with Identification 0 */
	uint16_t target;
	uint32_t ifindex;
	struct adv_gid sgid;
	struct adv_gid dgid;
};

/* A destination for which segmented sends are suspended; see udp_refusal.c. */
struct udp_refusal {
	struct adv_gid dgid;
	unsigned pause; /* messages between two tries of a segmented send */
	unsigned left;	/* messages until the next try */
};

struct udp_tx {
	unsigned count; /* messages built */
	unsigned next;	/* the first message that is not sent yet */
	struct udp_message message[ADV_TX_BATCH_PACKETS];
	struct mmsghdr mmsg[ADV_TX_BATCH_PACKETS];
	struct iovec iov[ADV_TX_BATCH_PACKETS];
	union {
		char space[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control[ADV_TX_BATCH_PACKETS];
	_Alignas(64) uint8_t bytes[UDP_FIRST_PACKET + ADV_TX_BATCH_PACKETS * UDP_PACKET_MAX];
};

/* Accepted destination QP numbers. */
struct udp_range {
	uint32_t qpn_first;
	uint32_t qpn_count;
};

/* The socket of the 4791 group. */
struct udp_receiver {
	int fd;
	unsigned vlen;	 /* datagrams that the next call requests */
	unsigned streak; /* consecutive calls that received as many datagrams as requested */
};

struct udp_rx {
	struct mmsghdr mmsg[UDP_RX_BATCH];
	struct iovec iov[UDP_RX_BATCH];
	union udp_sockaddr from[UDP_RX_BATCH];
	union {
		char space[UDP_RX_CONTROL];
		struct cmsghdr align;
	} control[UDP_RX_BATCH];
	/* A datagram begins at UDP_FIRST_PACKET. The further 64 bytes make each buffer begin on a
	 * cache line. */
	_Alignas(64) uint8_t buffer[UDP_RX_BATCH][64 + UDP_RX_BUFFER];
};

struct udp_link {
	struct adv_link link;
	uint16_t port; /* port on which peers listen */
	uint16_t receive_port;
	struct udp_receiver receiver;
	unsigned range_count;
	struct udp_range range[ADV_UDP_RANGES];
	unsigned address_count;
	struct adv_udp_address *address;
	uint16_t generation; /* counts changes of the addresses */
	int error_epoll;     /* -1: sockets do not collect ICMP errors */
	unsigned socket_count;
	unsigned socket_limit;
	int last_error;		      /* last logged errno of opening a sending socket */
	uint16_t hash[UDP_HASH_SIZE]; /* index + 1 of a chain's first socket */
	struct udp_socket socket[UDP_MAX_SOCKETS];
	/* Sockets for the machine's own addresses: IPv6 and IPv4 share one descriptor, but have
	 * separate options. */
	struct udp_socket sender[2];
	unsigned refusal_count;
	unsigned refusal_next; /* the entry to replace if there are too many */
	struct udp_refusal refusal[UDP_REFUSALS];
	struct udp_tx tx;
	struct udp_rx rx;
};

static inline struct udp_link *udp_link_of(struct adv_link *link)
{
	return adv_container_of(link, struct udp_link, link);
}

/*
 * Returns the socket for a packet of this path to a QP of this target, and opens it if needed. NULL
 * with errno: EADDRNOTAVAIL if the machine does not have the source address; the errors of
 * socket(2) and bind(2).
 */
struct udp_socket *udp_socket_get(struct udp_link *l, struct adv_path *path, uint16_t target);
/* Opens link->sender. False with errno. */
bool udp_sender_open(struct udp_link *l);
/* Closes all sending sockets. */
void udp_sockets_close(struct udp_link *l);
/* Returns the index of the interface that has the address; 0: none. */
uint32_t udp_ifindex_of(const struct udp_link *l, const struct adv_gid *gid);

/* ---- udp_refusal.c ---- */

/* True if the next message to this destination must be a single packet; counts that message. */
bool udp_refusal_holds(struct udp_link *l, const struct adv_gid *dgid);
/* Notes that the kernel rejected the segmented message m with the errno `err`, but accepted the
 * first packet of m alone. */
void udp_refusal_note(struct udp_link *l, const struct udp_message *m, int err);
/* Notes that the kernel accepted a segmented send to this destination. */
void udp_refusal_end(struct udp_link *l, const struct adv_gid *dgid);

/* ---- udp_error.c ---- */

/* Makes a sending socket collect ICMP errors, if the link's owner requests that. */
void udp_errors_watch(const struct udp_link *l, const struct udp_socket *s);
/* Undoes udp_errors_watch(). Call it before the socket is closed. */
void udp_errors_forget(const struct udp_link *l, const struct udp_socket *s);
/* True if an earlier ICMP error may have made this send fail; the caller then tries again. *tries:
 * number of tries, 0 at first. */
bool udp_error_was_pending(const struct udp_link *l, int err, unsigned *tries);

/* ---- the operations of link.h ---- */

bool udp_send(struct adv_link *link, struct adv_tx_batch *batch);
bool udp_flush(struct adv_link *link);
unsigned udp_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user);

/* Prepares the receive side's message headers; the buffers are part of the link. */
void udp_rx_init(struct udp_link *l);

#endif
