/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/explain/triage.h"

#include <infiniband/verbs.h>

#include "cli/explain/triage_findings.h"
#include "cli/explain/triage_stream.h"
#include "nic/engine/cause.h"

#define COUNTER(field) offsetof(struct adv_engine_counters, field)

const char *adv_branch_name(enum adv_branch branch)
{
	static const char *const names[] = {
		[ADV_BRANCH_FABRIC] = "fabric",		  [ADV_BRANCH_PEER] = "peer application",
		[ADV_BRANCH_LOCAL] = "local application", [ADV_BRANCH_SET_UP] = "set-up",
		[ADV_BRANCH_NONE] = "no trouble",
	};

	return names[branch];
}

/* ---- counters ---- */

uint32_t adv_triage_total(const struct adv_triage_facts *f, size_t offset)
{
	return f->now->qp.share[offset / sizeof(uint64_t)];
}

uint32_t adv_triage_recent(const struct adv_triage_facts *f, size_t offset)
{
	return f->now->qp.share[offset / sizeof(uint64_t)] -
	       f->before->qp.share[offset / sizeof(uint64_t)];
}

static uint32_t sum_facts(const struct adv_triage_facts *f, const size_t *offsets, size_t count,
			  uint32_t (*of)(const struct adv_triage_facts *f, size_t offset))
{
	uint32_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += of(f, offsets[i]);
	return n;
}

/* Counters that lost packets increment, at either end. */
static const size_t losses[] = {
	COUNTER(packet_seq_err),	COUNTER(implied_nak_seq_err), COUNTER(out_of_sequence),
	COUNTER(local_ack_timeout_err), COUNTER(duplicate_request),
};
#define LOSSES (sizeof(losses) / sizeof(losses[0]))

/* ---- the peer does not answer ---- */

static bool failed_with(const struct adv_object *qp, enum adv_vendor_err cause)
{
	return qp->qp.error_kind != ADV_QP_ERROR_NONE && qp->qp.error_cause == cause;
}

/* True if the packets in flight are never sent again. */
static bool has_no_timeout(const struct adv_object *qp)
{
	return qp->qp.timeout == 0 && qp->qp.in_flight > 0;
}

bool adv_triage_is_silent(const struct adv_object *before, const struct adv_object *now)
{
	const size_t timeouts = COUNTER(local_ack_timeout_err) / sizeof(uint64_t);

	if (failed_with(now, ADV_ERR_TIMEOUT))
		return true;
	if (now->qp.flags & (ADV_QP_RNR_WAIT | ADV_QP_IWARP))
		return false;
	/* Nothing was acknowledged between the readings, and a timeout has passed. */
	return now->qp.send_posted != now->qp.send_done && before->qp.una_psn == now->qp.una_psn &&
	       ((now->qp.flags & ADV_QP_UNANSWERED) || now->qp.retry_left < now->qp.retry_cnt ||
		has_no_timeout(now) || now->qp.share[timeouts] != before->qp.share[timeouts]);
}

/* ---- two programs of one machine ---- */

static const char remove_plan[] =
	"adverb fault show describes it, adverb fault clear ends it; no switch is on the way";

static const char local_losses[] =
	"no switch is on the way: look for programs that get no processor time, for small socket "
	"buffers (net.core.rmem_max), and for a firewall on the loopback interface";

/* A fault plan of either end loses packets. */
static const char *fault_plan_of(const struct adv_triage_facts *t)
{
	return t->faults ? "packets are lost or arrive out of order; a fault plan of this program "
			   "is in force (adverb fault show)"
			 : "packets are lost or arrive out of order; a fault plan of the peer's "
			   "program is in force (adverb fault show)";
}

static void add_local_silence(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (t->faults || t->peer_faults)
		adv_triage_add(f, ADV_BRANCH_FABRIC, fault_plan_of(t), remove_plan);
	else if (t->peer == ADV_PEER_RUNS)
		adv_triage_add(
			f, ADV_BRANCH_SET_UP,
			"the peer's queue pair, on this machine, runs and drops the packets: their "
			"P_Key, or their PSN or address, may not be those it expects",
			"adverb explain --pid with the peer's process, or its log "
			"(ADVERB_LOG=warn); compare pkey_index, sq_psn, rq_psn and the GIDs of "
			"both ends");
	else if (t->cm == ADV_PROBE_REFUSED || t->cm == ADV_PROBE_SILENT)
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "packets to this machine's own address do not get through",
			       "look for a firewall on the loopback interface (nft list ruleset)");
	else
		adv_triage_add(
			f, ADV_BRANCH_PEER,
			"the peer's process, of another user of this machine, does not answer",
			"is it stopped or frozen? its user or root sees more: adverb explain --pid "
			"there");
}

static void add_silence(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (adv_triage_add_peer(f, t->peer))
		return;
	if (adv_triage_is_local(t)) {
		add_local_silence(f, t);
		return;
	}
	if (t->cm == ADV_PROBE_ANSWERED &&
	    (t->echo_long == ADV_PROBE_TOO_LONG ||
	     (t->echo == ADV_PROBE_ANSWERED && t->echo_long == ADV_PROBE_SILENT))) {
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "short packets reach the peer, packets of the path MTU do not",
			       "lower path_mtu in ibv_modify_qp at both ends (perftest: -m), or "
			       "raise the MTU of each interface and switch on the way");
		adv_triage_add(f, ADV_BRANCH_FABRIC, "a switch or firewall may drop long packets",
			       "ping -M do -s SIZE finds the length that passes");
	} else if (t->cm == ADV_PROBE_ANSWERED) {
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer's host answers at UDP port 4791, its queue pair does not",
			       "is the peer's process stopped, frozen or gone? look at it there "
			       "(ps, its log)");
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "the queue pair number or the GID may be another queue pair's, or "
			       "the P_Key of another partition",
			       "compare them at both ends: adverb res qp; for the P_Key, look for "
			       "qp_pkey_violations in adverb stat there");
	} else if (t->cm == ADV_PROBE_REFUSED || t->echo == ADV_PROBE_ANSWERED) {
		adv_triage_add(
			f, ADV_BRANCH_FABRIC,
			"the peer's host can be reached, but UDP port 4791 does not get through",
			"look for a firewall (nft list ruleset, iptables -L) here, at the peer and "
			"in between; without one, no RDMA device uses the address any more");
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer's host may have no RDMA device (no adverbd)",
			       "run adverb status there");
	} else {
		adv_triage_add(
			f, ADV_BRANCH_FABRIC, "the peer's host does not answer at all",
			"check link, route and neighbour (ip -s link, ip route get, ip neigh), the "
			"switches' drop counters, and firewalls for UDP port 4791");
		adv_triage_add(f, ADV_BRANCH_PEER, "the peer's host may be down",
			       "look at it there");
	}
}

/* ---- errors ---- */

/* Returns the branch of an asynchronous error whose cause tells the rest. */
static enum adv_branch branch_of_event(const struct adv_object_qp *q)
{
	switch (q->error_cause) {
	case ADV_ERR_NO_RECEIVE:
		return ADV_BRANCH_LOCAL;
	case ADV_ERR_QP_ACCESS:
	case ADV_ERR_TOO_MANY_RD_ATOMIC:
		return ADV_BRANCH_SET_UP;
	case ADV_ERR_TERMINATED:
		return ADV_BRANCH_PEER;
	default:
		/* A fatal event is about this end's own memory. */
		return q->error_status == IBV_EVENT_QP_FATAL ? ADV_BRANCH_LOCAL : ADV_BRANCH_PEER;
	}
}

static void add_error_event(struct adv_findings *f, const struct adv_object_qp *q)
{
	const struct adv_cause *cause = adv_cause(q->error_cause);

	if (q->error_status == IBV_EVENT_QP_ACCESS_ERR)
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "the peer's request for memory of this process was refused",
			       "compare rkey, address, length and access flags of the region with "
			       "what the peer uses");
	else if (q->error_cause == ADV_ERR_CQ_OVERRUN)
		adv_triage_add(f, ADV_BRANCH_LOCAL, "a completion queue was full",
			       "make it larger, or poll more often");
	else if (cause && q->error_cause != ADV_ERR_NONE)
		adv_triage_add(f, branch_of_event(q), cause->text, cause->advice);
	else
		adv_triage_add(f, ADV_BRANCH_PEER, "the peer's request was refused as invalid",
			       "see the cause above");
}

static void add_failed_request(struct adv_findings *f, const struct adv_object_qp *q)
{
	switch (q->error_status) {
	case IBV_WC_RETRY_EXC_ERR:
		if (q->flags & ADV_QP_LOCAL_PEER)
			adv_triage_add(f, ADV_BRANCH_SET_UP,
				       "packets were lost until the retries were used up",
				       local_losses);
		else
			adv_triage_add(f, ADV_BRANCH_FABRIC,
				       "packets were lost until the retries were used up",
				       "compare the drop counters at both ends and of the "
				       "switches; check PFC and ECN");
		break;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		adv_triage_add(f, ADV_BRANCH_PEER, "the peer had no receive request posted",
			       "post receives earlier at the peer; the network is innocent");
		break;
	case IBV_WC_REM_ACCESS_ERR:
		adv_triage_add(f, ADV_BRANCH_SET_UP, "the peer refused access to its memory",
			       "compare rkey, address, length and access flags with the peer's "
			       "region (adverb res mr --details); is the region still registered?");
		break;
	case IBV_WC_REM_INV_REQ_ERR:
		adv_triage_add(f, ADV_BRANCH_SET_UP, "the peer refused the request as invalid",
			       "is its receive request long enough, and are its qp_access_flags "
			       "right? its log has the cause (ADVERB_LOG=warn)");
		break;
	case IBV_WC_REM_OP_ERR:
		adv_triage_add(f, ADV_BRANCH_PEER, "the peer could not carry out the request",
			       "see its receive completion");
		break;
	case IBV_WC_BAD_RESP_ERR:
		adv_triage_add(f, ADV_BRANCH_SET_UP, "the peer's response does not fit the request",
			       "is the path MTU the same at both ends? capture UDP port 4791");
		break;
	default:
		adv_triage_add(f, ADV_BRANCH_LOCAL,
			       "a request of this program failed before it was sent, or its "
			       "receive request did",
			       "see the cause above: lkey, address and length of each "
			       "scatter/gather entry");
	}
}

static void add_error(struct adv_findings *f, const struct adv_triage_facts *t)
{
	const struct adv_object_qp *q = &t->now->qp;

	/* adv_triage_is_silent() has handled a timeout. */
	if (q->error_kind == ADV_QP_ERROR_NONE || failed_with(t->now, ADV_ERR_TIMEOUT))
		return;
	if (q->error_kind == ADV_QP_ERROR_EVENT)
		add_error_event(f, q);
	else
		add_failed_request(f, q);
}

/* ---- a connection that works ---- */

static void add_rnr(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if ((t->now->qp.flags & ADV_QP_RNR_WAIT) ||
	    adv_triage_recent(t, COUNTER(rnr_nak_retry_err)))
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "the peer has no receive request posted (RNR NAKs)",
			       "post receives earlier and more of them at the peer; the network is "
			       "innocent");
	if (adv_triage_recent(t, COUNTER(out_of_buffer)))
		adv_triage_add(
			f, ADV_BRANCH_LOCAL,
			"messages arrive for which this program has posted no receive request",
			"post receives earlier and more of them, or use a shared receive queue");
}

/* Packets of another partition: their sender learns nothing. */
static void add_partition(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (adv_triage_total(t, COUNTER(rx_bad_pkey)))
		adv_triage_add(
			f, ADV_BRANCH_SET_UP,
			"packets to this queue pair were dropped: their P_Key does not match its "
			"own (qp_pkey_violations)",
			"both ends need one partition, and at least one of them full membership "
			"(bit 15): compare pkey_index and the tables (ports/1/pkeys in sysfs) of "
			"both; ADVERB_LOG=warn names the two P_Keys");
}

static void add_losses(struct adv_findings *f, const struct adv_triage_facts *t)
{
	const bool local = adv_triage_is_local(t);

	if (!sum_facts(t, losses, LOSSES, adv_triage_recent))
		return;
	if (local && !t->faults && !t->peer_faults)
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "packets between two programs of this machine are lost or late",
			       local_losses);
	else
		adv_triage_add(f, ADV_BRANCH_FABRIC,
			       t->faults || t->peer_faults
				       ? fault_plan_of(t)
				       : "packets are lost or arrive out of order",
			       local ? remove_plan
				     : "compare port counters at both ends and of the switches: "
				       "drops, PFC pauses, ICRC errors; see port_xmit_discards and "
				       "rx_icrc_encapsulated above");
}

static void add_marks(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (adv_triage_recent(t, COUNTER(np_cnp_sent)) ||
	    adv_triage_recent(t, COUNTER(rp_cnp_handled)))
		adv_triage_add(f, ADV_BRANCH_FABRIC,
			       "the network marks packets: a queue is congested",
			       adv_triage_is_local(t) ? "no switch is on the way: a fault plan "
							"sets the marks (adverb fault show)"
						      : "look for incast and for the switch port "
							"that marks (ECN counters)");
}

static void add_no_timeout(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (t->now->state == IBV_QPS_RTS && has_no_timeout(t->now) &&
	    adv_triage_is_silent(t->before, t->now))
		adv_triage_add(f, ADV_BRANCH_SET_UP,
			       "the queue pair has timeout 0: a lost packet is never sent again",
			       "set a Local ACK Timeout, 14 for example, in ibv_modify_qp");
}

static void add_application(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (t->cq_stuck)
		adv_triage_add(f, ADV_BRANCH_LOCAL,
			       "completions wait in the completion queue, and are not polled",
			       "does the program still call ibv_poll_cq? with events: is the queue "
			       "armed again after each event?");
}

/* All requests have ended, and no completion will free their slots. */
static void add_full_queue(struct adv_findings *f, const struct adv_triage_facts *t)
{
	const struct adv_object_qp *q = &t->now->qp;

	if (q->send_room && q->send_held >= q->send_room && q->send_posted == q->send_done &&
	    !t->unpolled_sends && t->now->state == IBV_QPS_RTS)
		adv_triage_add(f, ADV_BRANCH_LOCAL,
			       "the send queue is full of unsignaled requests, which have ended: "
			       "no completion will free it",
			       "signal at least one of each max_send_wr requests "
			       "(IBV_SEND_SIGNALED), and poll its completion; adverb check names "
			       "the place (unsignaled-queue-full)");
}

static void add_state(struct adv_findings *f, const struct adv_object *qp)
{
	if (qp->type == IBV_QPT_UD || qp->qp.error_kind != ADV_QP_ERROR_NONE)
		return;
	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT)
		adv_triage_add(f, ADV_BRANCH_SET_UP, "the queue pair is not connected yet",
			       qp->qp.flags & ADV_QP_IWARP
				       ? "iWARP: rdma_connect() and rdma_accept() connect it; "
					 "adverb res cm_id shows the connection manager's ids"
				       : "the program has to bring it to RTR and RTS with the "
					 "peer's QP number, GID and PSN; adverb res cm_id shows "
					 "the connection manager's ids");
	else if (qp->state == IBV_QPS_ERR)
		adv_triage_add(
			f, ADV_BRANCH_LOCAL,
			"the program or a disconnect moved the queue pair to ERR",
			"see the program's log; the connection manager does this at DISCONNECTED");
}

/* Earlier trouble that is over now. */
static void add_past(struct adv_findings *f, const struct adv_triage_facts *t)
{
	if (f->count)
		return;
	if (adv_triage_total(t, COUNTER(rnr_nak_retry_err)))
		adv_triage_add(f, ADV_BRANCH_PEER,
			       "earlier, the peer had no receive request posted at times",
			       "post more receives at the peer");
	if (adv_triage_total(t, COUNTER(out_of_buffer)))
		adv_triage_add(f, ADV_BRANCH_LOCAL,
			       "earlier, this program had no receive request posted at times",
			       "post more receives");
	if (sum_facts(t, losses, LOSSES, adv_triage_total))
		adv_triage_add(
			f, ADV_BRANCH_FABRIC, "earlier, packets were lost or late",
			adv_triage_is_local(t)
				? local_losses
				: "compare the drop counters at both ends and of the switches");
}

unsigned adv_triage(const struct adv_triage_facts *t, struct adv_finding out[ADV_FINDINGS])
{
	struct adv_findings f = {out, 0};

	if (t->stopped)
		adv_triage_add(&f, ADV_BRANCH_LOCAL, "the process itself is stopped",
			       "let it continue (kill -CONT), or find out who stopped it");
	add_error(&f, t);
	add_rnr(&f, t);
	if (t->now->qp.flags & ADV_QP_IWARP)
		adv_triage_add_stream(&f, t);
	else if (adv_triage_is_silent(t->before, t->now))
		add_silence(&f, t);
	else if (!adv_triage_is_waiting(t) || t->before->qp.una_psn != t->now->qp.una_psn ||
		 !adv_triage_add_peer(&f, t->peer))
		add_losses(&f, t);
	add_marks(&f, t);
	add_no_timeout(&f, t);
	add_partition(&f, t);
	add_application(&f, t);
	add_full_queue(&f, t);
	add_state(&f, t->now);
	add_past(&f, t);
	if (!f.count)
		adv_triage_add(&f, ADV_BRANCH_NONE, "the queue pair works, or has nothing to do",
			       "if the program waits, see the queue pair of the other end, and the "
			       "program's own logic");
	return f.count;
}
