/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of a link: a way for packets. udp.h sends them by UDP sockets. Two wrappers hold
 * another link: shm.h (processes of this machine exchange packets in shared memory) and
 * fault_link.h (a fault plan applies). All calls on one link are made under its owner's lock.
 */
#ifndef ADV_LINK_LINK_H
#define ADV_LINK_LINK_H

#include <stdbool.h>

#include "wire/packet.h"

/* What a receiver does with one packet; `user` is the caller's own. */
typedef void adv_link_rx_fn(void *user, const struct adv_rx_packet *pkt);

struct adv_link_counters {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* BTH to ICRC */
	uint64_t rx_packets;
	uint64_t rx_bytes;
	uint64_t rx_icrc_errors;  /* packets whose ICRC no Identification explains */
	uint64_t rx_malformed;	  /* too short, too long, bad control data */
	uint64_t rx_misdelivered; /* for a queue pair of another process's range */
	uint64_t tx_dropped; /* refused by the kernel for good (no route, message too long, ...) */
	uint64_t tx_blocked; /* send calls that found the socket full */
};

struct adv_link;

struct adv_link_ops {
	/*
	 * Sends all packets of the batch, or keeps a private copy of those that the socket has no
	 * room for: the batch is done with at return either way. Returns true where the link can
	 * take another batch, false where it is full: do not call again until `send_fd` is writable
	 * or flush() returned true.
	 */
	bool (*send)(struct adv_link *link, struct adv_tx_batch *batch);
	/* Tries again to send what send() kept. True where nothing is kept any more. */
	bool (*flush)(struct adv_link *link);
	/*
	 * Receives what is there, at most about `budget` packets, without blocking; calls fn for
	 * each packet with a right ICRC. Packet bytes are good only during fn. Returns the number
	 * of packets taken from the socket, bad ones included; 0: there was nothing.
	 */
	unsigned (*receive)(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user);
	/*
	 * The owner goes to sleep on bell_fd (true), or has ceased to (false): peers that hand over
	 * packets through memory then ring it, or spare themselves the trouble. Returns false
	 * where there is something to receive: look again before sleeping. NULL: there are no such
	 * peers.
	 */
	bool (*sleep)(struct adv_link *link, bool sleeping);
	void (*destroy)(struct adv_link *link);
};

struct adv_link {
	const struct adv_link_ops *ops;
	int receive_fd;	    /* readable when receive() would find packets */
	int send_fd;	    /* -1, or writable when flush() may go on (set while full) */
	int bell_fd;	    /* link/bell.h, see sleep(); -1: none */
	bool busy_polled;   /* set by the owner: it calls receive() all the time, so that what is
			     * costly to look at needs no look at each call */
	bool enough;	    /* set by the owner while it receives: the rest may wait until it calls
			     * again */
	unsigned rx_window; /* packets of 4 KiB a peer may have in flight towards us before our
			     * receive buffer overflows; the engine's window is set from it */
	uint64_t deadline; /* when receive() is to be called at the latest, for what the link itself
			    * keeps: a time of the owner's clock; 0: it keeps nothing */
	struct adv_link_counters counters;
};

#endif
