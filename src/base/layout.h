/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of a message as a table, which serves its reader and its writer. */
#ifndef ADV_BASE_LAYOUT_H
#define ADV_BASE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct adv_layout;

struct adv_field {
	uint16_t at;   /* its first byte in the message */
	uint8_t shift; /* bits of its bytes that are below it */
	uint8_t bits;  /* at most 64 with `shift`; 0: the member is copied as it is, or has a layout
			*/
	size_t into;   /* the member of the structure: its offset */
	size_t size;   /* and its size: 1, 2, 4 or 8, unless `bits` is 0 */
	unsigned up; /* the field has the member's bits from this one on; those below come first */
	const struct adv_layout *of; /* a member that is a structure; NULL: it is not */
};

/* Sets `into` and `size`. */
#define ADV_FIELD_INTO(type, member)                                                               \
	.into = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct adv_layout {
	const struct adv_field *field;
	unsigned count;
	bool little; /* numbers are little-endian; otherwise in network order */
};

/* The layout of a table. */
#define ADV_LAYOUT_BE(fields)                                                                      \
	{                                                                                          \
		fields, ADV_ARRAY_SIZE(fields), false                                              \
	}
#define ADV_LAYOUT_LE(fields)                                                                      \
	{                                                                                          \
		fields, ADV_ARRAY_SIZE(fields), true                                               \
	}

/* Sets the members of a structure from a message. */
void adv_layout_decode(const struct adv_layout *l, const uint8_t *in, void *out);
/* Sets the fields of a message, and no other bits. Values are cut to the width of their field. */
void adv_layout_encode(const struct adv_layout *l, const void *in, uint8_t *out);

#endif
