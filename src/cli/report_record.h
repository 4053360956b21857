/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the report keeps of a run: series over time in a bounded number of columns. When all are
 * used, two become one, and each is from then on twice as long. The most of a column is the most of
 * all that was in it, however short it lasted: peaks stay.
 */
#ifndef ADV_CLI_REPORT_RECORD_H
#define ADV_CLI_REPORT_RECORD_H

#include "cli/sim_run.h"

#define ADV_RECORD_COLUMNS 512
/* Connections that have a series each; where there are more, each [flow] section has one. */
#define ADV_RECORD_CONNECTIONS 256

/* Of a switch and a priority; bytes. */
struct adv_record_queue {
	uint32_t sw;
	uint8_t priority;
	uint16_t port;			    /* where it was longest */
	uint64_t peak;			    /* ... and how long */
	uint64_t most[ADV_RECORD_COLUMNS];  /* the longest output queue; exact */
	uint64_t least[ADV_RECORD_COLUMNS]; /* likewise, when it was shortest; at samples */
	uint64_t input[ADV_RECORD_COLUMNS]; /* what one port has used of the buffer; at samples */
	uint64_t limit[ADV_RECORD_COLUMNS]; /* of that, the lowest at samples */
};

/* A sender, and one of its priorities: for how much of each column, ps, it was paused. */
struct adv_record_pause {
	uint32_t node; /* of the topology */
	uint16_t port;
	uint8_t priority;
	uint64_t before; /* ps, until the last sample */
	uint64_t count;	 /* pauses that began */
	uint64_t time[ADV_RECORD_COLUMNS];
};

enum adv_record_counter {
	ADV_RECORD_MARKS, /* frames that switches marked */
	ADV_RECORD_CNPS_SENT,
	ADV_RECORD_CNPS_HANDLED,
	ADV_RECORD_DROPS, /* of switches, slow hosts and cables */
	ADV_RECORD_COUNTERS
};

/* Of a connection, or of a [flow] section. */
struct adv_record_flow {
	uint32_t flow;
	uint32_t connection;		    /* UINT32_MAX: all of the section */
	uint64_t before;		    /* bytes, until the last sample */
	uint64_t total;			    /* payload bytes that came in; when the run is over */
	uint64_t bytes[ADV_RECORD_COLUMNS]; /* of each column */
};

struct adv_record {
	uint64_t interval; /* ps a column; the last one ends with the run */
	uint32_t columns;  /* that have something in them */
	uint64_t end;	   /* ps */
	bool no_memory;
	uint8_t priorities; /* that anything has, a bit each */
	uint32_t queues;
	struct adv_record_queue **queue; /* by switch and priority; NULL: always empty */
	uint32_t ports;			 /* hosts, then all ports of all switches */
	struct adv_record_pause **pause; /* by those and priority; NULL: never paused */
	uint32_t flows;
	struct adv_record_flow *flow;
	uint32_t connections;
	uint32_t *flow_of; /* of each connection; UINT32_MAX: none */
	uint64_t before[ADV_RECORD_COUNTERS];
	uint64_t counter[ADV_RECORD_COUNTERS][ADV_RECORD_COLUMNS];
};

/* NULL: no memory. */
struct adv_record *adv_record_create(const struct adv_sim *sim);
void adv_record_free(struct adv_record *r); /* NULL is allowed */
/* When the next column is full, ps. */
uint64_t adv_record_next(const struct adv_record *r);
/* It is. */
void adv_record_sample(struct adv_record *r, const struct adv_sim *sim);
/* The run is over: what came since the last sample is a column of its own. */
void adv_record_finish(struct adv_record *r, const struct adv_sim *sim);
/* When a column begins and ends, ps. */
uint64_t adv_record_begins(const struct adv_record *r, uint32_t column);
uint64_t adv_record_ends(const struct adv_record *r, uint32_t column);

#endif
