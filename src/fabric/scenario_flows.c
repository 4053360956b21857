/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds the connections and transfers of [flow] sections. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/scenario_builder.h"

#define CONNECTIONS_MAX 1000000u
#define TRANSFERS_MAX	100000000u
/* Measured memory, rounded up, bytes: of a connection without its work requests, of a work
 * request, and of a transfer. */
#define MEMORY_CONNECTION 3072u
#define MEMORY_REQUEST	  512u
#define MEMORY_TRANSFER	  160u
#define DEPTH		  8
#define BYTES		  1000000 /* of a transfer, if the section does not say */

/* Estimates the number of transfers of a connection that begin within the run. The estimate is
 * rather too high. */
static uint64_t in_time(const struct adv_scenario_builder *b, const struct adv_scenario_flow *flow)
{
	uint64_t duration = b->s->run.duration, most;

	if (flow->start > duration)
		return 0;
	if (flow->interval == 0)
		return flow->count;
	most = (duration - flow->start) / flow->interval + 1;
	if (flow->arrivals == 1)
		most = 2 * most + 16;
	return most < flow->count ? most : flow->count;
}

static bool afford_flow(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			uint64_t line, uint64_t connections, uint64_t transfers)
{
	uint64_t depth = flow->depth ? flow->depth : DEPTH;
	unsigned __int128 bytes = MEMORY_CONNECTION + depth * MEMORY_REQUEST +
				  (unsigned __int128)transfers * MEMORY_TRANSFER;

	if (connections > CONNECTIONS_MAX)
		return adv_scenario_fail(b, line, "[flow] more than %u connections",
					 CONNECTIONS_MAX);
	return adv_scenario_afford(b, line, bytes * connections);
}

/* Returns -ln(u) of a random u in (0, 1], in units of 2^-16. It uses integers only, so the result
 * is the same on every machine. */
static uint64_t draw_exponential(struct adv_rng *rng)
{
	uint64_t u = (adv_rng_next(rng) >> 32) + 1; /* in units of 2^-32 */
	unsigned top = 63u - (unsigned)__builtin_clzll(u);
	uint64_t x = u << (62 - top), log2 = (uint64_t)top << 16; /* x: 1 to 2, in units of 2^-62 */

	for (int bit = 15; bit >= 0; bit--) {
		x = (uint64_t)(((unsigned __int128)x * x) >> 62);
		if (x >> 63) {
			x >>= 1;
			log2 |= 1ull << bit;
		}
	}
	/* ln 2 = 0.693147 */
	return ((32ull << 16) - log2) * 693147 / 1000000;
}

static uint64_t scale_size(struct adv_scenario_builder *b, uint64_t mean, bool random)
{
	unsigned __int128 value = mean;

	if (random)
		value = value * draw_exponential(&b->rng) >> 16;
	return value < ADV_QUANTITY_MAX ? (uint64_t)value : ADV_QUANTITY_MAX;
}

/* A point of a distribution: the number of transfers, out of a million, of at most `bytes` bytes.
 * Between two points the distribution is uniform. */
struct size_point {
	uint32_t bytes;
	uint32_t share;
};

/* Alizadeh et al., DCTCP, SIGCOMM 2010; mean 1.7 MB. */
static const struct size_point websearch[] = {
	{0, 0},
	{10000, 150000},
	{20000, 200000},
	{30000, 300000},
	{50000, 400000},
	{80000, 530000},
	{200000, 600000},
	{1000000, 700000},
	{2000000, 800000},
	{5000000, 900000},
	{10000000, 970000},
	{30000000, 1000000},
};

/* Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015; mean 120 kB. */
static const struct size_point hadoop[] = {
	{0, 0},		  {100, 10000},	     {200, 20000},	{300, 50000},
	{350, 150000},	  {400, 200000},     {500, 300000},	{600, 400000},
	{700, 500000},	  {1000, 600000},    {2000, 670000},	{7000, 700000},
	{30000, 720000},  {50000, 820000},   {80000, 870000},	{120000, 900000},
	{300000, 950000}, {1000000, 975000}, {2000000, 990000}, {10000000, 1000000},
};

static uint64_t from_table(struct adv_rng *rng, const struct size_point *p)
{
	uint64_t u = adv_rng_below(rng, 1000000);

	while (u >= p[1].share)
		p++;
	return p[0].bytes +
	       (u - p[0].share) * (p[1].bytes - p[0].bytes) / (p[1].share - p[0].share);
}

static uint64_t bytes_of(const struct adv_scenario_flow *flow)
{
	return flow->bytes == UINT64_MAX ? BYTES : flow->bytes;
}

static uint64_t size_of(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow)
{
	uint64_t bytes;

	if (flow->endless)
		return UINT64_MAX;
	if (flow->sizes == ADV_SCENARIO_WEBSEARCH)
		bytes = from_table(&b->rng, websearch);
	else if (flow->sizes == ADV_SCENARIO_HADOOP)
		bytes = from_table(&b->rng, hadoop);
	else
		bytes = scale_size(b, bytes_of(flow), flow->sizes == ADV_SCENARIO_EXPONENTIAL);
	return bytes ? bytes : 1;
}

static bool add_transfers(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t connection)
{
	uint64_t at = flow->start;

	for (uint64_t i = 0; i < flow->count; i++) {
		uint64_t bytes = size_of(b, flow);
		int64_t n;

		if (i || flow->arrivals == 1)
			at += scale_size(b, flow->interval, flow->arrivals == 1);
		if (at > b->s->run.duration)
			return true; /* this transfer and all later ones begin after the end of the
					run */
		n = adv_fabric_transfer(b->f, connection,
					flow->endless ? UINT64_MAX
					: bytes	      ? bytes
						      : 1,
					at);
		if (n < 0)
			return adv_scenario_fail(b, line, "a transfer: %s", strerror(errno));
		if (flow->transfers++ == 0)
			flow->first_transfer = (uint32_t)n;
	}
	return true;
}

/* Checks that a message fits into the window. With go-back-0 a message is acknowledged only at its
 * end, so the whole message has to fit. */
static bool fits_window(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
			uint64_t line)
{
	uint64_t room = b->s->host.window * b->s->host.mtu;
	uint64_t message = flow->message ? flow->message : ADV_FABRIC_MESSAGE;

	if (!b->s->host.go_back_0 || message <= room)
		return true;
	return adv_scenario_fail(b, line,
				 "[host] retransmission = go-back-0 needs a window of %" PRIu64
				 " packets for messages of %" PRIu64 " bytes",
				 (message + b->s->host.mtu - 1) / b->s->host.mtu, message);
}

/* Adds a connection of the flow. Returns its number. On error, writes the reason and returns -1. */
static int64_t connect_hosts(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow,
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
	if (!fits_window(b, flow, line))
		return -1;
	n = adv_fabric_connect(b->f, &c);
	if (n < 0)
		adv_scenario_fail(b, line, "a connection: %s", strerror(errno));
	return n;
}

static bool connect_two(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			uint64_t line, uint32_t from, uint32_t to)
{
	int64_t n = connect_hosts(b, flow, line, from, to);

	return n >= 0 && add_transfers(b, flow, line, (uint32_t)n);
}

/* Adds one step of all hosts. Each host sends a piece to the next host when the piece of the
 * previous step has arrived. */
static bool add_step(struct adv_scenario_builder *b, struct adv_scenario_flow *flow, uint64_t line,
		     uint32_t first_connection, uint32_t hosts)
{
	uint64_t piece = (bytes_of(flow) + hosts - 1) / hosts;
	uint32_t previous = flow->first_transfer + flow->transfers - hosts;

	for (uint32_t h = 0; h < hosts; h++) {
		uint32_t c = first_connection + h, before = previous + (h + hosts - 1) % hosts;
		int64_t n = flow->transfers < hosts
				    ? adv_fabric_transfer(b->f, c, piece, flow->start)
				    : adv_fabric_transfer_after(b->f, c, piece, &before, 1);

		if (n < 0)
			return adv_scenario_fail(b, line, "a transfer: %s", strerror(errno));
		if (flow->transfers == 0)
			flow->first_transfer = (uint32_t)n;
		flow->transfers++;
	}
	return true;
}

/* Adds an all-reduce in a ring, `count` times. Each of N hosts sends N - 1 pieces to be summed
 * and N - 1 pieces of the sums (Patarasuk and Yuan, 2009). */
static bool add_allreduce(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t first, uint32_t last)
{
	uint32_t hosts = last - first + 1, first_connection = 0;
	uint64_t steps = flow->count * 2 * (hosts - 1);

	if (hosts < 2 || flow->to != UINT64_MAX)
		return adv_scenario_fail(b, line,
					 "[flow] pattern = allreduce needs `from` of two hosts or "
					 "more, and no `to`");
	if (flow->endless || flow->sizes || flow->interval || flow->arrivals)
		return adv_scenario_fail(
			b, line,
			"[flow] pattern = allreduce has no `endless`, `sizes`, `interval` and "
			"`arrivals`");
	if (steps * hosts > TRANSFERS_MAX)
		return adv_scenario_fail(b, line, "more than %u transfers", TRANSFERS_MAX);
	if (!afford_flow(b, flow, line, hosts, steps))
		return false;
	for (uint32_t h = 0; h < hosts; h++) {
		int64_t n = connect_hosts(b, flow, line, first + h, first + (h + 1) % hosts);

		if (n < 0)
			return false;
		if (h == 0)
			first_connection = (uint32_t)n;
	}
	for (uint64_t s = 0; s < steps; s++)
		if (!add_step(b, flow, line, first_connection, hosts))
			return false;
	return true;
}

/* Draws a random permutation by Sattolo's algorithm: each host sends to one other host and
 * receives from one other host. */
static bool permute_hosts(struct adv_scenario_builder *b)
{
	uint32_t n = b->t->hosts;

	free(b->permutation);
	b->permutation = calloc(n, sizeof(*b->permutation));
	if (!b->permutation)
		return adv_scenario_fail(b, 0, "no memory");
	for (uint32_t i = 0; i < n; i++)
		b->permutation[i] = i;
	for (uint32_t i = n; i-- > 1;) {
		uint32_t k = (uint32_t)adv_rng_below(&b->rng, i), other = b->permutation[k];

		b->permutation[k] = b->permutation[i];
		b->permutation[i] = other;
	}
	return true;
}

static bool connect_range(struct adv_scenario_builder *b, struct adv_scenario_flow *flow,
			  uint64_t line, uint32_t from, uint32_t at, bool in_pairs)
{
	uint32_t first = (uint32_t)(flow->to >> 32), last = (uint32_t)flow->to;

	if (flow->to == ADV_SCENARIO_PERMUTATION)
		return connect_two(b, flow, line, from, b->permutation[from]);
	if (flow->to == ADV_SCENARIO_NEXT)
		return connect_two(b, flow, line, from, (from + 1) % b->t->hosts);
	if (flow->to == ADV_SCENARIO_ALL) {
		first = 0;
		last = b->t->hosts - 1;
	} else if (in_pairs) {
		return connect_two(b, flow, line, from, first + at);
	}
	for (uint32_t to = first; to <= last; to++)
		if ((to != from || first == last) && !connect_two(b, flow, line, from, to))
			return false;
	return true;
}

/* Returns the largest number of connections that a host of the flow initiates. */
static uint64_t count_partners(const struct adv_scenario_builder *b,
			       const struct adv_scenario_flow *flow, bool in_pairs)
{
	if (flow->to == ADV_SCENARIO_ALL)
		return b->t->hosts;
	if (in_pairs || flow->to > ADV_SCENARIO_ALL)
		return 1;
	return (uint32_t)flow->to - (uint32_t)(flow->to >> 32) + 1ull;
}

/* Adds a flow from one range of hosts to another. If both ranges have the same length, they are
 * connected in pairs. Otherwise each host of one range connects to each host of the other. */
static bool add_flow(struct adv_scenario_builder *b, struct adv_scenario_flow *flow, uint64_t line)
{
	uint32_t first = (uint32_t)(flow->from >> 32), last = (uint32_t)flow->from;
	uint32_t others = (uint32_t)flow->to - (uint32_t)(flow->to >> 32);
	char text[ADV_UNITS_TEXT];
	bool in_pairs;

	flow->transfers = 0;
	if (flow->from == UINT64_MAX || (flow->to == UINT64_MAX && !flow->pattern))
		return adv_scenario_fail(b, line, "[flow] needs `from` and `to`");
	if (flow->from == ADV_SCENARIO_PERMUTATION || flow->from == ADV_SCENARIO_NEXT)
		return adv_scenario_fail(b, line, "[flow] from: expected a host, a range, or all");
	if (flow->from == ADV_SCENARIO_ALL) {
		first = 0;
		last = b->t->hosts - 1;
	}
	if (last >= b->t->hosts)
		return adv_scenario_fail(b, line,
					 "[flow] host %u does not exist: the last one is %u", last,
					 b->t->hosts - 1);
	if (flow->pattern)
		return add_allreduce(b, flow, line, first, last);
	if (flow->endless && flow->count > 1)
		return adv_scenario_fail(b, line,
					 "[flow] endless = yes has no `count`: an endless flow has "
					 "no next transfer");
	if (flow->bytes != UINT64_MAX && (flow->sizes > ADV_SCENARIO_EXPONENTIAL || flow->endless))
		return adv_scenario_fail(b, line, "[flow] bytes = %s: has no effect beside %s",
					 adv_units_print(ADV_UNIT_BYTES, flow->bytes, text),
					 flow->endless ? "endless = yes"
					 : flow->sizes == ADV_SCENARIO_HADOOP
						 ? "sizes = hadoop"
						 : "sizes = websearch");
	if (flow->arrivals == 1 && flow->interval == 0)
		return adv_scenario_fail(b, line,
					 "[flow] arrivals = poisson needs `interval`, the mean "
					 "time between transfers");
	if (flow->to == ADV_SCENARIO_PERMUTATION && !permute_hosts(b))
		return false;
	in_pairs = others == last - first && flow->to < ADV_SCENARIO_ALL && others;
	if (!afford_flow(b, flow, line, (last - first + 1ull) * count_partners(b, flow, in_pairs),
			 in_time(b, flow)))
		return false;
	for (uint32_t h = first; h <= last; h++)
		if (!connect_range(b, flow, line, h, h - first, in_pairs))
			return false;
	return true;
}

bool adv_scenario_build_flows(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_FLOWS];

	if (l->count == 0)
		return adv_scenario_fail(b, 0, "no section [flow]: nothing would be sent");
	for (uint32_t i = 0; i < l->count; i++)
		if (!add_flow(b, (struct adv_scenario_flow *)l->item + i, l->line[i]))
			return false;
	return true;
}
