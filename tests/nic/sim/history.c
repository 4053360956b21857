/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The history of a run: a hash for each packet on the wire, each completion with all its fields,
 * each event, and the counters of each engine. --compare runs a seed with and without the fast path
 * of the engine and compares the histories.
 */
#include <stdlib.h>

#include "base/fnv.h"
#include "sim.h"

void history_note(struct sim *s, const char *what, const void *data, size_t len)
{
	struct history *h = s->history;

	if (!h)
		return;
	if (h->count == h->room) {
		h->room = h->room ? 2 * h->room : 4096;
		h->note = xrealloc(h->note, h->room * sizeof(*h->note));
	}
	h->note[h->count++] =
		(struct note){what, s->now, adv_fnv_add_bytes(ADV_FNV_BASIS, data, len)};
}

void history_free(struct history *h)
{
	free(h->note);
	*h = (struct history){0};
}

static bool is_same(const struct note *a, const struct note *b)
{
	return a->what == b->what && a->at == b->at && a->hash == b->hash;
}

bool history_same(const struct history *a, const struct history *b, uint64_t seed)
{
	size_t i = 0;

	while (i < a->count && i < b->count && is_same(&a->note[i], &b->note[i]))
		i++;
	if (i == a->count && i == b->count)
		return true;
	printf("seed %llu: the fast path makes a difference at step %zu: ",
	       (unsigned long long)seed, i);
	for (unsigned k = 0; k < 2; k++) {
		const struct history *h = k ? b : a;

		if (i < h->count)
			printf("%s at %.3f us", h->note[i].what,
			       (double)(h->note[i].at - SEC) / 1000);
		else
			printf("nothing");
		printf(k ? " without it\n" : " with it, ");
	}
	return false;
}
