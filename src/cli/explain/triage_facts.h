/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of a queue pair for its triage, and what is found. */
#ifndef ADV_CLI_EXPLAIN_TRIAGE_FACTS_H
#define ADV_CLI_EXPLAIN_TRIAGE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/doctor/probe.h"
#include "nic/engine/resources.h"

enum adv_branch {
	ADV_BRANCH_FABRIC,
	ADV_BRANCH_PEER,   /* peer application */
	ADV_BRANCH_LOCAL,  /* local application */
	ADV_BRANCH_SET_UP, /* attributes, keys, path MTU */
	ADV_BRANCH_NONE,   /* no trouble is seen */
};

/* What is known of the peer's process. */
enum adv_peer_process {
	ADV_PEER_UNKNOWN, /* on another machine, or of another user */
	ADV_PEER_RUNS,
	ADV_PEER_STOPPED,  /* by a signal, or does not answer adverbd */
	ADV_PEER_NO_QP,	   /* this machine has no such queue pair */
	ADV_PEER_NOT_READY /* the queue pair exists, in a state that does not receive */
};

struct adv_triage_facts {
	const struct adv_object *before; /* first reading of the QP */
	const struct adv_object *now;	 /* second reading */
	bool stopped;			 /* the process itself is stopped */
	uint32_t unpolled;		 /* completions in the QP's CQs at the second reading */
	uint32_t unpolled_sends;	 /* of these: in the CQ of the send queue */
	bool cq_stuck;			 /* these CQs had completions at both, and no fewer */
	bool faults;			 /* a fault plan is in force in the process */
	bool peer_faults;		 /* and in that of the peer */
	enum adv_peer_process peer;
	/* Probes; NOT_TRIED unless adv_triage_is_silent(). */
	enum adv_probe_result cm;
	enum adv_probe_result echo;	 /* a short packet */
	enum adv_probe_result echo_long; /* a packet as long as the path MTU allows */
};

struct adv_finding {
	enum adv_branch branch;
	const char *what;   /* what was seen */
	const char *remedy; /* what to do */
};

#define ADV_FINDINGS 8

#endif
