/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The simulation's own structures, shared by its files only, and what these have for each other.
 * The files part*.c divide a network among threads, see part.h. */
#ifndef ADV_FABRIC_NETWORK_INTERNAL_H
#define ADV_FABRIC_NETWORK_INTERNAL_H

#include <stddef.h>

#include "base/rng.h"
#include "fabric/network/calendar.h"
#include "fabric/network/departure.h"
#include "fabric/switch/egress.h"
#include "fabric/network/event_kinds.h"
#include "fabric/network/fabric.h"
#include "fabric/network/turn_events.h"
#include "fabric/network/hints.h"
#include "fabric/network/wire.h"

/* A slow host's input. */
struct adv_fabric_input {
	struct adv_fabric_slow slow;
	struct adv_packet_list waiting;
	uint32_t bytes;
	uint32_t of[ADV_PRIORITIES];
};

/* A frame touches three cache lines: the first one, its queue of `egress`, and that of `wire`. */
struct adv_fabric_host {
	struct adv_engine *engine;
	uint64_t timer_at; /* earliest ADV_DUE_HOST, ps */
	struct adv_egress egress;
	struct adv_hints hints;
	uint32_t wire;	 /* the wire on which the host sends */
	uint32_t index;	 /* number of the host */
	uint8_t to_tell; /* priorities whose state the next pause frame carries */
	uint8_t told;	 /* priorities that the host has paused */
	uint8_t stormy;	 /* priorities that the host pauses in a storm */
	uint8_t held;	 /* priorities, paused or enough queued: packets stay in the engine */
	uint8_t used;	 /* priorities of the host's queue pairs */
	bool repeating;	 /* an ADV_DUE_REPEAT is due */
	bool attached;	 /* sends and receives frames from outside */
	bool slow;	 /* there is an `input` */
	struct adv_cq *cq;
	struct adv_mr *mr;
	struct adv_fabric_host_counters counters;
	struct adv_fabric_input *input;		 /* NULL: the host is as fast as the wire */
	uint8_t external_queued[ADV_PRIORITIES]; /* frames of programs in `egress` */
	struct adv_pd *pd;
	uint32_t cq_room;
	uint32_t cq_used;
	uint32_t qps;
	struct adv_fabric_external_counters external;
} __attribute__((aligned(64)));

struct adv_fabric_node {
	struct adv_switch *sw;
	struct adv_departures departures;
	uint64_t settle_at; /* earliest ADV_DUE_SETTLE, ps */
	uint32_t index;	    /* number of the switch */
	bool late;	    /* departures are processed late, because several have passed by then */
	bool borders;	    /* a wire of the switch crosses */
	bool pausing;	    /* the switch pauses peers */
	uint64_t slack;	    /* least delay of a pause frame of the switch, ps */
	uint64_t timer_at;  /* earliest ADV_DUE_SWITCH, ps */
	struct adv_fabric *fabric;
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct adv_fabric_node, slack) <= 64, "one cache line");

struct adv_fabric_peer {
	struct adv_fabric_connection config;
	struct adv_qp *qp[2]; /* initiator, target */
	uint32_t first; /* transfer that completes next; it heads a list by adv_fabric_job.next */
	uint32_t last;
	uint32_t posting;     /* transfer whose work requests are posted now; ADV_NO_JOB: none */
	uint64_t posted;      /* posted bytes of that transfer */
	uint32_t outstanding; /* work requests */
	uint32_t arriving;    /* oldest transfer that has not arrived; ADV_NO_JOB: none. Only if
				 `awaited` */
	uint64_t posted_messages;
	uint64_t received_messages; /* messages that the target has, if `awaited` */
	uint64_t arrived_messages;  /* messages before those of `arriving` */
	uint32_t next_psn;	    /* PSN of the next packet in order */
	uint64_t received;	    /* payload bytes, see adv_fabric_received() */
	bool failed;
	bool awaited; /* jobs wait for arrivals of this connection */
};

struct adv_fabric_job {
	struct adv_fabric_transfer_state state;
	uint32_t next;	  /* next job of the same connection; ADV_NO_JOB: none */
	uint32_t waiters; /* list of the edges to jobs that wait for this one; or ADV_NO_JOB */
	uint32_t waits;	  /* number of jobs for which this one waits */
	bool started;
	bool arrived;	/* all data is at the receiver; of a computation: it has ended */
	bool cancelled; /* this job waited for a job that failed */
	uint8_t part;	/* of a divided fabric: the part of the initiator or the computation */
	uint64_t takes; /* duration of a computation, ps */
};

/* A job waits for another one. */
struct adv_fabric_edge {
	uint32_t job;  /* the job that waits */
	uint32_t next; /* next edge from the same job; ADV_NO_JOB: none */
};

struct adv_fabric_storm_plan {
	uint32_t host;
	uint8_t priorities;
	uint64_t from;
	uint64_t to;
};

/* A change of a cable. */
struct adv_fabric_change {
	uint32_t link;
	enum { ADV_CABLE_FAILS, ADV_CABLE_WORKS, ADV_CABLE_AVOIDED, ADV_CABLE_USED } what;
};

/* Cables that fail, see failure.c. */
struct adv_fabric_failures {
	struct adv_fabric_change *change;
	uint32_t changes;
	uint16_t *down;			/* by link: failures in force */
	uint16_t *avoided;		/* by link: failures that the routes heed */
	struct adv_route_table *routes; /* by switch: routes since the first failure; or NULL */
};

#define ADV_NO_JOB UINT32_MAX

/* The data of a network of so many wires is mostly in the processor's cache. */
#define ADV_LOOK_AHEAD_WIRES 1024

/* Time after which the failure of a transfer takes effect on those that wait for it, and on the end
 * of the run, ps. */
#define ADV_FAILED_AFTER (10 * ADV_PS_PER_US)

struct adv_part;
struct adv_parts;

struct adv_fabric { /* first what each event needs */
	struct adv_calendar *calendar;
	uint64_t now;
	uint64_t events;
	struct adv_wire *wire;	      /* two per cable: end 0 to 1, end 1 to 0 */
	struct adv_fabric_node *node; /* the switches */
	struct adv_fabric_host *host;
	uint32_t hosts;
	unsigned cycle_length; /* of the deadlock found */
	bool no_memory;
	bool done; /* the last transfer has ended */
	bool deadlock_told;
	bool count_received;
	bool awaited;	/* a connection is `awaited` */
	bool telemetry; /* frames carry telemetry */
	bool look_ahead;
	struct adv_turn turn;
	adv_fabric_watch_fn *watch;
	const struct adv_fabric_external_ops *external;
	struct adv_packet_pool pool;
	struct adv_fabric_config config;
	struct adv_turns *turns; /* NULL: none yet */
	struct adv_parts *parts; /* of a divided network; NULL: it is not, or this is a part */
	struct adv_part *part;	 /* this is a part of a network; NULL: it is all of it */
	struct adv_rng rng;
	uint64_t lost;
	uint32_t wires;
	struct adv_rng *wire_rng; /* by wire: decides which frames it loses; NULL: none */
	uint32_t *port_wire;	  /* by switch and port: the wire on which the port sends */
	uint32_t *first_port;	  /* by switch: index of its port 0 in port_wire */
	struct adv_fabric_peer *peer;
	uint32_t peers;
	uint32_t peer_room;
	struct adv_fabric_job *job;
	uint32_t jobs;
	uint32_t job_room;
	struct adv_fabric_edge *edge;
	uint32_t edges;
	uint32_t edge_room;
	uint32_t jobs_left; /* transfers that have not ended, without endless ones */
	uint32_t endless;
	struct adv_fabric_storm_plan *storm;
	uint32_t storms;
	struct adv_fabric_failures failures;
	uint8_t *memory; /* source and destination of all transfers */
	uint64_t sample;
	void *watch_user;
	struct adv_fabric_wait *cycle; /* the deadlock found */
	unsigned cycle_room;
	struct {
		uint8_t *queues;		   /* by port: priorities of waiting queues */
		uint32_t (*stuck)[ADV_PRIORITIES]; /* bytes by input port and priority */
		uint64_t *shared;		   /* by switch */
		bool *seen;			   /* by port */
	} waits;				   /* working memory of deadlock.c */
	uint64_t dscps_of[ADV_PRIORITIES];
	struct adv_tx_batch batch;
	void *external_user;
};

/* Returns the value by which ECMP tells flows apart. */
static inline uint32_t adv_fabric_flow_hash(uint32_t from, uint32_t to, uint16_t sport)
{
	return from * 0x9e3779b1u ^ to * 0x85ebca77u ^ sport * 0xc2b2ae3du;
}

/* ---- due.c ---- */

/* Adds an event. Without memory the run stops. */
void adv_fabric_at(struct adv_fabric *f, uint64_t at, enum adv_due kind, uint32_t index);
/* Calls the function that adv_fabric_watch() has set, if any. */
void adv_fabric_tell(struct adv_fabric *f, const struct adv_fabric_event *event);
/* Puts a frame on a wire that is free. */
void adv_fabric_put(struct adv_fabric *f, uint32_t wire, struct adv_packet *p);

/* ---- process.c ---- */

/* Processes an event that was dequeued. */
void adv_fabric_process(struct adv_fabric *f, struct adv_calendar_event event);
/* adv_fabric_run_some() of a fabric that is not divided. */
enum adv_fabric_stop adv_fabric_run_calendar(struct adv_fabric *f, uint64_t until, uint64_t events);
/* True if a deadlock has been found that no run has returned yet. */
bool adv_fabric_new_deadlock(struct adv_fabric *f);

/* ---- settle.c, see settle.h ---- */

/* Sends from all ready ports of a switch, and adds the event of its next deadline. */
void adv_fabric_serve(struct adv_fabric *f, uint32_t s);
/* There is a watcher now: departures that have begun are processed at their time too. */
void adv_fabric_settle_in_time(struct adv_fabric *f);
/* Before the first frame of a switch. Returns 0 or ENOMEM. */
int adv_fabric_settle_open(struct adv_fabric *f, struct adv_fabric_node *n);

/* ---- turn.c, see turn.h ---- */

void adv_turns_free(struct adv_fabric *f);

/* ---- the parts of a divided fabric, see part.h ---- */

/* adv_fabric_run_some() of a divided fabric. */
enum adv_fabric_stop adv_parts_run(struct adv_fabric *f, uint64_t until, uint64_t events);
void adv_parts_destroy(struct adv_parts *all);
/* Return what adv_fabric_events() and adv_fabric_lost() do, of any fabric. */
uint64_t adv_parts_events(const struct adv_fabric *f);
uint64_t adv_parts_lost(const struct adv_fabric *f);

/* ---- ideal.c ---- */

/* Returns the bandwidth-delay product of the longest path from a host, in packets of the MTU: what
 * the host's cable carries from the begin of a packet until its ACK arrives in an empty network. At
 * least 1. Needs the wires. */
uint32_t adv_fabric_bdp(const struct adv_fabric *f, uint32_t host);

/* ---- connection.c ---- */

/* Dequeues completions and posts further work requests. */
void adv_fabric_completions(struct adv_fabric *f, struct adv_fabric_host *h);
/* Processes ADV_DUE_FAILED of a transfer. */
void adv_fabric_failed(struct adv_fabric *f, uint32_t job);
/* Starts a transfer that is due, or starts or ends a computation. Returns the initiator, which may
 * have packets to send; NULL: a computation. */
struct adv_fabric_host *adv_fabric_start(struct adv_fabric *f, uint32_t job);
/* If a received frame is the next one in the order of its connection, counts its payload. */
void adv_fabric_count(struct adv_fabric *f, const struct adv_fabric_host *h,
		      const struct adv_packet *p);

/* ---- after.c ---- */

/* Lets a new job wait until each of `after` has arrived. If they all have, it begins now. Returns 0
 * or ENOMEM. */
int adv_fabric_wait(struct adv_fabric *f, uint32_t job, const uint32_t *after, uint32_t count);
/* Tells the jobs that wait for `job` that it has arrived, or has failed with `status`. Does nothing
 * if they were told before. */
void adv_fabric_release(struct adv_fabric *f, uint32_t job, enum ibv_wc_status status);
/* Notes a job that was added to a connection. */
void adv_fabric_arriving(struct adv_fabric *f, uint32_t connection, uint32_t job);
/* Returns the connection of the host's queue pair with this number; NULL: none. */
struct adv_fabric_peer *adv_fabric_peer_of(const struct adv_fabric *f,
					   const struct adv_fabric_host *h, uint32_t qpn);
/* The engine of `h` has received the frame: releases the jobs that waited for what it ends. */
void adv_fabric_arrive(struct adv_fabric *f, const struct adv_fabric_host *h,
		       const struct adv_packet *packet);

/* ---- external.c ---- */

/* Queues frames of an attached host's programs: of each unpaused priority what its NIC needs. */
void adv_fabric_external_pull(struct adv_fabric *f, struct adv_fabric_host *h);
/* Shows a frame to the tap at the begin (out) or the end of a wire. */
void adv_fabric_show(struct adv_fabric *f, uint32_t wire, bool out, const struct adv_packet *p);
/* Passes a received frame to the host's program. */
void adv_fabric_external_rx(struct adv_fabric *f, struct adv_fabric_host *h,
			    const struct adv_packet *p);

/* ---- slow.c ---- */

/* Queues or drops a received frame of a slow host. True: the host has to send a pause frame now. */
bool adv_fabric_input_rx(struct adv_fabric *f, struct adv_fabric_host *h, struct adv_packet *p);
/* Dequeues the frame that the slow host has processed. */
struct adv_packet *adv_fabric_input_pop(struct adv_fabric *f, struct adv_fabric_host *h);
/* Ends the host's pause of a priority if its queue has become short. True: the host has to send a
 * pause frame that resumes the priority. */
bool adv_fabric_input_resume(struct adv_fabric_host *h, uint8_t priority);
/* Makes the host repeat its pauses with the next pause frame. */
void adv_fabric_input_repeat(struct adv_fabric_host *h);
/* Begins or ends a storm. The host then has to send a pause frame. */
void adv_fabric_storm_event(struct adv_fabric *f, const struct adv_fabric_storm_plan *s);
/* Returns the pause frame that the host has to send; NULL: no memory. */
struct adv_packet *adv_fabric_input_pause(struct adv_fabric *f, struct adv_fabric_host *h);

/* ---- host.c ---- */

int adv_fabric_host_open(struct adv_fabric *f, uint32_t index);
void adv_fabric_host_close(struct adv_fabric *f, struct adv_fabric_host *h);
/* Receives a data frame; the host owns it. */
void adv_fabric_host_rx(struct adv_fabric *f, struct adv_fabric_host *h, struct adv_packet *p);
/* Applies a received pause frame. */
void adv_fabric_host_pause(struct adv_fabric *f, struct adv_fabric_host *h,
			   const struct adv_packet *frame);
/* Passes the frame that a slow host has processed to its engine. */
void adv_fabric_host_drain(struct adv_fabric *f, struct adv_fabric_host *h);
/* If the host's wire is free and a frame may be sent, sends the frame. */
void adv_fabric_host_send(struct adv_fabric *f, struct adv_fabric_host *h);
void adv_fabric_host_sent(struct adv_fabric *f, struct adv_fabric_host *h,
			  const struct adv_packet *p);
/* The host's cable fails: pauses by its peer end. Or it works: the host tells its own again. */
void adv_fabric_host_link(struct adv_fabric *f, struct adv_fabric_host *h, bool works);
void adv_fabric_host_timer(struct adv_fabric *f, struct adv_fabric_host *h, uint64_t at);
/* Dequeues completions, sets timers and sends. */
void adv_fabric_host_progress(struct adv_fabric *f, struct adv_fabric_host *h);

/* ---- failure.c ---- */

/* Processes ADV_DUE_CABLE. */
void adv_fabric_cable(struct adv_fabric *f, uint32_t change);
void adv_fabric_failures_free(struct adv_fabric *f);

/* ---- deadlock.c: 0 or ENOMEM ---- */

int adv_fabric_deadlock_open(struct adv_fabric *f);
void adv_fabric_deadlock_close(struct adv_fabric *f);

#endif
