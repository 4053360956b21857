/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures and functions that the files of the RoCE v1 link share. */
#ifndef ADV_RUNTIME_LINK_RAW_INTERNAL_H
#define ADV_RUNTIME_LINK_RAW_INTERNAL_H

#include <linux/if_packet.h>
#include <sys/socket.h>

#include "base/list.h"
#include "runtime/link/raw.h"
#include "runtime/link/udp.h"

#define RAW_ETHERNET_LEN 14
#define RAW_FRAME_MAX	 (RAW_ETHERNET_LEN + ADV_GRH_LEN + ADV_HEADERS_MAX + 4096 + ADV_ICRC_LEN)
/* With this offset, the BTH of a frame is aligned to 64. */
#define RAW_FIRST (64 - (RAW_ETHERNET_LEN + ADV_GRH_LEN) % 64)

/* The receive ring: blocks of memory of the kernel, each with a whole number of places. */
#define RAW_BLOCK_LEN	 65536u
#define RAW_PLACE_LEN	 4608u /* a frame with its descriptions; a multiple of TPACKET_ALIGNMENT */
#define RAW_BLOCK_PLACES (RAW_BLOCK_LEN / RAW_PLACE_LEN)
#define RAW_BLOCKS	 40u
#define RAW_PLACES	 (RAW_BLOCKS * RAW_BLOCK_PLACES)

/* A frame to send. */
struct raw_frame {
	struct sockaddr_ll to;
	uint32_t len; /* from the MAC addresses to the ICRC */
	uint32_t transport_len;
	uint8_t sl;
	_Alignas(64) uint8_t bytes[RAW_FIRST + RAW_FRAME_MAX];
};

struct raw_tx {
	unsigned next; /* frames [next, count) wait for room in the socket */
	unsigned count;
	int priority;	/* present option of the socket */
	int last_error; /* last errno that was logged */
	struct mmsghdr mmsg[ADV_TX_BATCH_PACKETS];
	struct iovec iov[ADV_TX_BATCH_PACKETS];
	struct raw_frame frame[ADV_TX_BATCH_PACKETS];
};

/* Accepted destination QP numbers. */
struct raw_range {
	uint32_t first;
	uint32_t count;
};

struct raw_link {
	struct adv_link link;
	struct adv_link *inner;
	int fd;
	uint8_t *ring;	/* RAW_BLOCKS blocks */
	unsigned place; /* next place of the ring to read */
	unsigned range_count;
	struct raw_range range[ADV_UDP_RANGES];
	unsigned address_count;
	struct adv_raw_address address[ADV_RAW_ADDRESSES];
	struct raw_tx tx;
};

static inline struct raw_link *raw_link_of(struct adv_link *link)
{
	return adv_container_of(link, struct raw_link, link);
}

/* raw_way.c. True if the GID is one of the machine's own addresses, or an IPv4 loopback address. */
bool adv_raw_is_own(const struct raw_link *l, const struct adv_gid *gid);
/* True if packets of the path leave as frames. */
bool adv_raw_leaves(const struct raw_link *l, const struct adv_path *path);

/* raw_tx.c: adv_link_ops.send() and flush(). */
bool adv_raw_send(struct adv_link *link, struct adv_tx_batch *batch);
bool adv_raw_flush(struct adv_link *link);

/* raw_rx.c: adv_link_ops.receive(). */
unsigned adv_raw_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user);
/* True if a frame is queued. */
bool adv_raw_has_frame(const struct raw_link *l);

/* raw_filter.c: attaches the BPF program for the link's ranges. 0 or errno. */
int adv_raw_filter_attach(const struct raw_link *l);

#endif
