/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parses quantities that a person writes: "400Gb/s", "9000B", "32MiB", "256M", "100m", "1.5us",
 * "50%", "1e-5". The unit is required except for adv_units_parse_plain(), upper and lower case
 * differ, and the value is exact. Pure; any thread.
 */
#ifndef ADV_BASE_UNITS_H
#define ADV_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adv_unit {
	ADV_UNIT_BYTES,	 /* bytes: B kB MB GB TB (powers of 1000), KiB MiB GiB TiB and, as of qemu,
			  * fio and dd, K k M G T (of 1024) */
	ADV_UNIT_RATE,	 /* bits a second: b/s kb/s Mb/s Gb/s Tb/s; also bit/s..., bps... */
	ADV_UNIT_TIME,	 /* picoseconds: ps ns us ms s */
	ADV_UNIT_LENGTH, /* millimetres: mm cm m km */
	ADV_UNIT_RATIO,	 /* multiples of 1 / ADV_RATIO_ONE: 0.5, 1/8, 50% */
	ADV_UNIT_COUNT,	 /* a whole number without unit */
};

#define ADV_RATIO_ONE	 UINT64_C(1000000000)
#define ADV_UNITS_WHY	 192
#define ADV_QUANTITY_MAX UINT64_C(1000000000000000000) /* base units; more is rejected */

/*
 * Parses all of text[0..len), without blanks or a sign, as a quantity of this kind, in the base
 * unit above. On error returns false and leaves *value unchanged; why[] is then one line with the
 * error and the expected form. Quoted text in it is printable.
 */
bool adv_units_parse(enum adv_unit kind, const char *text, size_t len, uint64_t *value,
		     char why[ADV_UNITS_WHY]);

/* As adv_units_parse(), but accepts a whole number without a unit too: a number of base units. */
bool adv_units_parse_plain(enum adv_unit kind, const char *text, size_t len, uint64_t *value,
			   char why[ADV_UNITS_WHY]);

#define ADV_UNITS_TEXT 32

/*
 * Writes a quantity in the largest unit (of powers of 1000) in which it is at least 1, rounded to
 * three decimals: "22.4 kB", "100 Gb/s", "614.4 ns". A ratio is written as "0.125", bytes below
 * 10,000 as "9216 B". The result is for people, and not exact. Returns the argument `text`.
 */
const char *adv_units_print(enum adv_unit kind, uint64_t value, char text[ADV_UNITS_TEXT]);

/* Writes a quantity in the largest unit in which it is a whole number: "4MiB", "10ms", "86400s".
 * The result is exact, and adv_units_parse() reads it: for limits in messages. Not of ratios.
 * Returns the argument `text`. */
const char *adv_units_exact(enum adv_unit kind, uint64_t value, char text[ADV_UNITS_TEXT]);

#endif
