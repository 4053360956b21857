/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/explain/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/observe/errors.h"
#include "runtime/identity/hw_counters.h"
#include "nic/engine/cause.h"
#include "nic/engine/names.h"
#include "nic/wire/gid.h"

#define SECOND_NS	  1000000000u
#define TIMEOUT_UNIT	  4.096e-3 /* ms: a Local ACK Timeout is 4.096 us x 2^timeout */
#define RNR_RETRY_FOREVER 7

static void print_path(const struct adv_object *r)
{
	char local[ADV_GID_TEXT_LENGTH], peer[ADV_GID_TEXT_LENGTH];
	struct adv_gid gid;

	if (!adv_object_has_peer(r)) {
		printf("  path      no peer\n");
		return;
	}
	memcpy(gid.raw, r->qp.sgid, sizeof(gid.raw));
	adv_gid_text(&gid, local);
	memcpy(gid.raw, r->qp.dgid, sizeof(gid.raw));
	adv_gid_text(&gid, peer);
	if (r->qp.flags & ADV_QP_IWARP) {
		printf("  path      %s port %u to %s port %u, TCP\n", local, r->qp.stream_local,
		       peer, r->qp.stream_peer);
		return;
	}
	printf("  path      %s (GID %u) to %s, queue pair 0x%06x, path MTU %u\n", local,
	       r->qp.sgid_index, peer, r->qp.remote, r->qp.mtu);
}

/* What is on its way to the peer. */
static void print_sent(const struct adv_object_qp *q)
{
	if (!(q->flags & ADV_QP_IWARP))
		printf("  send      PSN %u, oldest unacknowledged %u, %u packets in flight of a "
		       "window of %u",
		       q->sq_psn, q->una_psn, q->in_flight, q->window);
	else if (q->flags & ADV_QP_STREAM)
		printf("  send      %u bytes that the peer's TCP has not acknowledged",
		       q->stream_queued);
	else
		printf("  send      no connection");
	printf("; %u requests outstanding of %u\n", q->send_posted - q->send_done, q->send_room);
}

static void print_queues(const struct adv_object *r)
{
	const struct adv_object_qp *q = &r->qp;

	print_sent(q);
	if (q->send_posted != q->send_done)
		printf("            the oldest is %s of %u bytes\n", adv_wr_opcode_name(q->request),
		       q->request_length);
	else if (q->send_held)
		printf("            %u slots are held by requests that have ended: no completion "
		       "after them was polled\n",
		       q->send_held);
	if (q->flags & ADV_QP_IWARP && !q->srq)
		printf("  receive   %u receive requests posted of %u\n",
		       q->recv_posted - q->recv_done, q->recv_room);
	else if (q->flags & ADV_QP_IWARP)
		printf("  receive   SRQ %u\n", q->srq);
	else if (q->srq)
		printf("  receive   expected PSN %u; SRQ %u\n", q->rq_psn, q->srq);
	else
		printf("  receive   expected PSN %u; %u receive requests posted of %u\n", q->rq_psn,
		       q->recv_posted - q->recv_done, q->recv_room);
}

static void print_retries(const struct adv_object *r)
{
	const struct adv_object_qp *q = &r->qp;
	char rnr[32] = "without limit", timeout[32] = "none";

	if (r->type == IBV_QPT_UD || r->type == IBV_QPT_UC || r->state != IBV_QPS_RTS ||
	    q->flags & ADV_QP_IWARP)
		return;
	if (q->timeout)
		snprintf(timeout, sizeof(timeout), "%.4g ms",
			 TIMEOUT_UNIT * (double)(UINT64_C(1) << (q->timeout & 31)));
	if (q->rnr_retry != RNR_RETRY_FOREVER)
		snprintf(rnr, sizeof(rnr), "%u of %u left", q->rnr_left, q->rnr_retry);
	printf("  retries   %u of %u left, timeout %u (%s); RNR retries %s%s%s\n", q->retry_left,
	       q->retry_cnt, q->timeout, timeout, rnr,
	       q->flags & ADV_QP_UNANSWERED ? "; no answer since the last timeout" : "",
	       q->flags & ADV_QP_RNR_WAIT ? "; waits after an RNR NAK" : "");
}

static void print_error(const struct adv_object_qp *q, uint64_t now)
{
	const struct adv_cause *cause = adv_cause(q->error_cause);
	double ago = now > q->error_at ? (double)(now - q->error_at) / SECOND_NS : 0;

	if (!q->error_kind)
		return;
	if (q->error_kind == ADV_QP_ERROR_EVENT)
		printf("  error     %s", adv_event_text(q->error_status)->name);
	else
		printf("  error     %s request %" PRIu64 ": %s (status %u)",
		       q->error_kind == ADV_QP_ERROR_SEND ? adv_wr_opcode_name(q->error_opcode)
							  : "receive",
		       q->error_wr_id, adv_wc_status_name((enum ibv_wc_status)q->error_status),
		       q->error_status);
	printf(", %.1f s ago\n", ago);
	if (cause)
		printf("            cause %u %s: %s\n", q->error_cause, cause->name, cause->text);
	if (q->flags & ADV_QP_ERROR_MEMORY)
		printf("            rkey 0x%08x, address 0x%" PRIx64 ", %u bytes\n", q->error_rkey,
		       q->error_va, q->error_length);
}

/* Prints the counters of the QP that are not 0, with their increments. */
static void print_counters(const struct adv_triage_facts *f)
{
	const struct adv_counters none = {.engine = {0}};
	const char *name, *before = "  counters  ";
	uint64_t value, was, ignored;

	for (unsigned i = 0; (name = adv_hw_counter(&none, i, &ignored)); i++) {
		if (!adv_hw_counter_of_qp(f->now->qp.share, i, &value) || !value)
			continue;
		adv_hw_counter_of_qp(f->before->qp.share, i, &was);
		printf("%s%s %" PRIu64, before, name, value);
		if ((uint32_t)(value - was))
			printf(" (+%u)", (uint32_t)(value - was));
		before = ", ";
	}
	if (before[0] == ',')
		printf("\n");
	if (f->unpolled)
		printf("  waiting   %u completions are not polled yet\n", f->unpolled);
}

static const char *result_text(enum adv_probe_result result)
{
	static const char *const texts[] = {
		[ADV_PROBE_NOT_TRIED] = "not tried",
		[ADV_PROBE_ANSWERED] = "answered",
		[ADV_PROBE_REFUSED] = "refused by ICMP or a firewall",
		[ADV_PROBE_SILENT] = "no answer",
		[ADV_PROBE_TOO_LONG] = "too long for an interface on the way",
	};

	return texts[result];
}

static void print_peer(const struct adv_triage_facts *f, const struct adv_control_entry *owner)
{
	static const char *const states[] = {
		[ADV_PEER_UNKNOWN] = "",
		[ADV_PEER_RUNS] = "",
		[ADV_PEER_STOPPED] = ", stopped",
		[ADV_PEER_NO_QP] = ", without this queue pair",
		[ADV_PEER_NOT_READY] = ", its queue pair does not receive",
	};

	if (owner->pid)
		printf("  peer      process %u (%s) of this machine%s\n", owner->pid, owner->comm,
		       states[f->peer]);
	if (f->cm == ADV_PROBE_NOT_TRIED && f->echo == ADV_PROBE_NOT_TRIED)
		return;
	printf("  probes    connection manager (UDP port 4791): %s\n"
	       "            echo, short: %s; as long as the path MTU: %s\n",
	       result_text(f->cm), result_text(f->echo), result_text(f->echo_long));
}

void adv_explain_print_qp(const struct adv_triage_facts *f, const struct adv_control_entry *owner,
			  uint64_t now)
{
	const struct adv_object *r = f->now;
	char command[ADV_COMMAND_TEXT];

	adv_object_command(r->pid, command);
	printf("queue pair 0x%06x, %s, state %s, of process %u (%s)\n", r->number,
	       adv_qp_type_name((enum ibv_qp_type)r->type),
	       adv_qp_state_name((enum ibv_qp_state)r->state), r->pid, command);
	print_path(r);
	print_queues(r);
	print_retries(r);
	print_error(&r->qp, now);
	print_counters(f);
	print_peer(f, owner);
}

void adv_explain_print_findings(const struct adv_finding *findings, unsigned count)
{
	printf("  check\n");
	for (unsigned i = 0; i < count; i++)
		printf("    %u. %s: %s\n       to do: %s\n", i + 1,
		       adv_branch_name(findings[i].branch), findings[i].what, findings[i].remedy);
}

/* ---- the port ---- */

typedef const char *counter_fn(const struct adv_counters *c, unsigned i, uint64_t *value);

/* Prints counters that changed, except those of all packets. */
static const char *print_changes(const struct adv_counters *before, const struct adv_counters *now,
				 counter_fn *counter, const char *between)
{
	const char *name;
	uint64_t was, is;

	for (unsigned i = 0; (name = counter(now, i, &is)); i++) {
		counter(before, i, &was);
		if (is == was || strncmp(name, "port_xmit_p", 11) == 0 ||
		    strncmp(name, "port_rcv_p", 10) == 0 || strstr(name, "_data"))
			continue;
		printf("%s%s +%" PRIu64, between, name, is - was);
		between = ", ";
	}
	return between;
}

void adv_explain_print_port(const struct adv_port_reading *before,
			    const struct adv_port_reading *now)
{
	uint64_t ns = now->at > before->at ? now->at - before->at : 1;
	double seconds = (double)ns / SECOND_NS;
	const struct adv_link_counters *a = &before->counters.link, *b = &now->counters.link;
	const char *between = "  changed   ";

	printf("port, in %.0f ms\n  sent      %.0f packets/s, %.3g MB/s\n  received  %.0f "
	       "packets/s, %.3g MB/s\n",
	       seconds * 1e3, (double)(b->tx_packets - a->tx_packets) / seconds,
	       (double)(b->tx_bytes - a->tx_bytes) / seconds / 1e6,
	       (double)(b->rx_packets - a->rx_packets) / seconds,
	       (double)(b->rx_bytes - a->rx_bytes) / seconds / 1e6);
	between = print_changes(&before->counters, &now->counters, adv_hw_counter_of_port, between);
	between = print_changes(&before->counters, &now->counters, adv_hw_counter, between);
	if (between[0] == ',')
		printf("\n");
}
