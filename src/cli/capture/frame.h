/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes frames of captured packets: adds Ethernet, IP and UDP headers with right checksums, and the
 * ICRC. A long packet (nic/wire/packet.h) becomes the packets of the path MTU that it stands for.
 * Pure functions; a record may have any contents that adv_tap_peek() lets pass.
 */
#ifndef ADV_CLI_CAPTURE_FRAME_H
#define ADV_CLI_CAPTURE_FRAME_H

#include "cli/frame/text.h"
#include "runtime/link/tap_ring.h"

struct adv_capture_frame {
	size_t len;	 /* bytes of the frame */
	size_t captured; /* of these: known; the rest is zeroes, or longer than snaplen */
	bool out;
	bool rebuilt;  /* no captured packet: adv_segment_start() */
	uint64_t time; /* ns since 1970 */
	struct adv_bth bth;
	uint32_t src_qpn; /* of a DETH; 0: the packet has none */
	uint32_t own_qpn; /* of a TCP segment: the process's queue pair; 0: it is a packet */
	uint8_t bytes[ADV_FRAME_BYTES_MAX];
};

/*
 * Makes frame i of a record; i is at most record->more. data: the record's headers and payload.
 * snaplen: most bytes to keep. The frame has Ethernet addresses of zeroes, a UDP checksum over all
 * it covers (over the pseudo header only, as with offload, if the payload is not known), and over
 * IPv4 Identification 0 and Don't Fragment. The ICRC fits these headers, unless a fault plan has
 * damaged it. False: the packet cannot be a frame.
 */
bool adv_capture_frame_make(const struct adv_tap_record *record, const uint8_t *data, unsigned i,
			    uint32_t snaplen, struct adv_capture_frame *frame);

#endif
