/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb status: prints the state of adverbd and the processes with slots. */
#include "cli/command/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "cli/command/json.h"
#include "runtime/control/counters.h"
#include "nic/wire/packet.h"

/* What adverbd reports. */
struct report {
	struct adv_control_status status;
	struct adv_counters counters;	 /* sums of all programs since the daemon's start */
	struct adv_control_entry *entry; /* the slots in use */
	unsigned count;
};

static const char about[] = "Show whether adverbd runs, and which processes have slots. Exit "
			    "status 1: adverbd does not run, or it serves another user only.";

/* Reads everything from adverbd. 0 or errno. */
static int read_report(struct adv_control *c, struct report *r)
{
	struct adv_control_entry e;
	uint32_t from = 0;
	int error = adv_control_status(c, &r->status);

	if (!error)
		error = adv_control_counters(c, NULL, &r->counters);
	while (!error && (error = adv_control_list(c, from, &e)) == 0) {
		if (!adv_grow_to(&r->entry, r->count + 1, sizeof(e)))
			return ENOMEM;
		r->entry[r->count++] = e;
		from = e.slot + 1;
	}
	return error == ENOENT ? 0 : error;
}

/* ---- text ---- */

static void print_status(const struct adv_control_status *s)
{
	if (s->system)
		printf("adverbd runs for all users: ");
	else
		printf("adverbd runs for user %u: ", s->uid);
	printf("process %u, keeper %u, for %" PRIu64 " s\n", s->worker_pid, s->keeper_pid,
	       s->uptime_ms / 1000);
	printf("clients: %u\n", s->clients - 1); /* without the connection of this command */
	printf("slots in use: %u of %u, blocks: %u of %u\n", s->slots_used, s->slots_total,
	       s->blocks_used, s->blocks_total);
	if (s->restarts)
		printf("workers replaced: %u\n", s->restarts);
	if (s->cm_clients || s->cm_rx || s->cm_tx)
		printf("connection manager: %u programs, %u ids, %u connected, %u ending\n"
		       "  messages: %" PRIu64 " received, %" PRIu64 " sent, %" PRIu64
		       " of them repeated, %" PRIu64 " not accepted\n",
		       s->cm_clients, s->cm_ids, s->cm_connections, s->cm_ending, s->cm_rx,
		       s->cm_tx, s->cm_retries, s->cm_dropped);
	if (s->qp1_dropped)
		printf("packets to QP0 and QP1 dropped: %" PRIu64 "\n", s->qp1_dropped);
}

/* Prints the congestion counters. If no packet was marked, prints nothing. */
static void print_congestion(const struct adv_engine_counters *e)
{
	if (e->np_ecn_marked_roce_packets | e->rp_cnp_handled | e->rp_cnp_ignored)
		printf("congestion: %" PRIu64 " packets marked by the network, %" PRIu64
		       " CNPs sent, %" PRIu64 " obeyed, %" PRIu64 " ignored\n",
		       e->np_ecn_marked_roce_packets, e->np_cnp_sent, e->rp_cnp_handled,
		       e->rp_cnp_ignored);
}

/* Writes the first QP number of the slot, and the number of QP numbers that its blocks add. */
static void print_qpns(const struct adv_control_entry *e, char *text, size_t len)
{
	int n = snprintf(text, len, "0x%06x", adv_qpn_of_slot(e->slot));

	if (e->blocks)
		snprintf(text + n, len - (size_t)n, " + %u", e->blocks << ADV_BLOCK_QPN_BITS);
}

static void print_slots(const struct report *r)
{
	char qpns[40];

	if (r->count)
		printf("\n%-5s  %-22s  %-8s  %-8s  %-10s  %s\n", "SLOT", "QPNS", "PID", "UID",
		       "SECONDS", "PROGRAM");
	for (unsigned i = 0; i < r->count; i++) {
		const struct adv_control_entry *e = &r->entry[i];

		print_qpns(e, qpns, sizeof(qpns));
		printf("%-5u  %-22s  %-8u  %-8u  %-10" PRIu64 "  %s%s\n", e->slot, qpns, e->pid,
		       e->uid, e->age_ms / 1000, e->comm, e->connected ? "" : " (not resumed yet)");
	}
}

/* ---- JSON ---- */

static struct json_object *entry_to_json(const struct adv_control_entry *e)
{
	struct json_object *o = adv_json_object();

	adv_json_add_number(o, "slot", e->slot);
	adv_json_add_number(o, "first_qpn", adv_qpn_of_slot(e->slot));
	adv_json_add_number(o, "blocks", e->blocks);
	adv_json_add(o, "pid", e->pid ? adv_json_number(e->pid) : NULL);
	adv_json_add_number(o, "uid", e->uid);
	adv_json_add_number(o, "seconds", e->age_ms / 1000);
	adv_json_add_text(o, "program", e->comm);
	adv_json_add_flag(o, "connected", e->connected);
	return o;
}

static void print_json(const struct report *r)
{
	const struct adv_control_status *s = &r->status;
	const struct adv_engine_counters *e = &r->counters.engine;
	struct json_object *o = adv_json_object(), *part, *slots;

	adv_json_add_flag(o, "running", true);
	adv_json_add_flag(o, "all_users", s->system);
	adv_json_add_number(o, "uid", s->uid);
	adv_json_add_number(o, "pid", s->worker_pid);
	adv_json_add_number(o, "keeper_pid", s->keeper_pid);
	adv_json_add_number(o, "seconds", s->uptime_ms / 1000);
	adv_json_add_number(o, "clients", s->clients - 1);
	adv_json_add_number(o, "slots_used", s->slots_used);
	adv_json_add_number(o, "slots_total", s->slots_total);
	adv_json_add_number(o, "blocks_used", s->blocks_used);
	adv_json_add_number(o, "blocks_total", s->blocks_total);
	adv_json_add_number(o, "workers_replaced", s->restarts);
	adv_json_add_number(o, "qp1_dropped", s->qp1_dropped);
	part = adv_json_add_object(o, "connection_manager");
	adv_json_add_number(part, "programs", s->cm_clients);
	adv_json_add_number(part, "ids", s->cm_ids);
	adv_json_add_number(part, "connected", s->cm_connections);
	adv_json_add_number(part, "ending", s->cm_ending);
	adv_json_add_number(part, "received", s->cm_rx);
	adv_json_add_number(part, "sent", s->cm_tx);
	adv_json_add_number(part, "repeated", s->cm_retries);
	adv_json_add_number(part, "not_accepted", s->cm_dropped);
	part = adv_json_add_object(o, "congestion");
	adv_json_add_number(part, "np_ecn_marked_roce_packets", e->np_ecn_marked_roce_packets);
	adv_json_add_number(part, "np_cnp_sent", e->np_cnp_sent);
	adv_json_add_number(part, "rp_cnp_handled", e->rp_cnp_handled);
	adv_json_add_number(part, "rp_cnp_ignored", e->rp_cnp_ignored);
	slots = adv_json_add_array(o, "slots");
	for (unsigned i = 0; i < r->count; i++)
		adv_json_append(slots, entry_to_json(&r->entry[i]));
	adv_json_print(stdout, o);
}

/* ---- the command ---- */

/* Says why there is no connection; `error` and `reason` are those of adv_control_connect(). */
static void print_absence(int error, const char *reason, bool json)
{
	struct json_object *o;
	char text[2048];

	adv_cli_absence(error, reason, text, sizeof(text));
	if (json) {
		o = adv_json_object();
		adv_json_add_flag(o, "running", false);
		adv_json_add_text(o, "reason", text);
		adv_json_print(stdout, o);
	} else if (error == ECONNREFUSED) {
		printf("%s\n", text);
	} else {
		fprintf(stderr, "adverb: %s\n", text);
	}
}

int adv_status_main(int argc, char **argv)
{
	struct report r = {.entry = NULL};
	struct adv_control *c;
	bool json = false;
	char why[1024];
	int error;

	if (!adv_command_read_json(about, argc, argv, &json))
		return ADV_EXIT_USAGE;
	c = adv_control_connect(false, why, sizeof(why));
	if (!c) {
		print_absence(errno, why, json);
		return ADV_EXIT_FAILED;
	}
	error = read_report(c, &r);
	adv_control_close(c);
	if (error) {
		fprintf(stderr, "adverb: adverbd closed the connection\n");
	} else if (json) {
		print_json(&r);
	} else {
		print_status(&r.status);
		print_congestion(&r.counters.engine);
		print_slots(&r);
	}
	free(r.entry);
	return error ? ADV_EXIT_FAILED : 0;
}
