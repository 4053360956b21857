/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/top/columns.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "nic/engine/names.h"

/* ---- texts ---- */

static void print_scaled(char text[ADV_TOP_SI], double v, const char *units, unsigned count)
{
	unsigned i = 0;
	char unit[2] = "";

	for (; i < count - 1 && v >= 999.5; i++)
		v /= 1000;
	if (units[i] != ' ')
		unit[0] = units[i];
	if (v > 9999)
		v = 9999;
	snprintf(text, ADV_TOP_SI, "%.*f%s",
		 i == 0 || v >= 99.95 ? 0
		 : v >= 9.995	      ? 1
				      : 2,
		 v, unit);
}

void adv_top_si(char text[ADV_TOP_SI], double value)
{
	print_scaled(text, value, " kMGTP", 6);
}

void adv_top_duration(char text[ADV_TOP_SI], uint64_t ns)
{
	if (ns)
		print_scaled(text, (double)ns, "nums", 4);
	else
		strcpy(text, "-");
}

static bool is_mapped(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

void adv_top_peer(char text[ADV_TOP_CELL], const struct adv_object *qp)
{
	char host[INET6_ADDRSTRLEN] = "";
	const uint8_t *gid = qp->qp.dgid;

	if (!adv_object_has_peer(qp)) {
		strcpy(text, "-");
		return;
	}
	inet_ntop(is_mapped(gid) ? AF_INET : AF_INET6, is_mapped(gid) ? gid + 12 : gid, host,
		  sizeof(host));
	if (qp->qp.flags & ADV_QP_IWARP)
		snprintf(text, ADV_TOP_CELL, "%s", host);
	else
		snprintf(text, ADV_TOP_CELL, "0x%06x %s", qp->qp.remote, host);
}

/* ---- cells ---- */

static bool print_rate(char *text, const struct adv_top_row *r, enum adv_top_count i)
{
	if (r->counted)
		adv_top_si(text, r->rate[i]);
	else
		strcpy(text, "-");
	return false;
}

static bool print_total(char *text, const struct adv_top_row *r, enum adv_top_count i)
{
	if (r->counted)
		adv_top_si(text, (double)r->total[i]);
	else
		strcpy(text, "-");
	return r->grown[i];
}

#define RATE(name, count)                                                                          \
	static bool print_##name(char text[ADV_TOP_CELL], const struct adv_top_row *r)             \
	{                                                                                          \
		return print_rate(text, r, count);                                                 \
	}
#define TOTAL(name, count)                                                                         \
	static bool print_##name(char text[ADV_TOP_CELL], const struct adv_top_row *r)             \
	{                                                                                          \
		return print_total(text, r, count);                                                \
	}
#define NUMBER(name, format, ...)                                                                  \
	static bool print_##name(char text[ADV_TOP_CELL], const struct adv_top_row *r)             \
	{                                                                                          \
		snprintf(text, ADV_TOP_CELL, format, __VA_ARGS__);                                 \
		return false;                                                                      \
	}

RATE(tx_bytes, ADV_TOP_TX_BYTES)
RATE(rx_bytes, ADV_TOP_RX_BYTES)
RATE(tx_packets, ADV_TOP_TX_PACKETS)
RATE(rx_packets, ADV_TOP_RX_PACKETS)
RATE(sends, ADV_TOP_SENDS)
RATE(receives, ADV_TOP_RECEIVES)
TOTAL(retransmissions, ADV_TOP_RETRANSMISSIONS)
TOTAL(rnr, ADV_TOP_RNR)
TOTAL(marks, ADV_TOP_MARKS)
TOTAL(timeouts, ADV_TOP_TIMEOUTS)
TOTAL(out_of_sequence, ADV_TOP_OUT_OF_SEQUENCE)
TOTAL(duplicates, ADV_TOP_DUPLICATES)
TOTAL(errors, ADV_TOP_ERRORS)
NUMBER(pid, "%u", r->pid)
NUMBER(uid, "%u", r->uid)
NUMBER(comm, "%s", r->comm)
NUMBER(qps, "%" PRIu64, r->qps)
NUMBER(age, "%" PRIu64 "s", r->age_ms / 1000)
NUMBER(qpn, "0x%06x", r->qpn)
NUMBER(type, "%s", adv_qp_type_name(r->object.type))
NUMBER(in_flight, "%u", r->object.qp.in_flight)
NUMBER(window, "%u", r->object.qp.window)
NUMBER(outstanding, "%u", r->object.qp.send_posted - r->object.qp.send_done)
NUMBER(posted, "%u", r->object.qp.srq ? 0 : r->object.qp.recv_posted - r->object.qp.recv_done)
NUMBER(mtu, "%u", r->object.qp.mtu)
NUMBER(retries, "%u/%u", r->object.qp.retry_left, r->object.qp.retry_cnt)

static bool print_p50(char text[ADV_TOP_CELL], const struct adv_top_row *r)
{
	adv_top_duration(text, r->p50);
	return false;
}

static bool print_p99(char text[ADV_TOP_CELL], const struct adv_top_row *r)
{
	adv_top_duration(text, r->p99);
	return false;
}

static bool print_state(char text[ADV_TOP_CELL], const struct adv_top_row *r)
{
	snprintf(text, ADV_TOP_CELL, "%s", adv_qp_state_name(r->object.state));
	return r->object.state == IBV_QPS_ERR || r->object.state == IBV_QPS_SQE;
}

static bool print_peer(char text[ADV_TOP_CELL], const struct adv_top_row *r)
{
	adv_top_peer(text, &r->object);
	return false;
}

/* ---- tables ---- */

static const struct adv_top_column programs[] = {
	{"PID", 7, 0, false, print_pid},
	{"UID", 5, 12, false, print_uid},
	{"PROGRAM", 12, 0, true, print_comm},
	{"QPS", 4, 4, false, print_qps},
	{"TX B/s", 6, 0, false, print_tx_bytes},
	{"RX B/s", 6, 0, false, print_rx_bytes},
	{"SEND/s", 6, 1, false, print_sends},
	{"RECV/s", 6, 7, false, print_receives},
	{"P50", 5, 3, false, print_p50},
	{"P99", 5, 1, false, print_p99},
	{"RETX", 5, 1, false, print_retransmissions},
	{"RNR", 5, 2, false, print_rnr},
	{"MARK", 5, 5, false, print_marks},
	{"ERR", 5, 6, false, print_errors},
	{"TX pk/s", 7, 8, false, print_tx_packets},
	{"RX pk/s", 7, 8, false, print_rx_packets},
	{"TIMEOUT", 7, 9, false, print_timeouts},
	{"OUT OF SEQ", 10, 10, false, print_out_of_sequence},
	{"DUPLICATE", 9, 11, false, print_duplicates},
	{"AGE", 7, 12, false, print_age},
};

static const struct adv_top_column queue_pairs[] = {
	{"QPN", 8, 0, true, print_qpn},
	{"PID", 7, 3, false, print_pid},
	{"PROGRAM", 12, 8, true, print_comm},
	{"TYPE", 5, 2, true, print_type},
	{"STATE", 5, 0, true, print_state},
	{"PEER", 24, 1, true, print_peer},
	{"SEND/s", 6, 0, false, print_sends},
	{"RECV/s", 6, 4, false, print_receives},
	{"P50", 5, 4, false, print_p50},
	{"P99", 5, 3, false, print_p99},
	{"QUEUED", 6, 7, false, print_outstanding},
	{"POSTED", 6, 9, false, print_posted},
	{"FLIGHT", 6, 8, false, print_in_flight},
	{"WINDOW", 6, 10, false, print_window},
	{"RETX", 5, 1, false, print_retransmissions},
	{"RNR", 5, 2, false, print_rnr},
	{"MARK", 5, 6, false, print_marks},
	{"ERR", 5, 7, false, print_errors},
	{"MTU", 4, 11, false, print_mtu},
	{"RETRY", 5, 11, false, print_retries},
	{"TIMEOUT", 7, 12, false, print_timeouts},
	{"OUT OF SEQ", 10, 13, false, print_out_of_sequence},
	{"DUPLICATE", 9, 14, false, print_duplicates},
};

_Static_assert(ADV_ARRAY_SIZE(programs) <= ADV_TOP_COLUMNS &&
		       ADV_ARRAY_SIZE(queue_pairs) <= ADV_TOP_COLUMNS,
	       "room for all columns");

/* Returns the width of all columns up to a rank, with a blank between them. */
static unsigned width_of(const struct adv_top_column *all, size_t count, unsigned rank)
{
	unsigned width = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].rank <= rank)
			width += all[i].width + 1u;
	return width - 1;
}

unsigned adv_top_columns(bool of_queue_pairs, unsigned width,
			 const struct adv_top_column *chosen[ADV_TOP_COLUMNS])
{
	const struct adv_top_column *all = of_queue_pairs ? queue_pairs : programs;
	size_t count = of_queue_pairs ? ADV_ARRAY_SIZE(queue_pairs) : ADV_ARRAY_SIZE(programs);
	unsigned rank = 0, n = 0;

	while (rank < 32 && width_of(all, count, rank + 1) <= width)
		rank++;
	for (size_t i = 0; i < count; i++)
		if (all[i].rank <= rank)
			chosen[n++] = &all[i];
	return n;
}
