/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connected pair of queue pairs. The network hook records the packets, and drops some by a
 * rule. */
#ifndef ADV_TESTS_NIC_REQUESTER_REQUESTER_BED_H
#define ADV_TESTS_NIC_REQUESTER_REQUESTER_BED_H

#include <stdlib.h>

#include "../engine/harness.h"

#define LOG 4096

/* The sent packets, and a rule that drops packets. */
struct log {
	struct wire *w; /* recorded packets without data; at most LOG */
	unsigned count;
	bool (*lose)(const struct wire *w);
};

static inline void note(struct net *net, struct wire *w)
{
	struct log *log = net->arg;

	assert_true(log->count < LOG);
	memcpy(&log->w[log->count++], w, offsetof(struct wire, data));
	if (log->lose && log->lose(w))
		w->copies = 0;
}

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct log log;
};

static inline void bed_open_config(struct bed *bed, const struct options *o,
				   const struct adv_engine_config *c)
{
	memset(bed, 0, sizeof(*bed));
	bed->net = net_open_config(2, c);
	bed->log.w = calloc(LOG, sizeof(struct wire));
	bed->net->hook = note;
	bed->net->arg = &bed->log;
	bed->ra = region_open(&bed->net->node[0], 1 << 20, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 1 << 20, ALL_ACCESS);
	region_fill(bed->ra, 1);
	pair_open(bed->net, o, &bed->a, &bed->b);
}

static inline void bed_open(struct bed *bed, const struct options *o)
{
	struct adv_engine_config c = {.seed = {1}};

	bed_open_config(bed, o, &c);
}

static inline void bed_close(struct bed *bed)
{
	net_run(bed->net, SEC);
	net_close(bed->net);
	free(bed->log.w);
}

static inline unsigned count_sent(const struct bed *bed, unsigned from, uint8_t opcode)
{
	unsigned n = 0;

	for (unsigned i = 0; i < bed->log.count; i++)
		n += bed->log.w[i].from == from && bed->log.w[i].h.bth.opcode == opcode;
	return n;
}

static inline const struct adv_engine_counters *counters(const struct bed *bed, unsigned node)
{
	return adv_engine_counters(bed->net->node[node].e);
}

#endif
