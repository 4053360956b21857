/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connected pair of queue pairs. The network hook marks packets by a rule, and records them. */
#ifndef ADV_TESTS_NIC_CONGESTION_FLOW_BED_H
#define ADV_TESTS_NIC_CONGESTION_FLOW_BED_H

#include "../engine/harness.h"
#include "nic/congestion/flow.h"

#define SIZE	(1 << 20)
#define TIMES	4096
#define FRAME	66 /* Ethernet, IPv6 and UDP headers, ICRC and FCS */
#define DATA	1  /* kinds of packets to mark and record */
#define REPLIES 2

struct bed {
	struct net *net;
	struct end *end[2];
	struct region *region[2];
	/* Settings and records of the hook. */
	unsigned mark; /* kinds of packets that get a CE mark: DATA of node 0, REPLIES of node 1 */
	uint8_t ecn;   /* ECN field, as sent, of the newest packet that is not a CNP */
	unsigned cnps;
	struct wire cnp; /* the newest CNP */
	uint64_t cnp_time[TIMES];
	unsigned watched; /* node whose packets with payload are counted */
	unsigned packets;
	uint64_t time[TIMES];
	uint32_t bytes[TIMES];
	unsigned acks;
	uint64_t ack_time;
};

static inline void hook(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	if (w->h.bth.opcode == ADV_OPCODE_CNP) {
		bed->cnp = *w;
		bed->cnp_time[bed->cnps++ % TIMES] = net->now;
		return;
	}
	bed->ecn = w->meta.tclass & ADV_ECN_MASK;
	if (bed->mark & (w->from == 0 ? DATA : REPLIES))
		w->meta.tclass |= ADV_ECN_CE;
	if (w->from == bed->watched && w->payload_len) {
		bed->time[bed->packets % TIMES] = net->now;
		bed->bytes[bed->packets++ % TIMES] = w->len + 4 + FRAME;
	}
	if ((w->h.bth.opcode & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE) {
		bed->acks++;
		bed->ack_time = net->now;
	}
}

static inline void open_with(struct bed *bed, const struct options *o, uint32_t burst,
			     const struct adv_cc_config *cc)
{
	struct adv_engine_config c = {.seed = {1}, .pace_burst = burst, .cc = cc};

	memset(bed, 0, sizeof(*bed));
	bed->net = net_open_config(2, &c);
	bed->net->hook = hook;
	bed->net->arg = bed;
	pair_open(bed->net, o, &bed->end[0], &bed->end[1]);
	for (unsigned i = 0; i < 2; i++) {
		bed->region[i] = region_open(&bed->net->node[i], SIZE, ALL_ACCESS);
		region_fill(bed->region[i], (uint8_t)(i + 1));
	}
}

static inline void open_bed(struct bed *bed, enum ibv_qp_type type)
{
	struct options o = options_default(type);

	open_with(bed, &o, 0, NULL);
}

static inline const struct adv_engine_counters *counters(const struct bed *bed, unsigned node)
{
	return adv_engine_counters(bed->net->node[node].e);
}

/* As net_run(), but the time always advances by ns. */
static inline void pass(struct net *net, uint64_t ns)
{
	uint64_t end = net->now + ns;

	net_run(net, ns);
	net->now = end;
}

static inline uint32_t limit(const struct bed *bed, unsigned i)
{
	return adv_qp_rate_limit(bed->end[i]->qp, bed->net->now);
}

/* Posts a WRITE of n bytes from node `from` to the other. */
static inline void post_write(struct bed *bed, unsigned from, uint32_t n)
{
	end_op(bed->end[from], IBV_WR_RDMA_WRITE, 1, bed->region[from], 0, n, bed->region[1 - from],
	       0);
}

static inline void give_cnp(struct bed *bed, unsigned to)
{
	struct adv_headers h = {.bth = {.opcode = ADV_OPCODE_CNP,
					.pkey = ADV_PKEY_DEFAULT,
					.becn = true,
					.dest_qpn = adv_qp_num(bed->end[to]->qp)}};

	net_inject_packet(bed->net, 1 - to, to, &h, 0);
}

#endif
