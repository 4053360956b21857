/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How far the parts may advance in a step.
 *
 * No part goes beyond the earliest event of all plus the lookahead. A part is a leader while it has
 * transfers that have not ended. When its last one ends it stops at that event, and follows from
 * then on: the run cannot end before any leader's next event, so up to there a follower may go.
 * While there are followers, leaders go ahead by half of the lookahead at a time. So a follower's
 * step and the leaders' next one are at the same time. When no leader is left, the run has ended at
 * the last of the events at which they stopped.
 */
#include "fabric/parts/part.h"

#include "base/number.h"

/* ---- plan ---- */

/* What the states of all parts say. */
struct survey {
	uint64_t base;	    /* earliest event of all parts, or less */
	uint64_t lead_base; /* of the leaders */
	uint64_t lead_most; /* latest of the leaders' next events */
	uint64_t done_to;   /* most */
	uint64_t events;
	uint64_t reports;
	uint32_t leaders;
	bool failed;
	uint64_t ended_at; /* the last event at which a part stopped */
	uint32_t ended_level;
};

/* Returns a time before which a part has no event. */
static uint64_t next_of(const struct adv_parts *all, unsigned parity, uint32_t part)
{
	const struct adv_part_state *s = &all->part[part]->state[parity];
	uint64_t next = s->next;

	for (uint32_t i = 0; i < all->count; i++)
		next = adv_number_min(next, all->part[i]->state[parity].first[part]);
	return adv_number_max(next, s->done_to);
}

static struct survey survey_parts(const struct adv_parts *all, unsigned parity)
{
	struct survey v = {.base = ADV_CALENDAR_NEVER, .lead_base = ADV_CALENDAR_NEVER};

	for (uint32_t i = 0; i < all->count; i++) {
		const struct adv_part_state *s = &all->part[i]->state[parity];
		uint64_t next = next_of(all, parity, i);

		v.base = adv_number_min(v.base, next);
		v.done_to = adv_number_max(v.done_to, s->done_to);
		v.events += s->events;
		v.reports += s->reports;
		v.failed |= s->failed;
		if (s->left || !all->ends) {
			v.leaders++;
			v.lead_base = adv_number_min(v.lead_base, next);
			v.lead_most = adv_number_max(v.lead_most, next);
		} else if (s->ended_at > v.ended_at) {
			v.ended_at = s->ended_at;
			v.ended_level = s->ended_level;
		} else if (s->ended_at == v.ended_at && s->ended_level > v.ended_level) {
			v.ended_level = s->ended_level;
		}
	}
	return v;
}

struct adv_step_plan adv_part_plan(const struct adv_parts *all, unsigned parity)
{
	struct survey v = survey_parts(all, parity);
	bool pause = v.events >= all->events || v.reports >= ADV_PART_REPORTS;
	uint64_t limit =
		pause && v.done_to ? adv_number_min(all->limit, v.done_to - 1) : all->limit;
	struct adv_step_plan plan = {.verdict = ADV_VERDICT_ON, .at = limit};

	if (v.failed) {
		plan.verdict = ADV_VERDICT_FAILED;
	} else if (!v.leaders) {
		plan.verdict = ADV_VERDICT_END;
		plan.at = v.ended_at;
		plan.level = v.ended_level;
	} else if (v.base > limit) {
		plan.verdict = limit < all->limit ? ADV_VERDICT_EVENTS : ADV_VERDICT_LIMIT;
	}
	plan.lead_to = plan.follow_to = adv_number_min(limit + 1, v.base + all->lookahead);
	plan.follow_to = adv_number_min(plan.follow_to, v.lead_most);
	if (v.leaders < all->count)
		plan.lead_to = adv_number_min(plan.lead_to, v.lead_base + all->lookahead / 2);
	return plan;
}

/* ---- advance ---- */

static void process_event(struct adv_part *p, const struct adv_calendar_event *e)
{
	if (e->at != p->level_at || e->what > p->level) {
		p->level_at = e->at;
		p->level = e->what;
	}
	adv_fabric_process(&p->fabric, *e);
}

static bool has_failed(const struct adv_fabric *f)
{
	return f->no_memory || f->pool.failed || adv_calendar_failed(f->calendar);
}

void adv_part_advance(struct adv_part *p, const struct adv_step_plan *plan)
{
	struct adv_fabric *f = &p->fabric;
	bool leads = f->jobs_left || f->endless || !p->all->ends;
	uint64_t to = leads ? plan->lead_to : plan->follow_to;
	const struct adv_calendar_event *e;

	if (to <= p->done_to)
		return;
	while ((e = adv_calendar_take(f->calendar, to - 1))) {
		process_event(p, e);
		if (has_failed(f))
			return;
		if (f->done) {
			f->done = false;
			p->done_to = p->ended_at = f->now;
			p->ended_level = p->level;
			return;
		}
	}
	p->done_to = to;
}

void adv_part_finish(struct adv_part *p, const struct adv_step_plan *plan)
{
	struct adv_fabric *f = &p->fabric;
	const struct adv_calendar_event *e;

	if (p->ended_at == plan->at && p->ended_level == plan->level)
		return;
	while ((e = adv_calendar_peek(f->calendar, plan->at)) &&
	       (e->at < plan->at || e->what <= plan->level)) {
		process_event(p, adv_calendar_take(f->calendar, plan->at));
		if (has_failed(f))
			return;
	}
	p->done_to = plan->at;
}

void adv_part_publish(struct adv_part *p, unsigned parity)
{
	struct adv_part_state *s = &p->state[parity];
	const struct adv_fabric *f = &p->fabric;

	s->next = adv_calendar_next(f->calendar);
	s->done_to = p->done_to;
	s->left = (uint64_t)f->jobs_left + f->endless;
	s->ended_at = p->ended_at;
	s->ended_level = p->ended_level;
	s->events = f->events - p->events_before;
	s->reports = p->reports;
	s->failed = has_failed(f);
}
