/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/top/model.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/observe/latencies.h"

#define SECOND_NS 1e9

/* ---- rows ---- */

static void count_events(uint64_t total[ADV_TOP_COUNTS], const struct adv_engine_counters *c)
{
	total[ADV_TOP_RETRANSMISSIONS] =
		c->packet_seq_err + c->implied_nak_seq_err + c->local_ack_timeout_err;
	total[ADV_TOP_RNR] = c->rnr_nak_retry_err + c->out_of_buffer;
	total[ADV_TOP_MARKS] = c->np_ecn_marked_roce_packets + c->rp_cnp_handled;
	total[ADV_TOP_TIMEOUTS] = c->local_ack_timeout_err;
	total[ADV_TOP_OUT_OF_SEQUENCE] = c->out_of_sequence;
	total[ADV_TOP_DUPLICATES] = c->duplicate_request;
	total[ADV_TOP_ERRORS] = c->req_cqe_error + c->resp_cqe_error;
}

static void count_device(struct adv_top_row *r, const struct adv_counters *c)
{
	r->total[ADV_TOP_TX_BYTES] = c->link.tx_bytes;
	r->total[ADV_TOP_RX_BYTES] = c->link.rx_bytes;
	r->total[ADV_TOP_TX_PACKETS] = c->link.tx_packets;
	r->total[ADV_TOP_RX_PACKETS] = c->link.rx_packets;
	r->total[ADV_TOP_SENDS] = adv_latency_count(c->work.send_latency);
	r->total[ADV_TOP_RECEIVES] = c->work.recv_completed;
	r->qps = c->work.qps_created - c->work.qps_destroyed;
	count_events(r->total, &c->engine);
	memcpy(r->latency, c->work.send_latency, sizeof(r->latency));
}

bool adv_top_programs(struct adv_top_rows *rows, const struct adv_sample *s)
{
	*rows = (struct adv_top_rows){calloc(s->count + 1, sizeof(*rows->row)), s->count, s->at};
	for (size_t i = 0; rows->row && i < s->count; i++) {
		const struct adv_sample_process *p = &s->process[i];
		struct adv_top_row *r = &rows->row[i];

		r->pid = p->pid;
		r->uid = p->uid;
		r->age_ms = p->age_ms;
		r->counted = p->counted;
		snprintf(r->comm, sizeof(r->comm), "%s", p->comm);
		count_device(r, &p->counters);
	}
	return rows->row;
}

struct adv_top_row adv_top_port(const struct adv_sample *s)
{
	struct adv_top_row r = {.counted = true};

	count_device(&r, &s->total);
	return r;
}

/* The counts of a queue pair are modulo 2^32. */
static void count_qp(struct adv_top_row *r, const struct adv_object_qp *qp)
{
	struct adv_engine_counters c;
	uint64_t value[ADV_ENGINE_COUNTERS];

	for (size_t i = 0; i < ADV_ENGINE_COUNTERS; i++)
		value[i] = qp->share[i];
	memcpy(&c, value, sizeof(c));
	count_events(r->total, &c);
	r->total[ADV_TOP_SENDS] = qp->send_done;
	r->total[ADV_TOP_RECEIVES] = qp->srq ? 0 : qp->recv_done;
}

bool adv_top_queue_pairs(struct adv_top_rows *rows, const struct adv_objects *o,
			 const struct adv_objects *latencies, uint64_t at)
{
	*rows = (struct adv_top_rows){calloc(o->count + 1, sizeof(*rows->row)), o->count, at};
	for (size_t i = 0; rows->row && i < o->count; i++) {
		struct adv_top_row *r = &rows->row[i];

		r->pid = o->list[i].pid;
		r->qpn = o->list[i].number;
		r->qps = 1;
		r->counted = true;
		r->object = o->list[i];
		adv_object_command(r->pid, r->comm);
		count_qp(r, &o->list[i].qp);
		adv_latencies_of(latencies, r->pid, r->qpn, r->latency);
	}
	return rows->row;
}

void adv_top_free(struct adv_top_rows *rows)
{
	free(rows->row);
	rows->row = NULL;
	rows->count = 0;
}

/* ---- rates ---- */

void adv_top_compare_row(struct adv_top_row *now, const struct adv_top_row *last, uint64_t elapsed,
			 bool wraps)
{
	uint64_t grown[ADV_LATENCY_BUCKETS];

	for (unsigned i = 0; i < ADV_TOP_COUNTS; i++) {
		uint64_t more = now->total[i] - last->total[i];

		if (wraps)
			more = (uint32_t)more;
		else if (now->total[i] < last->total[i])
			more = 0; /* another process with the same number */
		now->rate[i] = elapsed ? (double)more * SECOND_NS / (double)elapsed : 0;
		now->grown[i] = more > 0;
	}
	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		grown[i] = now->latency[i] >= last->latency[i] ? now->latency[i] - last->latency[i]
							       : 0;
	now->p50 = adv_latency_quantile(grown, 0.5);
	now->p99 = adv_latency_quantile(grown, 0.99);
}

static bool is_same(const struct adv_top_row *a, const struct adv_top_row *b)
{
	return a->pid == b->pid && a->qpn == b->qpn && a->uid == b->uid &&
	       (a->pid || strcmp(a->comm, b->comm) == 0);
}

void adv_top_compare(struct adv_top_rows *now, const struct adv_top_rows *last)
{
	uint64_t elapsed = now->at > last->at ? now->at - last->at : 0;

	for (size_t i = 0; i < now->count; i++) {
		size_t at = i; /* mostly the rows are in the same places */

		for (size_t k = 0; k < last->count; k++, at++)
			if (is_same(&now->row[i], &last->row[at % last->count]))
				break;
		if (last->count && is_same(&now->row[i], &last->row[at % last->count]))
			adv_top_compare_row(&now->row[i], &last->row[at % last->count], elapsed,
					    now->row[i].qpn);
	}
}

/* ---- order ---- */

static const char *const orders[ADV_TOP_ORDERS] = {"bytes",   "messages", "latency",
						   "trouble", "number",	  "name"};

const char *adv_top_order_name(enum adv_top_order order)
{
	return orders[order];
}

enum adv_top_order adv_top_find_order(const char *name)
{
	unsigned i = 0;

	while (i < ADV_TOP_ORDERS && strcmp(orders[i], name) != 0)
		i++;
	return (enum adv_top_order)i;
}

static double trouble_of(const struct adv_top_row *r)
{
	double now = 0, ever = 0;

	for (unsigned i = ADV_TOP_EVENTS; i < ADV_TOP_COUNTS; i++) {
		now += r->rate[i];
		ever += (double)r->total[i];
	}
	return now * 1e12 + ever;
}

/* Returns the value by which rows are sorted, the largest first. */
static double weight_of(const struct adv_top_row *r, enum adv_top_order order)
{
	switch (order) {
	case ADV_TOP_BY_BYTES:
		return r->rate[ADV_TOP_TX_BYTES] + r->rate[ADV_TOP_RX_BYTES];
	case ADV_TOP_BY_MESSAGES:
		return r->rate[ADV_TOP_SENDS] + r->rate[ADV_TOP_RECEIVES];
	case ADV_TOP_BY_LATENCY:
		return (double)r->p99;
	case ADV_TOP_BY_TROUBLE:
		return trouble_of(r);
	default:
		return 0;
	}
}

struct sorting {
	enum adv_top_order order;
	bool reverse;
};

static int compare_rows(const void *x, const void *y, void *user)
{
	const struct adv_top_row *a = x, *b = y;
	const struct sorting *s = user;
	double wa = weight_of(a, s->order), wb = weight_of(b, s->order);
	int result = wa > wb ? -1 : wa < wb ? 1 : 0;

	if (s->order == ADV_TOP_BY_NAME)
		result = strcmp(a->comm, b->comm);
	if (!result)
		result = a->pid > b->pid ? 1 : a->pid < b->pid ? -1 : 0;
	if (!result)
		result = a->qpn > b->qpn ? 1 : a->qpn < b->qpn ? -1 : 0;
	return s->reverse ? -result : result;
}

void adv_top_sort(struct adv_top_rows *rows, enum adv_top_order order, bool reverse)
{
	struct sorting s = {order, reverse};

	if (rows->count)
		qsort_r(rows->row, rows->count, sizeof(*rows->row), compare_rows, &s);
}

void adv_top_filter(struct adv_top_rows *rows, const char *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct adv_top_row *r = &rows->row[i];
		char pid[16], qpn[16];

		snprintf(pid, sizeof(pid), "%u", r->pid);
		snprintf(qpn, sizeof(qpn), "0x%06x", r->qpn);
		if (strstr(r->comm, text) || strcmp(pid, text) == 0 ||
		    (r->qpn && strcmp(qpn, text) == 0))
			rows->row[kept++] = *r;
	}
	rows->count = kept;
}
