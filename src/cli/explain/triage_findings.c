/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/explain/triage_findings.h"

void adv_triage_add(struct adv_findings *f, enum adv_branch branch, const char *what,
		    const char *remedy)
{
	if (f->count < ADV_FINDINGS)
		f->out[f->count++] = (struct adv_finding){branch, what, remedy};
}

bool adv_triage_is_waiting(const struct adv_triage_facts *t)
{
	return t->now->qp.send_posted != t->now->qp.send_done &&
	       t->before->qp.send_done == t->now->qp.send_done;
}

bool adv_triage_add_peer(struct adv_findings *f, enum adv_peer_process peer)
{
	switch (peer) {
	case ADV_PEER_STOPPED:
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer's process, on this machine, is stopped",
			       "let it continue (kill -CONT), or find out who stopped it: a "
			       "debugger, a signal, a frozen container");
		return true;
	case ADV_PEER_NO_QP:
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "this machine has no queue pair with the peer's number",
			       "the peer's process has ended, or has destroyed its queue pair: see "
			       "its log");
		return true;
	case ADV_PEER_NOT_READY:
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer's queue pair is in a state that does not receive",
			       "see the peer: adverb explain --pid with its process; a failed "
			       "queue pair must be set up again");
		return true;
	default:
		return false;
	}
}
