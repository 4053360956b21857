/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/observe/latencies.h"

#include <stdlib.h>

/* By queue pair. */
static int compare_pieces(const void *x, const void *y)
{
	const struct adv_object *a = x, *b = y;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

void adv_latencies_sort(struct adv_objects *pieces)
{
	if (pieces->count)
		qsort(pieces->list, pieces->count, sizeof(*pieces->list), compare_pieces);
}

bool adv_latencies_read(struct adv_objects *pieces, struct adv_control *c, uint32_t pid)
{
	bool good = adv_objects_read(pieces, c, ADV_RESOURCE_LATENCY, pid);

	adv_latencies_sort(pieces);
	return good;
}

/* Returns the position of the first piece of a queue pair, or of what is behind it. */
static size_t find_piece(const struct adv_objects *pieces, const struct adv_object *wanted)
{
	size_t from = 0, to = pieces->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare_pieces(&pieces->list[middle], wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void adv_latencies_of(const struct adv_objects *pieces, uint32_t pid, uint32_t qpn,
		      uint64_t bucket[ADV_LATENCY_BUCKETS])
{
	const struct adv_object wanted = {.number = qpn, .pid = pid};

	for (size_t i = find_piece(pieces, &wanted); i < pieces->count; i++) {
		const struct adv_object *piece = &pieces->list[i];

		if (compare_pieces(piece, &wanted) != 0)
			break;
		/* The program may have sent anything. */
		if (piece->latency.first > ADV_LATENCY_BUCKETS - ADV_RESOURCE_BUCKETS)
			continue;
		for (unsigned k = 0; k < ADV_RESOURCE_BUCKETS; k++)
			bucket[piece->latency.first + k] += piece->latency.count[k];
	}
}
