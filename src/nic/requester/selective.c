/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "nic/requester/flight.h"
#include "nic/responder/ack.h"
#include "nic/requester/selective.h"

/* Packets in flight up to which the short timer runs (IRN, 3.1: N). */
#define FEW_PACKETS 3
#define WORD_BITS   64

struct adv_selective {
	uint32_t room; /* entries of the rings and bits of the bitmap, by PSN; a power of two */
	/* The responder. Both rings are allocated when the first packet is kept. */
	struct adv_kept_packet **kept;
	uint32_t *report;     /* PSNs to report */
	uint32_t report_head; /* free running */
	uint32_t report_tail;
	uint64_t accepted; /* see adv_qp_accepted() */
	/* The requester. */
	uint32_t highest;     /* newest PSN that the responder keeps, or an older one */
	uint32_t lost_end;    /* PSNs before it that the responder does not keep are lost */
	uint32_t resent;      /* lost PSNs before it were sent again */
	uint32_t recover_psn; /* the recovery ends when all PSNs before it are acknowledged */
	uint32_t probe;	      /* if `probing`: PSN sent again after a timeout */
	bool probing;
	bool recovering;
	bool timed_out;	      /* no packet was acknowledged since the last timeout */
	uint64_t timer_since; /* start of the retransmission timer, ns */
	uint64_t since;	      /* time of the first such timeout, ns */
	uint64_t noted[];     /* bitmap: PSNs after una_psn that the responder keeps */
};

/* ---- start and end ---- */

int adv_selective_start(struct adv_qp *qp)
{
	uint32_t room = WORD_BITS;
	struct adv_selective *s;

	if (!qp->reliable || qp->engine->recovery != &adv_recovery_selective || qp->selective)
		return 0;
	while (room < qp->engine->window)
		room *= 2;
	s = calloc(1, sizeof(*s) + room / WORD_BITS * sizeof(s->noted[0]));
	if (!s)
		return ENOMEM;
	s->room = room;
	qp->selective = s;
	return 0;
}

static void drop_kept(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;

	for (uint32_t i = 0; s && s->kept && i < s->room; i++) {
		if (s->kept[i])
			s->accepted -= s->kept[i]->payload_len;
		free(s->kept[i]);
		s->kept[i] = NULL;
	}
	if (s)
		s->report_tail = s->report_head;
}

void adv_selective_end(struct adv_qp *qp)
{
	drop_kept(qp);
	if (qp->selective) {
		free(qp->selective->kept);
		free(qp->selective->report);
	}
	free(qp->selective);
	qp->selective = NULL;
}

/* ---- the responder ---- */

static bool make_rings(struct adv_selective *s)
{
	if (!s->kept)
		s->kept = calloc(s->room, sizeof(struct adv_kept_packet *));
	if (!s->report)
		s->report = calloc(s->room, sizeof(*s->report));
	return s->kept && s->report;
}

static struct adv_kept_packet *copy_packet(const struct adv_incoming *in)
{
	struct adv_kept_packet *k = malloc(sizeof(*k) + in->payload_len);

	if (!k)
		return NULL;
	k->h = *in->h;
	k->payload_len = in->payload_len;
	memcpy(k->payload, in->payload, in->payload_len);
	return k;
}

static void add_report(struct adv_qp *qp, uint32_t psn)
{
	struct adv_selective *s = qp->selective;

	if (s->report_head - s->report_tail < s->room)
		s->report[s->report_head++ & (s->room - 1)] = psn;
	adv_responder_ack_queue(qp, ADV_AETH_NAK | ADV_NAK_SELECTIVE, qp->resp.epsn);
}

bool adv_selective_keep(struct adv_qp *qp, const struct adv_incoming *in)
{
	struct adv_selective *s = qp->selective;
	uint32_t psn = in->h->bth.psn;
	struct adv_kept_packet **slot;

	/* After an RNR NAK the requester sends everything again. */
	if (qp->resp.nak_sent)
		return true;
	if (adv_psn_diff(psn, qp->resp.epsn) >= (int32_t)s->room || in->source || in->more)
		return false;
	if (!make_rings(s)) {
		adv_qp_count(qp, &qp->engine->counters.out_of_memory);
		return false;
	}
	slot = &s->kept[psn & (s->room - 1)];
	if (*slot) {
		adv_qp_count(qp, &qp->engine->counters.duplicate_request);
	} else {
		*slot = copy_packet(in);
		if (!*slot) {
			adv_qp_count(qp, &qp->engine->counters.out_of_memory);
			return false;
		}
		s->accepted += in->payload_len;
		adv_qp_count(qp, &qp->engine->counters.out_of_sequence);
	}
	add_report(qp, psn);
	return true;
}

void adv_selective_executed(struct adv_qp *qp, const struct adv_incoming *in)
{
	qp->selective->accepted += in->payload_len;
}

uint64_t adv_qp_accepted(const struct adv_qp *qp)
{
	return qp->selective ? qp->selective->accepted : 0;
}

struct adv_kept_packet *adv_selective_take(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;
	struct adv_kept_packet *k;

	if (!s || !s->kept || qp->resp.dead || !adv_qp_can_receive(qp))
		return NULL;
	k = s->kept[qp->resp.epsn & (s->room - 1)];
	s->kept[qp->resp.epsn & (s->room - 1)] = NULL;
	return k;
}

/* Removes PSNs that need no report, because they are no longer kept. */
static bool has_report(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;

	while (s->report_tail != s->report_head) {
		uint32_t psn = s->report[s->report_tail & (s->room - 1)];

		if (adv_psn_diff(psn, qp->resp.epsn) > 0)
			return true;
		s->report_tail++;
	}
	return false;
}

uint32_t adv_selective_report(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;

	if (!has_report(qp))
		return qp->resp.epsn;
	return s->report[s->report_tail++ & (s->room - 1)];
}

void adv_selective_report_more(struct adv_qp *qp)
{
	if (qp->selective && !qp->resp.nak_sent && has_report(qp))
		adv_responder_ack_queue(qp, ADV_AETH_NAK | ADV_NAK_SELECTIVE, qp->resp.epsn);
}

/* ---- the requester: the bitmap ---- */

static bool is_noted(const struct adv_selective *s, uint32_t psn)
{
	uint32_t bit = psn & (s->room - 1);

	return s->noted[bit / WORD_BITS] >> (bit % WORD_BITS) & 1;
}

static void set_note(struct adv_selective *s, uint32_t psn, bool noted)
{
	uint32_t bit = psn & (s->room - 1);
	uint64_t mask = UINT64_C(1) << (bit % WORD_BITS);

	if (noted)
		s->noted[bit / WORD_BITS] |= mask;
	else
		s->noted[bit / WORD_BITS] &= ~mask;
}

static void clear_notes(struct adv_selective *s)
{
	memset(s->noted, 0, s->room / WORD_BITS * sizeof(s->noted[0]));
}

static uint32_t later_psn(uint32_t a, uint32_t b)
{
	return adv_psn_diff(a, b) > 0 ? a : b;
}

void adv_selective_requester_start(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;

	if (s)
		s->highest = s->lost_end = s->resent = s->recover_psn = qp->req.next_psn;
}

/* Returns the first lost PSN from psn on; max_psn: there is none. una_psn is never kept: the
 * responder expects it. */
static uint32_t next_lost(const struct adv_qp *qp, uint32_t psn)
{
	const struct adv_selective *s = qp->selective;

	/* A READ that the cursor has passed cannot be skipped: see note_response_awaited(). */
	if (qp->req.rd_end)
		return psn;
	for (psn = later_psn(psn, qp->req.una_psn); adv_psn_diff(psn, s->lost_end) < 0;
	     psn = adv_psn_add(psn, 1))
		if (psn == qp->req.una_psn || !is_noted(s, psn))
			return psn;
	return qp->req.max_psn;
}

/* ---- the requester: losses ---- */

/* Begins a recovery, unless one has begun. */
static void begin_recovery(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;

	if (s->recovering)
		return;
	s->recovering = true;
	s->recover_psn = qp->req.max_psn;
	adv_timer_cancel(&qp->req.retransmit_timer);
}

void adv_selective_nak(struct adv_qp *qp, uint32_t kept)
{
	const struct adv_requester *req = &qp->req;
	struct adv_selective *s = qp->selective;
	uint32_t end;

	if (adv_psn_diff(kept, req->una_psn) <= 0 || adv_psn_diff(kept, req->max_psn) >= 0)
		return;
	set_note(s, kept, true);
	s->highest = later_psn(s->highest, kept);
	end = adv_psn_add(s->highest, ADV_PSN_MASK + 1 - qp->engine->reorder);
	s->lost_end = later_psn(s->lost_end, end);
}

uint32_t adv_selective_lost(struct adv_qp *qp)
{
	uint32_t lost = next_lost(qp, qp->selective->resent), cursor = qp->req.next_psn;

	if (qp->req.rnr_wait || qp->state == IBV_QPS_ERR || adv_psn_diff(lost, cursor) >= 0)
		return cursor;
	begin_recovery(qp);
	return lost;
}

void adv_selective_progress(struct adv_qp *qp, uint32_t psn)
{
	struct adv_selective *s = qp->selective;

	if (!s)
		return;
	for (uint32_t p = qp->req.una_psn; p != psn; p = adv_psn_add(p, 1))
		set_note(s, p, false);
	s->highest = later_psn(s->highest, psn);
	s->lost_end = later_psn(s->lost_end, psn);
	s->resent = later_psn(s->resent, psn);
	s->timed_out = false;
	if (s->probing && psn == adv_psn_add(s->probe, 1))
		s->lost_end = later_psn(s->lost_end, s->recover_psn);
	s->probing = false;
	if (s->recovering && adv_psn_diff(psn, s->recover_psn) >= 0)
		s->recovering = false;
}

void adv_selective_all_lost(struct adv_qp *qp, uint32_t psn)
{
	struct adv_selective *s = qp->selective;

	if (!s)
		return;
	clear_notes(s);
	s->probing = false;
	s->highest = qp->req.una_psn;
	s->resent = psn;
	s->lost_end = qp->req.max_psn;
}

/* After a timeout the oldest packet is lost, and so are all that were sent again. */
static void lost_by_timeout(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;
	uint32_t una = qp->req.una_psn;

	s->timed_out = true;
	s->resent = una;
	s->lost_end = later_psn(s->lost_end, adv_psn_add(una, 1));
	s->probing = true;
	s->probe = una;
	s->recovering = true;
	s->recover_psn = qp->req.max_psn;
}

uint32_t adv_selective_next(const struct adv_qp *qp)
{
	return next_lost(qp, later_psn(qp->req.next_psn, qp->selective->resent));
}

void adv_selective_sent(struct adv_qp *qp)
{
	struct adv_selective *s = qp->selective;

	s->resent = later_psn(s->resent, qp->req.next_psn);
}

/* ---- the requester: timers ---- */

static uint64_t timeout_ns(const struct adv_qp *qp)
{
	const struct adv_engine *e = qp->engine;
	uint32_t in_flight = (qp->req.max_psn - qp->req.una_psn) & ADV_PSN_MASK;

	return in_flight <= FEW_PACKETS ? e->rto_low : e->rto_high;
}

uint64_t adv_selective_timer(struct adv_qp *qp, uint64_t now)
{
	qp->selective->timer_since = now;
	return timeout_ns(qp);
}

uint64_t adv_selective_due(const struct adv_qp *qp)
{
	return qp->selective->timer_since + timeout_ns(qp);
}

bool adv_selective_costs_retry(struct adv_qp *qp, uint64_t timeout, uint64_t now)
{
	struct adv_selective *s = qp->selective;

	if (!s->timed_out)
		s->since = now;
	if (now - s->since < timeout)
		return false;
	s->since = now;
	return true;
}

/* ---- recovery ---- */

static uint32_t go_back_selectively(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why)
{
	if (why == ADV_ERR_TIMEOUT)
		lost_by_timeout(qp);
	else
		adv_selective_all_lost(qp, psn);
	return psn;
}

static uint32_t expected_psn(const struct adv_qp *qp)
{
	return qp->resp.epsn;
}

static bool never_begins_again(struct adv_qp *qp, uint32_t psn)
{
	return false;
}

const struct adv_recovery adv_recovery_selective = {
	.nak_costs_retry = true,
	.nak_counts_once = true,
	.duplicate_ack_counts = true,
	.one_packet_at_timeout = false,
	.go_back = go_back_selectively,
	.unfinished_psn = expected_psn,
	.drop_unfinished = drop_kept,
	.begins_again = never_begins_again,
};
