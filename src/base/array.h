/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_BASE_ARRAY_H
#define ADV_BASE_ARRAY_H

#include <stddef.h>

/* The number of elements of an array. Do not pass a pointer: -Wsizeof-pointer-div rejects it. */
#define ADV_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Returns names[value], or "unknown" if value is not below count or has no name (NULL). */
static inline const char *adv_array_name(const char *const *names, size_t count, unsigned value)
{
	return value < count && names[value] ? names[value] : "unknown";
}

#endif
