/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes pcapng (draft-ietf-opsawg-pcapng): one section with its interfaces, packets and
 * statistics. Times are ns since 1970. The caller checks ferror() of the file. */
#ifndef ADV_CLI_CAPTURE_PCAPNG_H
#define ADV_CLI_CAPTURE_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Begins a section. Returns the number of bytes written, like the other functions. */
size_t adv_pcapng_section(FILE *f, const char *application);

/* Describes an interface of Ethernet frames. Interfaces are numbered from 0 in each section. name,
 * description: at most 200 bytes are used. snaplen: 0: no limit. */
size_t adv_pcapng_interface(FILE *f, const char *name, const char *description, uint32_t snaplen);

struct adv_pcapng_packet {
	uint32_t interface;
	uint64_t time;
	bool out;	     /* sent; otherwise received */
	uint64_t lost;	     /* packets that are missing before this one */
	const char *comment; /* NULL: none; at most 200 bytes are used */
	const uint8_t *bytes;
	size_t captured; /* bytes that are known, at most len */
	size_t len;
};

size_t adv_pcapng_packet(FILE *f, const struct adv_pcapng_packet *p);

/* The sums of an interface at the time `now`. */
struct adv_pcapng_sums {
	uint64_t start;	    /* time of the capture's start */
	uint64_t received;  /* packets that passed, without those dropped */
	uint64_t dropped;   /* packets that are missing */
	uint64_t delivered; /* packets in the file */
};

size_t adv_pcapng_statistics(FILE *f, uint32_t interface, uint64_t now,
			     const struct adv_pcapng_sums *sums);

#endif
