/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/report_why.h"

#include <inttypes.h>

#include "base/units.h"
#include "fabric/network/calendar.h"

/* ---- pauses ---- */

static uint64_t paused_time(const struct adv_record *r, const struct adv_record_pause *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->columns; i++)
		sum += p->time[i];
	return sum;
}

static void write_longest(FILE *out, const struct adv_sim *sim, const struct adv_record *r)
{
	const struct adv_record_pause *longest = NULL;
	char name[ADV_NODE_TEXT], text[ADV_UNITS_TEXT];
	uint64_t most = 0;
	uint32_t paused = 0;

	for (size_t i = 0; i < (size_t)r->ports * ADV_PRIORITIES; i++)
		if (r->pause[i]) {
			uint64_t time = paused_time(r, r->pause[i]);

			paused++;
			if (time > most) {
				most = time;
				longest = r->pause[i];
			}
		}
	if (longest)
		fprintf(out,
			" Of %u paused senders, %s was paused longest: %s in %" PRIu64 " pauses.",
			paused, adv_report_node(sim, longest->node, name),
			adv_units_print(ADV_UNIT_TIME, most, text), longest->count);
}

/* Returns the earliest sampled pause that a host has sent; NULL: none. */
static const struct adv_record_pause *pause_of_host(const struct adv_sim *sim,
						    const struct adv_record *r)
{
	const struct adv_record_pause *first = NULL;

	for (size_t i = 0; i < (size_t)r->ports * ADV_PRIORITIES; i++) {
		const struct adv_record_pause *p = r->pause[i];

		if (p &&
		    adv_topology_peer(&sim->topology, p->node, p->port) < sim->topology.hosts &&
		    (!first || p->first < first->first))
			first = p;
	}
	return first;
}

static void write_pauses(FILE *out, const struct adv_sim *sim, const struct adv_record *r)
{
	const struct adv_topology *t = &sim->topology;
	const struct adv_record_pause *host = pause_of_host(sim, r);
	const struct adv_sim_pause *sw = &sim->first_pause;
	char by[ADV_NODE_TEXT], whom[ADV_NODE_TEXT], at[ADV_UNITS_TEXT];

	if (host && (!sw->found || host->first <= sw->at + r->interval))
		fprintf(out, " First %s paused %s, before %s.",
			adv_report_node(sim, adv_topology_peer(t, host->node, host->port), by),
			adv_report_node(sim, host->node, whom),
			adv_units_print(ADV_UNIT_TIME, host->first, at));
	else if (sw->found)
		fprintf(out, " First %s paused %s, at %s.",
			adv_report_node(sim, t->hosts + sw->sw, by),
			adv_report_node(sim, adv_topology_peer(t, t->hosts + sw->sw, sw->port),
					whom),
			adv_units_print(ADV_UNIT_TIME, sw->at, at));
	else
		fprintf(out, " No sender was paused.");
	write_longest(out, sim, r);
}

/* ---- transfers ---- */

/* The host to which the data of a connection goes. */
static uint32_t receiver_of(const struct adv_fabric_connection *c)
{
	return c->operation == ADV_FABRIC_READ ? c->initiator : c->target;
}

static void write_connections(FILE *out, const struct adv_sim *sim, uint32_t host)
{
	const struct adv_fabric_connection *c;
	char name[ADV_NODE_TEXT];
	uint32_t n = 0;

	for (uint32_t i = 0; (c = adv_fabric_get_connection(sim->fabric, i)); i++)
		n += receiver_of(c) == host;
	fprintf(out, " The data of %u connection%s goes to %s.", n, n == 1 ? "" : "s",
		adv_report_node(sim, host, name));
}

/* A transfer, and its time over its time in an empty network, in multiples of 1 / ADV_RATIO_ONE. */
struct sufferer {
	const struct adv_fabric_transfer_state *transfer;
	uint64_t slowdown;
};

/* Finds the transfer with the largest slowdown, among those whose data does not go to the host
 * `except`. */
static struct sufferer find_sufferer(const struct adv_sim *sim, uint32_t except)
{
	const struct adv_scenario_list *l = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	struct sufferer most = {NULL, 0};

	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t k = 0; k < flow[i].jobs; k++) {
			const struct adv_fabric_transfer_state *t =
				adv_fabric_get_transfer(sim->fabric, flow[i].first_job + k);
			uint64_t ideal, slowdown;

			if (t->connection == ADV_FABRIC_COMPUTATION ||
			    t->end == ADV_CALENDAR_NEVER ||
			    receiver_of(adv_fabric_get_connection(sim->fabric, t->connection)) ==
				    except)
				continue;
			ideal = adv_fabric_ideal(sim->fabric, t->connection, t->bytes);
			if (ideal == 0)
				continue;
			slowdown = (uint64_t)((unsigned __int128)(t->end - t->start) *
					      ADV_RATIO_ONE / ideal);
			if (slowdown > most.slowdown)
				most = (struct sufferer){t, slowdown};
		}
	return most;
}

static void write_sufferer(FILE *out, const struct adv_sim *sim, struct sufferer s, const char *of)
{
	const struct adv_fabric_connection *c =
		adv_fabric_get_connection(sim->fabric, s.transfer->connection);
	char from[ADV_NODE_TEXT], to[ADV_NODE_TEXT], took[ADV_UNITS_TEXT];
	bool read = c->operation == ADV_FABRIC_READ;

	fprintf(out,
		" Of the transfers%s, one from %s to %s suffered most: it took %s, %.1f times its "
		"time in an empty network.",
		of, adv_report_node(sim, read ? c->target : c->initiator, from),
		adv_report_node(sim, receiver_of(c), to),
		adv_units_print(ADV_UNIT_TIME, s.transfer->end - s.transfer->start, took),
		(double)s.slowdown / ADV_RATIO_ONE);
}

/* Writes which connection received the least, if no transfer has ended. */
static void write_least(FILE *out, const struct adv_sim *sim, const struct adv_record *r)
{
	const struct adv_record_flow *least = NULL;
	const struct adv_fabric_connection *c;
	char from[ADV_NODE_TEXT], to[ADV_NODE_TEXT], rate[ADV_UNITS_TEXT];

	for (uint32_t i = 0; i < r->flows; i++)
		if (!least || r->flow[i].total < least->total)
			least = &r->flow[i];
	c = least ? adv_fabric_get_connection(sim->fabric, least->connection) : NULL;
	if (!c || !r->end)
		return;
	fprintf(out, " The connection from %s to %s received the least, %s.",
		adv_report_node(sim, c->operation == ADV_FABRIC_READ ? c->target : c->initiator,
				from),
		adv_report_node(sim, receiver_of(c), to),
		adv_units_print(
			ADV_UNIT_RATE,
			(uint64_t)((unsigned __int128)least->total * 8 * ADV_PS_PER_S / r->end),
			rate));
}

/* Writes which transfer suffered most. If a host is behind the bottleneck, also which of those that
 * have nothing to do with it: a victim of pauses. */
static void write_sufferers(FILE *out, const struct adv_sim *sim, const struct adv_record *record,
			    uint32_t peer)
{
	struct sufferer s = find_sufferer(sim, UINT32_MAX), other;

	if (!s.transfer) {
		write_least(out, sim, record);
		return;
	}
	write_sufferer(out, sim, s, "");
	if (peer >= sim->topology.hosts)
		return;
	other = find_sufferer(sim, peer);
	if (other.transfer && other.transfer != s.transfer && other.slowdown > 2 * ADV_RATIO_ONE)
		write_sufferer(out, sim, other, " to other hosts");
}

void adv_report_why(FILE *out, const struct adv_sim *sim, const struct adv_record *record,
		    const struct adv_report_bottleneck *b)
{
	if (b->peer < sim->topology.hosts)
		write_connections(out, sim, b->peer);
	write_pauses(out, sim, record);
	write_sufferers(out, sim, record, b->peer);
}
