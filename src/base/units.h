/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Quantities as a person writes them: "400Gb/s", "9000B", "32MiB", "100m", "1.5us", "50%". Strict:
 * a unit is needed, its letters' size counts, the value is exact. Pure; any thread.
 */
#ifndef ADV_BASE_UNITS_H
#define ADV_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adv_unit {
	ADV_UNIT_BYTES,	 /* bytes: B kB MB GB (powers of 1000), KiB MiB GiB (of 1024) */
	ADV_UNIT_RATE,	 /* bits a second: b/s kb/s Mb/s Gb/s Tb/s; also bit/s..., bps... */
	ADV_UNIT_TIME,	 /* picoseconds: ps ns us ms s */
	ADV_UNIT_LENGTH, /* millimetres: mm cm m km */
	ADV_UNIT_RATIO,	 /* of ADV_RATIO_ONE: 0.5, 1/8, 50% */
	ADV_UNIT_COUNT,	 /* a whole number without unit */
};

#define ADV_RATIO_ONE	 UINT64_C(1000000000)
#define ADV_UNITS_WHY	 192
#define ADV_QUANTITY_MAX UINT64_C(1000000000000000000) /* in the base unit; more is refused */

/*
 * Reads one quantity of this kind from all of text[0..len) (no blanks, no sign) into the base unit
 * given above. Where it cannot: false, and why[] says in one line what is wrong and what was
 * expected, the text in it made printable; *value is untouched.
 */
bool adv_units_parse(enum adv_unit kind, const char *text, size_t len, uint64_t *value,
		     char why[ADV_UNITS_WHY]);

#define ADV_UNITS_TEXT 32

/*
 * Writes a quantity in the largest unit (of powers of 1000) in which it is 1 or more, rounded to at
 * most three digits after the point: "22.4 kB", "100 Gb/s", "614.4 ns". A ratio as "0.125", bytes
 * below 10,000 as "9216 B". For people; not exact. Returns text.
 */
const char *adv_units_print(enum adv_unit kind, uint64_t value, char text[ADV_UNITS_TEXT]);

#endif
