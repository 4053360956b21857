/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of a link: a way for packets. The link of udp.h sends packets by UDP sockets. These
 * links wrap another link:
 * - shm.h: processes of this machine exchange packets in shared memory;
 * - raw.h: packets of RoCE v1 paths leave as Ethernet frames;
 * - fault_link.h: a fault plan applies to the packets;
 * - tap.h: captures get a copy of the packets.
 * All calls on one link are made under the lock of its owner.
 */
#ifndef ADV_RUNTIME_LINK_LINK_H
#define ADV_RUNTIME_LINK_LINK_H

#include <stdbool.h>

#include "nic/wire/packet.h"

/* Handles one received packet. `user` is the caller's value. */
typedef void adv_link_rx_fn(void *user, const struct adv_rx_packet *pkt);

struct adv_link_counters {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* BTH to ICRC */
	uint64_t rx_packets;
	uint64_t rx_bytes;
	uint64_t rx_icrc_errors;  /* received packets whose ICRC fits no Identification */
	uint64_t rx_malformed;	  /* received packets that are too short or too long, or have bad
				     control data */
	uint64_t rx_misdelivered; /* received packets for a queue pair number of another process */
	uint64_t tx_dropped; /* rejected by the kernel permanently (no route, message too long, ...)
			      */
	uint64_t tx_blocked; /* calls of send() that found the socket full */
};

/* Bytes that `more` of a long packet counts for: the headers of the packets that it replaces. */
#define ADV_LINK_MORE_BYTES (ADV_BTH_LEN + ADV_ICRC_LEN)

struct adv_link;

/* How a link sends a packet. */
struct adv_link_way {
	bool memory;	/* through shared memory */
	bool v1;	/* as a RoCE v1 frame */
	uint16_t sport; /* UDP source port; not of a frame */
};

struct adv_link_ops {
	/*
	 * Sends all packets of the batch, or keeps a private copy of those for which the socket has
	 * no room. The caller may reuse the batch in both cases. Returns true if the link accepts
	 * another batch. Returns false if it is full: do not call again until `send_fd` is writable
	 * or flush() returned true.
	 */
	bool (*send)(struct adv_link *link, struct adv_tx_batch *batch);
	/* Tries again to send the kept packets. True if the link keeps no packet any more. */
	bool (*flush)(struct adv_link *link);
	/*
	 * Receives at most about `budget` packets, without blocking, and calls fn for each packet
	 * whose ICRC is right. The packet's bytes are valid only during fn. `budget` is not 0.
	 * Returns the number of packets read, including bad ones; 0: none was queued.
	 */
	unsigned (*receive)(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user);
	/*
	 * Sets whether the owner sleeps on bell_fd. While it sleeps, peers that send through shared
	 * memory ring the bell. Returns false if packets are queued: the owner must receive again
	 * before it sleeps. NULL: the link has no such peers.
	 */
	bool (*sleep)(struct adv_link *link, bool sleeping);
	/* As adv_engine_long_payload() and adv_engine_withdraw() (nic/engine/engine.h). NULL: the
	 * link sends no long packets. */
	uint32_t (*long_payload)(struct adv_link *link, const struct adv_path *path,
				 uint32_t dest_qpn, uint32_t length);
	void (*recall)(struct adv_link *link, const struct adv_path *path, const void *addr,
		       uint64_t length);
	/* Sets whether peers may send long packets to this link; at first they may. NULL: none
	 * arrive. */
	void (*accept_long)(struct adv_link *link, bool accepts);
	/* Finds out how send() would send the packet now, for captures. NULL: not known. */
	void (*way)(struct adv_link *link, const struct adv_tx_packet *pkt,
		    struct adv_link_way *way);
	void (*destroy)(struct adv_link *link);
};

struct adv_link {
	const struct adv_link_ops *ops;
	int receive_fd;	    /* readable when receive() would find packets */
	int send_fd;	    /* writable when flush() can continue; -1 unless the link is full */
	int bell_fd;	    /* runtime/link/bell.h, see sleep(); -1: none */
	bool busy_polled;   /* set by the owner: it calls receive() continuously, so receive() need
			     * not check costly sources in each call */
	bool spaced;	    /* set by the owner: it polls, but calls receive() about once a us */
	bool enough;	    /* set by the owner during receive(): leave further packets for the next
			     * call */
	unsigned rx_window; /* packets of 4 KiB that fit into the receive buffer; the engine derives
			     * the window of its peers from it */
	uint64_t deadline;  /* in the owner's clock: call receive() at this time at the latest, for
			     * packets that the link keeps; 0: it keeps none */
	struct adv_link_counters counters; /* without those of `inner` */
	const struct adv_link *inner; /* a link that this link uses, and whose packets it does not
				       * count; NULL: none */
};

/* As adv_link_ops.way(), for any link: a link that does not know it sends from the preferred port.
 */
static inline void adv_link_find_way(struct adv_link *link, const struct adv_tx_packet *pkt,
				     struct adv_link_way *way)
{
	*way = (struct adv_link_way){.sport = pkt->path->sport};
	if (link->ops->way)
		link->ops->way(link, pkt, way);
}

/* Returns the counters of the link and of the links that it uses. */
static inline struct adv_link_counters adv_link_count(const struct adv_link *link)
{
	struct adv_link_counters sum = link->counters;

	for (link = link->inner; link; link = link->inner) {
		const struct adv_link_counters *c = &link->counters;

		sum.tx_packets += c->tx_packets;
		sum.tx_bytes += c->tx_bytes;
		sum.rx_packets += c->rx_packets;
		sum.rx_bytes += c->rx_bytes;
		sum.rx_icrc_errors += c->rx_icrc_errors;
		sum.rx_malformed += c->rx_malformed;
		sum.rx_misdelivered += c->rx_misdelivered;
		sum.tx_dropped += c->tx_dropped;
		sum.tx_blocked += c->tx_blocked;
	}
	return sum;
}

#endif
