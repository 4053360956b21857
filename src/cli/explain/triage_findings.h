/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of a triage, and what the files triage*.c share. */
#ifndef ADV_CLI_EXPLAIN_TRIAGE_FINDINGS_H
#define ADV_CLI_EXPLAIN_TRIAGE_FINDINGS_H

#include "cli/explain/triage_facts.h"

struct adv_findings {
	struct adv_finding *out;
	unsigned count;
};

/* Adds a finding, unless there are ADV_FINDINGS already. The texts are constant. */
void adv_triage_add(struct adv_findings *f, enum adv_branch branch, const char *what,
		    const char *remedy);
/* True if send requests are outstanding, and none has ended between the readings. */
bool adv_triage_is_waiting(const struct adv_triage_facts *t);
/* Adds what is wrong with the peer's process on this machine. False: nothing is known. */
bool adv_triage_add_peer(struct adv_findings *f, enum adv_peer_process peer);
/* True if the peer has an address of this machine: no cable and no switch is on the way. */
static inline bool adv_triage_is_local(const struct adv_triage_facts *t)
{
	return (t->now->qp.flags & ADV_QP_LOCAL_PEER) != 0;
}

#endif
