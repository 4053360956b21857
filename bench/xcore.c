/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xcore: half round trip of one cache line between the two cores that the other benchmarks use,
 * in nanoseconds. About 25: two threads of one core; 50: one L3 cache; 200: two L3 caches. A
 * virtual machine may change between these within seconds, and with it the cost of everything
 * between cores.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "floor.h"

#define TURNS	 20000u
#define BLOCKS	 9
#define SPINS	 (1u << 16) /* spins before a yield: the other process may need this core */
#define PATIENCE (1u << 16)

struct line {
	_Alignas(128) _Atomic uint32_t turn;
};

static void await(struct line *l, uint32_t value)
{
	for (uint32_t tries = 0; tries < PATIENCE; tries++) {
		for (uint32_t i = 0; i < SPINS; i++)
			if (atomic_load_explicit(&l->turn, memory_order_acquire) == value)
				return;
		sched_yield();
	}
	floor_die("the other core does not answer");
}

static void answer(void *arg)
{
	struct line *l = arg;

	for (uint32_t i = 0; i < TURNS * BLOCKS; i++) {
		await(l, 2 * i + 1);
		atomic_store_explicit(&l->turn, 2 * i + 2, memory_order_release);
	}
}

int main(void)
{
	struct line *l = floor_shared(sizeof(*l));
	uint64_t took[BLOCKS];
	pid_t child = floor_child(answer, l);
	uint32_t i = 0;

	for (int b = 0; b < BLOCKS; b++) {
		uint64_t start = floor_now();

		for (uint32_t k = 0; k < TURNS; k++, i++) {
			atomic_store_explicit(&l->turn, 2 * i + 1, memory_order_release);
			await(l, 2 * i + 2);
		}
		took[b] = (floor_now() - start) / (2 * TURNS);
	}
	floor_join(child);
	printf("xcore ns=%llu\n", (unsigned long long)floor_quantile(took, BLOCKS, 0.5));
	return 0;
}
