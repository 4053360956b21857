/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collects the data of the report's plots. Their amount is bounded for every run. */
#include "cli/sim/report_data.h"

#include <stdlib.h>

#include "base/units.h"
#include "cli/sim/report_bottleneck.h"
#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"

#define LINKS	 4000 /* most cables that are written: if there are more, only the busiest */
#define BUSIEST	 10
#define QUEUES	 6
#define SMALLEST 50 /* queues shorter than a 50th of the longest one are left out */
#define PAUSES	 24
#define FLOWS	 40
#define SECTIONS 8   /* [flow] sections whose completion times are written separately */
#define POINTS	 201 /* points of a distribution */
#define FRAMES	 32  /* a rate is an average over the time of at least this number of frames */
#define SHOWN	 40  /* sections of a kind whose keys are written */

static void add_columns(struct json_object *to, const char *key, const uint64_t *column, uint32_t n)
{
	struct json_object *list = adv_json_add_array(to, key);

	for (uint32_t i = 0; i < n; i++)
		adv_json_append(list, adv_json_number(column[i]));
}

/* ---- network ---- */

struct way {
	uint32_t link;
	uint32_t busy[2];
};

static int compare_ways(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	uint32_t most_x = x->busy[0] > x->busy[1] ? x->busy[0] : x->busy[1];
	uint32_t most_y = y->busy[0] > y->busy[1] ? y->busy[0] : y->busy[1];

	if (most_x != most_y)
		return most_x < most_y ? 1 : -1;
	return x->link < y->link ? -1 : x->link > y->link;
}

static struct json_object *link_to_json(const struct adv_topology_link *l, const struct way *w)
{
	struct json_object *o = adv_json_array();

	for (unsigned k = 0; k < 2; k++) {
		adv_json_append(o, adv_json_number(l->end[k].node));
		adv_json_append(o, adv_json_number(l->end[k].port));
	}
	for (unsigned k = 0; k < 2; k++)
		adv_json_append(o, adv_json_number(w->busy[k]));
	return o;
}

static bool add_network(const struct adv_report_part *p, struct json_object *to)
{
	const struct adv_topology *t = &p->sim->topology;
	struct way *way = calloc(t->links + 1ul, sizeof(*way));
	uint32_t n = t->links <= LINKS ? t->links : BUSIEST;
	struct json_object *list;

	if (!way)
		return false;
	for (uint32_t i = 0; i < t->links; i++) {
		way[i].link = i;
		for (unsigned k = 0; k < 2; k++)
			way[i].busy[k] = adv_report_busy(p->sim, t->link[i].end[k],
							 t->link[i].cable.ps_per_byte);
	}
	if (n < t->links)
		qsort(way, t->links, sizeof(*way), compare_ways);
	list = adv_json_add_array(to, "links");
	for (uint32_t i = 0; i < n; i++)
		adv_json_append(list, link_to_json(&t->link[way[i].link], &way[i]));
	adv_json_add_number(to, "links_left_out", t->links - n);
	list = adv_json_add_array(to, "levels");
	for (uint32_t s = 0; s < t->switches && n == t->links; s++)
		adv_json_append(list, adv_json_number(t->level[s]));
	free(way);
	return true;
}

static void add_bottleneck(const struct adv_report_part *p, struct json_object *to)
{
	struct adv_report_bottleneck b = adv_report_find_bottleneck(p->sim, p->record);
	struct json_object *o = b.found ? adv_json_object() : NULL;

	adv_json_add(to, "bottleneck", o);
	if (!o)
		return;
	adv_json_add_number(o, "switch", b.sw);
	adv_json_add_number(o, "port", b.port);
	adv_json_add_number(o, "priority", b.priority);
	adv_json_add_number(o, "peer", b.peer);
	adv_json_add_number(o, "peak", b.peak);
	adv_json_add_number(o, "busy", b.busy);
}

/* ---- queues ---- */

static int compare_queues(const void *a, const void *b)
{
	const struct adv_record_queue *x = *(const struct adv_record_queue *const *)a;
	const struct adv_record_queue *y = *(const struct adv_record_queue *const *)b;

	if (x->peak != y->peak)
		return x->peak < y->peak ? 1 : -1;
	return x->sw != y->sw ? (x->sw > y->sw) - (x->sw < y->sw)
			      : (x->priority > y->priority) - (x->priority < y->priority);
}

static struct json_object *queue_to_json(const struct adv_report_part *p,
					 const struct adv_record_queue *q)
{
	const struct adv_scenario_priority *c = &p->sim->scenario.priority[q->priority];
	struct json_object *o = adv_json_object();
	uint32_t n = p->record->columns;

	adv_json_add_number(o, "switch", q->sw);
	adv_json_add_number(o, "priority", q->priority);
	adv_json_add_number(o, "port", q->port);
	adv_json_add_number(o, "peak", q->peak);
	adv_json_add_number(o, "ecn_min", c->ecn_max ? c->ecn_min : 0);
	adv_json_add_number(o, "ecn_max", c->ecn_max);
	adv_json_add_flag(o, "lossless", c->lossless);
	adv_json_add_number(o, "xoff", c->xoff);
	adv_json_add_number(o, "xon_offset", c->xon_offset);
	add_columns(o, "most", q->most, n);
	add_columns(o, "least", q->least, n);
	add_columns(o, "input", q->input, n);
	if (c->lossless && !c->xoff)
		add_columns(o, "limit", q->limit, n);
	return o;
}

static bool add_queues(const struct adv_report_part *p, struct json_object *to)
{
	const struct adv_record *r = p->record;
	const struct adv_record_queue **all = calloc(r->queues + 1ul, sizeof(const void *));
	struct json_object *list;
	uint32_t n = 0, shown = 0;

	if (!all)
		return false;
	for (uint32_t i = 0; i < r->queues; i++)
		if (r->queue[i] && r->queue[i]->peak)
			all[n++] = r->queue[i];
	qsort(all, n, sizeof(const void *), compare_queues);
	list = adv_json_add_array(to, "queues");
	for (; shown < n && shown < QUEUES && all[shown]->peak * SMALLEST >= all[0]->peak; shown++)
		adv_json_append(list, queue_to_json(p, all[shown]));
	adv_json_add_number(to, "queues_left_out", n - shown);
	adv_json_add_number(to, "queues_left_out_peak", n > shown ? all[shown]->peak : 0);
	free(all);
	return true;
}

/* ---- pauses ---- */

/* Compares two series for qsort(3): longest paused time first, then by node and port. */
static int compare_pauses(const void *a, const void *b)
{
	const struct adv_record_pause *x = *(const struct adv_record_pause *const *)a;
	const struct adv_record_pause *y = *(const struct adv_record_pause *const *)b;

	if (x->before != y->before)
		return x->before < y->before ? 1 : -1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->port != y->port ? (x->port < y->port ? -1 : 1)
				  : (x->priority > y->priority) - (x->priority < y->priority);
}

static struct json_object *pause_to_json(const struct adv_report_part *p,
					 const struct adv_record_pause *w)
{
	struct json_object *o = adv_json_object();
	char text[ADV_NODE_TEXT];

	adv_json_add_text(o, "node", adv_report_node(p->sim, w->node, text));
	adv_json_add_text(o, "peer",
			  adv_report_node(p->sim,
					  adv_topology_peer(&p->sim->topology, w->node, w->port),
					  text));
	adv_json_add_number(o, "port", w->port);
	adv_json_add_number(o, "priority", w->priority);
	adv_json_add_number(o, "count", w->count);
	adv_json_add_number(o, "total_ps", w->before);
	add_columns(o, "time_ps", w->time, p->record->columns);
	return o;
}

static bool add_pauses(const struct adv_report_part *p, struct json_object *to)
{
	const struct adv_record *r = p->record;
	size_t room = (size_t)r->ports * ADV_PRIORITIES;
	const struct adv_record_pause **all = calloc(room + 1, sizeof(const void *));
	struct json_object *list;
	unsigned n = 0;

	if (!all)
		return false;
	for (size_t i = 0; i < room; i++)
		if (r->pause[i])
			all[n++] = r->pause[i];
	qsort(all, n, sizeof(const void *), compare_pauses);
	list = adv_json_add_array(to, "pauses");
	for (unsigned i = 0; i < n && i < PAUSES; i++)
		adv_json_append(list, pause_to_json(p, all[i]));
	adv_json_add_number(to, "pauses_left_out", n > PAUSES ? n - PAUSES : 0);
	free(all);
	return true;
}

/* ---- rates ---- */

static int compare_flows(const void *a, const void *b)
{
	const struct adv_record_flow *x = *(const struct adv_record_flow *const *)a;
	const struct adv_record_flow *y = *(const struct adv_record_flow *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x < y ? -1 : x > y; /* equal values keep the order of the array */
}

static struct json_object *flow_to_json(const struct adv_report_part *p,
					const struct adv_record_flow *f)
{
	const struct adv_fabric_connection *c =
		adv_fabric_get_connection(p->sim->fabric, f->connection);
	struct json_object *o = adv_json_object();
	const struct adv_record *r = p->record;
	char name[96];

	if (!c)
		snprintf(name, sizeof(name), "flow %u%s", f->flow,
			 r->flows == ADV_RECORD_CONNECTIONS && f == &r->flow[r->flows - 1]
				 ? " and later ones"
				 : "");
	else
		snprintf(name, sizeof(name), "flow %u: h%u %s h%u", f->flow, c->initiator,
			 c->operation == ADV_FABRIC_READ ? "reads" : "to", c->target);
	adv_json_add_number(o, "flow", f->flow);
	adv_json_add_text(o, "name", name);
	adv_json_add_number(o, "total", f->total);
	add_columns(o, "bytes", f->bytes, r->columns);
	return o;
}

static bool add_rates(const struct adv_report_part *p, struct json_object *to)
{
	const struct adv_record *r = p->record;
	const struct adv_record_flow **all = calloc(r->flows + 1ul, sizeof(const void *));
	uint32_t shown = r->flows < FLOWS ? r->flows : FLOWS;
	uint64_t sum[ADV_RECORD_COLUMNS] = {0};
	struct json_object *list;

	if (!all)
		return false;
	for (uint32_t i = 0; i < r->flows; i++) {
		all[i] = &r->flow[i];
		for (uint32_t k = 0; k < r->columns; k++)
			sum[k] += r->flow[i].bytes[k];
	}
	qsort(all, r->flows, sizeof(const void *), compare_flows);
	list = adv_json_add_array(to, "flows");
	for (uint32_t i = 0; i < shown; i++)
		adv_json_append(list, flow_to_json(p, all[i]));
	adv_json_add_number(to, "flows_left_out", r->flows - shown);
	adv_json_add_number(to, "connections", r->connections);
	adv_json_add_flag(to, "flow_is_connection", r->connections <= ADV_RECORD_CONNECTIONS);
	add_columns(to, "all_flows", sum, r->columns);
	free(all);
	return true;
}

/* ---- completion times ---- */

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Writes the sorted times of successful transfers of sections first .. first + flows - 1 to took[].
 * Returns their number. */
static size_t collect_times(const struct adv_sim *sim, uint32_t first, uint32_t flows,
			    uint64_t *took)
{
	const struct adv_scenario_flow *flow = sim->scenario.list[ADV_SCENARIO_FLOWS].item;
	size_t n = 0;

	for (uint32_t i = first; i < first + flows; i++)
		for (uint32_t k = 0; k < flow[i].jobs; k++) {
			const struct adv_fabric_transfer_state *t =
				adv_fabric_get_transfer(sim->fabric, flow[i].first_job + k);

			if (t->connection != ADV_FABRIC_COMPUTATION &&
			    t->end != ADV_CALENDAR_NEVER && t->status == IBV_WC_SUCCESS)
				took[n++] = t->end - t->start;
		}
	qsort(took, n, sizeof(*took), compare_values);
	return n;
}

/* Returns a distribution: times at equal distances in rank, including the smallest and the largest
 * time. */
static struct json_object *times_to_json(const char *name, const uint64_t *took, size_t n)
{
	struct json_object *o = adv_json_object(), *list;
	size_t points = n < POINTS ? n : POINTS;

	adv_json_add_text(o, "name", name);
	adv_json_add_number(o, "count", n);
	adv_json_add_number(o, "median", took[adv_sim_rank(n, 50)]);
	adv_json_add_number(o, "p99", took[adv_sim_rank(n, 99)]);
	list = adv_json_add_array(o, "ps");
	for (size_t i = 0; i < points; i++)
		adv_json_append(
			list, adv_json_number(took[points == 1 ? 0 : (n - 1) * i / (points - 1)]));
	return o;
}

static bool add_times(const struct adv_report_part *p, struct json_object *to)
{
	const struct adv_scenario_list *l = &p->sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	struct json_object *list = adv_json_add_array(to, "times");
	size_t all = 0, n;
	char name[32];
	uint64_t *took;

	for (uint32_t i = 0; i < l->count; i++)
		all += flow[i].transfers;
	took = calloc(all + 1, sizeof(*took));
	if (!took)
		return false;
	for (uint32_t i = 0; l->count > 1 && l->count <= SECTIONS && i < l->count; i++) {
		snprintf(name, sizeof(name), "flow %u", i);
		n = collect_times(p->sim, i, 1, took);
		if (n)
			adv_json_append(list, times_to_json(name, took, n));
	}
	n = collect_times(p->sim, 0, l->count, took);
	if (n)
		adv_json_append(list, times_to_json("all flows", took, n));
	free(took);
	return true;
}

/* ---- the rest ---- */

static void add_counters(const struct adv_report_part *p, struct json_object *to)
{
	static const char *const keys[ADV_RECORD_COUNTERS] = {
		[ADV_RECORD_MARKS] = "ecn_marked",
		[ADV_RECORD_CNPS_SENT] = "np_cnp_sent",
		[ADV_RECORD_CNPS_HANDLED] = "rp_cnp_handled",
		[ADV_RECORD_DROPS] = "lost",
	};
	struct json_object *o = adv_json_add_object(to, "counters");

	for (unsigned i = 0; i < ADV_RECORD_COUNTERS; i++)
		add_columns(o, keys[i], p->record->counter[i], p->record->columns);
}

static void add_parameter(void *user, const char *section, const char *key, const char *value)
{
	struct json_object *row = adv_json_array();

	adv_json_append(row, adv_json_text(section));
	adv_json_append(row, adv_json_text(key));
	adv_json_append(row, adv_json_text(value));
	adv_json_append(user, row);
}

struct json_object *adv_report_data(const struct adv_report_part *p)
{
	const struct adv_scenario *s = &p->sim->scenario;
	struct json_object *o = adv_json_object(), *result = adv_sim_to_json(p->sim);
	bool good = result != NULL;

	adv_json_add(o, "result", result);
	adv_json_add_number(o, "interval_ps", p->record->interval);
	adv_json_add_number(o, "end_ps", p->record->end);
	adv_json_add_number(o, "bin_ps",
			    FRAMES * s->host.mtu * 8 * ADV_PS_PER_S / s->network.speed);
	add_bottleneck(p, o);
	good = good && add_network(p, o) && add_queues(p, o) && add_pauses(p, o) &&
	       add_rates(p, o) && add_times(p, o);
	add_counters(p, o);
	adv_json_add_number(o, "parameters_most", SHOWN);
	adv_scenario_changes(s, SHOWN, add_parameter, adv_json_add_array(o, "parameters"));
	if (good)
		return o;
	json_object_put(o);
	return NULL;
}
