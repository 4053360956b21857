/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much buffer a lossless priority needs behind its xoff threshold, so that what still arrives
 * after the PFC frame was decided on finds room. Pure functions on the caller's structures.
 */
#ifndef ADV_FABRIC_PLAN_HEADROOM_H
#define ADV_FABRIC_PLAN_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Ethernet header, one VLAN tag, FCS: what a frame has on top of the interface's MTU. */
#define ADV_PLAN_FRAME_OVERHEAD 22
/* Preamble, start delimiter and the smallest gap (IEEE 802.3): on the wire, never stored. */
#define ADV_PLAN_WIRE_OVERHEAD 20
#define ADV_PLAN_PFC_FRAME     64
#define ADV_PLAN_FRAME_MIN     64
#define ADV_PLAN_FRAME_MAX     65600
#define ADV_PLAN_SPEED_MIN     1000000000ull	  /* bit/s */
#define ADV_PLAN_SPEED_MAX     100000000000000ull /* bit/s */
#define ADV_PLAN_DELAY_MAX     1000000000000ull	  /* ps, one way */
#define ADV_PLAN_BITS_MAX      1000000000000ull	  /* of response or interface delay */
#define ADV_PLAN_CELL_MAX      4096

/*
 * IEEE 802.1Q 36.1.3.3: a priority is to stand still 614.4 ns after its PFC frame has passed the
 * MAC ("higher layer delay", 6,144 bit times at 10 Gb/s).
 */
#define ADV_PLAN_HIGHER_LAYER_PS 614400ull

struct adv_plan_link {
	uint64_t speed;		 /* bit/s */
	uint64_t delay;		 /* of the cable, one way, ps */
	uint64_t max_frame;	 /* bytes with FCS: the largest of any priority of this port */
	uint64_t lossless_frame; /* ... of the lossless priority */
	uint64_t response_bits;	 /* the other end: from PFC frame at its connector to its silence */
	uint64_t interface_bits; /* this end: out through MAC and PHY, and in again */
	uint32_t cell;		 /* bytes of a cell that the switch stores packets in; 0: none */
	uint32_t small_packets;	 /* of ADV_RATIO_ONE: share of 64-byte packets in that traffic */
	bool whole_frames;	 /* the switch counts a frame when it has come in whole */
};

/* All in bits of the link's time, but where "bytes" is said. */
struct adv_plan_headroom {
	uint64_t frame_ahead; /* that had just begun when the PFC frame became due */
	uint64_t pfc_frame;
	uint64_t cable;	      /* one way */
	uint64_t frame_begun; /* that the other end had just begun when it obeyed */
	uint64_t reaction;    /* bytes that arrive before that last frame */
	uint64_t occupied;    /* bytes that those take up in cells: what is stored */
	uint64_t headroom;    /* bytes */
	uint64_t xon;	      /* bytes: with less, the queue runs dry while XON travels */
	uint64_t xoff;	      /* bytes */
	uint64_t size;	      /* bytes: xoff and headroom */
};

/*
 * What a station may take from a PAUSE frame at its connector (MDI) until it is silent, in bits
 * (IEEE 802.3 31B.3.7, in quanta of 512 bits: 60 at 10 Gb/s, 80 at 25, 118 at 40, 147 at 50, 394 at
 * 100, 453 at 200, 905 at 400 Gb/s). 0 for another speed.
 */
uint64_t adv_plan_response_bits(uint64_t speed);

/*
 * What an interface of this speed takes for both ways through MAC and PHY, in bits: the standard's
 * response limit is such an interface and the higher layer delay, so this is what is left. 0 for a
 * speed that adv_plan_response_bits() does not know.
 */
uint64_t adv_plan_interface_bits(uint64_t speed);

/* Bits that pass in this time, rounded up; UINT64_MAX where there are more. */
uint64_t adv_plan_bits(uint64_t speed, uint64_t ps);

/*
 * Headroom and thresholds of a priority, by annex O of IEEE 802.1Q (there called delay value; Linux
 * drivers/net/ethernet/wangxun/libwx has its terms and its figures for 10 Gb/s in WX_DV(), Cisco's
 * guides for Nexus switches have the same sum):
 *
 *   reaction = max frame + PFC frame + 2 cable + response of the other end + own interface
 *   headroom = reaction + lossless frame
 *
 * each frame with its 20 bytes of preamble and gap. A switch that counts frames when they are in
 * whole finds xoff crossed up to a frame late: with whole_frames another lossless frame is added,
 * without preamble and gap. Where packets are stored in cells, reaction grows by the share of small
 * packets s and the factor w (SONiC, buffer_headroom_*.lua):
 *
 *   w = cell / 64 where cell > 128, else 2 cell / (1 + cell);  reaction' = reaction (1 - s + s w)
 *
 * and headroom is rounded up to cells. Thresholds such that pausing costs no throughput either:
 *
 *   xon = reaction (the XON frame has the same way to go); xoff = xon + 2 lossless frames (the
 *   distance that DCQCN's testbed kept, SIGCOMM 2015 section 4); size = xoff + headroom
 *
 * Returns NULL, or one line that says which field is out of which range; *out is then unspecified.
 */
const char *adv_plan_headroom(const struct adv_plan_link *link, struct adv_plan_headroom *out);

/* As NVIDIA's driver reckons for its own buffers. */
struct adv_plan_mlx5 {
	uint64_t speed;	   /* Mb/s, 40,000 at least */
	uint64_t headroom; /* bytes above xoff */
	uint64_t max_mtu;  /* bytes between xoff and xon: 9,216 at least */
	uint64_t size;	   /* least size of the buffer that it takes */
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
