/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shm_ring [-s bytes] [-r ring bytes] [-t seconds]: messages through a ring of 4 KiB cells in
 * shared memory. One process copies them in, the other copies them out, and both spin. This is the
 * floor of traffic between two programs of one machine with private buffers.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "floor.h"

#define CELL 4096u

struct ring {
	_Alignas(128) _Atomic uint64_t head; /* cells written */
	_Alignas(128) _Atomic uint64_t tail; /* cells read */
	_Alignas(128) _Atomic int stop;
	_Alignas(4096) uint8_t cell[];
};

static size_t bytes = 65536;
static uint64_t cells = 1024;

/* Waits for cells to read; returns their number, or 0 when the sender has stopped. */
static uint64_t await_cells(struct ring *r, uint64_t tail)
{
	uint64_t head;

	while ((head = atomic_load_explicit(&r->head, memory_order_acquire)) == tail)
		if (atomic_load_explicit(&r->stop, memory_order_relaxed))
			return 0;
	return head - tail;
}

static void receiver(void *arg)
{
	struct ring *r = arg;
	uint8_t *to = calloc(1, MAX(bytes, CELL));
	uint64_t tail = 0;
	size_t at = 0;
	uint64_t n;

	if (!to)
		floor_die("calloc");
	while ((n = await_cells(r, tail))) {
		for (; n; n--) {
			size_t part = MIN(CELL, bytes - at);

			memcpy(to + at, r->cell + tail % cells * CELL, part);
			at = at + part == bytes ? 0 : at + part;
			atomic_store_explicit(&r->tail, ++tail, memory_order_release);
		}
	}
	free(to);
}

static uint64_t stream(struct ring *r, double seconds, uint64_t *took)
{
	uint8_t *from = calloc(1, bytes);
	uint64_t start = floor_now();
	uint64_t head = 0;
	uint64_t messages = 0;

	if (!from)
		floor_die("calloc");
	do {
		for (size_t at = 0; at < bytes; at += CELL) {
			while (head - atomic_load_explicit(&r->tail, memory_order_acquire) >= cells)
				;
			memcpy(r->cell + head % cells * CELL, from + at, MIN(CELL, bytes - at));
			atomic_store_explicit(&r->head, ++head, memory_order_release);
		}
		messages++;
		*took = floor_now() - start;
	} while ((double)*took < seconds * 1e9);
	free(from);
	return messages;
}

int main(int argc, char **argv)
{
	double seconds = 0.5;
	struct ring *r;
	uint64_t took;
	uint64_t messages;
	pid_t child;
	int option;

	while ((option = getopt(argc, argv, "s:r:t:")) != -1) {
		if (option == 's')
			bytes = (size_t)atol(optarg);
		else if (option == 'r')
			cells = (uint64_t)atol(optarg) / CELL;
		else if (option == 't')
			seconds = atof(optarg);
		else
			return 2;
	}
	if (bytes == 0 || cells == 0)
		return 2;
	r = floor_shared(sizeof(*r) + cells * CELL);
	child = floor_child(receiver, r);
	messages = stream(r, seconds, &took);
	atomic_store(&r->stop, 1);
	floor_join(child);
	printf("shm_ring bytes=%zu gbps=%.2f\n", bytes,
	       (double)messages * (double)bytes * 8 / (double)took);
	return 0;
}
