/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/memory.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	  4096 /* the smallest page of the supported machines */
#define LANES	  4
#define LANE_SIZE 16   /* bytes that a lane takes at once */
#define NO_HOW	  (-1) /* no operation of rt_sigprocmask(2) */

__extension__ typedef unsigned __int128 wide;

/* Random odd numbers. */
static const uint64_t keys[LANES] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu,
				     0xe7037ed1a0b428dbu};

/*
 * True if the page can be read. rt_sigprocmask(2) reads the 8 bytes of its second argument before
 * it refuses the first one, and fails with EFAULT if it cannot. It changes nothing.
 */
static bool is_readable(uintptr_t page)
{
	return syscall(SYS_rt_sigprocmask, (long)NO_HOW, page, NULL, (long)(_NSIG / 8)) == 0 ||
	       errno != EFAULT;
}

static bool are_readable(uintptr_t addr, size_t length)
{
	uintptr_t end = addr + length;

	for (uintptr_t page = addr & ~(uintptr_t)(PAGE - 1); page < end; page += PAGE)
		if (!is_readable(page))
			return false;
	return end >= addr;
}

bool adv_check_memory_is_unmapped(uintptr_t addr, size_t length)
{
	const uintptr_t end = addr + length;
	unsigned char resident[256];

	for (uintptr_t at = addr & ~(uintptr_t)(PAGE - 1), next; at < end; at = next) {
		next = end - at > sizeof(resident) * PAGE ? at + sizeof(resident) * PAGE : end;
		if (mincore((void *)at, next - at, resident) < 0 && errno == ENOMEM)
			return true;
	}
	return end < addr;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Mixes 16 bytes into a lane. */
static uint64_t mix(const uint8_t *p, uint64_t key, uint64_t lane)
{
	uint64_t word[2];

	memcpy(word, p, sizeof(word));
	return fold(word[0] ^ key, word[1] ^ lane);
}

/* The lanes do not wait for each other's multiplications. */
static uint64_t hash_bytes(const uint8_t *p, size_t length, uint64_t seed)
{
	uint64_t lane[LANES];
	uint8_t last[LANE_SIZE] = {0};
	size_t left = length;

	for (unsigned k = 0; k < LANES; k++)
		lane[k] = fold(seed ^ keys[k], keys[LANES - 1 - k]);
	/* Written out, so that the lanes stay in registers. */
	for (; left >= LANES * LANE_SIZE; left -= LANES * LANE_SIZE, p += LANES * LANE_SIZE) {
		lane[0] = mix(p, keys[0], lane[0]);
		lane[1] = mix(p + LANE_SIZE, keys[1], lane[1]);
		lane[2] = mix(p + 2 * LANE_SIZE, keys[2], lane[2]);
		lane[3] = mix(p + 3 * LANE_SIZE, keys[3], lane[3]);
	}
	for (; left >= LANE_SIZE; left -= LANE_SIZE, p += LANE_SIZE)
		lane[0] = mix(p, keys[0], lane[0]);
	memcpy(last, p, left);
	lane[1] = mix(last, keys[1] ^ length, lane[1]);
	return fold(lane[0] ^ keys[2], lane[1] ^ keys[3]) ^
	       fold(lane[2] ^ keys[0], lane[3] ^ keys[1]);
}

bool adv_check_memory_hash(uintptr_t addr, size_t length, uint64_t *hash)
{
	if (!are_readable(addr, length))
		return false;
	*hash = hash_bytes((const uint8_t *)addr, length, *hash);
	return true;
}
