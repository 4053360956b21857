/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_BASE_ARRAY_H
#define ADV_BASE_ARRAY_H

/* The number of elements of an array. Do not pass a pointer: -Wsizeof-pointer-div rejects it. */
#define ADV_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
