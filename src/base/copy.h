/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_BASE_COPY_H
#define ADV_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As memcpy(3), for payload of any length. That of the shortest messages, 8 to 16 bytes, is copied
 * without a call, as two words that may overlap each other. */
static inline void adv_copy(void *to, const void *from, size_t n)
{
	const size_t word = sizeof(uint64_t);
	uint64_t first, last;

	if (n < word || n > 2 * word) {
		memcpy(to, from, n);
		return;
	}
	memcpy(&first, from, word);
	memcpy(&last, (const char *)from + n - word, word);
	memcpy(to, &first, word);
	memcpy((char *)to + n - word, &last, word);
}

#endif
