/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records the series of a run for the report. The number of columns is bounded. When all columns
 * are used, every two neighbouring columns are merged, and all later columns are twice as long. The
 * maximum of a column is that of its whole interval, so short peaks are kept. */
#ifndef ADV_CLI_SIM_REPORT_RECORD_H
#define ADV_CLI_SIM_REPORT_RECORD_H

#include "cli/sim/run.h"

#define ADV_RECORD_COLUMNS 512
/* Most connections that have a series each. If a run has more connections, each [flow] section has
 * a series instead. */
#define ADV_RECORD_CONNECTIONS 256

/* The series of a switch and a priority. Lengths are bytes. */
struct adv_record_queue {
	uint32_t sw;
	uint8_t priority;
	uint16_t port;			    /* port of the longest queue */
	uint64_t peak;			    /* length of the longest queue */
	uint64_t most[ADV_RECORD_COLUMNS];  /* longest output queue in the column, exact */
	uint64_t least[ADV_RECORD_COLUMNS]; /* smallest sample of the longest output queue */
	uint64_t input[ADV_RECORD_COLUMNS]; /* largest sample of the buffer use of one input port */
	uint64_t limit[ADV_RECORD_COLUMNS]; /* smallest sample of the limit of an input port's
					       buffer use */
};

/* The series of a sender and a priority: paused time in each column, ps. */
struct adv_record_pause {
	uint32_t node; /* node of the topology */
	uint16_t port;
	uint8_t priority;
	uint64_t before; /* paused time until the last sample, ps */
	uint64_t first;	 /* time of the sample that found the first pause, ps */
	uint64_t count;	 /* number of pauses */
	uint64_t time[ADV_RECORD_COLUMNS];
};

enum adv_record_counter {
	ADV_RECORD_MARKS, /* frames marked by switches */
	ADV_RECORD_CNPS_SENT,
	ADV_RECORD_CNPS_HANDLED,
	ADV_RECORD_DROPS, /* frames dropped by switches, slow hosts and cables */
	ADV_RECORD_COUNTERS
};

/* The series of a connection or of a [flow] section. */
struct adv_record_flow {
	uint32_t flow;
	uint32_t connection;		    /* UINT32_MAX: all connections of the section */
	uint64_t before;		    /* payload received until the last sample, bytes */
	uint64_t total;			    /* received payload, bytes; set after the run */
	uint64_t bytes[ADV_RECORD_COLUMNS]; /* payload received in each column */
};

struct adv_record {
	uint64_t interval; /* length of a column, ps; the last column ends with the run */
	uint32_t columns;  /* used columns */
	uint64_t end;	   /* ps */
	bool no_memory;
	uint8_t priorities; /* priorities in use, a bit each */
	uint32_t queues;
	/* Series by switch and priority; NULL: the queues were always empty. */
	struct adv_record_queue **queue;
	uint32_t ports;			 /* hosts, then all ports of all switches */
	struct adv_record_pause **pause; /* series by port and priority; NULL: never paused */
	uint32_t flows;
	struct adv_record_flow *flow;
	uint32_t connections;
	uint32_t *flow_of; /* flow by connection; UINT32_MAX: none */
	uint64_t before[ADV_RECORD_COUNTERS];
	uint64_t counter[ADV_RECORD_COUNTERS][ADV_RECORD_COLUMNS];
};

/* Creates the record of a run. NULL: no memory. */
struct adv_record *adv_record_create(const struct adv_sim *sim);
void adv_record_free(struct adv_record *r); /* NULL is allowed */
/* Returns the end of the next column, ps. */
uint64_t adv_record_next(const struct adv_record *r);
/* Samples the fabric. Call it at the time that adv_record_next() has returned. */
void adv_record_sample(struct adv_record *r, const struct adv_sim *sim);
/* Ends the record. The time since the last sample becomes the last column. */
void adv_record_finish(struct adv_record *r, const struct adv_sim *sim);

#endif
