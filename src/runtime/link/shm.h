/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_RUNTIME_LINK_SHM_H
#define ADV_RUNTIME_LINK_SHM_H

#include <sys/types.h>

#include "runtime/link/link.h"

/*
 * Creates a link that sends packets to processes of this machine through shared memory, with a pair
 * of rings (runtime/link/ring.h) for each process. The link passes all other packets to `udp`,
 * which was made by adv_udp_create() and then belongs to the new link. If the owner sleeps, peers
 * ring the link's bell_fd, see adv_link_ops.sleep; at first the owner counts as asleep. clock:
 * monotonic nanoseconds. Returns NULL with errno; `udp` then still belongs to the caller.
 *
 * Packets through memory carry no ICRC. If a ring is full, the packet is lost, as in a full socket
 * buffer; the transport's window prevents that.
 */
struct adv_link *adv_shm_create(struct adv_link *udp, uint64_t (*clock)(void));

/*
 * Sets which slot owns which QP numbers. `home` has ADV_PREFIXES entries, indexed by prefix
 * (nic/wire/slot.h). An entry is the slot by which the owner of the prefix is attached. The link
 * reads `home` for each packet. `home` may change at any time, and must exist as long as the link.
 * Without this call each slot owns its own prefix, and no blocks.
 */
void adv_shm_set_homes(struct adv_link *link, const _Atomic uint16_t *home);

/* The memory that two processes share. It is sealed: neither process can shrink it. */
struct adv_shm_pair {
	int memory_fd; /* made by adv_shm_pair_make() */
	uint32_t size; /* bytes of records of each ring */
	unsigned side; /* 0 or 1: which of the two rings this process writes */
	pid_t peer;    /* the other process, whose memory may be read; 0: it may not */
};

/* Creates the memory for two rings, each with `size` bytes of records. Returns the descriptor of
 * the memory, or -1 with errno. */
int adv_shm_pair_make(uint32_t size);

/*
 * Makes the link send packets to QPs of `slot`, at one of the machine's own addresses, through the
 * pair. If packets to these QPs were sent by UDP recently, the link starts a little later, so that
 * no packet overtakes them. Closes the descriptor, also on failure. Drops an earlier pair of that
 * slot, even if it holds unread packets. Call it with the link's lock held, not within receive().
 * Returns 0; EINVAL: the memory is too small or not sealed; ENOMEM, EMFILE.
 */
int adv_shm_attach(struct adv_link *link, uint16_t slot, const struct adv_shm_pair *pair);

/* Drops the pair of a peer that has exited, after the packets that the peer wrote are received: at
 * most as many as fit into the memory twice. */
void adv_shm_detach(struct adv_link *link, uint16_t slot);

/* True if a peer is attached. */
bool adv_shm_has_peers(const struct adv_link *link);

/* True if the slot has a pair. */
bool adv_shm_attached(const struct adv_link *link, uint16_t slot);

/* False: packets wait in the memory for a peer that has not mapped it yet. If this process ended
 * now, they would be lost. True after 100 ms, as adverbd may be stopped. */
bool adv_shm_has_readers(const struct adv_link *link);

#endif
