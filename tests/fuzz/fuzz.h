/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interface of a fuzz target for libFuzzer, and for replay.c in a build without libFuzzer. */
#ifndef ADV_FUZZ_H
#define ADV_FUZZ_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Returns the number of open descriptors below 128. A run must leave it unchanged. */
static inline unsigned fuzz_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 128; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
