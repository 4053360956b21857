/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the buffer that a lossless priority needs above its xoff threshold: room for
 * everything that still arrives after the decision to send a PFC frame. Pure functions on the
 * caller's structures. */
#ifndef ADV_FABRIC_PLAN_HEADROOM_H
#define ADV_FABRIC_PLAN_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Ethernet header, one VLAN tag, FCS: the frame besides the interface's MTU. */
#define ADV_PLAN_FRAME_OVERHEAD 22
/* Preamble, start delimiter and the smallest gap (IEEE 802.3): on the wire, not in a buffer. */
#define ADV_PLAN_WIRE_OVERHEAD 20
#define ADV_PLAN_PFC_FRAME     64
#define ADV_PLAN_FRAME_MIN     64
#define ADV_PLAN_FRAME_MAX     65600
#define ADV_PLAN_SPEED_MIN     1000000000ull	  /* bit/s */
#define ADV_PLAN_SPEED_MAX     100000000000000ull /* bit/s */
#define ADV_PLAN_DELAY_MAX     1000000000000ull	  /* ps, one way */
#define ADV_PLAN_BITS_MAX      1000000000000ull	  /* of response or interface delay */
#define ADV_PLAN_CELL_MAX      4096

/* IEEE 802.1Q 36.1.3.3: a priority has to be silent 614.4 ns after its PFC frame has passed the
 * MAC ("higher layer delay", 6,144 bit times at 10 Gb/s). */
#define ADV_PLAN_HIGHER_LAYER_PS 614400ull

struct adv_plan_link {
	uint64_t speed;		 /* bit/s */
	uint64_t delay;		 /* one-way delay of the cable, ps */
	uint64_t max_frame;	 /* largest frame of any priority of this port, bytes with FCS */
	uint64_t lossless_frame; /* largest frame of the lossless priority, bytes with FCS */
	uint64_t response_bits;	 /* the other end: from the PFC frame at its connector until it is
				    silent */
	uint64_t interface_bits; /* this end: MAC and PHY, both ways */
	uint32_t cell;		 /* cell in which the switch stores packets, bytes; 0: none */
	uint32_t small_packets;	 /* share of 64-byte packets, of ADV_RATIO_ONE */
	bool whole_frames;	 /* the switch counts a frame once all of it is received */
};

/* In bit times of the link, except where bytes are named. */
struct adv_plan_headroom {
	uint64_t frame_ahead; /* frame just begun when the PFC frame becomes due */
	uint64_t pfc_frame;
	uint64_t cable;	      /* one way */
	uint64_t frame_begun; /* frame just begun when the other end reacts */
	uint64_t reaction;    /* received before that last frame, bytes */
	uint64_t occupied;    /* memory of those in cells, bytes */
	uint64_t headroom;    /* bytes */
	uint64_t xon;	      /* bytes; with less the queue runs empty before XON takes effect */
	uint64_t xoff;	      /* bytes */
	uint64_t size;	      /* xoff + headroom, bytes */
};

/* Returns the bit times that a station may take from a PAUSE frame at its connector (MDI) until
 * it is silent (IEEE 802.3 31B.3.7, in quanta of 512 bits: 60 at 10 Gb/s, 80 at 25, 118 at 40,
 * 147 at 50, 394 at 100, 453 at 200, 905 at 400 Gb/s). 0: another speed. */
uint64_t adv_plan_response_bits(uint64_t speed);

/* Returns the bit times of an interface of this speed for both ways through MAC and PHY. The
 * standard's response limit is such an interface plus the higher layer delay; this is the
 * difference. 0: a speed that adv_plan_response_bits() does not know. */
uint64_t adv_plan_interface_bits(uint64_t speed);

/* Returns the bits of this time, rounded up, at most UINT64_MAX. */
uint64_t adv_plan_bits(uint64_t speed, uint64_t ps);

/*
 * Computes headroom and thresholds of a priority by annex O of IEEE 802.1Q, which names it delay
 * value. (Linux drivers/net/ethernet/wangxun/libwx has its terms and its figures for 10 Gb/s in
 * WX_DV(). Cisco's guides for Nexus switches have the same sum.)
 *
 *   reaction = max frame + PFC frame + 2 cable + response of the other end + own interface
 *   headroom = reaction + lossless frame
 *
 * Each frame has its 20 bytes of preamble and gap. A switch that counts a frame once all of it is
 * received detects xoff up to a frame late: whole_frames adds another lossless frame, without
 * preamble and gap. If packets are stored in cells, reaction grows by the share of small packets s
 * and the factor w (SONiC, buffer_headroom_*.lua), and headroom is rounded up to cells:
 *
 *   w = cell / 64 if cell > 128, else 2 cell / (1 + cell);  reaction' = reaction (1 - s + s w)
 *
 * Thresholds with which pauses cost no throughput:
 *
 *   xon = reaction (the XON frame travels the same way)
 *   xoff = xon + 2 lossless frames (as DCQCN's testbed, SIGCOMM 2015 section 4)
 *   size = xoff + headroom
 *
 * Returns NULL, or one line with the field that is out of range; *out is then unspecified.
 */
const char *adv_plan_headroom(const struct adv_plan_link *link, struct adv_plan_headroom *out);

/* The figures of NVIDIA's driver for its own buffers. */
struct adv_plan_mlx5 {
	uint64_t speed;	   /* Mb/s, at least 40,000 */
	uint64_t headroom; /* bytes above xoff */
	uint64_t max_mtu;  /* between xoff and xon: at least 9,216 bytes */
	uint64_t size;	   /* smallest buffer that the driver accepts, bytes */
};

/*
 * Linux drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c, calculate_xoff() and
 * update_xoff_threshold(): headroom = (301 + 2.16 length) speed + 2.72 MTU, with metres, Gb/s and
 * bytes, in its integers; size >= headroom + max MTU + cell. Speed in bit/s, length in mm (counted
 * as whole metres, rounded up), MTU and cell in bytes; within the limits above, length up to
 * 1,000 km.
 */
void adv_plan_headroom_mlx5(uint64_t speed, uint64_t length, uint64_t mtu, uint32_t cell,
			    struct adv_plan_mlx5 *out);

#endif
