/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads captures in the formats of libpcap (pcap-savefile(5), pcapng) from memory, and writes the
 * classic format. Link types are Ethernet, IP without a header (LINKTYPE_RAW of tcpdump.org's
 * list), and the two "cooked" types of Linux captures of all interfaces (LINKTYPE_LINUX_SLL and
 * SLL2). The functions accept any bytes. Those that read do no I/O. */
#ifndef ADV_CLI_FRAME_PCAP_H
#define ADV_CLI_FRAME_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ADV_PCAP_WHY	    128
#define ADV_PCAP_FRAME_MAX  262144 /* libpcap's limit */

#define ADV_PCAP_INTERFACES 64 /* interfaces of a section of a pcapng */

struct adv_pcap {
	uint8_t *data;
	size_t len;
	size_t at;	   /* offset of the next packet or block */
	uint32_t link_now; /* link type of the latest packet; in a classic file, of all packets */
	bool swapped;
	bool pcapng;
	unsigned interfaces; /* pcapng: interfaces read so far */
	uint16_t link[ADV_PCAP_INTERFACES];
	uint32_t longest[ADV_PCAP_INTERFACES]; /* 0: no limit */
};

/* True if the bytes begin like a capture in one of the two formats. */
bool adv_pcap_is_capture(const uint8_t *data, size_t len);

/* Begins to read a capture that is completely in memory. The caller still owns the memory, but
 * adv_pcap_next() modifies it: cooked headers become Ethernet headers. If the data is no capture,
 * fills why[] and returns false. */
bool adv_pcap_open(struct adv_pcap *p, uint8_t *data, size_t len, char why[ADV_PCAP_WHY]);

/* Sets *frame to the next frame, in the file's memory. A cooked frame gets destination address 0.
 * It gets a source address if the interface has one. Sets *whole if the frame was captured
 * completely. At the end of the file, sets why[0] to 0 and returns false. If the next bytes are no
 * packet, fills why[] and returns false. */
bool adv_pcap_next(struct adv_pcap *p, const uint8_t **frame, size_t *len, bool *whole,
		   char why[ADV_PCAP_WHY]);

/* Writes the header of a file. An error remains in the stream (ferror(3)). */
void adv_pcap_write_head(FILE *f);
/* Writes a packet with its time in microseconds. An error remains in the stream. */
void adv_pcap_write(FILE *f, uint64_t us, const uint8_t *frame, size_t len);

#endif
