/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of captured packets: a process writes a copy of each packet, and `adverb capture` reads
 * it. Both map the memory. If the ring is full, the writer drops the packet and counts it. Neither
 * side ever waits for the other, and neither trusts what the other writes.
 *
 * A record is a struct adv_tap_record, then the headers of the packet from the BTH on, then
 * payload. Of a TCP connection, a struct adv_tap_stream takes the place of the headers. Records
 * begin at multiples of 8 bytes.
 */
#ifndef ADV_RUNTIME_LINK_TAP_RING_H
#define ADV_RUNTIME_LINK_TAP_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "nic/wire/packet.h"

#define ADV_TAP_SIZE_MIN (1u << 20) /* bytes of records; a power of 2 */
#define ADV_TAP_SIZE_MAX (256u << 20)
#define ADV_TAP_DATA_MAX (ADV_HEADERS_MAX + ADV_LONG_MAX) /* bytes that a record keeps */

enum adv_tap_flag {
	ADV_TAP_OUT = 1,    /* sent by this process; otherwise received */
	ADV_TAP_MEMORY = 2, /* through shared memory */
	/* The payload was in the memory of the sending process, and the receiver did not read it.
	 * The record keeps no payload. */
	ADV_TAP_UNREAD = 4,
	ADV_TAP_V1 = 8,	     /* as a RoCE v1 frame */
	ADV_TAP_TAGGED = 16, /* v1: with a VLAN tag */
	ADV_TAP_STREAM = 32, /* bytes of an iWARP device's TCP connection */
};

enum adv_tap_stream_flag {
	ADV_TAP_INITIATOR = 1,	   /* this process is the connection's initiator */
	ADV_TAP_CRC = 2,	   /* FPDUs have CRCs */
	ADV_TAP_MARKERS_TAKEN = 4, /* this process receives markers */
	ADV_TAP_MARKERS_SENT = 8,  /* this process sends markers */
};

#define ADV_TAP_BEGIN_UNKNOWN UINT32_MAX
#define ADV_TAP_SEGMENT_MAX   65472u /* bytes of a record: they fit into an IP packet */

/* Where bytes of a TCP connection belong. Numbers are in host order. Positions count the bytes of a
 * direction behind its start-up frame. */
struct adv_tap_stream {
	uint64_t at;	/* position of the first byte */
	uint64_t other; /* position that the other direction has reached */
	/* From these two positions to the next begin of an FPDU, or ADV_TAP_BEGIN_UNKNOWN: */
	uint32_t begin;
	uint32_t other_begin;
	uint32_t qpn;	 /* queue pair of this process */
	uint32_t number; /* of the connection in this process */
	uint16_t sport;
	uint16_t dport;
	uint16_t ird; /* of this process, as agreed */
	uint16_t ord;
	uint32_t flags; /* enum adv_tap_stream_flag */
	uint32_t zero;
};

/* The fixed part of a record. Numbers are in host order. */
struct adv_tap_record {
	uint32_t length;      /* bytes of the record, a multiple of 8 */
	uint32_t payload_len; /* bytes of the packet behind the headers, without padding */
	uint64_t time;	      /* ns since 1970 */
	uint64_t lost;	      /* packets dropped since the last record, because the ring was full */
	struct adv_gid sgid;
	struct adv_gid dgid;
	uint32_t flow_label;
	uint32_t icrc_flip; /* XORed with the right ICRC: a fault plan damaged the packet */
	/* Bytes of payload that the record keeps. Of a long packet: of each of the packets that it
	 * stands for, one behind the other. */
	uint32_t piece;
	uint32_t kept;	    /* bytes of payload behind the headers, see adv_tap_kept() */
	uint16_t sport;	    /* UDP source port; ADV_TAP_TAGGED: the TCI of the VLAN tag */
	uint8_t header_len; /* at most ADV_HEADERS_MAX */
	uint8_t more;	    /* as adv_tx_packet.more */
	uint8_t tclass;	    /* DSCP << 2 | ECN */
	uint8_t hop_limit;  /* 0: unknown */
	uint8_t pad;	    /* bytes of padding behind the payload, which are 0 and not kept */
	uint8_t flags;	    /* enum adv_tap_flag */
};

_Static_assert(sizeof(struct adv_tap_record) % 8 == 0, "records are aligned to 8");
_Static_assert(sizeof(struct adv_tap_stream) <= ADV_HEADERS_MAX, "it takes the headers' place");

/* The shared memory. It starts as zeroes. The two sides write to different cache lines. */
struct adv_tap_memory {
	/* Written by the writer: */
	_Alignas(64) _Atomic uint64_t head; /* bytes written since the start */
	_Atomic uint64_t packets;	    /* packets in records */
	_Atomic uint64_t dropped;	    /* packets without a record: the ring was full */
	/* Written by the reader: */
	_Alignas(64) _Atomic uint64_t tail; /* bytes read since the start */
	_Atomic uint32_t stop;		    /* 1: the writer writes no more records */
	_Alignas(64) uint8_t bytes[];
};

/* Returns the bytes of shared memory for a ring with `size` bytes of records. */
static inline size_t adv_tap_memory_len(uint32_t size)
{
	return sizeof(struct adv_tap_memory) + size;
}

/* True if a ring may have `size` bytes of records. */
static inline bool adv_tap_size_fits(uint32_t size)
{
	return size >= ADV_TAP_SIZE_MIN && size <= ADV_TAP_SIZE_MAX && (size & (size - 1)) == 0;
}

/*
 * Returns the path MTU of the packets that a long packet stands for. Each of them but the last one
 * fills the MTU, so only one MTU gives their number. payload_len: at most ADV_LONG_MAX. 0: none
 * does.
 */
uint32_t adv_tap_long_mtu(uint32_t payload_len, uint32_t packets);

/* Returns the bytes of payload that a record keeps. 0 also if the packet cannot exist. */
uint32_t adv_tap_kept(const struct adv_tap_record *r);

/* ---- writing ---- */

struct adv_tap_writer {
	struct adv_tap_memory *memory;
	uint32_t size;
	uint32_t limit; /* bytes of a packet that are kept, from the BTH on */
	uint64_t head;
	uint64_t tail; /* the reader's tail, as last read */
	uint64_t lost; /* packets dropped since the last record */
};

/* A packet to record. */
struct adv_tap_packet {
	/* All members except length, lost, piece and kept. */
	struct adv_tap_record record;
	const uint8_t *header;	 /* record.header_len bytes */
	const struct iovec *iov; /* the payload; more than record.payload_len bytes are not read */
	unsigned iov_count;	 /* at most ADV_TAP_IOV */
	/* The program may have unmapped the payload. It is then read by a system call, which can
	 * fail: the record keeps no payload then. */
	bool unsure;
};

#define ADV_TAP_IOV 48

/* Initializes *w. memory: adv_tap_memory_len(size) bytes, all 0. */
void adv_tap_writer_init(struct adv_tap_writer *w, struct adv_tap_memory *memory, uint32_t size,
			 uint32_t limit);

/* Writes a record, or counts the packet as dropped. Never blocks. */
void adv_tap_put(struct adv_tap_writer *w, const struct adv_tap_packet *p);

/* ---- reading ---- */

struct adv_tap_reader {
	struct adv_tap_memory *memory;
	uint32_t size;
	bool broken; /* the writer has violated the format; nothing more is read */
	uint64_t tail;
};

/* Initializes *r. memory: as adv_tap_writer_init(); the writer may already use it. */
void adv_tap_reader_init(struct adv_tap_reader *r, struct adv_tap_memory *memory, uint32_t size);

/* Copies the fixed part of the oldest record, checked, into *record. False: there is no record, or
 * the ring is broken. */
bool adv_tap_peek(struct adv_tap_reader *r, struct adv_tap_record *record);

/*
 * Copies headers and payload of the record that adv_tap_peek() has just returned to `data`, which
 * has room for ADV_TAP_DATA_MAX bytes, and frees the record's room. The writer may change these
 * bytes until they are copied: nothing about them is checked.
 */
void adv_tap_take(struct adv_tap_reader *r, const struct adv_tap_record *record, uint8_t *data);

#endif
