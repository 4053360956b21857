/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory [-s bytes] [-t seconds]: memcpy() and CRC-32 of a block in the cache: the cost of touching
 * the payload once.
 */
#include <isa-l/crc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "floor.h"

#define BATCH 64

static size_t bytes = 65536;

static void copy(uint8_t *to, const uint8_t *from, uint32_t *crc)
{
	(void)crc;
	memcpy(to, from, bytes);
	__asm__ volatile("" : : "r"(to) : "memory");
}

static void sum(uint8_t *to, const uint8_t *from, uint32_t *crc)
{
	(void)to;
	*crc = crc32_gzip_refl(*crc, from, bytes);
}

static double rate(void (*fn)(uint8_t *, const uint8_t *, uint32_t *), uint8_t *to,
		   const uint8_t *from, double seconds)
{
	uint64_t start = floor_now();
	uint64_t took;
	uint64_t done = 0;
	uint32_t crc = 0;

	do {
		for (int i = 0; i < BATCH; i++)
			fn(to, from, &crc);
		done += BATCH * bytes;
		took = floor_now() - start;
	} while ((double)took < seconds * 1e9);
	__asm__ volatile("" : : "r"(crc));
	return (double)done * 8 / (double)took;
}

int main(int argc, char **argv)
{
	double seconds = 0.2;
	uint8_t *from;
	uint8_t *to;
	int option;

	while ((option = getopt(argc, argv, "s:t:")) != -1) {
		if (option == 's')
			bytes = (size_t)atol(optarg);
		else if (option == 't')
			seconds = atof(optarg);
		else
			return 2;
	}
	from = calloc(1, bytes);
	to = calloc(1, bytes);
	if (!from || !to)
		floor_die("calloc");
	floor_pin(0);
	printf("memory bytes=%zu memcpy_gbps=%.1f", bytes, rate(copy, to, from, seconds));
	printf(" crc_gbps=%.1f\n", rate(sum, to, from, seconds));
	free(from);
	free(to);
	return 0;
}
