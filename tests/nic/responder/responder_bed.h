/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connected pair of queue pairs. The network hook records the packets of the second end. */
#ifndef ADV_TESTS_NIC_RESPONDER_RESPONDER_BED_H
#define ADV_TESTS_NIC_RESPONDER_RESPONDER_BED_H

#include "../engine/harness.h"

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct wire sent[64]; /* packets that the responder sent */
	unsigned count;
};

static inline void note(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	if (w->from == 1 && bed->count < 64)
		bed->sent[bed->count++] = *w;
}

static inline void bed_open(struct bed *bed, const struct options *o)
{
	memset(bed, 0, sizeof(*bed));
	bed->net = net_open(2, 3);
	bed->net->hook = note;
	bed->net->arg = bed;
	bed->ra = region_open(&bed->net->node[0], 16384, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 16384, ALL_ACCESS);
	region_fill(bed->ra, 1);
	region_fill(bed->rb, 2);
	pair_open(bed->net, o, &bed->a, &bed->b);
}

static inline void bed_close(struct bed *bed)
{
	net_run(bed->net, 10 * SEC);
	net_close(bed->net);
}

static inline const struct adv_engine_counters *counters(const struct bed *bed, unsigned node)
{
	return adv_engine_counters(bed->net->node[node].e);
}

#endif
