/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of packets in the formats of libpcap (pcap-savefile(5), pcapng), in memory; and out, in the
 * classic one. Of Ethernet, or "cooked" by Linux as of all interfaces at once (LINKTYPE_LINUX_SLL
 * and SLL2 of tcpdump.org's list). Pure but for FILE; any bytes may be read.
 */
#ifndef ADV_CLI_FRAME_PCAP_H
#define ADV_CLI_FRAME_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ADV_PCAP_WHY	    128
#define ADV_PCAP_FRAME_MAX  262144 /* as libpcap's */

#define ADV_PCAP_INTERFACES 64 /* of a pcapng's section */

struct adv_pcap {
	uint8_t *data;
	size_t len;
	size_t at;	   /* of the next packet, or block */
	uint32_t link_now; /* link type of the latest packet; in a classic file of all */
	bool swapped;
	bool pcapng;
	unsigned interfaces; /* of pcapng, up to here */
	uint16_t link[ADV_PCAP_INTERFACES];
	uint32_t longest[ADV_PCAP_INTERFACES]; /* 0: no limit */
};

/* Whether the bytes begin as a capture file of either kind. */
bool adv_pcap_is_capture(const uint8_t *data, size_t len);

/* Begins with a whole file in memory, which stays the caller's, but is written to: cooked headers
 * become Ethernet's. False: why[] says what it is not. */
bool adv_pcap_open(struct adv_pcap *p, uint8_t *data, size_t len, char why[ADV_PCAP_WHY]);

/*
 * The next frame, in the file's own memory; one that was cooked has no destination address (0), and
 * a source address where the interface had one. *whole: it was captured to its end. False: at the
 * end of the file, where why[0] is 0, or what follows is no packet, and why[] says so.
 */
bool adv_pcap_next(struct adv_pcap *p, const uint8_t **frame, size_t *len, bool *whole,
		   char why[ADV_PCAP_WHY]);

/* Write the head of a file, and a packet at that many microseconds; ferror(3) tells of errors. */
void adv_pcap_write_head(FILE *f);
void adv_pcap_write(FILE *f, uint64_t us, const uint8_t *frame, size_t len);

#endif
