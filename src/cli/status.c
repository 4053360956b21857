/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb status: prints the state of adverbd and the processes with slots. */
#include "cli/command.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>

#include "daemon/port_holder.h"
#include "host/counters.h"
#include "wire/packet.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_error(state, "unexpected argument '%s'", arg);
	return 0;
}

static const struct argp argp = {NULL,
				 parse_option,
				 NULL,
				 "Show whether adverbd runs, and which processes have slots. Exit "
				 "status 1: adverbd does not run.",
				 NULL,
				 NULL,
				 NULL};

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

/* Prints the congestion counters of all programs since the daemon's start. If no packet was marked,
 * prints nothing. */
static int print_congestion(struct adv_control *c)
{
	struct adv_counters all;
	const struct adv_engine_counters *e = &all.engine;
	int error = adv_control_counters(c, &all);

	if (error || !(e->np_ecn_marked_roce_packets | e->rp_cnp_handled | e->rp_cnp_ignored))
		return error;
	printf("congestion: %" PRIu64 " packets marked by the network, %" PRIu64
	       " CNPs sent, %" PRIu64 " obeyed, %" PRIu64 " ignored\n",
	       e->np_ecn_marked_roce_packets, e->np_cnp_sent, e->rp_cnp_handled, e->rp_cnp_ignored);
	return 0;
}

/* Writes the first QP number of the slot, and the number of QP numbers that its blocks add. */
static void print_qpns(const struct adv_control_entry *e, char *text, size_t len)
{
	int n = snprintf(text, len, "0x%06x", adv_slot_qpn(e->slot));

	if (e->blocks)
		snprintf(text + n, len - (size_t)n, " + %u", e->blocks << ADV_BLOCK_QPN_BITS);
}

static int print_slots(struct adv_control *c)
{
	struct adv_control_entry e;
	char qpns[40];
	uint32_t from = 0;
	int error;

	while ((error = adv_control_list(c, from, &e)) == 0) {
		if (from == 0)
			printf("\n%-5s  %-22s  %-8s  %-8s  %-10s  %s\n", "SLOT", "QPNS", "PID",
			       "UID", "SECONDS", "PROGRAM");
		print_qpns(&e, qpns, sizeof(qpns));
		printf("%-5u  %-22s  %-8u  %-8u  %-10" PRIu64 "  %s%s\n", e.slot, qpns, e.pid,
		       e.uid, e.age_ms / 1000, e.comm, e.connected ? "" : " (not resumed yet)");
		from = e.slot + 1;
	}
	return error == ENOENT ? 0 : error;
}

int adv_status_main(int argc, char **argv)
{
	struct adv_control_status s;
	struct adv_control *c;
	char why[1024];
	int error;

	if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
		return ADV_EXIT_USAGE;
	c = adv_control_connect(false, why, sizeof(why));
	if (!c && errno == ECONNREFUSED && adv_port_holder_hinders(ADV_ROCE_UDP_PORT)) {
		adv_port_holder_describe(ADV_ROCE_UDP_PORT, why, sizeof(why));
		printf("no adverbd for your user runs in this network namespace: %s\n", why);
		return ADV_EXIT_FAILED;
	}
	if (!c && errno == ECONNREFUSED) {
		printf("%s; the first program that uses RDMA starts it\n", why);
		return ADV_EXIT_FAILED;
	}
	if (!c) {
		fprintf(stderr, "adverb: %s\n", why);
		return ADV_EXIT_FAILED;
	}
	error = adv_control_status(c, &s);
	if (!error) {
		print_status(&s);
		error = print_congestion(c);
	}
	if (!error)
		error = print_slots(c);
	adv_control_close(c);
	if (error)
		fprintf(stderr, "adverb: adverbd closed the connection\n");
	return error ? ADV_EXIT_FAILED : 0;
}
