/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The smaller and the larger of two numbers; numbers of untrusted text. Pure; any thread. */
#ifndef ADV_BASE_NUMBER_H
#define ADV_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t adv_number_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t adv_number_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the value of a hexadecimal digit of either case; -1: it is not one. */
static inline int adv_number_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the byte written as two hexadecimal digits at s; -1: they are not digits. */
static inline int adv_number_hex_byte(const char s[2])
{
	int high = adv_number_digit(s[0]), low = adv_number_digit(s[1]);

	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/*
 * Parses all of s[0..len) as a whole number up to max: decimal, or hexadecimal with 0x. Signs and
 * blanks are not allowed. Returns false and leaves *value unchanged if it is not such a number.
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
