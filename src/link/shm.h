/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_SHM_H
#define ADV_LINK_SHM_H

#include "link/link.h"

/*
 * A link that sends packets to processes of this machine through shared memory, with a pair of
 * rings (link/ring.h) for each process, and passes all other packets to `udp`. `udp` was made by
 * adv_udp_create() and belongs to the new link. Peers ring its bell_fd when the owner sleeps, see
 * adv_link_ops.sleep; at first the owner counts as asleep. clock: monotonic nanoseconds. Returns
 * NULL with errno; `udp` then still belongs to the caller.
 *
 * Packets through memory carry no ICRC. If a ring is full, the packet is lost, like in a socket's
 * buffer; the transport's window prevents that.
 */
struct adv_link *adv_shm_create(struct adv_link *udp, uint64_t (*clock)(void));

/*
 * Sets which slot owns which QP numbers. `home` has ADV_PREFIXES entries, indexed by prefix
 * (wire/slot.h): the slot by which the owning peer is attached. The link reads it with each packet.
 * It may change at any time, and must exist as long as the link. Without this call each slot owns
 * its own prefix, and no blocks.
 */
void adv_shm_set_homes(struct adv_link *link, const _Atomic uint16_t *home);

/* The memory that two processes share. It is sealed: neither can shrink it. */
struct adv_shm_pair {
	int memory_fd; /* made by adv_shm_pair_make() */
	uint32_t size; /* of each ring */
	unsigned side; /* 0 or 1: which of the two rings this process writes */
};

/* Creates the memory for two rings of `size`. Returns its descriptor, or -1 with errno. */
int adv_shm_pair_make(uint32_t size);

/*
 * Sends packets to QPs of `slot` at one of the machine's own addresses through the pair. If packets
 * to them have just gone by UDP, it starts a little later, so that no packet overtakes them. Closes
 * the descriptor, also on failure. Drops an earlier pair of that slot, even if it holds unread
 * packets. Call it with the link's lock held, not within receive(). Returns 0; EINVAL: the memory
 * is too small or not sealed; ENOMEM, EMFILE.
 */
int adv_shm_attach(struct adv_link *link, uint16_t slot, const struct adv_shm_pair *pair);

/* The peer has exited. The packets that it wrote are still received, at most one memory full; then
 * the pair is dropped. */
void adv_shm_detach(struct adv_link *link, uint16_t slot);

/* True if the slot has a pair. */
bool adv_shm_attached(const struct adv_link *link, uint16_t slot);

#endif
