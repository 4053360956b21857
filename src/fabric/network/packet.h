/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of the fabric, and their pool. The payload stays in the sender's memory. */
#ifndef ADV_FABRIC_NETWORK_PACKET_H
#define ADV_FABRIC_NETWORK_PACKET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "nic/wire/gid.h"
#include "nic/wire/headers.h"
#include "nic/wire/telemetry.h"

#define ADV_PRIORITIES 8

/* Bytes on the wire besides the frame: preamble and start delimiter 8, gap 12 (IEEE 802.3). */
#define ADV_WIRE_OVERHEAD 20
/* Bytes of a frame besides BTH, extended headers, payload and padding: Ethernet 14, IPv4 20,
 * UDP 8, ICRC 4, FCS 4. */
#define ADV_FRAME_OVERHEAD 50
/* The same of a RoCE v1 frame: Ethernet 14, VLAN tag 4, GRH 40, ICRC 4, FCS 4. */
#define ADV_FRAME_OVERHEAD_V1 66
#define ADV_FRAME_MIN	      64
/* Speed of a wire on which a byte takes 1 ps, Mb/s. */
#define ADV_PS_MBPS 8000000u
/* Size of a pause frame (IEEE 802.1Q 36.2), which is padded to ADV_FRAME_MIN. */
#define ADV_PAUSE_FRAME 64
/* A pause quantum is 512 bits. */
#define ADV_QUANTUM_BYTES 64
#define ADV_QUANTA_MAX	  65535

enum adv_packet_kind {
	ADV_PACKET_DATA,
	ADV_PACKET_PAUSE,
	ADV_PACKET_LOST, /* on a wire whose cable has failed: it does not arrive */
};

/* The first cache line has all of most frames: what switches read, and the BTH. */
struct adv_packet {
	struct adv_packet *next; /* next packet of the same list */
	uint64_t at;		 /* on a wire: time of arrival of the next frame there, or of the
				    last frame itself, ps; so an arrival reads one frame only */
	const uint8_t *payload;	 /* valid until the sender's engine receives the acknowledgement */
	uint32_t flow;		 /* hash of addresses and UDP source port, for ECMP */
	uint32_t to;		 /* destination host */
	uint32_t from;		 /* source host */
	uint16_t bytes;		 /* size of the frame with FCS, without ADV_WIRE_OVERHEAD */
	uint16_t in_port;	 /* input port of the switch that stores it */
	uint16_t out; /* on a wire to a switch: the port by which the frame leaves the switch;
			 ADV_NO_PORT: it is not known yet */
	uint16_t sport;
	uint16_t payload_len;
	uint8_t kind; /* enum adv_packet_kind */
	uint8_t priority;
	uint8_t tclass; /* DSCP << 2 | ECN */
	uint8_t hop_limit;
	uint8_t header_len;	/* external: adv_fabric_frame.tag */
	uint8_t pad : 2;	/* bytes */
	bool external : 1;	/* the frame is of a program (external.h): it has `body` */
	bool has_telemetry : 1; /* it has `telemetry` */
	union {
		uint8_t header[ADV_HEADERS_MAX];	 /* DATA, not external */
		struct {				 /* PAUSE */
			uint16_t quanta[ADV_PRIORITIES]; /* 0 ends the pause */
			uint8_t pause_mask;		 /* priorities whose quanta are valid */
		};
	};
	union {
		struct adv_packet_telemetry *telemetry;
		uint8_t *body; /* belongs to the frame */
	};
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct adv_packet) == 128, "two cache lines");
_Static_assert(offsetof(struct adv_packet, header) + ADV_BTH_LEN == 64,
	       "the BTH is in the first one");

/* Returns the address of host x.y.z: ::ffff:10.x.y.z. */
static inline struct adv_gid adv_fabric_gid(uint32_t host)
{
	struct adv_gid g = {{0}};

	adv_put_be64(g.raw + 8, 0xffff0a000000 | host);
	return g;
}

/* Telemetry of a frame. */
struct adv_packet_telemetry {
	struct adv_packet_telemetry *next; /* of the unused ones */
	bool echo;			   /* an ACK returns it: switches add nothing */
	struct adv_telemetry of;
};

/* Size of the `body` of a frame, bytes. */
#define ADV_PACKET_BODY (4096u + ADV_HEADERS_MAX)

struct adv_packet_pool {
	struct adv_packet *unused;
	struct adv_packet_body *bodies;		  /* unused */
	struct adv_packet_telemetry *telemetries; /* unused */
	struct adv_packet_chunk *chunks;	  /* the newest first */
	uint64_t fresh; /* packets of the newest chunk that were never used */
	uint64_t out;	/* packets in use */
	uint64_t room;	/* allocated packets */
	bool contents;	/* packets have had bodies or telemetry */
	bool failed;	/* an allocation failed */
};

/* Returns a packet that has not been used yet, as adv_packet_take(). */
struct adv_packet *adv_packet_take_fresh(struct adv_packet_pool *pool);
/* Takes a packet without telemetry and body; its other fields are undefined. NULL: no memory. A
 * pool that is all zero is empty and valid. */
static inline struct adv_packet *adv_packet_take(struct adv_packet_pool *pool)
{
	struct adv_packet *p = pool->unused;

	if (!p)
		return adv_packet_take_fresh(pool);
	pool->unused = p->next;
	pool->out++;
	return p;
}
/* Gives the packet a body of ADV_PACKET_BODY bytes, and sets `external`. False: no memory; the
 * packet went back to the pool. */
bool adv_packet_take_body(struct adv_packet_pool *pool, struct adv_packet *packet);
/* Gives the packet telemetry: a copy of *echo, which an ACK returns; or if it is NULL, telemetry
 * without a hop yet. False: no memory; the packet has none. */
bool adv_packet_take_telemetry(struct adv_packet_pool *pool, struct adv_packet *packet,
			       const struct adv_telemetry *echo);
/* Takes its body and its telemetry from a packet that has one of them. */
void adv_packet_strip(struct adv_packet_pool *pool, struct adv_packet *packet);
static inline void adv_packet_give_back(struct adv_packet_pool *pool, struct adv_packet *packet)
{
	assert(pool->out > 0);
	pool->out--;
	if (packet->external || packet->has_telemetry)
		adv_packet_strip(pool, packet);
	packet->next = pool->unused;
	pool->unused = packet;
}
/* Frees all memory of the pool, including packets in use. */
void adv_packet_pool_free(struct adv_packet_pool *pool);

/* A first-in, first-out list, linked by adv_packet.next. */
struct adv_packet_list {
	struct adv_packet *head;
	struct adv_packet *tail;
};

static inline void adv_packet_list_push(struct adv_packet_list *l, struct adv_packet *p)
{
	p->next = NULL;
	if (l->head)
		l->tail->next = p;
	else
		l->head = p;
	l->tail = p;
}

/* Dequeues the oldest packet. NULL: the list is empty. */
static inline struct adv_packet *adv_packet_list_pop(struct adv_packet_list *l)
{
	struct adv_packet *p = l->head;

	if (p)
		l->head = p->next;
	return p;
}

#endif
