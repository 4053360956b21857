/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A network that is divided into parts, each with a calendar of its own, which advance at the same
 * time: conservative parallel simulation. Shared by the files of the fabric only.
 *
 * divide.c    which part a node belongs to
 * part.c	    what belongs to which part
 * create.c    create and destroy
 * cross.c	    frames from one part to another
 * outbox.c    their memory
 * step.c	    how far each part may advance
 * run.c	    threads, global events
 * watch.c	    reports of parts, in the order of one part
 * rank.c	    parts of other processes (ranks.h)
 * gather.c    results of other processes
 * follow.c    what rank 0 tells the other processes to do
 *
 * A part is a struct adv_fabric too, which shares all arrays with the whole fabric. Of hosts,
 * switches, the sending ends of wires and the receiving ends, each belongs to one part, which
 * alone changes them. A transfer belongs to the part of its initiator. What waits for a transfer is
 * in the part where it arrives; the division sees to that.
 *
 * The parts advance in steps. All parts have met before a step, so each knows the earliest event
 * of the others. No frame that a part sends in the step arrives before that event's time plus the
 * lookahead, which is the shortest delay of a cable between parts. Up to there all parts advance
 * without each other.
 *
 * Searches for deadlocks, changes of cables and samples look at all parts. They are in the calendar
 * of the whole fabric, and are processed between steps, when all parts have come to their time.
 *
 * A run ends with its last transfer, at an event of one part. The others must not go beyond that. A
 * part whose last transfer has ended therefore follows: it goes only as far as another part has
 * come whose transfers have not all ended. See step.c.
 */
#ifndef ADV_FABRIC_PARTS_PART_H
#define ADV_FABRIC_PARTS_PART_H

#include <pthread.h>

#include "fabric/parts/barrier.h"
#include "fabric/network/internal.h"
#include "fabric/parts/ranks.h"

#define ADV_PARTS_MAX 64
#define ADV_NO_PART   UINT8_MAX
/* Reports that may wait before all parts stop so that they are told. */
#define ADV_PART_REPORTS 100000

/* Cables between parts have at least this delay, ps. */
#define ADV_LOOKAHEAD_MIN 2000

/* A frame that crosses. */
struct adv_crossing {
	uint8_t packet[sizeof(struct adv_packet)];
	uint64_t offset; /* of the payload in the memory of the sender's part */
	uint32_t wire;
};

/* A transfer has failed, and the part where it would have arrived has to learn it. */
struct adv_crossing_failure {
	uint64_t at; /* when it learns it, ps */
	uint32_t job;
	uint32_t status; /* enum ibv_wc_status */
};

/* What a part has sent to another one in a step. */
struct adv_outbox {
	struct adv_crossing *frame;
	uint32_t frames;
	uint32_t frame_room;
	struct adv_packet_telemetry *telemetry; /* of those frames that have some, in order */
	uint32_t telemetries;
	uint32_t telemetry_room;
	struct adv_crossing_failure *failure;
	uint32_t failures;
	uint32_t failure_room;
};

/* What the other parts know of a part after a step. */
struct adv_part_state {
	uint64_t next;	      /* its next event is not earlier, ps */
	uint64_t done_to;     /* all its events before this time are processed, ps */
	uint64_t left;	      /* transfers that have not ended */
	uint64_t ended_at;    /* if `left` is 0: time of the event that ended the last one, ps */
	uint64_t events;      /* processed in this run */
	uint64_t reports;     /* waiting for adv_parts_tell_all() */
	uint32_t ended_level; /* of that event, see struct adv_part */
	bool failed;	      /* no memory */
	uint64_t first[ADV_PARTS_MAX]; /* earliest arrival of what it has sent to each part, ps */
};

struct adv_part_report {
	struct adv_fabric_event event;
	uint32_t level;
};

struct adv_part {
	struct adv_fabric fabric;
	struct adv_parts *all;
	uint32_t index;
	unsigned parity;		/* of the step */
	struct adv_outbox *out[2];	/* by parity of the step, then by part */
	struct adv_part_state state[2]; /* by parity of the step */
	uint64_t done_to;
	uint64_t ended_at;
	uint32_t ended_level;
	/* The largest adv_calendar_event.what of the events of this time, up to the one that is
	 * being processed. An event may add one of the same time that would have come before it; in
	 * one calendar, both are then processed before what is greater than the first. */
	uint32_t level;
	uint64_t level_at;
	uint64_t events_before; /* fabric.events at the begin of the run */
	struct adv_part_report *report;
	uint32_t reports;
	uint32_t report_room;
	pthread_t thread;
};

/* The ranks of a simulation, see rank.c. */
struct adv_part_ranks {
	const struct adv_ranks *of;
	struct adv_mail *out; /* by rank */
	struct adv_mail *in;
	/* Results of other ranks' parts. */
	struct adv_engine_counters *engine; /* by host */
	uint64_t *acknowledged;		    /* by job: adv_fabric_acknowledged() */
};

struct adv_parts {
	struct adv_fabric *whole;
	uint32_t count;
	uint32_t begin; /* of the parts that this process simulates */
	uint32_t end;
	struct adv_part_ranks *ranks; /* NULL: this process simulates all */
	struct adv_part *part[ADV_PARTS_MAX];
	uint8_t *of_node; /* part of each node */
	uint64_t lookahead;
	bool telling;	       /* reports are being told */
	bool global;	       /* an event that looks at all parts is being processed */
	uint32_t global_level; /* order of its reports, if there are ranks */
	/* The run. */
	uint64_t limit;	  /* ps */
	uint64_t events;  /* stop after so many */
	bool ends;	  /* it ends with the last transfer */
	bool quit;	  /* the threads end */
	uint32_t threads; /* thread i runs the parts begin + i, begin + i + threads, ... */
	uint32_t started; /* threads that exist; the caller's is the first */
	struct adv_barrier barrier;
};

/* Reads what a rank has sent. False: it is malformed, or there is no memory (whole->no_memory). */
typedef bool adv_ranks_read_fn(struct adv_parts *all, uint32_t from, unsigned what,
			       struct adv_mail_reader r);

/* ---- divide.c ---- */

/* Divides the network into at most `count` parts. Sets of_node, of all jobs the part, and
 * *lookahead. Returns the number of parts; 0: no memory. */
uint32_t adv_part_divide(struct adv_fabric *f, uint32_t count, uint8_t *of_node,
			 uint64_t *lookahead);

/* ---- part.c ---- */

/* Returns the part that an event of a divided fabric belongs to, or the fabric itself. */
struct adv_fabric *adv_parts_owner(struct adv_fabric *f, enum adv_due kind, uint32_t index);
/* Return the part of a node, or the one with a number; of a fabric that is not divided, itself. */
struct adv_fabric *adv_part_of(struct adv_fabric *f, uint32_t node);
struct adv_fabric *adv_part_numbered(struct adv_fabric *f, uint8_t number);
/* Returns the number of a node's part; 0: the fabric is not divided. */
uint8_t adv_part_number(const struct adv_fabric *f, uint32_t node);
/* Returns the number of the part in which jobs wait for a job; 0: the fabric is not divided. */
uint8_t adv_part_of_waiters(const struct adv_fabric *f, uint32_t job);
/* True if `f` is the part with this number, or is not a part. */
bool adv_part_is(const struct adv_fabric *f, uint8_t number);
/* True if this process simulates a node, or a job. */
bool adv_part_has_node(const struct adv_fabric *f, uint32_t node);
bool adv_part_has_job(const struct adv_fabric *f, uint32_t job);
/* True if this process is not rank 0. */
bool adv_part_follows(const struct adv_fabric *f);

/* ---- cross.c ---- */

/* Sends a frame whose wire leads to another part: to arrive at packet->at. */
void adv_part_cross(struct adv_fabric *f, uint32_t wire, struct adv_packet *p);
/* A transfer has failed: tells it to the part where it would have arrived. */
void adv_part_cross_failure(struct adv_fabric *f, uint32_t job);
/* Receives what the other parts have sent to this one in a step. */
void adv_part_receive(struct adv_part *p, unsigned parity);
/* Empties the outboxes of a parity. */
void adv_part_clear(struct adv_part *p, unsigned parity);
/* ---- outbox.c ---- */

void adv_outbox_free(struct adv_outbox *box);
/* Empties an outbox, and makes room for so many elements. False: no memory. */
bool adv_outbox_reserve(struct adv_outbox *box, uint32_t frames, uint32_t telemetries,
			uint32_t failures);

/* ---- step.c ---- */

enum adv_verdict {
	ADV_VERDICT_ON,
	ADV_VERDICT_LIMIT,  /* all parts have come to the limit */
	ADV_VERDICT_EVENTS, /* the number of events is reached */
	ADV_VERDICT_END,    /* the last transfer has ended */
	ADV_VERDICT_FAILED, /* no memory */
};

struct adv_step_plan {
	enum adv_verdict verdict;
	uint64_t lead_to;   /* ON: how far parts with transfers left go, ps */
	uint64_t follow_to; /* ON: how far the others go, ps */
	uint64_t at;	    /* else: the time to which the run has come; END: of the last event */
	uint32_t level;	    /* END: of the last event */
};

/* Makes the plan of the next step from the states of all parts. All parts make the same. */
struct adv_step_plan adv_part_plan(const struct adv_parts *all, unsigned parity);
/* Processes the part's events of the step. */
void adv_part_advance(struct adv_part *p, const struct adv_step_plan *plan);
/* Processes what one calendar would have processed before the end of the run. */
void adv_part_finish(struct adv_part *p, const struct adv_step_plan *plan);
/* Writes the state that the others read after the next meeting. */
void adv_part_publish(struct adv_part *p, unsigned parity);

/* ---- run.c ---- */

/* Ends the threads. */
void adv_parts_join(struct adv_parts *all);

/* ---- watch.c ---- */

/* Notes a report of a part. */
void adv_part_note(struct adv_fabric *f, const struct adv_fabric_event *event);
/* Reads the reports that another rank has sent to rank 0. */
adv_ranks_read_fn adv_ranks_read_reports;
/* Tells the reports up to the time `to`. If there are ranks, all call it; rank 0 tells. */
void adv_parts_tell_all(struct adv_parts *all, uint64_t to);

/* ---- rank.c ---- */

/* Returns the first part of a rank; of the number of ranks, the number of parts. */
uint32_t adv_rank_first(const struct adv_parts *all, uint32_t rank);
/* Returns the rank that simulates a part. */
uint32_t adv_part_rank(const struct adv_parts *all, uint32_t part);
/* Ends all ranks, because of an error of this one. Does not return. */
void adv_ranks_fail(const struct adv_parts *all, const char *why);
/* Returns the empty mail to a rank. */
struct adv_mail *adv_ranks_mail(struct adv_parts *all, uint32_t rank);
/* Sends the mails to all ranks, and receives theirs. */
void adv_ranks_exchange(struct adv_parts *all);
/* Reads what each other rank has sent. */
void adv_ranks_read(struct adv_parts *all, adv_ranks_read_fn *read, unsigned what);
/* Sends the states and outboxes of a parity to the other ranks, and receives theirs. */
void adv_ranks_step(struct adv_parts *all, unsigned parity);
/* Writes what adv_ranks_step() sends to rank `to`. */
void adv_ranks_write_step(const struct adv_parts *all, uint32_t to, unsigned parity,
			  struct adv_mail *m);
/* Reads what adv_ranks_step() has sent; `what`: the parity. */
adv_ranks_read_fn adv_ranks_read_step;
/* What rank 0 tells the others. */
struct adv_rank_command {
	enum { ADV_RANKS_RUN, ADV_RANKS_GATHER, ADV_RANKS_END } what;
	/* RUN: until and events of adv_parts_run(); the other members are those of the fabric. */
	uint32_t watch;
	uint32_t count_received;
	uint64_t until;
	uint64_t events;
	uint64_t sample;
};
/* Of rank 0: sends a command to the others. */
void adv_ranks_command(struct adv_parts *all, const struct adv_rank_command *c);
/* Of the others: receives it. */
void adv_ranks_receive_command(struct adv_parts *all, struct adv_rank_command *c);
/* From now on this process simulates the parts of rank of->rank. False: no memory. */
bool adv_ranks_open(struct adv_parts *all, const struct adv_ranks *of);
/* Ends the other ranks' adv_fabric_follow(), if this is rank 0, and frees the memory. */
void adv_ranks_close(struct adv_parts *all);

/* ---- gather.c ---- */

enum adv_gather {
	ADV_GATHER_RESULTS, /* to rank 0; takes the longest queues */
	ADV_GATHER_SAMPLE,  /* to rank 0 */
	ADV_GATHER_WAITS,   /* to all: what a search for a deadlock reads */
};

/* Sends results of this rank's parts, and receives those of others. */
void adv_ranks_gather(struct adv_parts *all, enum adv_gather what);
/* Writes what adv_ranks_gather() sends. */
void adv_ranks_write_results(struct adv_parts *all, enum adv_gather what, struct adv_mail *m);
/* Reads what adv_ranks_gather() has sent; `what`: enum adv_gather. */
adv_ranks_read_fn adv_ranks_read_results;

#endif
