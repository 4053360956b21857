/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A RoCE frame as words of text, NAME=VALUE with blanks between them (docs/frame.md), and back.
 * Pure: any text and any bytes may be given.
 */
#ifndef ADV_CLI_FRAME_TEXT_H
#define ADV_CLI_FRAME_TEXT_H

#include <stdio.h>

#include "wire/frame.h"
#include "wire/headers.h"

#define ADV_FRAME_BYTES_MAX   66000 /* more than any frame has */
#define ADV_FRAME_TRAILER_MAX 256
#define ADV_FRAME_WHY	      200

struct adv_frame_text {
	struct adv_frame frame; /* transport, transport_len are set by adv_frame_text_build() */
	struct adv_headers headers;
	/* Parts of what stands in frame and headers as one number. */
	uint16_t vlan;
	uint8_t pcp;
	uint8_t dei;
	uint8_t dscp;
	uint8_t ecn;
	uint32_t immdt; /* host order */
	bool has_opcode;
	bool has_transport; /* bytes[] is BTH to padding, and headers say nothing */
	bool has_icrc;	    /* frame.icrc is to be written whatever it should be */
	bool has_pad;
	uint64_t given; /* bit by field of the table that a text had */
	size_t len;	/* of bytes[]: the payload, without padding, or all of it */
	size_t trailer_len;
	uint8_t trailer[ADV_FRAME_TRAILER_MAX]; /* behind the ICRC, as Ethernet pads short frames */
	uint8_t bytes[ADV_FRAME_BYTES_MAX];
};

/*
 * Reads the words of one frame. Fields that are not named get a usual value: see docs/frame.md.
 * False: why[] says in one printable line which word is wrong, and what was expected.
 */
bool adv_frame_text_parse(struct adv_frame_text *t, const char *text, size_t len,
			  char why[ADV_FRAME_WHY]);

/*
 * Writes the frame that t says, ICRC and IPv4 checksum computed where they are not given. Returns
 * its length, or 0: why[] says what cannot be (too long; no such room).
 */
size_t adv_frame_text_build(struct adv_frame_text *t, uint8_t *out, size_t room,
			    char why[ADV_FRAME_WHY]);

/*
 * Dissects a frame, so that adv_frame_text_build() gives the same bytes again. Where its transport
 * is of an unknown opcode, or has reserved bits set, it has no fields: has_transport. *good_icrc:
 * whether the ICRC is right. Errors are those of adv_frame_parse(); a trailer too long is
 * malformed.
 */
enum adv_frame_error adv_frame_text_read(struct adv_frame_text *t, const uint8_t *frame, size_t len,
					 bool *good_icrc);

/* As one line of words that adv_frame_text_parse() takes. */
void adv_frame_text_print(const struct adv_frame_text *t, FILE *f);

/* As a tree, a line a layer; payload only as its length and first bytes. */
void adv_frame_text_print_tree(const struct adv_frame_text *t, bool good_icrc, FILE *f);

/* As members of a JSON object: numbers as numbers, the rest as strings. */
struct json_object;
void adv_frame_text_add_json(const struct adv_frame_text *t, bool good_icrc,
			     struct json_object *to);

#endif
