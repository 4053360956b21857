/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A datagram rsocket has a UDP socket, and a UD queue pair for each local address from which it has
 * sent. The rsocket's address and number are those of the UDP socket. A datagram to a peer whose
 * queue pair is unknown is sent by UDP, with a header that contains the sender's QP number. The
 * peer answers with its QP number. Further datagrams go from queue pair to queue pair.
 *
 *  - dgram.c: creation, sending and receiving
 *  - dgram_queue.c: received datagrams
 *  - dgram_peer.c: destinations, and packets of the UDP socket
 *  - dgram_qp.c: queue pairs
 *
 * Call the functions with the rsocket's lock held, unless their comment says otherwise.
 */
#ifndef ADV_ABI_RSOCKET_DATAGRAM_H
#define ADV_ABI_RSOCKET_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <rdma/rdma_cma.h>

#include "base/list.h"
#include "abi/rsocket/wire.h"

#define ADV_RS_DGRAM_SLOT   2048 /* bytes of the largest datagram with its header */
#define ADV_RS_DEST_BUCKETS 256

struct adv_rsocket;

/* A queue pair, for one local address. */
struct adv_rs_dgram_qp {
	struct adv_list link;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	union adv_rs_addr local; /* address, with the port of the UDP socket */
	uint8_t *send_slots;
	uint8_t *recv_slots; /* the first slot receives the GRH of each datagram */
	struct ibv_mr *send_mr;
	struct ibv_mr *recv_mr;
	uint32_t *free_slots; /* stack of the free slots of send_slots */
	uint32_t free_count;
	uint32_t mtu; /* largest datagram with its header, bytes */
	int gid_index;
};

/* A peer. */
struct adv_rs_dest {
	struct adv_rs_dest *next; /* next peer of the hash bucket */
	union adv_rs_addr addr;
	struct adv_rs_dgram_qp *qp; /* QP that sends to this peer */
	struct ibv_ah *ah;	    /* NULL: the peer's queue pair is not known */
	uint32_t qpn;
};

/* A datagram that the application has not read. */
struct adv_rs_datagram {
	struct adv_list link;
	union adv_rs_addr source;
	const uint8_t *data;
	uint32_t len;
	struct adv_rs_dgram_qp *qp; /* QP whose slot has the data; NULL: the data is in `copy` */
	uint32_t slot;
	uint8_t *copy;
};

struct adv_rs_dgram {
	bool ready; /* the rsocket was bound, or has sent or received: its queues exist */
	bool read_shut, write_shut;
	struct rdma_event_channel *events; /* channel of the ids; it gets no event */
	struct adv_list qps;
	struct adv_rs_dest *dests[ADV_RS_DEST_BUCKETS];
	unsigned dest_count;
	struct adv_rs_dest *peer; /* peer set by rconnect() */
	struct adv_rs_datagram *pool;
	struct adv_list free;	/* unused struct adv_rs_datagram */
	struct adv_list queued; /* datagrams not read yet, oldest first */
};

/* Creation, sending and receiving (dgram.c) */

/* Returns a new datagram rsocket with the default options. NULL and ENOMEM. */
struct adv_rsocket *adv_rs_dgram_new(int domain);
int adv_rs_dgram_open(struct adv_rsocket *rs);
int adv_rs_dgram_bind(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len);
int adv_rs_dgram_connect(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len);
int adv_rs_dgram_shutdown(struct adv_rsocket *rs, int how);
void adv_rs_dgram_close(struct adv_rsocket *rs);
/* Sends a datagram to addr; if addr is NULL, to the connected peer. Without lock. Result as
 * sendto(2). */
ssize_t adv_rs_dgram_send(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags,
			  const struct sockaddr *addr, socklen_t len);
/* Receives a datagram. If source is not NULL, stores the sender's address there. *truncated: the
 * datagram was longer than the buffers. Without lock. Result as recvfrom(2). */
ssize_t adv_rs_dgram_recv(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags,
			  union adv_rs_addr *source, bool *truncated);
bool adv_rs_dgram_can_send(const struct adv_rsocket *rs);

/* Received datagrams (dgram_queue.c) */

/* Queues a datagram for the application. If qp is NULL, queues a copy of the data. False: no room.
 */
bool adv_rs_dgram_deliver(struct adv_rsocket *rs, const union adv_rs_addr *source,
			  const uint8_t *data, size_t len, struct adv_rs_dgram_qp *qp,
			  uint32_t slot);
/* Removes a datagram that the application has read, and posts its slot again. */
void adv_rs_dgram_release(struct adv_rsocket *rs, struct adv_rs_datagram *datagram);

/* Peers (dgram_peer.c) */

/* Returns the destination of that address, and makes a new one if necessary. NULL and errno. */
struct adv_rs_dest *adv_rs_dest_get(struct adv_rsocket *rs, const union adv_rs_addr *addr);
void adv_rs_dests_free(struct adv_rsocket *rs);
/* Handles packets of the UDP socket. Service thread, without lock. */
void adv_rs_dgram_udp(struct adv_rsocket *rs);
/* Sends a message by UDP: a datagram, or with ADV_RS_OP_CTRL a header without data. Returns the
 * bytes of data; or -1 and errno. */
ssize_t adv_rs_dgram_send_udp(struct adv_rsocket *rs, const struct adv_rs_dest *dest, unsigned op,
			      const void *data, size_t len);

/* Queue pairs (dgram_qp.c) */

/* Returns the queue pair for a local address. NULL and errno. */
struct adv_rs_dgram_qp *adv_rs_dgram_qp_get(struct adv_rsocket *rs, const union adv_rs_addr *local);
void adv_rs_dgram_qps_free(struct adv_rsocket *rs);
/* Returns a new address handle for addr. NULL and errno. */
struct ibv_ah *adv_rs_dgram_ah(struct adv_rs_dgram_qp *qp, const union adv_rs_addr *addr);
/* Posts a receive slot. */
void adv_rs_dgram_post_recv(struct adv_rs_dgram_qp *qp, uint32_t slot);

#endif
