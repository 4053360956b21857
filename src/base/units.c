/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/shown.h"

#define SHOWN	   24 /* quoted characters in a message */
#define DIGITS_MAX 18

struct unit {
	const char *name;
	uint64_t scale; /* base units */
};

/* Printed units first, in ascending order. If units have the same scale, the first one is printed.
 */
static const struct unit bytes[] = {{"B", 1},
				    {"kB", 1000},
				    {"MB", 1000000},
				    {"GB", 1000000000},
				    {"TB", 1000000000000},
				    {"KiB", 1 << 10},
				    {"MiB", 1 << 20},
				    {"GiB", 1 << 30},
				    {"TiB", UINT64_C(1) << 40},
				    {"K", 1 << 10},
				    {"M", 1 << 20},
				    {"G", 1 << 30},
				    {"T", UINT64_C(1) << 40},
				    {"k", 1 << 10},
				    {NULL, 0}};
static const struct unit rates[] = {{"b/s", 1},
				    {"bit/s", 1},
				    {"bps", 1},
				    {"kb/s", 1000},
				    {"kbit/s", 1000},
				    {"kbps", 1000},
				    {"Mb/s", 1000000},
				    {"Mbit/s", 1000000},
				    {"Mbps", 1000000},
				    {"Gb/s", 1000000000},
				    {"Gbit/s", 1000000000},
				    {"Gbps", 1000000000},
				    {"Tb/s", 1000000000000},
				    {"Tbit/s", 1000000000000},
				    {"Tbps", 1000000000000},
				    {NULL, 0}};
static const struct unit times[] = {{"ps", 1},		{"ns", 1000},	      {"us", 1000000},
				    {"ms", 1000000000}, {"s", 1000000000000}, {NULL, 0}};
static const struct unit lengths[] = {
	{"mm", 1}, {"m", 1000}, {"km", 1000000}, {"cm", 10}, {NULL, 0}};
static const struct unit ratios[] = {{"", ADV_RATIO_ONE}, {"%", ADV_RATIO_ONE / 100}, {NULL, 0}};
static const struct unit counts[] = {{"", 1}, {NULL, 0}};

#define ALL(units) (ADV_ARRAY_SIZE(units) - 1)

static const struct {
	const struct unit *units;
	size_t printed;
	const char *expected;
} kinds[] = {
	[ADV_UNIT_BYTES] = {bytes, 5, "bytes, such as 9000B, 12MB (12,000,000) or 32M (32MiB)"},
	[ADV_UNIT_RATE] = {rates, ALL(rates), "bits a second, such as 100Gb/s"},
	[ADV_UNIT_TIME] = {times, ALL(times), "a time, such as 500ns or 1.5us"},
	[ADV_UNIT_LENGTH] = {lengths, 3, "a length, such as 3m or 0.5km"},
	[ADV_UNIT_RATIO] = {ratios, ALL(ratios), "a ratio, such as 0.5, 1/8 or 50%"},
	[ADV_UNIT_COUNT] = {counts, ALL(counts), "a whole number"},
};

/* Multiplies by 10^n. False: the result has more than 18 digits. */
static bool scale_up(uint64_t *value, unsigned n)
{
	for (; n && *value < ADV_QUANTITY_MAX / 10; n--)
		*value *= 10;
	return n == 0;
}

/* Parses an exponent such as "e-5". Returns the characters read; 0: none, or a value that is too
 * large or too fine. */
static size_t read_exponent(const char *s, size_t len, uint64_t *integer, uint64_t *divisor)
{
	bool minus = len > 1 && s[1] == '-';
	size_t i = minus || (len > 1 && s[1] == '+') ? 2 : 1, first = i;
	unsigned n = 0;

	if (len == 0 || (s[0] != 'e' && s[0] != 'E'))
		return 0;
	for (; i < len && i < first + 2 && s[i] >= '0' && s[i] <= '9'; i++)
		n = n * 10 + (unsigned)(s[i] - '0');
	if (i == first || !scale_up(minus ? divisor : integer, n))
		return 0;
	return i;
}

/* Parses digits with at most one point, as integer / divisor. Returns the characters read; 0: none.
 */
static size_t read_number(const char *s, size_t len, uint64_t *integer, uint64_t *divisor)
{
	bool point = false;
	unsigned digits = 0;
	size_t i;

	*integer = 0;
	*divisor = 1;
	for (i = 0; i < len; i++) {
		if (s[i] == '.' && !point && digits && i + 1 < len && s[i + 1] >= '0' &&
		    s[i + 1] <= '9') {
			point = true;
			continue;
		}
		if (s[i] < '0' || s[i] > '9')
			break;
		if (++digits > DIGITS_MAX)
			return 0;
		*integer = *integer * 10 + (unsigned)(s[i] - '0');
		*divisor *= point ? 10 : 1;
	}
	return i;
}

static const struct unit *find_unit(const struct unit *u, const char *name, size_t len)
{
	for (; u->name; u++)
		if (strlen(u->name) == len && memcmp(u->name, name, len) == 0)
			return u;
	return NULL;
}

/* Returns a unit that has the same letters in another case; NULL: there is none. */
static const struct unit *similar_unit(const struct unit *u, const char *name, size_t len)
{
	for (; u->name; u++)
		if (len && strlen(u->name) == len && strncasecmp(u->name, name, len) == 0)
			return u;
	return NULL;
}

static void explain_unit(enum adv_unit kind, const char *text, size_t len, size_t number,
			 char why[ADV_UNITS_WHY])
{
	const struct unit *similar = similar_unit(kinds[kind].units, text + number, len - number);
	struct adv_shown all = adv_show(text, len, SHOWN),
			 unit = adv_show(text + number, len - number, SHOWN);

	if (number == len)
		snprintf(why, ADV_UNITS_WHY, "'%s' has no unit: expected %s", all.text,
			 kinds[kind].expected);
	else if (kind == ADV_UNIT_BYTES && strcmp(unit.text, "KB") == 0)
		snprintf(why, ADV_UNITS_WHY, "'%s': write kB (1000 bytes) or K (1024)", all.text);
	else if (kind == ADV_UNIT_RATE && len - number == 4 && text[number + 1] == 'B')
		snprintf(why, ADV_UNITS_WHY, "'%s' counts bytes: expected %s", all.text,
			 kinds[kind].expected);
	else if (similar)
		snprintf(why, ADV_UNITS_WHY, "'%s': no unit '%s'; did you mean '%s'?", all.text,
			 unit.text, similar->name);
	else
		snprintf(why, ADV_UNITS_WHY, "'%s': no unit '%s' here: expected %s", all.text,
			 unit.text, kinds[kind].expected);
}

/* Computes integer / divisor * scale. False if it is not whole, or too large. */
static bool scale_to(uint64_t integer, uint64_t divisor, uint64_t scale, uint64_t *value)
{
	unsigned __int128 v = (unsigned __int128)integer * scale;

	if (divisor == 0 || v % divisor != 0 || v / divisor > ADV_QUANTITY_MAX)
		return false;
	*value = (uint64_t)(v / divisor);
	return true;
}

/* Parses a ratio like "1/8". */
static bool read_fraction(const char *text, size_t len, size_t number, uint64_t integer,
			  uint64_t *value)
{
	uint64_t below, one;
	size_t n = read_number(text + number + 1, len - number - 1, &below, &one);

	return n && number + 1 + n == len && one == 1 &&
	       scale_to(integer, below, ADV_RATIO_ONE, value);
}

bool adv_units_parse(enum adv_unit kind, const char *text, size_t len, uint64_t *value,
		     char why[ADV_UNITS_WHY])
{
	uint64_t integer, divisor;
	size_t n = read_number(text, len, &integer, &divisor);
	const struct unit *u;

	if (n == 0) {
		snprintf(why, ADV_UNITS_WHY, "'%s': expected %s", adv_show(text, len, SHOWN).text,
			 kinds[kind].expected);
		return false;
	}
	if (kind == ADV_UNIT_RATIO)
		n += read_exponent(text + n, len - n, &integer, &divisor);
	if (kind == ADV_UNIT_RATIO && n < len && text[n] == '/' && divisor == 1 &&
	    read_fraction(text, len, n, integer, value))
		return true;
	u = find_unit(kinds[kind].units, text + n, len - n);
	if (!u) {
		explain_unit(kind, text, len, n, why);
		return false;
	}
	if (!scale_to(integer, divisor, u->scale, value)) {
		snprintf(why, ADV_UNITS_WHY,
			 kind == ADV_UNIT_COUNT
				 ? "'%s' is too large, or not a whole number"
				 : "'%s' is too large, or too fine for the smallest unit",
			 adv_show(text, len, SHOWN).text);
		return false;
	}
	return true;
}

bool adv_units_parse_plain(enum adv_unit kind, const char *text, size_t len, uint64_t *value,
			   char why[ADV_UNITS_WHY])
{
	size_t digits = 0;

	while (digits < len && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	return adv_units_parse(len && digits == len ? ADV_UNIT_COUNT : kind, text, len, value, why);
}

/* Writes the value in units of `scale`, rounded to three decimals, without trailing zeros. */
static const char *print_scaled(uint64_t value, uint64_t scale, const char *unit,
				char text[ADV_UNITS_TEXT])
{
	unsigned __int128 thousandths = ((unsigned __int128)value * 1000 + scale / 2) / scale;
	unsigned rest = (unsigned)(thousandths % 1000);
	char fraction[16] = "";
	int digits = 3;

	for (; rest && rest % 10 == 0; rest /= 10)
		digits--;
	if (rest)
		snprintf(fraction, sizeof(fraction), ".%0*u", digits, rest);
	snprintf(text, ADV_UNITS_TEXT, "%" PRIu64 "%s%s%s", (uint64_t)(thousandths / 1000),
		 fraction, *unit ? " " : "", unit);
	return text;
}

const char *adv_units_print(enum adv_unit kind, uint64_t value, char text[ADV_UNITS_TEXT])
{
	const struct unit *units = kinds[kind].units, *best = units;

	if (kind == ADV_UNIT_RATIO)
		return print_scaled(value, ADV_RATIO_ONE, "", text);
	if (kind == ADV_UNIT_BYTES && value < 10000)
		return print_scaled(value, 1, "B", text);
	for (const struct unit *u = units; u < units + kinds[kind].printed; u++)
		if (value >= u->scale && u->scale > best->scale)
			best = u;
	return print_scaled(value, best->scale, best->name, text);
}

const char *adv_units_exact(enum adv_unit kind, uint64_t value, char text[ADV_UNITS_TEXT])
{
	const struct unit *units = kinds[kind].units, *best = units;

	for (const struct unit *u = units; u->name; u++) {
		if (value && value % u->scale == 0 && u->scale > best->scale)
			best = u;
	}
	snprintf(text, ADV_UNITS_TEXT, "%" PRIu64 "%s", value / best->scale, best->name);
	return text;
}
