/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds connections of a flow, and notes its transfers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/scenario/builder.h"
#include "nic/congestion/congestion_control.h"

#define CONNECTIONS_MAX 1000000u
#define PAIRED_HOSTS	4096u
/* Measured memory, rounded up, bytes: of a connection without its work requests, of a work
 * request, and of a transfer. */
#define MEMORY_CONNECTION 3072u
#define MEMORY_REQUEST	  512u
#define MEMORY_TRANSFER	  160u
#define DEPTH		  8

bool adv_scenario_afford_flow(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			      uint64_t line, uint64_t connections, uint64_t transfers)
{
	uint64_t depth = flow->depth ? flow->depth : DEPTH;
	unsigned __int128 bytes =
		(unsigned __int128)connections * (MEMORY_CONNECTION + depth * MEMORY_REQUEST) +
		(unsigned __int128)transfers * MEMORY_TRANSFER;

	if (connections > CONNECTIONS_MAX)
		return adv_scenario_fail(b, line, "[flow] more than %u connections",
					 CONNECTIONS_MAX);
	return adv_scenario_afford(b, line, bytes);
}

/* Checks that a message fits into the window. With go-back-0 a message is acknowledged only at its
 * end, so the whole message has to fit. */
static bool fits_window(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			uint64_t line)
{
	uint64_t room = b->s->host.window * b->s->host.mtu;
	uint64_t message = flow->message ? flow->message : ADV_FABRIC_MESSAGE;

	if (b->s->host.retransmission != ADV_SCENARIO_GO_BACK_0 || message <= room)
		return true;
	return adv_scenario_fail(b, line,
				 "[host] retransmission = go-back-0 needs a window of %" PRIu64
				 " packets for messages of %" PRIu64 " bytes",
				 (message + b->s->host.mtu - 1) / b->s->host.mtu, message);
}

/* The data of a READ is in responses, which get no ACKs: an algorithm that reacts to ACKs only
 * cannot slow them down. */
static bool check_read(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
		       uint64_t line)
{
	enum adv_cc_algorithm control = (enum adv_cc_algorithm)b->s->host.control;
	const struct adv_cc_ops *ops = adv_cc_ops_of(control);

	if (flow->operation == ADV_FABRIC_READ &&
	    b->s->host.retransmission == ADV_SCENARIO_SELECTIVE)
		return adv_scenario_fail(
			b, line,
			"[flow] operation = read: selective retransmission does not cover READ "
			"responses; expected write or send, or retransmission = go-back-n");
	if (flow->operation != ADV_FABRIC_READ || !ops || !ops->on_ack)
		return true;
	return adv_scenario_fail(
		b, line,
		"[flow] operation = read: %s reacts to ACKs, and READ responses have none; "
		"expected write or send, or congestion-control = dcqcn or none",
		adv_cc_name(control));
}

int64_t adv_scenario_connect(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			     uint64_t line, uint32_t from, uint32_t to)
{
	struct adv_fabric_connection c = {
		.initiator = from,
		.target = to,
		.operation = (enum adv_fabric_operation)flow->operation,
		.dscp = (uint8_t)flow->dscp,
		.message = (uint32_t)flow->message,
		.depth = (uint32_t)flow->depth,
		.timeout = (uint8_t)flow->timeout,
		.retry_count = (uint8_t)flow->retries,
	};
	int64_t n;

	if (to >= b->t->hosts) {
		adv_scenario_fail(b, line, "[flow] host %u does not exist: the last one is %u", to,
				  b->t->hosts - 1);
		return -1;
	}
	if (from == to) {
		adv_scenario_fail(b, line,
				  "[flow] from = %u and to = %u: a host does not send to itself",
				  from, to);
		return -1;
	}
	if (!fits_window(b, flow, line) || !check_read(b, flow, line))
		return -1;
	n = adv_fabric_connect(b->f, &c);
	if (n < 0)
		adv_scenario_fail(b, line, "a connection: %s", strerror(errno));
	return n;
}

/* ---- connections that are made when they are needed ---- */

bool adv_scenario_pairs(struct adv_scenario_builder *b, uint64_t line)
{
	size_t hosts = b->t->hosts;

	if (hosts > PAIRED_HOSTS)
		return adv_scenario_fail(b, line,
					 "[flow] to = random and collectives: expected at most %u "
					 "hosts, the network has %zu",
					 PAIRED_HOSTS, hosts);
	free(b->pair);
	b->pair = calloc(hosts * hosts, sizeof(*b->pair));
	return b->pair || adv_scenario_fail(b, line, "no memory");
}

int64_t adv_scenario_pair(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t from, uint32_t to)
{
	uint32_t *pair = &b->pair[(size_t)from * b->t->hosts + to];
	int64_t n;

	if (*pair)
		return *pair - 1;
	if (!adv_scenario_afford_flow(b, flow, line, 1, 0))
		return -1;
	n = adv_scenario_connect(b, flow, line, from, to);
	if (n >= 0)
		*pair = (uint32_t)n + 1;
	return n;
}

bool adv_scenario_note(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
		       uint64_t line, int64_t job)
{
	if (job < 0)
		return adv_scenario_fail(b, line, "[flow] a transfer: %s", strerror(errno));
	if (flow->jobs++ == 0)
		flow->first_job = (uint32_t)job;
	flow->transfers +=
		adv_fabric_get_transfer(b->f, (uint32_t)job)->connection != ADV_FABRIC_COMPUTATION;
	return true;
}
