/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/json.h"
#include "cli/sim/report_bottleneck.h"
#include "fabric/switch/egress.h"

/* A series is an object with equally long arrays. It is made with its first value. */
struct adv_sim_series {
	const char *path; /* NULL: no JSON */
	FILE *file;
	uint64_t *sent;			/* bytes by cable and end at the last sample */
	uint32_t *first_port;		/* index of a switch's first port */
	struct json_object *cable_list; /* owned by `all` */
	struct json_object *queue_list;
	struct json_object *all;
	struct json_object **cable; /* by cable and end; owned by cable_list */
	struct json_object **queue; /* by port of all switches and priority; owned by queue_list */
};

void adv_sim_series_discard(struct adv_sim *sim)
{
	struct adv_sim_series *s = sim->series;

	if (!s)
		return;
	if (s->file)
		fclose(s->file);
	json_object_put(s->all);
	free(s->sent);
	free(s->first_port);
	free(s->cable);
	free(s->queue);
	free(s);
	sim->series = NULL;
}

static bool open_json(struct adv_sim *sim, const char *path)
{
	struct adv_sim_series *s = sim->series;

	s->path = path;
	s->file = fopen(path, "w");
	if (!s->file) {
		fprintf(stderr, "adverb sim: %s: %s\n", path, strerror(errno));
		return false;
	}
	s->all = adv_json_object();
	adv_json_add_text(s->all, "file", sim->file);
	adv_json_add_number(s->all, "seed", sim->scenario.run.seed);
	adv_json_add_number(s->all, "sample_ps", sim->scenario.run.sample);
	s->cable_list = adv_json_add_array(s->all, "cables");
	s->queue_list = adv_json_add_array(s->all, "queues");
	return true;
}

bool adv_sim_series_open(struct adv_sim *sim, const char *json)
{
	const struct adv_topology *t = &sim->topology;
	struct adv_sim_series *s = calloc(1, sizeof(*s));
	uint32_t ports = 0;

	if (s) {
		s->sent = calloc(2ul * t->links, sizeof(*s->sent));
		s->first_port = calloc(t->switches + 1ul, sizeof(*s->first_port));
		s->cable = calloc(2ul * t->links, sizeof(*s->cable));
	}
	for (uint32_t i = 0; s && s->first_port && i < t->switches; i++) {
		s->first_port[i] = ports;
		ports += t->ports[t->hosts + i];
	}
	if (s)
		s->queue = calloc((size_t)ports * ADV_PRIORITIES + 1, sizeof(*s->queue));
	sim->series = s;
	if (!s || !s->sent || !s->first_port || !s->cable || !s->queue) {
		fprintf(stderr, "adverb sim: no memory\n");
		adv_sim_series_discard(sim);
		return false;
	}
	if (!json || open_json(sim, json))
		return true;
	adv_sim_series_discard(sim);
	return false;
}

static void add_value(struct json_object *series, const char *key, uint64_t value)
{
	adv_json_append(json_object_object_get(series, key), adv_json_number(value));
}

/* ---- cables ---- */

/* The sums of one direction of a cable. */
struct direction {
	uint32_t index; /* by cable and end */
	uint64_t bytes; /* since the last sample */
	uint64_t frames;
	uint64_t waiting;
};

static void write_names(const struct adv_sim *sim, uint32_t index, char from[ADV_NODE_TEXT],
			char to[ADV_NODE_TEXT])
{
	const struct adv_topology_link *link = &sim->topology.link[index / 2];

	adv_report_node(sim, link->end[index % 2].node, from);
	adv_report_node(sim, link->end[1 - index % 2].node, to);
}

static void add_cable(struct adv_sim *sim, const struct direction *d, uint64_t now)
{
	struct adv_sim_series *s = sim->series;
	struct json_object **o = &s->cable[d->index];
	char from[ADV_NODE_TEXT], to[ADV_NODE_TEXT];

	if (!*o) {
		*o = adv_json_object();
		write_names(sim, d->index, from, to);
		adv_json_add_number(*o, "cable", d->index / 2);
		adv_json_add_text(*o, "from", from);
		adv_json_add_text(*o, "to", to);
		adv_json_add_array(*o, "time_ps");
		adv_json_add_array(*o, "bytes");
		adv_json_add_array(*o, "waiting_bytes");
		adv_json_append(s->cable_list, *o);
	}
	add_value(*o, "time_ps", now);
	add_value(*o, "bytes", d->bytes);
	add_value(*o, "waiting_bytes", d->waiting);
}

static void print_cable(const struct adv_sim *sim, const struct direction *d, uint64_t now)
{
	char from[ADV_NODE_TEXT], to[ADV_NODE_TEXT];

	write_names(sim, d->index, from, to);
	fprintf(sim->cables, "%" PRIu64 ",%u,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", now,
		d->index / 2, from, to, d->bytes, d->frames, d->waiting);
}

static void sample_cables(struct adv_sim *sim)
{
	struct adv_sim_series *s = sim->series;
	uint64_t now = adv_fabric_now(sim->fabric);

	for (uint32_t i = 0; i < 2 * sim->topology.links; i++) {
		const struct adv_egress *e =
			adv_report_egress(sim, sim->topology.link[i / 2].end[i % 2]);
		struct direction d = {.index = i, .bytes = -s->sent[i]};

		for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
			d.bytes += e->queue[p].sent_bytes;
			d.frames += e->queue[p].sent;
			d.waiting += e->queue[p].bytes;
		}
		if (d.bytes == 0 && d.waiting == 0)
			continue;
		if (sim->cables)
			print_cable(sim, &d, now);
		if (s->path)
			add_cable(sim, &d, now);
		s->sent[i] += d.bytes;
	}
}

/* ---- queues ---- */

static void add_queue(struct adv_sim *sim, uint32_t sw, unsigned port, unsigned priority,
		      uint64_t bytes)
{
	struct adv_sim_series *s = sim->series;
	struct json_object **o = &s->queue[(s->first_port[sw] + port) * ADV_PRIORITIES + priority];
	char to[ADV_NODE_TEXT];

	if (!*o) {
		*o = adv_json_object();
		adv_json_add_number(*o, "switch", sw);
		adv_json_add_number(*o, "port", port);
		adv_json_add_text(
			*o, "to",
			adv_report_node(sim,
					adv_topology_peer(&sim->topology, sim->topology.hosts + sw,
							  (uint16_t)port),
					to));
		adv_json_add_number(*o, "priority", priority);
		adv_json_add_array(*o, "time_ps");
		adv_json_add_array(*o, "bytes");
		adv_json_append(s->queue_list, *o);
	}
	add_value(*o, "time_ps", adv_fabric_now(sim->fabric));
	add_value(*o, "bytes", bytes);
}

static void sample_queues(struct adv_sim *sim)
{
	for (uint32_t s = 0; s < sim->topology.switches; s++) {
		const struct adv_switch *sw = adv_fabric_switch(sim->fabric, s);

		for (unsigned port = 0; port < adv_switch_ports(sw); port++)
			for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
				uint64_t bytes = adv_switch_egress(sw, port)->queue[p].bytes;

				if (bytes && sim->queues)
					fprintf(sim->queues, "%" PRIu64 ",%u,%u,%u,%" PRIu64 "\n",
						adv_fabric_now(sim->fabric), s, port, p, bytes);
				if (bytes && sim->series->path)
					add_queue(sim, s, port, p, bytes);
			}
	}
}

void adv_sim_series_sample(struct adv_sim *sim)
{
	sample_queues(sim);
	sample_cables(sim);
}

bool adv_sim_series_close(struct adv_sim *sim)
{
	struct adv_sim_series *s = sim->series;
	bool good = true;

	sample_cables(sim);
	if (s->path) {
		adv_json_print(s->file, s->all);
		s->all = NULL;
		good = !ferror(s->file);
		good &= fclose(s->file) == 0;
		s->file = NULL;
		if (!good)
			fprintf(stderr, "adverb sim: %s: %s\n", s->path, strerror(errno));
	}
	adv_sim_series_discard(sim);
	return good;
}
