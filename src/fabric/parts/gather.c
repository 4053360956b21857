/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Results of the parts of other ranks. They become the values of this rank's own hosts, switches
 * and transfers, which do not run here, so all queries of the fabric return them. */
#include <string.h>

#include "fabric/parts/part.h"
#include "fabric/switch/copy.h"

/* ---- what a rank owns ---- */

static bool owns_node(const struct adv_parts *all, uint32_t rank, uint32_t node)
{
	return adv_part_rank(all, all->of_node[node]) == rank;
}

static bool owns_job(const struct adv_parts *all, uint32_t rank, uint32_t job)
{
	return adv_part_rank(all, all->whole->job[job].part) == rank;
}

/* True if the rank knows adv_fabric_received() of a connection. */
static bool owns_receiver(const struct adv_parts *all, uint32_t rank, uint32_t connection)
{
	const struct adv_fabric_connection *c = &all->whole->peer[connection].config;
	bool at_initiator = c->operation == ADV_FABRIC_READ && !all->whole->config.engine.selective;

	return owns_node(all, rank, at_initiator ? c->initiator : c->target);
}

static void add_received(const struct adv_fabric *f, uint32_t connection, struct adv_mail *m)
{
	uint64_t received = adv_fabric_received(f, connection);

	adv_mail_add(m, &received, sizeof(received));
}

static struct adv_switch_copy copy_of(enum adv_gather what)
{
	return (struct adv_switch_copy){.take_peaks = what == ADV_GATHER_RESULTS,
					.stuck = what == ADV_GATHER_WAITS};
}

/* ---- write ---- */

static void add_host(struct adv_fabric_host *h, enum adv_gather what, struct adv_mail *m)
{
	adv_egress_write(&h->egress, copy_of(what), m);
	adv_mail_add(m, &h->counters, sizeof(h->counters));
	adv_mail_add(m, adv_engine_counters(h->engine), sizeof(struct adv_engine_counters));
}

/* A transfer, as it is sent. */
struct transfer {
	uint64_t done;
	uint64_t start;
	uint64_t end;
	uint64_t acknowledged;
	uint64_t status;
};

static void add_job(const struct adv_fabric *f, uint32_t job, struct adv_mail *m)
{
	const struct adv_fabric_transfer_state *t = &f->job[job].state;
	struct transfer v = {t->done, t->start, t->end, adv_fabric_acknowledged(f, job),
			     (uint64_t)t->status};

	adv_mail_add(m, &v, sizeof(v));
}

void adv_ranks_write_results(struct adv_parts *all, enum adv_gather what, struct adv_mail *m)
{
	struct adv_fabric *f = all->whole;
	const struct adv_topology *t = f->config.topology;
	uint32_t rank = all->ranks->of->rank;

	for (uint32_t h = 0; what != ADV_GATHER_WAITS && h < t->hosts; h++)
		if (owns_node(all, rank, h))
			add_host(&f->host[h], what, m);
	for (uint32_t s = 0; s < t->switches; s++)
		if (owns_node(all, rank, t->hosts + s))
			adv_switch_write(f->node[s].sw, copy_of(what), m);
	for (uint32_t j = 0; what == ADV_GATHER_RESULTS && j < f->jobs; j++)
		if (owns_job(all, rank, j))
			add_job(f, j, m);
	for (uint32_t c = 0; what == ADV_GATHER_RESULTS && c < f->peers; c++)
		if (owns_receiver(all, rank, c))
			add_received(f, c, m);
}

/* ---- read ---- */

static bool read_host(struct adv_parts *all, uint32_t host, struct adv_mail_reader *r)
{
	struct adv_fabric_host *h = &all->whole->host[host];

	return adv_egress_read(&h->egress, r) &&
	       adv_mail_take(r, &h->counters, sizeof(h->counters)) &&
	       adv_mail_take(r, &all->ranks->engine[host], sizeof(struct adv_engine_counters));
}

static bool read_job(struct adv_parts *all, uint32_t job, struct adv_mail_reader *r)
{
	struct adv_fabric_transfer_state *t = &all->whole->job[job].state;
	struct transfer v;

	if (!adv_mail_take(r, &v, sizeof(v)) || v.status > IBV_WC_TM_RNDV_INCOMPLETE ||
	    v.done > t->bytes)
		return false;
	t->done = v.done;
	t->start = v.start;
	t->end = v.end;
	t->status = (enum ibv_wc_status)v.status;
	all->ranks->acknowledged[job] = v.acknowledged;
	return true;
}

bool adv_ranks_read_results(struct adv_parts *all, uint32_t from, unsigned what,
			    struct adv_mail_reader r)
{
	struct adv_fabric *f = all->whole;
	const struct adv_topology *t = f->config.topology;
	bool good = true, full = what == ADV_GATHER_RESULTS;

	for (uint32_t h = 0; what != ADV_GATHER_WAITS && good && h < t->hosts; h++)
		good = !owns_node(all, from, h) || read_host(all, h, &r);
	for (uint32_t s = 0; good && s < t->switches; s++)
		good = !owns_node(all, from, t->hosts + s) ||
		       adv_switch_read(f->node[s].sw, copy_of((enum adv_gather)what), &r);
	for (uint32_t j = 0; full && good && j < f->jobs; j++)
		good = !owns_job(all, from, j) || read_job(all, j, &r);
	for (uint32_t c = 0; full && good && c < f->peers; c++)
		good = !owns_receiver(all, from, c) ||
		       adv_mail_take(&r, &f->peer[c].received, sizeof(f->peer[c].received));
	for (uint32_t i = 0; i < all->count; i++)
		f->no_memory |= all->part[i]->fabric.pool.failed;
	return good && r.left == 0;
}

void adv_ranks_gather(struct adv_parts *all, enum adv_gather what)
{
	uint32_t rank = all->ranks->of->rank, receivers = 1;
	struct adv_mail *first;

	if (what == ADV_GATHER_WAITS)
		receivers = all->ranks->of->count;
	/* All receivers get the same. */
	first = adv_ranks_mail(all, rank == 0 ? receivers - 1 : 0);
	if (rank != 0 || receivers > 1)
		adv_ranks_write_results(all, what, first);
	for (uint32_t r = 0; r < receivers; r++) {
		struct adv_mail *m = adv_ranks_mail(all, r);

		if (r != rank && m != first)
			adv_mail_add(m, first->data, first->len);
	}
	adv_ranks_exchange(all);
	if (rank == 0 || receivers > 1)
		adv_ranks_read(all, adv_ranks_read_results, what);
}
