/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal structures and functions of the UDP link. */
#ifndef ADV_RUNTIME_LINK_UDP_INTERNAL_H
#define ADV_RUNTIME_LINK_UDP_INTERNAL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/list.h"
#include "runtime/link/udp.h"
#include "nic/wire/icrc.h"
#include "nic/wire/slot.h"

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
#define UDP_FIRST_PACKET  4

#define UDP_RX_BUFFER	  65536
#define UDP_RX_BATCH	  8
#define UDP_RX_CONTROL	  256
#define UDP_MAX_SOCKETS	  256
#define UDP_HASH_SIZE	  256
#define UDP_REFUSALS	  16
#define UDP_FLOWS	  2048 /* 1 << UDP_MEMO_SHIFT */
#define UDP_MEMO_SHIFT	  11
#define UDP_SOURCES	  64
#define UDP_KNOWN_REPORTS 16

union udp_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* A descriptor's option UDP_SEGMENT; see udp_segment.c. */
struct udp_segment {
	uint16_t len;	   /* current value; 0: off */
	uint16_t wish;	   /* value that the last messages needed */
	uint32_t streak;   /* consecutive messages that needed it */
	uint32_t patience; /* streak after which the option is set */
};

/*
 * A sending socket. It serves the destination QPs of one slot or block (adv_qpn_target()), at any
 * address: a NIC that merges packets by address and port then never merges packets of two
 * receivers.
 */
struct udp_socket {
	int fd;
	bool ipv4;
	bool any_source; /* bound to no address */
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
	struct udp_segment segment;
};

/* What the packets of a path to one target have in common; see udp_flow.c. */
struct udp_flow {
	struct adv_gid sgid;
	struct adv_gid dgid;
	uint32_t generation; /* of the link when the entry was made; 0: the entry is empty */
	uint16_t sport;	     /* of the path */
	uint16_t target;
	bool ipv4;
	bool any_path;	  /* serves any port and target */
	bool name_source; /* each message must name its source address */
	bool multicast;
	bool is_special; /* name_source or multicast */
	uint8_t to_len;
	adv_icrc_state icrc; /* adv_icrc_begin() for Identification 0 and length 0 */
	uint32_t ifindex;
	struct udp_socket *socket;
	struct udp_segment *segment; /* of the socket's descriptor */
	union udp_sockaddr to;
};

/* One send call: segments of one length (the last may be shorter) to one destination. Its size
 * makes the addresses of an array's members cheap. */
struct udp_message {
	_Alignas(64) const struct udp_flow *flow; /* not replaced before the message is sent */
	const struct adv_path *path; /* of the first packet; valid while the message is built */
	uint8_t *data;
	uint32_t len;
	uint16_t segment_len;
	uint16_t segments;
	adv_icrc_state icrc; /* the flow's, for the length of a segment */
	uint32_t dest_qpn;   /* of the first packet */
	uint32_t room;	     /* bytes that may be appended */
	int16_t tos;
	int16_t ttl;
	bool singly; /* the kernel rejected the segmented send: the link sends single packets,
		      * each with Identification 0 */
};

/* A destination for which segmented sends are suspended; see udp_refusal.c. */
struct udp_refusal {
	struct adv_gid dgid;
	unsigned pause; /* messages between two tries of a segmented send */
	unsigned left;	/* messages until the next try */
};

/* Control data of a message: UDP_SEGMENT and the source address. */
#define UDP_TX_CONTROL (CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo)))

struct udp_tx {
	unsigned count; /* messages built */
	unsigned next;	/* the first message that is not sent yet */
	struct udp_message message[ADV_TX_BATCH_PACKETS];
	struct mmsghdr mmsg[ADV_TX_BATCH_PACKETS];
	struct iovec iov[ADV_TX_BATCH_PACKETS];
	union {
		char space[UDP_TX_CONTROL];
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

/* Addresses and ports of received datagrams, whose ICRCs begin with the same state. */
struct udp_source {
	struct adv_rx_meta meta; /* of the last datagram */
	bool used;		 /* false: the entry is empty */
	bool ipv4;
	adv_icrc_state icrc; /* adv_icrc_begin() for Identification 0 and length 0 */
};

/* What the kernel reports of a datagram beside its bytes. */
struct udp_report {
	union udp_sockaddr from;
	_Alignas(struct cmsghdr) char control[UDP_RX_CONTROL];
};

/* A report that was read, and its contents. */
struct udp_known_report {
	struct udp_report report;
	socklen_t name_len;
	size_t control_len; /* SIZE_MAX: the entry is empty */
	struct udp_source *source;
	uint32_t segment_len; /* UINT32_MAX: the datagram is one packet */
	struct adv_rx_meta meta;
	/* Length of the last such datagram that was one packet; UINT32_MAX: none. */
	uint32_t single_len;
	adv_icrc_state single_icrc;  /* adv_icrc_begin() for that length and Identification 0 */
	struct adv_rx_packet single; /* that packet; only `data` differs from one to the next */
};

struct udp_rx {
	uint64_t datagrams; /* number of the last datagram of several packets */
	struct udp_known_report known[UDP_KNOWN_REPORTS];
	struct udp_source source[UDP_SOURCES];
	struct mmsghdr mmsg[UDP_RX_BATCH];
	struct iovec iov[UDP_RX_BATCH];
	struct udp_report report[UDP_RX_BATCH];
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
	uint32_t generation; /* 1 + changes of the addresses */
	uint64_t memo_tag;   /* of the paths' memos that are valid; see udp_flow_recall() */
	int error_epoll;     /* -1: sockets do not collect ICMP errors */
	unsigned socket_count;
	unsigned socket_limit;
	int last_error;		      /* last logged errno of opening a sending socket */
	uint16_t hash[UDP_HASH_SIZE]; /* index + 1 of a chain's first socket */
	struct udp_socket socket[UDP_MAX_SOCKETS];
	/* Sockets for the machine's own addresses: IPv6 and IPv4 share one descriptor, but have
	 * separate options. */
	struct udp_socket sender[2];
	struct udp_flow flow[UDP_FLOWS];
	/* [ipv4][n]: adv_icrc_length_effect() of packets of n bytes; 0: not computed yet. */
	uint32_t length_effect[2][UDP_PACKET_MAX + 1];
	unsigned refusal_count;
	unsigned refusal_next; /* the entry to replace if there are too many */
	struct udp_refusal refusal[UDP_REFUSALS];
	struct adv_udp_address address[ADV_UDP_ADDRESSES];
	struct udp_tx tx;
	struct udp_rx rx;
};

static inline struct udp_link *udp_link_of(struct adv_link *link)
{
	return adv_container_of(link, struct udp_link, link);
}

/* As adv_icrc_length_effect(). udp_payload: at most UDP_PACKET_MAX. */
static inline uint32_t udp_length_effect(struct udp_link *l, bool ipv4, uint32_t udp_payload)
{
	uint32_t *effect = &l->length_effect[ipv4][udp_payload];

	if (!*effect)
		*effect = adv_icrc_length_effect(ipv4, udp_payload);
	return *effect;
}

/* ---- udp_socket.c ---- */

/*
 * Returns the socket for packets of this path to QPs of this target, and opens it if needed. NULL
 * with errno: EADDRNOTAVAIL if the machine does not have the source address; the errors of
 * socket(2) and bind(2).
 */
struct udp_socket *adv_udp_socket_get(struct udp_link *l, const struct adv_path *path,
				      uint16_t target);
/* Opens link->sender. False with errno. */
bool adv_udp_sender_open(struct udp_link *l);
/* Closes all sending sockets. */
void adv_udp_sockets_close(struct udp_link *l);
/* Returns the index of the interface that has the address; 0: none. */
uint32_t adv_udp_ifindex_of(const struct udp_link *l, const struct adv_gid *gid);
/* True if packets to this address leave from link->sender. */
bool adv_udp_sender_serves(const struct udp_link *l, const struct adv_gid *dgid);

/* ---- udp_flow.c ---- */

/* As udp_flow_of(), for a path whose hint does not lead to its flow. */
const struct udp_flow *adv_udp_flow_find(struct udp_link *l, struct adv_path *path,
					 uint16_t target);

static inline bool udp_flow_matches(const struct udp_link *l, const struct udp_flow *f,
				    const struct adv_path *path, uint16_t target)
{
	return f->generation == l->generation &&
	       adv_gids_equal(&f->dgid, &path->dgid, &f->sgid, &path->sgid) &&
	       (f->any_path || (f->sport == path->sport && f->target == target));
}

/* Returns the flow of packets of this path to QPs of this target. It is valid until the next call,
 * and as long as an unsent message refers to it. NULL: the addresses are of two families, or there
 * is no socket. */
static inline const struct udp_flow *udp_flow_of(struct udp_link *l, struct adv_path *path,
						 uint16_t target)
{
	const struct udp_flow *f = &l->flow[path->link_hint % UDP_FLOWS];

	return udp_flow_matches(l, f, path, target) ? f : adv_udp_flow_find(l, path, target);
}

/*
 * A path's memo says that its packets are plain: they need neither control data nor a change of the
 * socket's options. It has the place of the flow, and above it the ECN bits of the packet and the
 * link's tag. All memos become invalid by a new tag. No two links have equal tags, and no tag is
 * used twice, as threads with links of their own may share a path.
 */
/* Returns the flow of a plain packet; NULL: the path's memo does not tell. */
static inline const struct udp_flow *udp_flow_recall(const struct udp_link *l,
						     const struct adv_path *path, uint16_t target,
						     enum adv_ecn ecn)
{
	uint64_t memo = path->link_memo;
	const struct udp_flow *f = &l->flow[memo % UDP_FLOWS];

	if (memo >> UDP_MEMO_SHIFT != (l->memo_tag | (uint64_t)ecn))
		return NULL;
	return f->any_path || f->target == target ? f : NULL;
}
/* Notes in the path that packets of this flow with these ECN bits are plain. */
void adv_udp_flow_memorize(const struct udp_link *l, const struct udp_flow *f,
			   struct adv_path *path, enum adv_ecn ecn);
/* Makes the memos of all paths invalid. Call it when a flow, an option or a refusal changes. */
void adv_udp_memos_forget(struct udp_link *l);

/* True if the address is link-local IPv6. */
bool adv_udp_is_link_local(const struct adv_gid *gid);

/* ---- udp_segment.c ---- */

/* True if the kernel divides `len` bytes as wanted without control data: into segments of
 * segment_len bytes, or not at all if segment_len is 0. */
static inline bool udp_segment_fits(const struct udp_segment *s, uint32_t len, uint16_t segment_len)
{
	return segment_len ? s->len == segment_len : !s->len || len <= s->len;
}
/* Notes a message that udp_segment_fits() does not fit, and sets the option of the descriptor if
 * all of the last messages needed this value. segment_len: as udp_segment_fits(). */
void adv_udp_segment_learn(struct udp_segment *s, int fd, uint16_t segment_len);
/* Switches the option off after the kernel rejected a message. False: it was off. */
bool adv_udp_segment_reset(struct udp_segment *s, int fd);

/* ---- udp_refusal.c ---- */

/* True if the next message to this destination must be a single packet; counts that message. */
bool adv_udp_refusal_holds(struct udp_link *l, const struct adv_gid *dgid);
/* Notes that the kernel rejected the segmented message m with the errno `err`, but accepted the
 * first packet of m alone. */
void adv_udp_refusal_note(struct udp_link *l, const struct udp_message *m, int err);
/* Notes that the kernel accepted a segmented send to this destination. */
void adv_udp_refusal_end(struct udp_link *l, const struct adv_gid *dgid);

/* ---- udp_error.c ---- */

/* Makes a sending socket collect ICMP errors, if the link's owner requests that. */
void adv_udp_errors_watch(const struct udp_link *l, const struct udp_socket *s);
/* Undoes adv_udp_errors_watch(). Call it before the socket is closed. */
void adv_udp_errors_forget(const struct udp_link *l, const struct udp_socket *s);
/* True if an ICMP error may have made this send fail: try again. *tries: how often, 0 at first. */
bool adv_udp_error_was_pending(const struct udp_link *l, int err, unsigned *tries);

/* ---- the operations of link.h ---- */

bool adv_udp_send(struct adv_link *link, struct adv_tx_batch *batch);
bool adv_udp_flush(struct adv_link *link);
unsigned adv_udp_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user);

/* Prepares the receive side's message headers; the buffers are part of the link. */
void adv_udp_rx_init(struct udp_link *l);

#endif
