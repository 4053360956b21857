/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts a RoCE frame to and from text: words NAME=VALUE, separated by blanks (docs/frame.md).
 * The functions are pure and accept any text and any bytes. */
#ifndef ADV_CLI_FRAME_TEXT_H
#define ADV_CLI_FRAME_TEXT_H

#include <stdio.h>

#include "nic/wire/frame.h"
#include "nic/wire/headers.h"

#define ADV_FRAME_BYTES_MAX   66000 /* bytes; more than any frame needs */
#define ADV_FRAME_TRAILER_MAX 256
#define ADV_FRAME_WHY	      200

struct adv_frame_text {
	struct adv_frame frame; /* transport, transport_len are set by adv_frame_text_build() */
	struct adv_headers headers;
	/* Parts of numbers of `frame` and `headers`: */
	uint16_t vlan;
	uint8_t pcp;
	uint8_t dei;
	uint8_t dscp;
	uint8_t ecn;
	uint32_t immdt; /* host order */
	bool has_opcode;
	bool has_transport; /* bytes[] has everything from BTH to padding, and headers is not used
			     */
	bool has_icrc;	    /* frame.icrc is written even if it is wrong */
	bool has_pad;
	uint64_t given; /* fields that the text has: a bit for each one of adv_frame_fields */
	size_t len;	/* length of bytes[]: the payload without padding, or everything */
	size_t trailer_len;
	uint8_t trailer[ADV_FRAME_TRAILER_MAX]; /* bytes after the ICRC: Ethernet pads short frames
						 */
	uint8_t bytes[ADV_FRAME_BYTES_MAX];
};

/* Parses the words of one frame. Missing fields get their default (docs/frame.md). If a word is
 * wrong, returns false and fills why[] with one printable line: the word and the expected value. */
bool adv_frame_text_parse(struct adv_frame_text *t, const char *text, size_t len,
			  char why[ADV_FRAME_WHY]);

/* Builds the frame that t describes, and computes ICRC and IPv4 checksum if they are not given.
 * Returns its length. If the frame is too long, returns 0 and fills why[]. */
size_t adv_frame_text_build(struct adv_frame_text *t, uint8_t *out, size_t room,
			    char why[ADV_FRAME_WHY]);

/* Dissects a frame so that adv_frame_text_build() builds the same bytes again. If the opcode is
 * unknown or reserved bits are set, the transport has no fields and has_transport is set. Sets
 * *good_icrc if the ICRC is right. Errors are those of adv_frame_parse(); a frame with too long a
 * trailer is malformed. */
enum adv_frame_error adv_frame_text_read(struct adv_frame_text *t, const uint8_t *frame, size_t len,
					 bool *good_icrc);

/* Prints one line of words for adv_frame_text_parse(). */
void adv_frame_text_print(const struct adv_frame_text *t, FILE *f);

/* Prints one line with the addresses, the fields of the transport and the payload's length, for a
 * person. */
void adv_frame_text_print_packet(const struct adv_frame_text *t, bool good_icrc, FILE *f);

/* Prints a tree with one line for each layer, and the payload's length and first bytes. */
void adv_frame_text_print_tree(const struct adv_frame_text *t, bool good_icrc, FILE *f);

/* Adds a frame's fields to a JSON object: numbers as numbers, other values as strings. */
struct json_object;
void adv_frame_text_add_json(const struct adv_frame_text *t, bool good_icrc,
			     struct json_object *to);

#endif
