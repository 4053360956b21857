/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The triage of a queue pair: which branch to check first, from two readings of its state. The
 * functions only compute: they read no process and send no packet.
 */
#ifndef ADV_CLI_TRIAGE_H
#define ADV_CLI_TRIAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/probe.h"
#include "transport/resources.h"

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
	bool cq_stuck;			 /* these CQs had completions at both, and no fewer */
	bool faults;			 /* a fault plan is in force in the process */
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

/* Returns "fabric", "peer application", "local application", "set-up" or "no trouble". */
const char *adv_branch_name(enum adv_branch branch);

/* True if the peer does not answer outstanding packets, or did not answer those of a request that
 * failed. The way to the peer is worth a probe then. */
bool adv_triage_is_silent(const struct adv_object *before, const struct adv_object *now);

/* Returns how often a counter was incremented between the readings, and in total. offset: of the
 * counter in struct adv_engine_counters. */
uint32_t adv_triage_recent(const struct adv_triage_facts *f, size_t offset);
uint32_t adv_triage_total(const struct adv_triage_facts *f, size_t offset);

/* Writes what to check, the most likely first. Returns the number of findings, at least 1. The
 * texts are constant. */
unsigned adv_triage(const struct adv_triage_facts *f, struct adv_finding out[ADV_FINDINGS]);

#endif
