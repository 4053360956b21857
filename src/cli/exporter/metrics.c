/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The format is that of https://prometheus.io/docs/instrumenting/exposition_formats/. The names
 * that begin with "node_infiniband_" are those of node_exporter, collector/infiniband_linux.go.
 * node_exporter multiplies data counters by four, and reads hw_counters of cards of some vendors
 * only.
 */
#include "cli/exporter/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "cli/observe/objects.h"
#include "runtime/identity/hw_counters.h"
#include "runtime/identity/identity.h"

#define PORT_LABELS    "device=\"" ADV_DEVICE_NAME "\",port=\"1\""
#define MEGABIT_BYTES  125000u /* bytes/s in a Mbit/s */
#define STATE_DOWN     1
#define STATE_ACTIVE   4
#define OCTETS_IN_DATA 4 /* port_xmit_data and port_rcv_data count units of four octets */
#define LABELS_ROOM    160
/* Buckets below 4.3 s; longer ones are in +Inf. */
#define LATENCY_SHOWN (25 * ADV_LATENCY_PARTS)

/* A counter of sysfs with its two names, and what it counts. */
struct described {
	const char *counter;
	const char *node; /* name after "node_infiniband_"; NULL: node_exporter has none */
	const char *help;
};

static const struct described port_counters[] = {
	{"symbol_error", "symbol_error_total", "Symbol errors; always 0."},
	{"link_error_recovery", "link_error_recovery_total", "Recoveries of the link; always 0."},
	{"port_rcv_remote_physical_errors", "port_receive_remote_physical_errors_total",
	 "Received packets that were marked as bad; always 0."},
	{"port_rcv_switch_relay_errors", "port_receive_switch_relay_errors_total",
	 "Packets that a switch could not forward; always 0."},
	{"port_xmit_constraint_errors", "port_constraint_errors_transmitted_total",
	 "Packets that a switch port did not send; always 0."},
	{"port_rcv_constraint_errors", "port_constraint_errors_received_total",
	 "Packets that a switch port discarded; always 0."},
	{"local_link_integrity_errors", "local_link_integrity_errors_total",
	 "Excessive local physical errors; always 0."},
	{"VL15_dropped", "vl15_dropped_total", "Dropped packets of virtual lane 15; always 0."},
	{"port_rcv_errors", "port_errors_received_total",
	 "Received packets that are malformed or have a wrong ICRC."},
	{"port_xmit_discards", "port_discards_transmitted_total",
	 "Packets that the kernel refused to send."},
	{"port_xmit_data", "port_data_transmitted_bytes_total", "Bytes sent, BTH to ICRC."},
	{"port_rcv_data", "port_data_received_bytes_total", "Bytes received, BTH to ICRC."},
	{"port_xmit_packets", "port_packets_transmitted_total", "Packets sent."},
	{"port_rcv_packets", "port_packets_received_total", "Packets received."},
};

static const struct described hw_counters[] = {
	{"duplicate_request", "duplicate_requests_packets_total",
	 "Received request packets that had been received before."},
	{"implied_nak_seq_err", "implied_nak_seq_errors_total",
	 "Responses or ACKs that arrived before those of older requests."},
	{"local_ack_timeout_err", "local_ack_timeout_errors_total",
	 "Timeouts: no ACK arrived in time, and the requester sent again."},
	{"np_cnp_sent", "np_cnp_packets_sent_total", "Congestion notification packets sent."},
	{"np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received_total",
	 "Received packets that the network marked (ECN)."},
	{"out_of_buffer", "out_of_buffer_drops_total",
	 "Messages that found no posted receive request."},
	{"out_of_memory", NULL, "Packets treated as lost for lack of memory."},
	{"out_of_sequence", "out_of_sequence_packets_received_total",
	 "Received packets after a gap in the PSNs."},
	{"packet_seq_err", "packet_sequence_errors_total",
	 "Received NAKs for PSN sequence errors: the requester sent again."},
	{"qp_pkey_violations", NULL, "Received packets of other partitions (P_Keys)."},
	{"req_cqe_error", "req_cqes_errors_total", "Send requests that completed with an error."},
	{"req_remote_access_errors", "req_remote_access_errors_total",
	 "Requests that the peer refused: remote access error."},
	{"req_remote_invalid_request", "req_remote_invalid_request_errors_total",
	 "Requests that the peer refused as invalid."},
	{"req_rnr_retries_exceeded", NULL,
	 "Requests that ended in an error: the peer posted no receive request."},
	{"req_transport_retries_exceeded", NULL,
	 "Requests that ended in an error: the peer did not answer."},
	{"resp_cqe_error", "resp_cqes_errors_total",
	 "Receive requests that completed with an error."},
	{"resp_local_length_error", "resp_local_length_errors_total",
	 "Messages that were longer than the receive request."},
	{"resp_remote_access_errors", "resp_remote_access_errors_total",
	 "Requests that this side refused: remote access error."},
	{"rnr_nak_retry_err", "rnr_nak_retry_packets_received_total",
	 "Received RNR NAKs: the peer had no receive request."},
	{"rp_cnp_handled", "rp_cnp_packets_handled_total",
	 "Received congestion notification packets that lowered a rate."},
	{"rp_cnp_ignored", "rp_cnp_ignored_packets_received_total",
	 "Received congestion notification packets without effect."},
	{"rx_atomic_requests", "rx_atomic_requests_total", "Received atomic requests."},
	{"rx_read_requests", "rx_read_requests_total", "Received READ requests."},
	{"rx_write_requests", "rx_write_requests_total", "Received WRITE requests."},
	{"rx_icrc_encapsulated", "rx_icrc_encapsulated_errors_total",
	 "Received packets with a wrong ICRC."},
};

static const struct described *find_described(const struct described *all, size_t count,
					      const char *counter)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(all[i].counter, counter) == 0)
			return &all[i];
	return NULL;
}

/* ---- the format ---- */

/* Begins a metric: its samples follow. `name` is prefix and rest together. */
static void begin_metric(FILE *f, const char *prefix, const char *name, const char *suffix,
			 const char *type, const char *help)
{
	fprintf(f, "# HELP %s%s%s %s\n# TYPE %s%s%s %s\n", prefix, name, suffix, help, prefix, name,
		suffix, type);
}

/* Prints the labels of a process, each with a comma behind it. The name of a process is the
 * program's choice: only printable ASCII is copied. */
static void print_labels(char labels[LABELS_ROOM], const struct adv_sample_process *p)
{
	char comm[2 * sizeof(p->comm)], *to = comm;

	for (const char *c = p->comm; *c; c++) {
		if (*c == '"' || *c == '\\')
			*to++ = '\\';
		*to++ = *c >= ' ' && *c <= '~' ? *c : '?';
	}
	*to = 0;
	snprintf(labels, LABELS_ROOM,
		 "device=\"" ADV_DEVICE_NAME "\",pid=\"%u\",comm=\"%s\",uid=\"%u\",", p->pid, comm,
		 p->uid);
}

/* Writes a metric that has one sample, of the port. */
static void write_port(FILE *f, const char *prefix, const char *name, const char *suffix,
		       const char *type, const char *help, uint64_t value)
{
	begin_metric(f, prefix, name, suffix, type, help);
	fprintf(f, "%s%s%s{" PORT_LABELS "} %" PRIu64 "\n", prefix, name, suffix, value);
}

/* Writes a metric that has one sample, of adverbd. */
static void write_single(FILE *f, const char *name, const char *type, const char *help,
			 uint64_t value)
{
	begin_metric(f, "", name, "", type, help);
	fprintf(f, "%s %" PRIu64 "\n", name, value);
}

/* ---- the port, as node_exporter has it ---- */

static void write_port_state(FILE *f, const struct adv_gid_table *t)
{
	static const char prefix[] = "node_infiniband_";
	uint64_t mbps = adv_identity_shown_mbps(t->count ? t->entry[0].speed_mbps : 0);

	begin_metric(f, prefix, "info", "", "gauge", "The device; always 1.");
	fprintf(f,
		"%sinfo{device=\"" ADV_DEVICE_NAME
		"\",board_id=\"adverb\",firmware_version=\"%s\",hca_type=\"adverb\"} 1\n",
		prefix, ADV_FW_VER);
	write_port(f, prefix, "state_id", "", "gauge", "State of the port: 1 down, 4 active.",
		   t->port_active ? STATE_ACTIVE : STATE_DOWN);
	write_port(f, prefix, "physical_state_id", "", "gauge",
		   "Physical state of the port: 3 disabled, 5 link up.",
		   t->port_active ? ADV_PHYS_LINK_UP : ADV_PHYS_DISABLED);
	write_port(f, prefix, "rate_bytes_per_second", "", "gauge", "Speed of the port.",
		   mbps * MEGABIT_BYTES);
}

static void write_port_counters(FILE *f, const struct adv_counters *c)
{
	const char *name;
	uint64_t value;

	for (unsigned i = 0; (name = adv_hw_counter_of_port(c, i, &value)); i++) {
		const struct described *d =
			find_described(port_counters, ADV_ARRAY_SIZE(port_counters), name);

		if (d && strstr(d->node, "_bytes_"))
			value *= OCTETS_IN_DATA;
		if (d)
			write_port(f, "node_infiniband_", d->node, "", "counter", d->help, value);
	}
	for (unsigned i = 0; (name = adv_hw_counter(c, i, &value)); i++) {
		const struct described *d =
			find_described(hw_counters, ADV_ARRAY_SIZE(hw_counters), name);

		if (d && d->node)
			write_port(f, "node_infiniband_", d->node, "", "counter", d->help, value);
	}
}

/* ---- Adverb's own ---- */

static const char *help_of(const char *counter)
{
	const struct described *d =
		find_described(hw_counters, ADV_ARRAY_SIZE(hw_counters), counter);

	return d ? d->help : "A counter of hw_counters.";
}

/* Counters that have no name in sysfs. */
static void write_refused(FILE *f, const struct adv_counters *c)
{
	const struct {
		const char *name, *help;
		uint64_t value;
	} all[] = {
		{"rnr_nak_sent", "RNR NAKs sent: this side had no receive request.",
		 c->engine.rnr_nak_sent},
		{"rx_malformed", "Received packets that cannot be decoded.",
		 c->engine.rx_malformed},
		{"rx_no_qp", "Received packets for no queue pair that receives them.",
		 c->engine.rx_no_qp},
		{"rx_bad_qkey", "Received packets with a wrong Q_Key.", c->engine.rx_bad_qkey},
		{"rx_bad_address", "Received packets that are not from the connected peer.",
		 c->engine.rx_bad_address},
		{"rx_bad_sender", "Received packets that another process of this machine forged.",
		 c->engine.rx_bad_sender},
		{"rx_misdelivered", "Received packets for another process.",
		 c->link.rx_misdelivered},
		{"tx_blocked", "Sends that found the socket full.", c->link.tx_blocked},
		{"uc_drops", "Messages of UC and UD that were dropped.", c->engine.uc_drops},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(all); i++)
		write_port(f, "adverb_", all[i].name, "_total", "counter", all[i].help,
			   all[i].value);
}

static void write_own_counters(FILE *f, const struct adv_counters *c)
{
	const char *name;
	uint64_t value;

	for (unsigned i = 0; (name = adv_hw_counter(c, i, &value)); i++)
		write_port(f, "adverb_", name, "_total", "counter", help_of(name), value);
	write_refused(f, c);
}

static void write_objects(FILE *f, const struct adv_metrics *m)
{
	begin_metric(f, "adverb_", "objects", "", "gauge", "Objects of all programs, by kind.");
	for (unsigned i = 0; i < ADV_RESOURCE_KINDS; i++)
		fprintf(f, "adverb_objects{kind=\"%s\"} %" PRIu64 "\n",
			adv_object_kind_name((enum adv_resource_kind)i), m->objects[i]);
}

static void write_daemon(FILE *f, const struct adv_sample *s)
{
	const struct adv_control_status *d = &s->status;

	write_single(f, "adverb_daemon_uptime_seconds", "gauge", "Time since adverbd started.",
		     d->uptime_ms / 1000);
	write_single(f, "adverb_daemon_restarts_total", "counter",
		     "Replaced worker processes of adverbd.", d->restarts);
	write_single(f, "adverb_processes", "gauge", "Processes that use the device.", s->count);
	write_single(f, "adverb_slots", "gauge", "Slots; a process holds one or more.",
		     d->slots_total);
	write_single(f, "adverb_slots_used", "gauge", "Slots in use.", d->slots_used);
	write_single(f, "adverb_cm_ids", "gauge", "Ids of the connection manager.", d->cm_ids);
	write_single(f, "adverb_cm_connections", "gauge", "Ids that have a peer.",
		     d->cm_connections);
	write_single(f, "adverb_cm_messages_received_total", "counter",
		     "Messages that the connection manager received.", d->cm_rx);
	write_single(f, "adverb_cm_messages_sent_total", "counter",
		     "Messages that the connection manager sent.", d->cm_tx);
	write_single(f, "adverb_cm_messages_repeated_total", "counter",
		     "Messages that the connection manager sent again, without an answer.",
		     d->cm_retries);
	write_single(f, "adverb_cm_messages_dropped_total", "counter",
		     "Messages to the connection manager that were malformed, had no receiver or "
		     "exceeded a backlog.",
		     d->cm_dropped);
	write_single(f, "adverb_qp1_dropped_total", "counter",
		     "Packets to QP0 and QP1 that had no receiver.", d->qp1_dropped);
}

/* ---- latency ---- */

/* Returns a number of ns, as a number of seconds with nine digits. */
static void write_seconds(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);
}

/* Writes one histogram: a bucket for each width, because time series are expensive. `labels` ends
 * with a comma, or is empty. */
static void write_histogram(FILE *f, const char *name, const char *labels,
			    const uint64_t bucket[ADV_LATENCY_BUCKETS])
{
	uint64_t below = 0;

	for (unsigned i = 0; i < LATENCY_SHOWN; i++) {
		below += bucket[i];
		if (i % ADV_LATENCY_PARTS != ADV_LATENCY_PARTS - 1)
			continue;
		fprintf(f, "%s_bucket{%sle=\"", name, labels);
		write_seconds(f, adv_latency_bound(i));
		fprintf(f, "\"} %" PRIu64 "\n", below);
	}
	below = adv_latency_count(bucket);
	fprintf(f, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, below);
	fprintf(f, "%s_sum{%.*s} ", name, (int)strlen(labels) - 1, labels);
	write_seconds(f, adv_latency_sum(bucket));
	fprintf(f, "\n%s_count{%.*s} %" PRIu64 "\n", name, (int)strlen(labels) - 1, labels, below);
}

static void write_latency(FILE *f, const struct adv_sample *s)
{
	static const char all[] = "adverb_completion_latency_seconds";
	static const char one[] = "adverb_process_completion_latency_seconds";
	char labels[LABELS_ROOM];

	begin_metric(f, all, "", "", "histogram",
		     "Time from the post of a send request to its completion.");
	write_histogram(f, all, PORT_LABELS ",", s->total.work.send_latency);
	begin_metric(f, one, "", "", "histogram",
		     "Time from the post of a send request to its completion.");
	for (size_t i = 0; i < s->count; i++) {
		if (!s->process[i].counted)
			continue;
		print_labels(labels, &s->process[i]);
		write_histogram(f, one, labels, s->process[i].counters.work.send_latency);
	}
}

/* ---- processes ---- */

static void write_of_process(FILE *f, const char *name, const struct adv_sample_process *p,
			     uint64_t value)
{
	char labels[LABELS_ROOM];

	print_labels(labels, p);
	fprintf(f, "adverb_process_%s_total{%.*s} %" PRIu64 "\n", name, (int)strlen(labels) - 1,
		labels, value);
}

/* Writes one counter of all processes. `at`: offset in struct adv_counters. */
static void write_of_processes(FILE *f, const struct adv_sample *s, const char *name,
			       const char *help, size_t at)
{
	begin_metric(f, "adverb_process_", name, "_total", "counter", help);
	for (size_t i = 0; i < s->count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&s->process[i].counters + at, sizeof(value));
		if (s->process[i].counted)
			write_of_process(f, name, &s->process[i], value);
	}
}

static void write_hw_of_processes(FILE *f, const struct adv_sample *s, unsigned index)
{
	uint64_t value;
	const char *name = adv_hw_counter(&s->total, index, &value);

	begin_metric(f, "adverb_process_", name, "_total", "counter", help_of(name));
	for (size_t i = 0; i < s->count; i++) {
		(void)adv_hw_counter(&s->process[i].counters, index, &value);
		if (s->process[i].counted)
			write_of_process(f, name, &s->process[i], value);
	}
}

static void write_processes(FILE *f, const struct adv_sample *s)
{
	uint64_t ignored;

	write_of_processes(f, s, "transmitted_bytes", "Bytes that the process sent, BTH to ICRC.",
			   offsetof(struct adv_counters, link.tx_bytes));
	write_of_processes(f, s, "received_bytes", "Bytes that the process received, BTH to ICRC.",
			   offsetof(struct adv_counters, link.rx_bytes));
	write_of_processes(f, s, "receive_completions",
			   "Receive requests that completed successfully.",
			   offsetof(struct adv_counters, work.recv_completed));
	write_of_processes(f, s, "transmitted_packets", "Packets that the process sent.",
			   offsetof(struct adv_counters, link.tx_packets));
	write_of_processes(f, s, "received_packets", "Packets that the process received.",
			   offsetof(struct adv_counters, link.rx_packets));
	for (unsigned i = 0; adv_hw_counter(&s->total, i, &ignored); i++)
		write_hw_of_processes(f, s, i);
}

void adv_metrics_write_node(FILE *f, const struct adv_sample *s)
{
	write_port_state(f, &s->gids);
	write_port_counters(f, &s->total);
}

void adv_metrics_write_own(FILE *f, const struct adv_metrics *m)
{
	write_own_counters(f, &m->sample.total);
	write_objects(f, m);
	write_daemon(f, &m->sample);
	write_latency(f, &m->sample);
	write_processes(f, &m->sample);
}
