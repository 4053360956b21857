/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan deadlock: cycles of buffer dependencies of a routed network. */
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fabric/plan/network.h"
#include "fabric/scenario/scenario.h"

#define TURNS_SHOWN 16 /* turns that the text output lists */
#define NECESSARY   "Hu et al., Deadlocks in Datacenter Networks, HotNets 2016"

struct options {
	const char *file;
	bool json;
};

/* The topology and the result. */
struct plan {
	const struct adv_plan_topology *t;
	const struct adv_plan_deadlock *d;
	bool scenario;
};

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->file)
		argp_error(state, "a topology file is needed ('-': standard input)");
}

static const struct adv_options syntax = {
	.about = "Find cyclic buffer dependencies in a routed topology. PFC cannot deadlock "
		 "without one. The command prints the cycle, and the routes to change. The file "
		 "has lines 'host NAME...', 'switch NAME... [level=N]', 'link NAME[:PORT] "
		 "NAME[:PORT] [down]', 'routing = shortest' or 'updown', 'root = SWITCH', 'flow "
		 "HOST HOST [priority=N]', 'route HOST SWITCH... HOST [priority=N]'. If the file "
		 "is a scenario of 'adverb sim' (*.ini), the command checks the routes of every "
		 "host to every other.\vExit status 1: there is a cycle. The file and an "
		 "example: " ADV_DOC_DIR "/planners.md",
	.check = check_options,
	.args = "TOPOLOGY",
	.file = offsetof(struct options, file)};

static const char *name_of(const struct plan *p, uint32_t node)
{
	return p->t->node[node].name;
}

/* Writes an ingress buffer, such as "leaf1:p2 (from spine1)". */
static void format_buffer(const struct plan *p, uint32_t buffer, char *text, size_t room)
{
	uint32_t link = buffer / 8;

	snprintf(text, room, "%s:%s (from %s)", name_of(p, adv_plan_to(p->t, link)),
		 p->t->link[link / 2].port[1 - link % 2], name_of(p, adv_plan_from(p->t, link)));
}

static unsigned example_count(const struct adv_plan_dependency *d)
{
	return d->flows < ADV_PLAN_EXAMPLES ? d->flows : ADV_PLAN_EXAMPLES;
}

static void print_flows(const struct plan *p, const struct adv_plan_dependency *d)
{
	for (unsigned i = 0; i < example_count(d); i++) {
		printf("%s%s -> %s", i ? ", " : "", name_of(p, d->example[i].src),
		       name_of(p, d->example[i].dst));
		if (d->example[i].line)
			printf(" (line %" PRIu32 ")", d->example[i].line);
	}
	if (d->flows > ADV_PLAN_EXAMPLES)
		printf(", and more");
}

static void add_json_buffer(const struct plan *p, struct json_object *to, const char *key,
			    uint32_t buffer)
{
	struct json_object *o = adv_json_add_object(to, key);
	uint32_t link = buffer / 8;

	adv_json_add_text(o, "switch", name_of(p, adv_plan_to(p->t, link)));
	adv_json_add_text(o, "port", p->t->link[link / 2].port[1 - link % 2]);
	adv_json_add_text(o, "from", name_of(p, adv_plan_from(p->t, link)));
	adv_json_add_number(o, "priority", buffer % 8);
}

static void add_json_flow(const struct plan *p, struct json_object *to,
			  const struct adv_plan_dependency *d, unsigned i)
{
	struct json_object *o = adv_json_object();

	adv_json_add_text(o, "from", name_of(p, d->example[i].src));
	adv_json_add_text(o, "to", name_of(p, d->example[i].dst));
	adv_json_add_number(o, "line", d->example[i].line);
	adv_json_append(to, o);
}

static void add_json_dependencies(const struct plan *p, struct json_object *to, const char *key,
				  const uint32_t *list, uint32_t count)
{
	struct json_object *all = adv_json_add_array(to, key);

	for (uint32_t i = 0; i < count; i++) {
		const struct adv_plan_dependency *d = &p->d->dependency[list[i]];
		struct json_object *o = adv_json_object(), *flows;

		adv_json_append(all, o);
		add_json_buffer(p, o, "buffer", d->from);
		add_json_buffer(p, o, "waits_for", d->to);
		flows = adv_json_add_array(o, "flows");
		for (unsigned k = 0; k < example_count(d); k++)
			add_json_flow(p, flows, d, k);
		adv_json_add_flag(o, "more_flows", d->flows > ADV_PLAN_EXAMPLES);
	}
}

static void print_cycle(const struct plan *p, struct adv_plan_out *out)
{
	char from[160], to[160];

	if (out->json) {
		add_json_dependencies(p, out->json, "cycle", p->d->cycle, p->d->cycle_length);
		return;
	}
	if (p->d->cycle_length == 0)
		return;
	printf("\nThe cycle, of priority %" PRIu32 ":\n",
	       p->d->dependency[p->d->cycle[0]].from % 8);
	for (uint32_t i = 0; i < p->d->cycle_length; i++) {
		const struct adv_plan_dependency *d = &p->d->dependency[p->d->cycle[i]];

		format_buffer(p, d->from, from, sizeof(from));
		format_buffer(p, d->to, to, sizeof(to));
		printf("  %-30s waits for  %s\n      because of ", from, to);
		print_flows(p, d);
		putchar('\n');
	}
}

static void print_turns(const struct plan *p, struct adv_plan_out *out)
{
	if (out->json) {
		add_json_dependencies(p, out->json, "turns", p->d->turn, p->d->turns);
		return;
	}
	if (p->d->turns == 0)
		return;
	printf("\nA way out%s: route no flow through %s\n",
	       p->d->turns_whole ? "" : ", or its beginning",
	       p->d->turns == 1 ? "this turn" : "these turns");
	for (uint32_t i = 0; i < p->d->turns && i < TURNS_SHOWN; i++) {
		const struct adv_plan_dependency *d = &p->d->dependency[p->d->turn[i]];

		printf("  from %s by %s to %s, priority %" PRIu32 ": ",
		       name_of(p, adv_plan_from(p->t, d->from / 8)),
		       name_of(p, adv_plan_to(p->t, d->from / 8)),
		       name_of(p, adv_plan_to(p->t, d->to / 8)), d->from % 8);
		print_flows(p, d);
		putchar('\n');
	}
	if (p->d->turns > TURNS_SHOWN)
		printf("  ... and %" PRIu32 " more (--json has them all)\n",
		       p->d->turns - TURNS_SHOWN);
}

static void print_verdict(const struct plan *p, struct adv_plan_out *out)
{
	if (p->d->cycle_length == 0) {
		adv_planner_note(out, "No cyclic buffer dependency: PFC alone cannot deadlock this "
				      "network, as long as hosts accept all packets, and packets "
				      "use these routes only (no failures, no flooding).");
		return;
	}
	adv_planner_note(out,
			 "A cycle is necessary for a deadlock, and not sufficient: it happens when "
			 "traffic fills all of these buffers at once (%s).",
			 NECESSARY);
	if (p->t->routing == ADV_PLAN_UPDOWN)
		adv_planner_note(out, "Without the routes that are not up-down there is no cycle.");
	else if (p->d->updown_helps)
		adv_planner_note(out,
				 "Another way out: up-down routing (%s) reaches everything here, "
				 "and has no cycle.",
				 p->scenario ? "routes = up-down"
					     : "'routing = updown', no routes");
	adv_planner_note(out, "Or: change those flows to another lossless priority at that turn, "
			      "or use a PFC watchdog, which breaks deadlocks.");
}

static int print_plan(const struct plan *p, bool json)
{
	struct adv_plan_out out;

	adv_planner_begin(&out, "deadlock", json);
	adv_planner_head(&out, p->d->cycle_length ? "Deadlock is possible."
						  : "Deadlock is not possible.");
	adv_planner_value(&out, "buffers", "buffers (ingress port, priority)", ADV_UNIT_COUNT,
			  p->d->buffers, NULL, NULL);
	adv_planner_value(&out, "dependencies", "dependencies between them", ADV_UNIT_COUNT,
			  p->d->dependencies, NULL, NULL);
	adv_planner_value(&out, "cycle_length", "shortest cycle found", ADV_UNIT_COUNT,
			  p->d->cycle_length, NULL, NULL);
	print_cycle(p, &out);
	print_turns(p, &out);
	print_verdict(p, &out);
	return adv_planner_end(&out, p->d->cycle_length == 0);
}

static int plan_text(const struct options *o, const char *text, size_t len)
{
	struct adv_plan_error error;
	struct adv_plan_topology *t = adv_plan_topology_parse(text, len, &error);
	struct adv_plan_deadlock *d = t ? adv_plan_deadlock(t, &error) : NULL;
	struct plan p = {t, d, false};
	int status = ADV_EXIT_USAGE;

	if (d)
		status = print_plan(&p, o->json);
	else if (error.line)
		fprintf(stderr, "adverb plan deadlock: %s:%" PRIu32 ": %s\n", o->file, error.line,
			error.text);
	else
		fprintf(stderr, "adverb plan deadlock: %s: %s\n", o->file, error.text);
	adv_plan_deadlock_free(d);
	adv_plan_topology_free(t);
	return status;
}

static int plan_network(const struct options *o, const struct adv_topology *network)
{
	struct adv_plan_topology *t;
	struct adv_plan_error error;
	struct adv_plan_deadlock *d = adv_plan_network(network, &t, &error);
	struct plan p = {t, d, true};
	int status = ADV_EXIT_USAGE;

	if (d)
		status = print_plan(&p, o->json);
	else
		fprintf(stderr, "adverb plan deadlock: %s: %s\n", o->file, error.text);
	adv_plan_deadlock_free(d);
	adv_plan_topology_free(t);
	return status;
}

/* Plans the network and the routes of a scenario of `adverb sim`. */
static int plan_scenario(const struct options *o, const char *text, size_t len)
{
	struct adv_scenario scenario = {.name = ""};
	char why[ADV_SCENARIO_WHY];
	struct adv_topology network;
	struct adv_fabric *fabric;
	int status = ADV_EXIT_USAGE;

	if (adv_scenario_read(&scenario, o->file, text, len, why) &&
	    adv_scenario_build(&scenario, &network, &fabric, why)) {
		status = plan_network(o, &network);
		adv_fabric_destroy(fabric);
		adv_topology_free(&network);
	} else {
		fprintf(stderr, "adverb plan deadlock: %s\n", why);
	}
	adv_scenario_free(&scenario);
	return status;
}

static bool is_scenario(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".ini") == 0;
}

int adv_plan_deadlock_main(int argc, char **argv)
{
	struct options o = {.file = NULL};
	size_t len;
	char *text;
	int status;

	if (!adv_command_read(&syntax, argc, argv, &o, &o.json))
		return ADV_EXIT_USAGE;
	text = adv_cli_read_file("adverb plan deadlock", o.file, ADV_PLAN_TEXT_MAX, &len);
	if (!text)
		return ADV_EXIT_USAGE;
	status = is_scenario(o.file) ? plan_scenario(&o, text, len) : plan_text(&o, text, len);
	free(text);
	return status;
}
