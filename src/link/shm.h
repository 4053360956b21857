/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_LINK_SHM_H
#define ADV_LINK_SHM_H

#include "link/link.h"

/*
 * A link that takes the packets for processes of this machine through shared memory, a pair of
 * rings (link/ring.h) for each process, and hands all others on to `udp`, which was made by
 * adv_udp_create() and belongs to it from now on. Its bell_fd is what peers ring when the owner
 * sleeps, see adv_link_ops.sleep; at first it counts as asleep. clock: nanoseconds that do not go
 * back. NULL with errno, and `udp` is still the caller's.
 *
 * Packets through memory bear no ICRC. Where a ring is full, a packet is lost, as in a socket's
 * buffer; the transport's window keeps it from being so.
 */
struct adv_link *adv_shm_create(struct adv_link *udp, uint64_t (*clock)(void));

/*
 * Whose QP numbers are whose: `home` has ADV_PREFIXES entries, by prefix (wire/slot.h): the slot by
 * which the peer is attached that has them. Read with each packet, may change at any time, and must
 * stay as long as the link. Without this call each slot has its own, and no block.
 */
void adv_shm_set_homes(struct adv_link *link, const _Atomic uint16_t *home);

/* What two processes share; sealed, so that neither can make it smaller. */
struct adv_shm_pair {
	int memory_fd; /* as adv_shm_pair_make() has made it */
	uint32_t size; /* of each ring */
	unsigned side; /* 0 or 1: which of the two rings is ours to write */
};

/* Makes memory for two rings of `size`; -1 with errno. */
int adv_shm_pair_make(uint32_t size);

/*
 * From now on packets to QPs of `slot` at one of the machine's own addresses go through the pair;
 * where some have just gone by UDP, a little later, so that none overtakes them. Takes the
 * descriptor, also where it fails. An earlier pair with that slot is given up, whether it has been
 * read or not. Under the link's lock, not within receive(). 0; EINVAL: the memory is too small, or
 * not sealed; ENOMEM, EMFILE.
 */
int adv_shm_attach(struct adv_link *link, uint16_t slot, const struct adv_shm_pair *pair);

/* The peer is gone: what it wrote is still received, at most as much as the memory holds, then that
 * is given up. */
void adv_shm_detach(struct adv_link *link, uint16_t slot);

/* True where there is a pair for that slot. */
bool adv_shm_attached(const struct adv_link *link, uint16_t slot);

#endif
