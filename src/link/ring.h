/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from one process to another through memory that both map: one writer, one reader, no
 * system call. The memory starts as zeroes but for ADV_RING_START.
 *
 * The reader believes nothing that it finds. Lengths are checked against the memory, headers are
 * copied before they are looked at, and where the writer breaks the rules the ring counts as
 * broken: nothing more is read from it. Payload may change until it has been copied, which only
 * shows its sender's own confusion.
 */
#ifndef ADV_LINK_RING_H
#define ADV_LINK_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "link/bell.h"
#include "link/link.h"

/* In shared memory. Each side of the ring writes to the lines of its own. */
struct adv_ring_memory {
	/* The reader's. */
	_Alignas(64) _Atomic uint64_t tail; /* bytes taken, of all times, a part of the ring ago */
	_Atomic uint32_t sleeping;	    /* 1: ring its bell after writing */
	_Atomic adv_bell_name bell;	    /* 0: it has not come yet */
	/* The writer's: records, each at a multiple of 64. */
	_Alignas(64) uint8_t bytes[];
};

#define ADV_RING_SIZE_MIN 16384u
#define ADV_RING_SIZE_MAX (16u << 20)

/* What the memory holds at first: the reader sleeps, as it has not come yet. */
#define ADV_RING_START                                                                             \
	{                                                                                          \
		.sleeping = 1                                                                      \
	}

/* The shared memory that a ring of `size` (bytes of records, a power of 2) takes. */
static inline size_t adv_ring_memory_len(uint32_t size)
{
	return sizeof(struct adv_ring_memory) + size;
}

/* The writer's private side. */
struct adv_ring_writer {
	struct adv_ring_memory *memory;
	uint32_t size;
	uint64_t head;		 /* bytes written, of all times */
	uint64_t tail;		 /* the reader's, as last seen */
	struct adv_rx_meta meta; /* of the last packet */
};

/* Whether the addresses in it are the writer's to use; sets what the writer has no say in. */
typedef bool adv_ring_check_fn(void *user, struct adv_rx_meta *meta);

/* The reader's private side. */
struct adv_ring_reader {
	struct adv_ring_memory *memory;
	uint32_t size;
	uint64_t tail;
	uint64_t shown; /* the tail that the writer knows of */
	bool broken;
	struct adv_rx_meta meta; /* of the last packet */
	adv_ring_check_fn *check;
	void *user;
};

/* memory: adv_ring_memory_len(size) bytes, the caller's, mapped as long as the ring is used. */
void adv_ring_writer_init(struct adv_ring_writer *w, void *memory, uint32_t size);
/* bell: what the writer is to ring when the reader sleeps. */
void adv_ring_reader_init(struct adv_ring_reader *r, void *memory, uint32_t size,
			  adv_bell_name bell, adv_ring_check_fn *check, void *user);

/*
 * Writes a packet with what the network would tell of it. A packet with a wrong ICRC on purpose
 * (icrc_flip) arrives as one. False where there is no room, or the reader shows nonsense: the
 * packet is lost.
 */
bool adv_ring_put(struct adv_ring_writer *w, const struct adv_tx_packet *pkt);

/* After one or more adv_ring_put(): true where the reader sleeps, and is to be woken by the bell
 * that is its own as it says; 0 where it has not come yet, and will look first. */
bool adv_ring_must_wake(struct adv_ring_writer *w, adv_bell_name *bell);

/*
 * Hands at most `budget` packets to fn, as link.h's receive() does, and counts them. Returns their
 * number; 0 where there are none or the ring is broken.
 */
unsigned adv_ring_get(struct adv_ring_reader *r, unsigned budget, adv_link_rx_fn *fn, void *user,
		      struct adv_link_counters *counters);

/* True where there is something to get. */
bool adv_ring_has(const struct adv_ring_reader *r);

/*
 * The reader will sleep, and is to be woken; or will not. After adv_ring_sleep(r, true) the reader
 * looks once more (adv_ring_has()) before it sleeps: what was written before that is not told.
 */
void adv_ring_sleep(struct adv_ring_reader *r, bool sleeping);

#endif
