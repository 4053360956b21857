/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flows of programs: frames from a host to a queue pair of another one. A program that sends to
 * many queue pairs costs no more memory than the table has: frames of further flows are counted
 * together.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/siphash.h"
#include "fabric/emulator/internal.h"
#include "base/bytes.h"

struct emulator_flow {
	struct adv_table_node node; /* in `table` */
	struct adv_emulator_flow flow;
};

int adv_emulator_flows_open(struct emulator_flows *s)
{
	*s = (struct emulator_flows){.others.from = UINT32_MAX};
	if (getrandom(s->key, sizeof(s->key), 0) != sizeof(s->key))
		return EIO;
	s->flow = calloc(ADV_EMULATOR_FLOWS, sizeof(*s->flow));
	return s->flow ? adv_table_init(&s->table) : ENOMEM;
}

void adv_emulator_flows_close(struct emulator_flows *s)
{
	adv_table_free(&s->table);
	free(s->flow);
	s->flow = NULL;
}

/* Returns the flow, or that of all others if the table is full. */
static struct adv_emulator_flow *find_flow(struct emulator_flows *s, uint32_t from, uint32_t to,
					   uint32_t qpn)
{
	const uint64_t key[2] = {(uint64_t)from << 32 | to, qpn};
	uint64_t hash = adv_siphash_words(s->key, key, 2);
	struct emulator_flow *f;

	for (struct adv_table_node *n = NULL; (n = adv_table_next(&s->table, hash, n));) {
		f = adv_container_of(n, struct emulator_flow, node);
		if (f->flow.from == from && f->flow.to == to && f->flow.qpn == qpn)
			return &f->flow;
	}
	if (s->count == ADV_EMULATOR_FLOWS)
		return &s->others;
	f = &s->flow[s->count++];
	f->flow = (struct adv_emulator_flow){.from = from, .to = to, .qpn = qpn};
	adv_table_node_init(&f->node);
	adv_table_add(&s->table, &f->node, hash);
	return &f->flow;
}

static uint32_t qpn_of(const uint8_t *bth)
{
	return adv_get_be32(bth + 4) & 0xffffff;
}

void adv_emulator_count_sent(struct emulator_flows *s, uint32_t from,
			     const struct adv_fabric_frame *frame, uint64_t now)
{
	struct adv_emulator_flow *f;

	if (!s->flow || frame->length < ADV_BTH_LEN)
		return;
	f = find_flow(s, from, frame->to, qpn_of(frame->bytes));
	if (!f->sent++)
		f->first = now;
	f->sent_bytes += frame->length;
}

void adv_emulator_count_received(struct emulator_flows *s, uint32_t to,
				 const struct adv_fabric_frame *frame, uint64_t now)
{
	struct adv_emulator_flow *f;

	if (!s->flow)
		return;
	f = find_flow(s, frame->from, to, qpn_of(frame->bytes));
	f->received++;
	f->received_bytes += frame->length;
	f->marked += (frame->tclass & ADV_ECN_MASK) == ADV_ECN_CE;
	f->last = now;
}

static int compare_flows(const void *a, const void *b)
{
	const struct adv_emulator_flow *x = a, *y = b;

	if (x->sent_bytes != y->sent_bytes)
		return x->sent_bytes < y->sent_bytes ? 1 : -1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->qpn > y->qpn) - (x->qpn < y->qpn);
}

struct adv_emulator_flow *adv_emulator_flows(const struct emulator_flows *s, uint32_t *count)
{
	struct adv_emulator_flow *all = calloc(s->count + 1ul, sizeof(*all));

	*count = 0;
	if (!all)
		return NULL;
	for (uint32_t i = 0; i < s->count; i++)
		all[i] = s->flow[i].flow;
	qsort(all, s->count, sizeof(*all), compare_flows);
	*count = s->count;
	if (s->others.sent || s->others.received)
		all[(*count)++] = s->others;
	return all;
}
