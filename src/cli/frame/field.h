/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of a frame as one table, used for parsing and for printing. */
#ifndef ADV_CLI_FRAME_FIELD_H
#define ADV_CLI_FRAME_FIELD_H

#include "cli/frame/text.h"

enum adv_frame_layer {
	ADV_LAYER_ETHERNET,
	ADV_LAYER_NETWORK, /* IP, or GRH */
	ADV_LAYER_UDP,
	ADV_LAYER_BTH,
	ADV_LAYER_EXTENDED,
	ADV_LAYER_END,
};

enum adv_frame_form { ADV_FORM_DECIMAL, ADV_FORM_HEX, ADV_FORM_FLAG };

#define ADV_ON_IPV4 (1 << ADV_FRAME_V2_IPV4)
#define ADV_ON_IPV6 (1 << ADV_FRAME_V2_IPV6)
#define ADV_ON_V1   (1 << ADV_FRAME_V1)
#define ADV_ON_V2   (ADV_ON_IPV4 | ADV_ON_IPV6)
#define ADV_ON_ALL  (ADV_ON_V2 | ADV_ON_V1)

/* A field that is a number in struct adv_frame_text. */
struct adv_frame_field {
	const char *name;
	const char *header; /* name of the header, for messages */
	enum adv_frame_layer layer;
	enum adv_frame_form form;
	uint8_t kinds; /* ADV_ON_*: kinds of frames that have the field */
	uint16_t any;  /* adv_header_bits: opcodes with one of these headers have the field; 0: all
			  opcodes */
	uint8_t size;  /* size in struct adv_frame_text, bytes */
	size_t offset; /* offset in struct adv_frame_text */
	uint64_t max;
};

#define ADV_FRAME_FIELDS_MAX 64
extern const struct adv_frame_field adv_frame_fields[];
extern const unsigned adv_frame_field_count;

uint64_t adv_frame_field_get(const struct adv_frame_text *t, const struct adv_frame_field *f);
void adv_frame_field_set(struct adv_frame_text *t, const struct adv_frame_field *f, uint64_t value);

/* True if a frame of this kind and opcode has the field. */
bool adv_frame_field_is_in(const struct adv_frame_text *t, const struct adv_frame_field *f);

#endif
