/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The values of a scenario: one structure for each kind of section. */
#ifndef ADV_FABRIC_SCENARIO_VALUES_H
#define ADV_FABRIC_SCENARIO_VALUES_H

#include "fabric/network/fabric.h"

/* All values are uint64_t: bytes, ps, b/s, mm, ratios in units of 1 / ADV_RATIO_ONE, counts, or
 * the index of a word. */
struct adv_scenario_network {
	uint64_t topology; /* enum adv_scenario_topology */
	uint64_t senders;
	uint64_t hosts;
	uint64_t switches;
	uint64_t leaves;
	uint64_t spines;
	uint64_t ports;
	uint64_t speed;
	uint64_t cable;
	uint64_t trunk_speed;
	uint64_t trunk_cable;
	uint64_t rails;
	uint64_t pods;
	uint64_t routers;
	uint64_t globals;
	uint64_t global_speed;
	uint64_t global_cable;
	uint64_t routes;  /* enum adv_scenario_routes */
	uint64_t reroute; /* time until routes heed a failure, ps; UINT64_MAX: not given */
};

enum adv_scenario_topology {
	ADV_SCENARIO_PAIR,
	ADV_SCENARIO_INCAST,
	ADV_SCENARIO_DUMBBELL,
	ADV_SCENARIO_PARKING_LOT,
	ADV_SCENARIO_RING,
	ADV_SCENARIO_LEAF_SPINE,
	ADV_SCENARIO_FAT_TREE,
	ADV_SCENARIO_RAILS,
	ADV_SCENARIO_DRAGONFLY,
	ADV_SCENARIO_LINKS,
};

enum adv_scenario_routes { ADV_SCENARIO_SHORTEST, ADV_SCENARIO_UP_DOWN, ADV_SCENARIO_ONE_WAY };

struct adv_scenario_switch {
	uint64_t buffer;
	uint64_t pause_quanta;
	uint64_t pause_response;
	uint64_t watchdog_poll;
	uint64_t watchdog_detect;
	uint64_t watchdog_restore;
	uint64_t watchdog_forward;
	uint64_t balance; /* enum adv_balance */
};

struct adv_scenario_priority {
	uint64_t lossless;
	uint64_t weight;
	uint64_t reserved;
	uint64_t headroom;
	uint64_t xoff;
	uint64_t xon_offset;
	uint64_t alpha;
	uint64_t ecn_min;
	uint64_t ecn_max;
	uint64_t ecn_probability;
};

#define ADV_SCENARIO_CC 39 /* parameters of congestion control */

struct adv_scenario_host {
	uint64_t mtu;
	uint64_t window;  /* packets of a connection */
	uint64_t control; /* enum adv_cc_algorithm */
	uint64_t bdp_window;
	uint64_t retransmission; /* enum adv_scenario_retransmission */
	uint64_t reorder;	 /* packets, UINT64_MAX: not given. The same of the next two, ps */
	uint64_t rto_low;
	uint64_t rto_high;
	uint64_t loss_window;  /* 1: a loss halves the window */
	uint64_t ack_priority; /* UINT64_MAX: the priority of the data */
	uint64_t dcqcn;	       /* enum adv_scenario_dcqcn: what parameters are that are not given */
	uint64_t
		cc[ADV_SCENARIO_CC]; /* in the order of adv_cc_parameter(); UINT64_MAX: not given */
};

enum adv_scenario_retransmission {
	ADV_SCENARIO_GO_BACK_N,
	ADV_SCENARIO_GO_BACK_0,
	ADV_SCENARIO_SELECTIVE,
};

enum adv_scenario_dcqcn {
	ADV_SCENARIO_DCQCN_SCALED, /* the paper's; R_AI and R_HAI in proportion to the line rate */
	ADV_SCENARIO_DCQCN_PAPER,  /* the paper's, for 40 Gb/s, at any line rate */
	ADV_SCENARIO_DCQCN_MLX5,   /* mlx5's; R_AI and R_HAI in proportion to the line rate */
};

struct adv_scenario_run {
	uint64_t duration;
	uint64_t seed;
	uint64_t deadlock_check;
	uint64_t stop_at_deadlock;
	uint64_t sample; /* time between samples of queues; 0: none */
};

enum adv_scenario_sizes {
	ADV_SCENARIO_FIXED,
	ADV_SCENARIO_EXPONENTIAL, /* `bytes` is the mean */
	ADV_SCENARIO_WEBSEARCH,	  /* measured distributions of sizes.c, from here on;
				     `bytes` is not used */
	ADV_SCENARIO_HADOOP,
	ADV_SCENARIO_STORAGE,
};

enum adv_scenario_pattern {
	ADV_SCENARIO_PLAIN, /* `from` to `to` */
	ADV_SCENARIO_ALLREDUCE,
	ADV_SCENARIO_ALLGATHER,
	ADV_SCENARIO_REDUCE_SCATTER,
	ADV_SCENARIO_ALLTOALL,
	ADV_SCENARIO_PIPELINE,
};

enum adv_scenario_algorithm {
	ADV_SCENARIO_RING_ALGORITHM,
	ADV_SCENARIO_TREE,
	ADV_SCENARIO_HALVING_DOUBLING,
	ADV_SCENARIO_HIERARCHICAL,
};

/* A value of hosts is a range, first << 32 | last, or one of these constants. */
#define ADV_SCENARIO_ALL	 (1ull << 63)		/* every other host */
#define ADV_SCENARIO_PERMUTATION (ADV_SCENARIO_ALL | 1) /* another host, chosen by the seed */
#define ADV_SCENARIO_RANDOM	 (ADV_SCENARIO_ALL | 3) /* another host for each transfer */
#define ADV_SCENARIO_NEXT	 (ADV_SCENARIO_ALL | 2) /* the next host; of the last: host 0 */

struct adv_scenario_flow {
	uint64_t pattern;   /* enum adv_scenario_pattern */
	uint64_t algorithm; /* enum adv_scenario_algorithm */
	uint64_t group;	    /* ranks of a group; 0: not given */
	uint64_t pieces;
	uint64_t compute; /* of a rank before each repetition; of a stage with a micro-batch, ps */
	uint64_t reduce;  /* time to add up what has arrived, ps */
	uint64_t from;
	uint64_t to;
	uint64_t operation;
	uint64_t bytes;
	uint64_t endless;
	uint64_t sizes; /* enum adv_scenario_sizes */
	uint64_t start;
	uint64_t count;	   /* transfers of each connection; UINT64_MAX: not given */
	uint64_t interval; /* time between the starts of two transfers, ps; 0: each begins when the
			      previous one has ended */
	uint64_t arrivals; /* 0: at equal intervals; 1: Poisson */
	uint64_t load;	   /* of each sender's cable, ratio; 0: not given */
	uint64_t dscp;
	uint64_t message;
	uint64_t depth;
	uint64_t timeout;
	uint64_t retries;
	/* The flow's transfers, set by adv_scenario_build(). */
	uint32_t first_job;
	uint32_t jobs; /* transfers and computations, from first_job on */
	uint32_t transfers;
};

struct adv_scenario_storm {
	uint64_t host;
	uint64_t priority;
	uint64_t from;
	uint64_t to;
};

struct adv_scenario_slow {
	uint64_t host;
	uint64_t speed;
	uint64_t xoff;
	uint64_t xon;
	uint64_t room;
};

struct adv_scenario_failure {
	uint64_t link;
	uint64_t from;
	uint64_t to; /* UINT64_MAX: never */
};

struct adv_scenario_loss {
	uint64_t link;
	uint64_t probability;
};

/* A value of a node is the number of a host, or ADV_SCENARIO_SWITCH + the number of a switch. */
#define ADV_SCENARIO_SWITCH (1ull << 32)

struct adv_scenario_link {
	uint64_t from;
	uint64_t to;
	uint64_t speed; /* 0: the network's */
	uint64_t cable; /* mm; UINT64_MAX: the network's */
};

struct adv_scenario_route {
	uint64_t at;
	uint64_t to;
	uint64_t by;
};

struct adv_scenario_map {
	uint64_t dscp;
	uint64_t priority;
};

/* Sections that may occur many times. `item` has `count` structures. */
struct adv_scenario_list {
	void *item;
	uint32_t count;
	uint64_t *line; /* first line of each section */
};

enum adv_scenario_lists {
	ADV_SCENARIO_FLOWS,
	ADV_SCENARIO_STORMS,
	ADV_SCENARIO_SLOWS,
	ADV_SCENARIO_LOSSES,
	ADV_SCENARIO_FAILURES,
	ADV_SCENARIO_LINK_LIST,
	ADV_SCENARIO_ROUTE_LIST,
	ADV_SCENARIO_MAPS,
	ADV_SCENARIO_LIST_COUNT
};

/* Number of values of sections that occur once; they are at the beginning of struct
 * adv_scenario. */
#define ADV_SCENARIO_VALUES                                                                        \
	((sizeof(struct adv_scenario_network) + sizeof(struct adv_scenario_switch) +               \
	  ADV_PRIORITIES * sizeof(struct adv_scenario_priority) +                                  \
	  sizeof(struct adv_scenario_host) + sizeof(struct adv_scenario_run)) /                    \
	 sizeof(uint64_t))

/* An operation of a GOAL file, see goal.c. */
struct adv_scenario_goal_op {
	enum { ADV_GOAL_CALC, ADV_GOAL_SEND, ADV_GOAL_RECV } kind;
	uint32_t rank;
	uint32_t peer;
	uint32_t tag;
	uint64_t amount; /* bytes, or ns of a computation */
	uint32_t edges;	 /* list of what it waits for; UINT32_MAX: nothing */
	uint64_t line;
};

struct adv_scenario_goal_edge {
	uint32_t before; /* operation */
	uint32_t next;	 /* of the same operation; UINT32_MAX: none */
	bool of_start;	 /* its start is awaited, not its end */
};

struct adv_scenario_goal {
	uint32_t ranks;
	uint32_t ops;
	uint32_t edges;
	struct adv_scenario_goal_op *op;
	struct adv_scenario_goal_edge *edge;
};

/* A transfer of a trace. */
struct adv_scenario_transfer {
	uint32_t from;
	uint32_t to;
	uint8_t dscp;
	uint64_t bytes;
	uint64_t start; /* ps */
	uint64_t line;	/* in the file of the trace */
};

struct adv_scenario {
	struct adv_scenario_network network;
	struct adv_scenario_switch sw;
	struct adv_scenario_priority priority[ADV_PRIORITIES];
	struct adv_scenario_host host;
	struct adv_scenario_run run;
	uint64_t line[ADV_SCENARIO_VALUES]; /* line of each value; 0: not in the file */
	struct adv_scenario_list list[ADV_SCENARIO_LIST_COUNT];
	char name[128]; /* name of the file, for messages */
	uint64_t *node; /* of an imported topology: the host or switch by its number there */
	uint32_t nodes;
	struct adv_scenario_transfer *trace;
	uint32_t trace_count;
	struct adv_scenario_goal goal; /* of the trace, if it is a GOAL file */
	char trace_name[128];
	bool programs; /* set by the caller before the build: no flow is needed */
};

#endif
