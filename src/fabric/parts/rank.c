/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of other processes. Each rank has all parts, but simulates its own only. Between two steps
 * the ranks send each other the states and outboxes of their parts. What a rank has received is in
 * the parts of the sender, where the rest of the simulation reads it like that of a thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/parts/part.h"

/* ---- ranks ---- */

uint32_t adv_rank_first(const struct adv_parts *all, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * all->count / all->ranks->of->count);
}

uint32_t adv_part_rank(const struct adv_parts *all, uint32_t part)
{
	uint32_t rank = 0;

	while (adv_rank_first(all, rank + 1) <= part)
		rank++;
	return rank;
}

bool adv_ranks_open(struct adv_parts *all, const struct adv_ranks *of)
{
	struct adv_part_ranks *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	all->ranks = r;
	r->of = of;
	r->out = calloc(of->count, sizeof(*r->out));
	r->in = calloc(of->count, sizeof(*r->in));
	r->engine = calloc(all->whole->config.topology->hosts, sizeof(*r->engine));
	r->acknowledged = calloc(all->whole->jobs + 1ul, sizeof(*r->acknowledged));
	all->begin = adv_rank_first(all, of->rank);
	all->end = adv_rank_first(all, of->rank + 1);
	return r->out && r->in && r->engine && r->acknowledged;
}

void adv_ranks_fail(const struct adv_parts *all, const char *why)
{
	all->ranks->of->fail(all->ranks->of->user, why);
}

/* Ends all ranks, because what `from` has sent could not be read. */
static void fail_reading(const struct adv_parts *all, uint32_t from)
{
	char why[64];

	snprintf(why, sizeof(why), "rank %u has sent what cannot be read", from);
	adv_ranks_fail(all, all->whole->no_memory ? "no memory" : why);
}

struct adv_mail *adv_ranks_mail(struct adv_parts *all, uint32_t rank)
{
	return &all->ranks->out[rank];
}

void adv_ranks_swap(const struct adv_ranks *of, struct adv_mail *out, struct adv_mail *in)
{
	for (uint32_t r = 0; r < of->count; r++)
		if (out[r].failed)
			of->fail(of->user, "no memory");
	of->exchange(of->user, out, in);
	for (uint32_t r = 0; r < of->count; r++)
		adv_mail_clear(&out[r]);
}

void adv_ranks_exchange(struct adv_parts *all)
{
	adv_ranks_swap(all->ranks->of, all->ranks->out, all->ranks->in);
}

void adv_ranks_read(struct adv_parts *all, adv_ranks_read_fn *read, unsigned what)
{
	for (uint32_t r = 0; r < all->ranks->of->count; r++)
		if (r != all->ranks->of->rank &&
		    !read(all, r, what, adv_mail_read(&all->ranks->in[r])))
			fail_reading(all, r);
}

/* ---- a step ---- */

/* The state of a part, as it is sent. The earliest arrivals of what it has sent follow, then its
 * outboxes to the parts of the receiver. */
struct part_head {
	uint64_t next;
	uint64_t done_to;
	uint64_t left;
	uint64_t ended_at;
	uint64_t events;
	uint64_t reports;
	uint64_t now;
	uint64_t all_events;
	uint64_t lost;
	uint32_t ended_level;
	uint32_t jobs_left;
	uint32_t endless;
	uint32_t failed;
};

struct box_head {
	uint32_t frames;
	uint32_t telemetries;
	uint32_t failures;
};

static void add_state(struct adv_mail *m, const struct adv_part *p, unsigned parity)
{
	const struct adv_part_state *s = &p->state[parity];
	const struct adv_fabric *f = &p->fabric;
	struct part_head h = {.next = s->next,
			      .done_to = s->done_to,
			      .left = s->left,
			      .ended_at = s->ended_at,
			      .events = s->events,
			      .reports = s->reports,
			      .now = f->now,
			      .all_events = f->events,
			      .lost = f->lost,
			      .ended_level = s->ended_level,
			      .jobs_left = f->jobs_left,
			      .endless = f->endless,
			      .failed = s->failed};

	adv_mail_add(m, &h, sizeof(h));
	adv_mail_add(m, s->first, p->all->count * sizeof(s->first[0]));
}

static void add_box(struct adv_mail *m, const struct adv_outbox *box)
{
	struct box_head h = {box->frames, box->telemetries, box->failures};

	adv_mail_add(m, &h, sizeof(h));
	adv_mail_add(m, box->frame, box->frames * sizeof(*box->frame));
	adv_mail_add(m, box->telemetry, box->telemetries * sizeof(*box->telemetry));
	adv_mail_add(m, box->failure, box->failures * sizeof(*box->failure));
}

static bool read_state(struct adv_part *p, unsigned parity, struct adv_mail_reader *r)
{
	struct adv_part_state *s = &p->state[parity];
	struct adv_fabric *f = &p->fabric;
	struct part_head h;

	if (!adv_mail_take(r, &h, sizeof(h)) ||
	    !adv_mail_take(r, s->first, p->all->count * sizeof(s->first[0])))
		return false;
	s->next = h.next;
	s->done_to = h.done_to;
	s->left = h.left;
	s->ended_at = h.ended_at;
	s->events = h.events;
	s->reports = h.reports;
	s->ended_level = h.ended_level;
	s->failed = h.failed != 0;
	f->now = h.now;
	f->events = h.all_events;
	f->lost = h.lost;
	f->jobs_left = h.jobs_left;
	f->endless = h.endless;
	return true;
}

/* True if a frame may be put on its wire, which leads to part `to`. */
static bool is_good_frame(const struct adv_part *to, const struct adv_crossing *c)
{
	const struct adv_fabric *f = &to->fabric;
	uint32_t hosts = f->config.topology->hosts;
	struct adv_packet p;

	memcpy(&p, c->packet, sizeof(p));
	if (p.external || c->wire >= f->wires || !f->wire[c->wire].crosses ||
	    to->all->of_node[f->wire[c->wire].to.node] != to->index || p.at < f->now)
		return false;
	if (p.kind == ADV_PACKET_PAUSE)
		return true; /* most other fields are undefined */
	return p.kind == ADV_PACKET_DATA && p.bytes >= ADV_FRAME_MIN &&
	       p.priority < ADV_PRIORITIES && p.to < hosts && p.from < hosts &&
	       p.header_len <= ADV_HEADERS_MAX && c->offset <= ADV_FABRIC_MESSAGE_MAX &&
	       p.payload_len <= ADV_FABRIC_MESSAGE_MAX - c->offset;
}

/* Reads frames into an outbox that has room. False: one of them is wrong. */
static bool read_frames(const struct adv_part *to, struct adv_outbox *box, const uint8_t *frames,
			const struct box_head *h)
{
	uint32_t with_telemetry = 0;

	for (; box->frames < h->frames; box->frames++) {
		struct adv_crossing *c = &box->frame[box->frames];
		struct adv_packet p;

		memcpy(c, frames + (size_t)box->frames * sizeof(*c), sizeof(*c));
		if (!is_good_frame(to, c))
			return false;
		memcpy(&p, c->packet, sizeof(p));
		with_telemetry += p.has_telemetry;
	}
	return with_telemetry == h->telemetries;
}

static bool read_telemetry(struct adv_outbox *box, const uint8_t *telemetry, uint32_t count)
{
	for (; box->telemetries < count; box->telemetries++) {
		struct adv_packet_telemetry *t = &box->telemetry[box->telemetries];
		const uint8_t *from = telemetry + (size_t)box->telemetries * sizeof(*t);

		if (from[offsetof(struct adv_packet_telemetry, echo)] > 1)
			return false;
		memcpy(t, from, sizeof(*t));
		if (t->of.hops > ADV_TELEMETRY_HOPS)
			return false;
	}
	return true;
}

/* The job of a failure belongs to another rank, so its status is set here too. */
static bool read_failures(const struct adv_part *to, struct adv_outbox *box,
			  const uint8_t *failures, uint32_t count)
{
	struct adv_fabric *f = to->all->whole;

	for (; box->failures < count; box->failures++) {
		struct adv_crossing_failure *x = &box->failure[box->failures];

		memcpy(x, failures + (size_t)box->failures * sizeof(*x), sizeof(*x));
		if (x->job >= f->jobs || adv_part_of_waiters(f, x->job) != to->index ||
		    x->at < to->fabric.now || x->status > IBV_WC_TM_RNDV_INCOMPLETE)
			return false;
		f->job[x->job].state.status = x->status;
	}
	return true;
}

static bool read_box(const struct adv_part *to, struct adv_outbox *box, struct adv_mail_reader *r)
{
	const uint8_t *frames, *telemetry, *failures;
	struct box_head h;

	if (!adv_mail_take(r, &h, sizeof(h)))
		return false;
	frames = adv_mail_take_many(r, h.frames, sizeof(*box->frame));
	telemetry = frames ? adv_mail_take_many(r, h.telemetries, sizeof(*box->telemetry)) : NULL;
	failures = telemetry ? adv_mail_take_many(r, h.failures, sizeof(*box->failure)) : NULL;
	if (!failures)
		return false;
	if (!adv_outbox_reserve(box, h.frames, h.telemetries, h.failures)) {
		to->all->whole->no_memory = true;
		return false;
	}
	return read_frames(to, box, frames, &h) && read_telemetry(box, telemetry, h.telemetries) &&
	       read_failures(to, box, failures, h.failures);
}

bool adv_ranks_read_step(struct adv_parts *all, uint32_t from, unsigned parity,
			 struct adv_mail_reader r)
{
	bool good = true;

	for (uint32_t i = adv_rank_first(all, from); good && i < adv_rank_first(all, from + 1);
	     i++) {
		good = read_state(all->part[i], parity, &r);
		for (uint32_t k = all->begin; good && k < all->end; k++)
			good = read_box(all->part[k], &all->part[i]->out[parity][k], &r);
	}
	return good && r.left == 0;
}

void adv_ranks_write_step(const struct adv_parts *all, uint32_t to, unsigned parity,
			  struct adv_mail *m)
{
	for (uint32_t i = all->begin; i < all->end; i++) {
		add_state(m, all->part[i], parity);
		for (uint32_t k = adv_rank_first(all, to); k < adv_rank_first(all, to + 1); k++)
			add_box(m, &all->part[i]->out[parity][k]);
	}
}

void adv_ranks_step(struct adv_parts *all, unsigned parity)
{
	for (uint32_t r = 0; r < all->ranks->of->count; r++)
		if (r != all->ranks->of->rank)
			adv_ranks_write_step(all, r, parity, adv_ranks_mail(all, r));
	adv_ranks_exchange(all);
	adv_ranks_read(all, adv_ranks_read_step, parity);
}

/* ---- commands of rank 0 ---- */

void adv_ranks_command(struct adv_parts *all, const struct adv_rank_command *c)
{
	for (uint32_t r = 1; r < all->ranks->of->count; r++)
		adv_mail_add(adv_ranks_mail(all, r), c, sizeof(*c));
	adv_ranks_exchange(all);
}

void adv_ranks_receive_command(struct adv_parts *all, struct adv_rank_command *c)
{
	struct adv_mail_reader r;

	adv_ranks_exchange(all);
	r = adv_mail_read(&all->ranks->in[0]);
	if (!adv_mail_take(&r, c, sizeof(*c)) || r.left || c->what > ADV_RANKS_END)
		fail_reading(all, 0);
}

void adv_ranks_close(struct adv_parts *all)
{
	struct adv_part_ranks *r = all->ranks;

	if (!r)
		return;
	if (r->of->rank == 0 && r->out && r->in)
		adv_ranks_command(all, &(struct adv_rank_command){.what = ADV_RANKS_END});
	for (uint32_t i = 0; i < r->of->count; i++) {
		if (r->out)
			adv_mail_free(&r->out[i]);
		if (r->in)
			adv_mail_free(&r->in[i]);
	}
	free(r->out);
	free(r->in);
	free(r->engine);
	free(r->acknowledged);
	free(r);
}
