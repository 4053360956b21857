/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers in a text from elsewhere. Pure; any thread. */
#ifndef ADV_BASE_NUMBER_H
#define ADV_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a hexadecimal digit of either case stands for; -1: it is none. */
static inline int adv_number_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of the two hexadecimal digits at s; -1: they are none. */
static inline int adv_number_hex_byte(const char s[2])
{
	int high = adv_number_digit(s[0]), low = adv_number_digit(s[1]);

	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/*
 * A whole number up to max, decimal or 0x and hexadecimal, that is all of s[0..len): no sign, no
 * blanks. False: it is none or is greater, *value is as it was.
 */
static inline bool adv_number_read(const char *s, size_t len, uint64_t max, uint64_t *value)
{
	uint64_t base = 10;
	uint64_t v = 0;

	if (len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		s += 2;
		len -= 2;
	}
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		int d = adv_number_digit(s[i]);

		if (d < 0 || (uint64_t)d >= base || (uint64_t)d > max ||
		    v > (max - (uint64_t)d) / base)
			return false;
		v = v * base + (uint64_t)d;
	}
	*value = v;
	return true;
}

#endif
