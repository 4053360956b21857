/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/observe/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

static void add_counters(struct adv_counters *sum, const struct adv_counters *more)
{
	uint64_t a[ADV_COUNTERS_USED], b[ADV_COUNTERS_USED];

	memcpy(a, sum, sizeof(a));
	memcpy(b, more, sizeof(b));
	for (size_t i = 0; i < ADV_COUNTERS_USED; i++)
		a[i] += b[i];
	memcpy(sum, a, sizeof(a));
}

/* Returns the process of a slot, which it adds if it is new. NULL: ENOMEM. */
static struct adv_sample_process *process_of(struct adv_sample *s,
					     const struct adv_control_entry *e)
{
	struct adv_sample_process *p;

	for (size_t i = 0; i < s->count; i++) {
		p = &s->process[i];
		if (p->pid == e->pid && p->uid == e->uid &&
		    (e->pid || strcmp(p->comm, e->comm) == 0))
			return p;
	}
	if (!adv_grow_to(&s->process, s->count + 1, sizeof(*p)))
		return NULL;
	p = &s->process[s->count++];
	*p = (struct adv_sample_process){.pid = e->pid, .uid = e->uid};
	memcpy(p->comm, e->comm, sizeof(p->comm));
	return p;
}

/* Adds a slot to its process. 0 or errno. */
static int add_slot(struct adv_sample *s, struct adv_control *c, const struct adv_control_entry *e)
{
	struct adv_sample_process *p;
	struct adv_counters counters;
	int error = adv_control_slot_counters(c, e->slot, &counters);

	if (error == ENOENT)
		return 0; /* the process has ended since */
	if (error && error != EPERM)
		return error;
	p = process_of(s, e);
	if (!p)
		return ENOMEM;
	p->slots++;
	if (e->age_ms > p->age_ms)
		p->age_ms = e->age_ms;
	if (!error) {
		p->counted = true;
		add_counters(&p->counters, &counters);
	}
	return 0;
}

int adv_sample_read(struct adv_sample *s, struct adv_control *c)
{
	struct adv_control_entry e = {.slot = 0};
	uint64_t begin = adv_clock_ns();
	char why[ADV_RAILS_WHY];
	int error;

	memset(s, 0, sizeof(*s));
	if (!adv_gid_table_read(adv_control_gids(c), &s->gids))
		return EAGAIN;
	s->rails = adv_rail_list_get(&s->gids, why, sizeof(why));
	if (!s->rails) {
		fprintf(stderr, "adverb: %s\n", why);
		return EINVAL;
	}
	error = adv_control_status(c, &s->status);
	if (!error)
		error = adv_control_counters(c, NULL, &s->total);
	if (!error)
		error = adv_rail_list_count(c, s->rails, s->rail);
	while (!error && (error = adv_control_list(c, e.slot, &e)) == 0) {
		error = add_slot(s, c, &e);
		e.slot++;
	}
	s->at = begin + (adv_clock_ns() - begin) / 2;
	return error == ENOENT ? 0 : error;
}

void adv_sample_free(struct adv_sample *s)
{
	free(s->process);
	s->process = NULL;
	s->count = 0;
}
