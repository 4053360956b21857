/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/plan/sonic.h"

#include <inttypes.h>

#include "base/units.h"

#define MAP	  "ADVERB"
#define PORT	  "Ethernet0"
#define PS_PER_MS 1000000000u

/* Adds a member whose value is a number as text: config_db.json has no other values. */
static void add_number(struct json_object *to, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	adv_json_add_text(to, key, text);
}

static struct json_object *add_map(struct json_object *db, const char *table)
{
	return adv_json_add_object(adv_json_add_object(db, table), MAP);
}

/* Adds the maps from DSCPs to traffic classes, and from those to queues and priority groups. A
 * priority has the class, queue and group of its number. */
static void add_maps(struct json_object *db, const struct adv_plan_dcb *d)
{
	static const char *const tables[] = {"TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
					     "MAP_PFC_PRIORITY_TO_QUEUE"};
	struct json_object *map = add_map(db, "DSCP_TO_TC_MAP");
	char key[8];

	for (unsigned i = 0; i < 64; i++) {
		snprintf(key, sizeof(key), "%u", i);
		add_number(map, key, d->priority_of_dscp[i]);
	}
	for (unsigned t = 0; t < 3; t++) {
		map = add_map(db, tables[t]);
		for (unsigned i = 0; i < ADV_PRIORITIES; i++) {
			snprintf(key, sizeof(key), "%u", i);
			add_number(map, key, i);
		}
	}
}

static void add_port_map(struct json_object *db, const struct adv_plan_dcb *d)
{
	struct json_object *port =
		adv_json_add_object(adv_json_add_object(db, "PORT_QOS_MAP"), PORT);
	char lossless[2 * ADV_PRIORITIES] = "";
	size_t len = 0;

	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		if (d->lossless & (1u << i))
			len += (size_t)snprintf(lossless + len, sizeof(lossless) - len,
						len ? ",%u" : "%u", i);
	adv_json_add_text(port, "dscp_to_tc_map", MAP);
	adv_json_add_text(port, "tc_to_queue_map", MAP);
	adv_json_add_text(port, "tc_to_pg_map", MAP);
	adv_json_add_text(port, "pfc_to_queue_map", MAP);
	adv_json_add_text(port, "pfc_enable", lossless);
}

/* Adds the schedulers, the WRED profiles and the queues that use them. */
static void add_queues(struct json_object *db, const struct adv_scenario *s,
		       const struct adv_plan_dcb *d)
{
	struct json_object *schedulers = adv_json_add_object(db, "SCHEDULER");
	struct json_object *wreds = adv_json_add_object(db, "WRED_PROFILE");
	struct json_object *queues = adv_json_add_object(db, "QUEUE");

	for (unsigned i = 0; i < ADV_PRIORITIES; i++) {
		const struct adv_scenario_priority *c = &s->priority[i];
		char scheduler[32], wred[32], queue[32];
		struct json_object *to, *q;

		if (!(d->used & (1u << i)))
			continue;
		snprintf(scheduler, sizeof(scheduler), "scheduler.%u", i);
		snprintf(wred, sizeof(wred), MAP "_%u", i);
		snprintf(queue, sizeof(queue), PORT "|%u", i);
		to = adv_json_add_object(schedulers, scheduler);
		q = adv_json_add_object(queues, queue);
		adv_json_add_text(q, "scheduler", scheduler);
		adv_json_add_text(to, "type", d->strict & (1u << i) ? "STRICT" : "DWRR");
		if (!(d->strict & (1u << i)))
			add_number(to, "weight", d->percent[i]);
		if (!(d->marked & (1u << i)))
			continue;
		adv_json_add_text(q, "wred_profile", wred);
		to = adv_json_add_object(wreds, wred);
		adv_json_add_text(to, "ecn", "ecn_green");
		adv_json_add_text(to, "wred_green_enable", "true");
		add_number(to, "green_min_threshold", c->ecn_min);
		add_number(to, "green_max_threshold", c->ecn_max);
		add_number(to, "green_drop_probability",
			   (100 * c->ecn_probability + ADV_RATIO_ONE - 1) / ADV_RATIO_ONE);
	}
}

/* Adds one buffer profile of lossless priorities for each kind of port. xoff is the headroom. */
static void add_buffers(struct json_object *db, const struct adv_scenario *s,
			const struct adv_plan_dcb *d)
{
	struct json_object *profiles = adv_json_add_object(db, "BUFFER_PROFILE");

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_scenario_priority *c = &s->priority[p];

		for (unsigned i = 0; (d->lossless & (1u << p)) && i < d->ports; i++) {
			const struct adv_plan_dcb_port *port = &d->port[i];
			char name[64], threshold[8];
			struct json_object *o;

			snprintf(name, sizeof(name), "pg_lossless_%u_%u_%um", p,
				 8000000u / port->cable.ps_per_byte,
				 (unsigned)(port->cable.delay / ADV_FIBRE_PS_PER_MM / 1000));
			o = adv_json_add_object(profiles, name);
			adv_json_add_text(o, "pool", "ingress_lossless_pool");
			add_number(o, "size", c->reserved + port->headroom);
			add_number(o, "xoff", port->headroom);
			add_number(o, "xon", 0);
			add_number(o, "xon_offset", c->xon_offset);
			if (c->xoff) {
				add_number(o, "static_th", c->xoff);
				continue;
			}
			snprintf(threshold, sizeof(threshold), "%d", d->alpha_log2[p]);
			adv_json_add_text(o, "dynamic_th", threshold);
		}
	}
}

static void add_watchdog(struct json_object *db, const struct adv_scenario *s)
{
	struct json_object *to;

	if (!s->sw.watchdog_poll)
		return;
	to = adv_json_add_object(adv_json_add_object(db, "PFC_WD"), PORT);
	adv_json_add_text(to, "action", s->sw.watchdog_forward ? "forward" : "drop");
	add_number(to, "detection_time", (s->sw.watchdog_detect + PS_PER_MS - 1) / PS_PER_MS);
	add_number(to, "restoration_time", (s->sw.watchdog_restore + PS_PER_MS - 1) / PS_PER_MS);
}

struct json_object *adv_planner_sonic(const struct adv_scenario *s, const struct adv_plan_dcb *d)
{
	struct json_object *db = adv_json_object();

	add_maps(db, d);
	add_port_map(db, d);
	add_queues(db, s, d);
	add_buffers(db, s, d);
	add_watchdog(db, s);
	return db;
}
