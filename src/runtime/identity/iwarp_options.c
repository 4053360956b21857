/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/iwarp_options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SEPARATORS " ,"

/* The values of an option, and what they set. */
static const struct value {
	const char *text;
	enum adv_mpa_crc crc;
	bool is_markers;
	bool markers;
} values[] = {
	{"crc=accept", ADV_MPA_CRC_ACCEPT, false, false},
	{"crc=require", ADV_MPA_CRC_REQUIRE, false, false},
	{"crc=refuse", ADV_MPA_CRC_REFUSE, false, false},
	{"markers=no", 0, true, false},
	{"markers=yes", 0, true, true},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct adv_iwarp_options options;
static char wrong[160]; /* empty: the environment's text is right */

static const struct value *find_value(const char *text, size_t len)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(values); i++)
		if (strlen(values[i].text) == len && memcmp(values[i].text, text, len) == 0)
			return &values[i];
	return NULL;
}

bool adv_iwarp_options_parse(const char *text, struct adv_iwarp_options *o, char *why,
			     size_t why_len)
{
	for (text += strspn(text, SEPARATORS); *text; text += strspn(text, SEPARATORS)) {
		size_t len = strcspn(text, SEPARATORS);
		const struct value *v = find_value(text, len);

		if (!v) {
			snprintf(why, why_len,
				 "'%.*s' is none of: crc=accept, crc=require, crc=refuse, "
				 "markers=yes, markers=no",
				 len < 32 ? (int)len : 32, text);
			return false;
		}
		if (v->is_markers)
			o->markers = v->markers;
		else
			o->crc = v->crc;
		text += len;
	}
	return true;
}

static void read_environment(void)
{
	const char *text = getenv(ADV_IWARP_VARIABLE);

	if (text && !adv_iwarp_options_parse(text, &options, wrong, sizeof(wrong)))
		memset(&options, 0, sizeof(options));
}

const struct adv_iwarp_options *adv_iwarp_options(void)
{
	pthread_once(&once, read_environment);
	return &options;
}

bool adv_iwarp_options_check(char *why, size_t why_len)
{
	pthread_once(&once, read_environment);
	if (*wrong)
		snprintf(why, why_len, "%s: %s", ADV_IWARP_VARIABLE, wrong);
	return !*wrong;
}
