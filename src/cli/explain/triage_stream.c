/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The triage of an iWARP queue pair: its connection is TCP's, which has no NAKs and counters of its
 * own. */
#include "cli/explain/triage_stream.h"

#include <infiniband/verbs.h>

static void add_missing(struct adv_findings *f, const struct adv_triage_facts *t)
{
	adv_triage_add(
		f, ADV_BRANCH_SET_UP,
		t->now->qp.send_posted != t->now->qp.send_done
			? "the queue pair has no connection: its requests wait for one"
			: "the queue pair has no connection",
		"iWARP: only rdma_connect() and rdma_accept() connect a queue pair, "
		"ibv_modify_qp() does not; adverb res cm_id shows the connection manager's ids");
}

/* TCP waits for the peer's acknowledgement, or for room in its receive buffer. */
static void add_unacknowledged(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (!t->now->qp.stream_retries)
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer's TCP takes no more bytes: its program does not receive",
			       "is the peer's process stopped, frozen or too busy? look at it "
			       "there (ps, its log)");
	else if (adv_triage_is_local(t))
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "TCP segments to this machine's own address are not acknowledged",
			       "look for a firewall on the loopback interface (nft list ruleset)");
	else
		adv_triage_add(f, ADV_BRANCH_FABRIC,
			       "the peer's host does not acknowledge TCP segments",
			       "check link, route, firewall and path MTU, and the switches' drop "
			       "counters; ss -ti shows the connection");
}

void adv_triage_add_stream(struct adv_findings *f, const struct adv_triage_facts *t)
{
	const struct adv_object_qp *q = &t->now->qp;

	if (t->now->state != IBV_QPS_RTS || q->error_kind != ADV_QP_ERROR_NONE)
		return;
	if (!(q->flags & ADV_QP_STREAM)) {
		add_missing(f, t);
		return;
	}
	if (!adv_triage_is_waiting(t) || t->before->qp.stream_acked != q->stream_acked ||
	    adv_triage_add_peer(f, t->peer))
		return;
	if (q->flags & ADV_QP_FIRST_AWAITED)
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer has connected and has not sent yet: this end has "
			       "accepted, and may not send before it",
			       "let the program that called rdma_connect() send first");
	else if (q->stream_queued)
		add_unacknowledged(f, t);
	else if (q->request == IBV_WR_RDMA_READ)
		adv_triage_add(
			f, ADV_BRANCH_PEER,
			"the peer has received the READ request and does not answer",
			"is the peer's process stopped, frozen or too busy? look at it there");
}
