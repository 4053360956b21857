/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the buffer that a lossless priority needs above its xoff threshold: room for all
 * packets that arrive after the decision to send a PFC frame. Pure functions on the caller's
 * structures. */
#ifndef ADV_FABRIC_PLAN_HEADROOM_H
#define ADV_FABRIC_PLAN_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a frame besides the interface's MTU: Ethernet header, one VLAN tag, FCS. */
#define ADV_PLAN_FRAME_OVERHEAD 22
/* Bytes on the wire that no buffer stores: preamble, start delimiter, smallest gap (IEEE 802.3). */
#define ADV_PLAN_WIRE_OVERHEAD 20
#define ADV_PLAN_PFC_FRAME     64
#define ADV_PLAN_FRAME_MIN     64
#define ADV_PLAN_FRAME_MAX     65600
#define ADV_PLAN_SPEED_MIN     1000000000ull	  /* bit/s */
#define ADV_PLAN_SPEED_MAX     100000000000000ull /* bit/s */
#define ADV_PLAN_DELAY_MAX     1000000000000ull	  /* ps, one way */
#define ADV_PLAN_BITS_MAX      1000000000000ull	  /* largest response_bits and interface_bits */
#define ADV_PLAN_CELL_MAX      4096

/* IEEE 802.1Q 36.1.3.3: a priority has to be silent 614.4 ns after its PFC frame has passed the
 * MAC ("higher layer delay", 6,144 bit times at 10 Gb/s). */
#define ADV_PLAN_HIGHER_LAYER_PS 614400ull

/* Fastest speed with a limit in IEEE 802.3, bit/s. */
#define ADV_PLAN_SPEED_LIMITS 400000000000ull
/* The response at 400 Gb/s: 905 quanta, ps. */
#define ADV_PLAN_RESPONSE_PS 1158400ull

struct adv_plan_link {
	uint64_t speed;		 /* bit/s */
	uint64_t delay;		 /* one-way delay of the cable, ps */
	uint64_t max_frame;	 /* largest frame of any priority of this port, bytes with FCS */
	uint64_t lossless_frame; /* largest frame of the lossless priority, bytes with FCS */
	uint64_t response_bits;	 /* peer: from the PFC frame at its connector until it is silent */
	uint64_t interface_bits; /* this end: MAC and PHY, both ways */
	uint32_t cell;		 /* cell in which the switch stores packets, bytes; 0: none */
	uint32_t small_packets;	 /* share of 64-byte packets, in units of 1 / ADV_RATIO_ONE */
	bool whole_frames;	 /* the switch counts a frame only when it is received completely */
};

/* The result, in bit times of the link if no other unit is given. */
struct adv_plan_headroom {
	uint64_t frame_ahead; /* frame just begun when the PFC frame becomes due */
	uint64_t pfc_frame;
	uint64_t cable;	      /* one way */
	uint64_t frame_begun; /* frame that the peer has just begun when it reacts */
	uint64_t reaction;    /* received before frame_begun, bytes */
	uint64_t occupied;    /* memory, in cells, for `reaction`, bytes */
	uint64_t headroom;    /* bytes */
	uint64_t xon;  /* bytes; with a smaller xon the queue is empty before XON takes effect */
	uint64_t xoff; /* bytes */
	uint64_t size; /* xoff + headroom, bytes */
};

/* Returns the bit times that a station may take from a PAUSE frame at its connector (MDI) until
 * it is silent (IEEE 802.3 31B.3.7, in quanta of 512 bits: 60 at 10 Gb/s, 80 at 25, 118 at 40,
 * 147 at 50, 394 at 100, 453 at 200, 905 at 400 Gb/s). Above 400 Gb/s the time of 400 Gb/s,
 * ADV_PLAN_RESPONSE_PS, is assumed: the limits of 200 and 400 Gb/s are about one time. 0: another
 * speed. */
uint64_t adv_plan_response_bits(uint64_t speed);

/* Returns the bit times of both ways through MAC and PHY at this speed:
 * adv_plan_response_bits() minus ADV_PLAN_HIGHER_LAYER_PS. 0: adv_plan_response_bits() does not
 * know the speed. */
uint64_t adv_plan_interface_bits(uint64_t speed);

/* Returns the number of bits that a link sends in `ps`, rounded up, at most UINT64_MAX. */
uint64_t adv_plan_bits(uint64_t speed, uint64_t ps);

/*
 * Computes headroom and thresholds of a priority by annex O of IEEE 802.1Q. The annex calls the
 * headroom "delay value". (WX_DV() in Linux drivers/net/ethernet/wangxun/libwx has the same terms,
 * and the annex's figures for 10 Gb/s. Cisco's guides for Nexus switches have the same sum.)
 *
 *   reaction = max frame + PFC frame + 2 cable + response of the peer + own interface
 *   headroom = reaction + lossless frame
 *
 * Each frame includes 20 bytes of preamble and gap. A switch that counts a frame only when it is
 * received completely detects xoff up to a frame late. whole_frames therefore adds another lossless
 * frame, without preamble and gap. If packets are stored in cells, reaction grows by the share s of
 * small packets and the factor w (SONiC, buffer_headroom_*.lua), and headroom is rounded up to
 * cells:
 *
 *   w = cell / 64 if cell > 128, else 2 cell / (1 + cell);  reaction' = reaction (1 - s + s w)
 *
 * Thresholds with which pauses cost no throughput:
 *
 *   xon = reaction (the XON frame travels the same way)
 *   xoff = xon + 2 lossless frames (like the testbed of DCQCN, SIGCOMM 2015, section 4)
 *   size = xoff + headroom
 *
 * Returns NULL, or one line with the field that is out of range; *out is then unspecified.
 */
const char *adv_plan_headroom(const struct adv_plan_link *link, struct adv_plan_headroom *out);

/* The figures that NVIDIA's driver computes for the NIC's buffers. */
struct adv_plan_mlx5 {
	uint64_t speed;	   /* Mb/s, at least 40,000 */
	uint64_t headroom; /* bytes above xoff */
	uint64_t max_mtu;  /* distance of xon below xoff: at least 9,216 bytes */
	uint64_t size;	   /* smallest buffer that the driver accepts, bytes */
};

/*
 * Computes these figures like calculate_xoff() and update_xoff_threshold() of Linux
 * drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c, with the same integer arithmetic:
 *
 *   headroom = (301 + 2.16 length) speed + 2.72 MTU, with metres, Gb/s and bytes
 *   size >= headroom + max MTU + cell
 *
 * Speed is in bit/s, length in mm (rounded up to whole metres, up to 1,000 km), MTU and cell in
 * bytes. All are within the limits above.
 */
void adv_plan_headroom_mlx5(uint64_t speed, uint64_t length, uint64_t mtu, uint32_t cell,
			    struct adv_plan_mlx5 *out);

#endif
