/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring carries packets from one process to another through memory that both map: one writer, one
 * reader, no system call. The memory starts as zeroes, except ADV_RING_START.
 *
 * The reader does not trust the memory. It checks lengths against the size of the memory and copies
 * headers before it reads them. If the writer violates the format, the ring is broken, and the
 * reader reads nothing more from it. The writer can change payload until the reader has copied it;
 * that only harms the writer's own message.
 *
 * The payload of a long packet may be away: the record then has its addresses in the writer's
 * memory, from where the reader copies it (runtime/link/pull.h). Before the writer's program may
 * use that memory again without the packet's acknowledgement, the writer recalls the packet.
 */
#ifndef ADV_RUNTIME_LINK_RING_H
#define ADV_RUNTIME_LINK_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/link/bell.h"
#include "runtime/link/copy_choice.h"
#include "runtime/link/link.h"
#include "runtime/link/pull.h"

enum adv_ring_longs {
	ADV_RING_NO_LONGS,
	ADV_RING_COPIES, /* long packets; their payload comes in the ring */
	ADV_RING_PULLS,	 /* long packets; their payload may be away */
};

/* The shared memory. The two sides write to different cache lines. */
struct adv_ring_memory {
	/* Written by the reader: */
	_Alignas(64) _Atomic uint64_t
		tail; /* bytes read since the start; updated once per part of the ring */
	_Atomic uint32_t sleeping;  /* 1: the writer rings the bell after writing */
	_Atomic uint32_t longs;	    /* enum adv_ring_longs: long packets that the reader accepts */
	_Atomic adv_bell_name bell; /* 0: the reader has not attached yet */
	/* Written by the writer when it attaches, see adv_pull_page: */
	_Alignas(64) struct adv_pull_sign sign;
	/* Written by the writer: records, each at a multiple of 64 bytes. */
	_Alignas(64) uint8_t bytes[];
};

#define ADV_RING_SIZE_MIN 16384u
#define ADV_RING_SIZE_MAX (16u << 20)
#define ADV_RING_COPY_MAX 16384u /* bytes of a packet's payload that a record can hold */
#define ADV_RING_AWAY_MIN 16384u /* least bytes of a payload that is away */
#define ADV_RING_AWAY                                                                              \
	512 /* packets with payload away that are not read yet: requests and responses */
#define ADV_RING_LEAD_LEN 16u /* an ACK: BTH and AETH */

/* The initial contents of the memory: the reader counts as asleep until it attaches. */
#define ADV_RING_START                                                                             \
	{                                                                                          \
		.sleeping = 1                                                                      \
	}

/* Returns the bytes of shared memory for a ring with `size` bytes of records. `size` is a power of
 * 2. */
static inline size_t adv_ring_memory_len(uint32_t size)
{
	return sizeof(struct adv_ring_memory) + size;
}

/* A packet whose payload is away. */
struct adv_ring_away {
	uint64_t at; /* the writer's head before the record */
	const struct adv_path *path;
	uintptr_t low; /* all payload is in [low, high) */
	uintptr_t high;
	bool recalled;
	bool reading;  /* recalled, and the reader has not finished reading */
	bool finished; /* the reader had finished when the packet was recalled */
};

/* The writer's private state. */
struct adv_ring_writer {
	struct adv_ring_memory *memory;
	uint32_t size;
	uint64_t head; /* bytes written since the start */
	uint64_t tail; /* the reader's tail, as last read */
	uint64_t hole; /* [hole, hole_end): positions without records, see find_place() */
	uint64_t hole_end;
	struct adv_rx_meta meta; /* properties of the last packet */
	uint32_t away_head;	 /* free running */
	uint32_t away_tail;
	struct adv_ring_away away[ADV_RING_AWAY]; /* ring: oldest packet at away_tail */
};

/* True if the writer may use the addresses in *meta. Sets the members that the writer must not
 * choose. */
typedef bool adv_ring_check_fn(void *user, struct adv_rx_meta *meta);

/* The reader's private state. */
struct adv_ring_reader {
	struct adv_ring_memory *memory;
	uint32_t size;
	uint64_t tail;
	uint64_t shown; /* the tail that the memory shows to the writer */
	bool broken;
	bool skipped;		 /* the last word was not a record */
	bool accepts_long;	 /* see adv_ring_accept() */
	struct adv_rx_meta meta; /* properties of the last packet */
	adv_ring_check_fn *check;
	const struct adv_pull_peer *peer; /* the writer's memory; NULL: it cannot be read */
	struct adv_copy_choice choice;
	void *user;
};

/* Initializes *w. memory: adv_ring_memory_len(size) bytes of the caller, mapped as long as the ring
 * is used. */
void adv_ring_writer_init(struct adv_ring_writer *w, void *memory, uint32_t size);
/* Initializes *r and attaches the reader to the memory. bell: if the reader sleeps, the writer
 * rings it. */
void adv_ring_reader_init(struct adv_ring_reader *r, void *memory, uint32_t size,
			  adv_bell_name bell, adv_ring_check_fn *check, void *user);

/* True if the reader has mapped the memory. */
bool adv_ring_has_reader(const struct adv_ring_writer *w);

/* Returns the most bytes of payload of a long packet, for a message of `length` bytes; 0: none. */
uint32_t adv_ring_long_payload(const struct adv_ring_writer *w, uint32_t length);

/*
 * The payload of packets with this path must not be read any more; NULL: of all packets with
 * payload in [low, high). Returns false if the reader is reading such payload just now: the caller
 * calls again until it has finished.
 */
bool adv_ring_recall(struct adv_ring_writer *w, const struct adv_path *path, uintptr_t low,
		     uintptr_t high);

/* Reader: sets whether the writer may write long packets from now on. */
void adv_ring_accept(struct adv_ring_reader *r, bool longs);
/* Reader: the payload of long packets may be read from the memory of *peer, which the caller keeps.
 */
void adv_ring_set_peer(struct adv_ring_reader *r, const struct adv_pull_peer *peer);

/* If the ring has no reader yet, removes all packets: they are lost. Returns false if a reader has
 * attached: the packets stay, and the writer continues to wake the reader as before. */
bool adv_ring_withdraw(struct adv_ring_writer *w);

/*
 * Writes a packet and the properties that a network would report for it. A wrong ICRC that was
 * injected on purpose (icrc_flip) also reaches the reader. If there is no room or the reader's tail
 * is invalid, returns false and the packet is lost.
 */
bool adv_ring_put(struct adv_ring_writer *w, const struct adv_tx_packet *pkt);

/* True if adv_ring_put_led() can write the two packets: `lead` is as long as an ACK, both have the
 * same path, and neither is long or has a wrong ICRC. */
static inline bool adv_ring_may_lead(const struct adv_tx_packet *lead,
				     const struct adv_tx_packet *pkt)
{
	return lead->header_len == ADV_RING_LEAD_LEN && !(lead->payload_len + lead->pad) &&
	       lead->path == pkt->path && lead->ecn == pkt->ecn &&
	       !(lead->more | pkt->more | lead->icrc_flip | pkt->icrc_flip);
}

/* Writes `lead` and then *pkt, like two calls of adv_ring_put(), but into one record: together they
 * take fewer cache lines. Returns false if both packets are lost. */
bool adv_ring_put_led(struct adv_ring_writer *w, const struct adv_tx_packet *lead,
		      const struct adv_tx_packet *pkt);

/*
 * Call it after one or more adv_ring_put(). True if the reader sleeps and the caller must ring
 * *bell. The reader has written *bell, so it may be wrong. *bell is 0 if the reader has not
 * attached yet; the reader checks the ring when it attaches.
 */
bool adv_ring_must_wake(struct adv_ring_writer *w, adv_bell_name *bell);

/*
 * Passes at most `budget` packets to fn, as receive() in link.h does, and counts them; one more if
 * the last record holds two. Returns their number; 0: there are none, or the ring is broken.
 */
unsigned adv_ring_get(struct adv_ring_reader *r, unsigned budget, adv_link_rx_fn *fn, void *user,
		      struct adv_link_counters *counters);

/* True if a packet is queued. */
bool adv_ring_has(const struct adv_ring_reader *r);

/*
 * Sets whether the reader sleeps and has to be woken. After adv_ring_sleep(r, true) the reader
 * calls adv_ring_has() again before it sleeps: the writer does not wake it for packets written
 * earlier.
 */
void adv_ring_sleep(struct adv_ring_reader *r, bool sleeping);

#endif
