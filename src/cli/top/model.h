/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The data of `adverb top`: rows of programs or queue pairs with their rates, sorted and filtered.
 * Pure. */
#ifndef ADV_CLI_TOP_MODEL_H
#define ADV_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/observe/objects.h"
#include "cli/observe/sample.h"

enum adv_top_count {
	ADV_TOP_TX_BYTES,
	ADV_TOP_RX_BYTES,
	ADV_TOP_TX_PACKETS,
	ADV_TOP_RX_PACKETS,
	ADV_TOP_SENDS,	  /* completed send requests */
	ADV_TOP_RECEIVES, /* completed receive requests */
	/* Events that ADV_TOP_EVENTS begins: the view shows their totals. */
	ADV_TOP_RETRANSMISSIONS, /* NAKs for PSN sequence errors, implied NAKs, timeouts */
	ADV_TOP_RNR,		 /* RNR NAKs received, messages without a receive request */
	ADV_TOP_MARKS,		 /* packets marked by the network, CNPs handled */
	ADV_TOP_TIMEOUTS,
	ADV_TOP_OUT_OF_SEQUENCE,
	ADV_TOP_DUPLICATES,
	ADV_TOP_ERRORS, /* completions with errors */
	ADV_TOP_COUNTS,
};
#define ADV_TOP_EVENTS ADV_TOP_RETRANSMISSIONS

/* A program, a queue pair, or the whole port. */
struct adv_top_row {
	uint32_t pid;
	uint32_t qpn; /* 0: not a queue pair */
	uint32_t uid;
	uint64_t qps;
	uint64_t age_ms;
	char comm[ADV_COMMAND_TEXT];
	bool counted; /* false: another user's */
	uint64_t total[ADV_TOP_COUNTS];
	double rate[ADV_TOP_COUNTS]; /* each second, since the last update */
	bool grown[ADV_TOP_COUNTS];
	uint64_t latency[ADV_LATENCY_BUCKETS]; /* since the start */
	uint64_t p50, p99;		       /* of the last update, ns; 0: no request completed */
	struct adv_object object;	       /* of a queue pair */
};

struct adv_top_rows {
	struct adv_top_row *row;
	size_t count;
	uint64_t at; /* ns */
};

/* Makes rows of the programs of a sample, or of queue pairs with their histograms (latencies.h).
 * false: no memory. adv_top_free() releases them. */
bool adv_top_programs(struct adv_top_rows *rows, const struct adv_sample *s);
bool adv_top_queue_pairs(struct adv_top_rows *rows, const struct adv_objects *o,
			 const struct adv_objects *latencies, uint64_t at);
/* Makes the row of the port: the sums of all programs. */
struct adv_top_row adv_top_port(const struct adv_sample *s);
void adv_top_free(struct adv_top_rows *rows);

/* Computes the rates of rows from the last reading. Rows that are new get rates of 0. */
void adv_top_compare(struct adv_top_rows *now, const struct adv_top_rows *last);
/* As adv_top_compare(), for one row; elapsed in ns. */
void adv_top_compare_row(struct adv_top_row *now, const struct adv_top_row *last, uint64_t elapsed,
			 bool wraps);

enum adv_top_order {
	ADV_TOP_BY_BYTES,
	ADV_TOP_BY_MESSAGES,
	ADV_TOP_BY_LATENCY, /* p99 */
	ADV_TOP_BY_TROUBLE, /* events of the last update, then their totals */
	ADV_TOP_BY_NUMBER,  /* process ID, queue pair number */
	ADV_TOP_BY_NAME,
	ADV_TOP_ORDERS,
};

/* Returns the name of an order ("bytes"). */
const char *adv_top_order_name(enum adv_top_order order);
/* Finds the order with this name. Returns ADV_TOP_ORDERS if there is none. */
enum adv_top_order adv_top_find_order(const char *name);

/* Sorts: the largest first, numbers and names the smallest first; reverse: the other way. Equal
 * rows by number. */
void adv_top_sort(struct adv_top_rows *rows, enum adv_top_order order, bool reverse);

/* Removes rows that do not match: the text is a part of the name, or the process ID, or the queue
 * pair number as it is shown. An empty text matches all. */
void adv_top_filter(struct adv_top_rows *rows, const char *text);

#endif
