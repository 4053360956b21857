/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Quotes of untrusted text in messages. Pure; any thread. */
#ifndef ADV_BASE_SHOWN_H
#define ADV_BASE_SHOWN_H

#include <stddef.h>
#include <string.h>

#define ADV_SHOWN_MOST 36

struct adv_shown {
	char text[ADV_SHOWN_MOST + 4];
};

/* Returns the first `most` characters (ADV_SHOWN_MOST at most) of s[0..len). '?' replaces each
 * character that is not printable ASCII. If there are more characters, "..." follows. */
static inline struct adv_shown adv_show(const char *s, size_t len, size_t most)
{
	struct adv_shown out;
	size_t i;

	for (i = 0; i < len && i < most; i++)
		out.text[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
	strcpy(out.text + i, i < len ? "..." : "");
	return out;
}

#endif
