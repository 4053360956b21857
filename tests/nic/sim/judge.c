/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks completions against the posted requests and the faults of the network. */
#include <stdlib.h>

#include "sim.h"

static const char *side_name(const struct end *end, char text[48])
{
	snprintf(text, 48, "connection %u side %u (QP %06x)", end->c->index, end->side, end->qpn);
	return text;
}

#define BLAME(end, ...)                                                                            \
	do {                                                                                       \
		char who_[48], what_[256];                                                         \
		snprintf(what_, sizeof(what_), __VA_ARGS__);                                       \
		violation((end)->host->sim, "%s: %s", side_name(end, who_), what_);                \
	} while (0)

static bool consumes(int opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* ---- sends ---- */

static void judge_shared(struct stream *st, const struct request *q, uint64_t number)
{
	struct host *h = st->to->host;
	uint64_t found;

	/* A completion may be reported after the host that executed the request has restarted. */
	if (!h->e || q->life != h->life || h->sim->chaos)
		return;
	memcpy(&found,
	       st->local->buf + (number % st->room) * (uint64_t)st->local_size +
		       q->pieces.piece[0].at,
	       sizeof(found));
	if (found >= h->shared_posted || found >= 1 << 20 || h->shared_seen[found])
		BLAME(st->from, "an addition found %llu, which another one found as well",
		      (unsigned long long)found);
	h->shared_seen[found] = 1;
	h->shared_done++;
}

/* True if the request was posted after its memory was deregistered. */
static bool is_without_memory(const struct stream *st, const struct request *q, uint64_t number)
{
	bool send = consumes(q->opcode) && q->opcode != IBV_WR_RDMA_WRITE_WITH_IMM;

	if (!q->len || is_window_request(q->opcode))
		return false;
	if (st->local_gone && number + 1 >= st->local_gone && q->pieces.n && !q->is_inline)
		return true;
	if (st->area_gone && number + 1 >= st->area_gone && !send && !q->shared)
		return true;
	return st->pool_gone && number + 1 >= st->pool_gone && send;
}

static void succeeded(struct stream *st, uint64_t number)
{
	struct request *q = &st->ring[number % st->room];

	if (is_without_memory(st, q, number) && !st->from->host->sim->chaos)
		BLAME(st->from, "request %llu has succeeded without its memory",
		      (unsigned long long)number);
	window_done(st, q);

	if (q->bad && !st->from->host->sim->chaos)
		BLAME(st->from, "a bad request (%d) has succeeded", (int)q->bad);
	area_done(st, q, number);
	if (q->shared)
		judge_shared(st, q, number);
	q->success = true;
	free(q->expected);
	q->expected = NULL;
	if (consumes(q->opcode))
		st->consuming_done++;
	longs_reuse(st, number);
	st->done = number + 1;
	st->from->host->sim->total.operations++;
}

static void not_done(struct stream *st, uint64_t number)
{
	struct request *q = &st->ring[number % st->room];

	free(q->expected);
	q->expected = NULL;
	longs_reuse(st, number);
	st->done = number + 1;
	st->from->host->sim->total.operations++;
}

/* True if there is a reason to flush requests that have not failed themselves. */
bool end_may_flush(const struct end *end)
{
	const struct stream *in = end->in;

	return end->host->sim->chaos || end->host->sim->injects || end->failed || end->app_error ||
	       (in && (in->bad || in->area_gone || in->pool_gone));
}

static enum ibv_wc_status bad_status(enum bad bad)
{
	switch (bad) {
	case BAD_RKEY:
	case BAD_BOUNDS:
		return IBV_WC_REM_ACCESS_ERR;
	case BAD_ALIGNMENT:
	case BAD_LENGTH:
		return IBV_WC_REM_INV_REQ_ERR;
	case BAD_LKEY:
		return IBV_WC_LOC_PROT_ERR;
	default:
		return IBV_WC_SUCCESS;
	}
}

static bool peer_is_down(struct end *end)
{
	enum ibv_qp_state state = end_state(peer_of(end));

	return state == IBV_QPS_ERR || state == IBV_QPS_RESET || end->c->state != CONNECTED;
}

/*
 * Returns the number of impaired packets among those for which the requester waits and those that
 * were sent just before. A late packet makes the responder refuse the packets after it.
 */
static unsigned impaired_ahead(const struct stream *st)
{
	int32_t before = -2 - 2 * (int32_t)st->from->host->sim->window;
	unsigned n = st->impaired < SIM_IMPAIRED ? st->impaired : SIM_IMPAIRED;
	unsigned ahead = 0;

	for (unsigned i = 0; i < n; i++)
		ahead += adv_psn_diff(st->impaired_psn[i], st->una) >= before;
	return ahead;
}

/* True if deregistered memory can cause the error. */
static bool lacks_memory(const struct stream *st, const struct request *q,
			 enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_REM_ACCESS_ERR:
		return st->area_gone;
	case IBV_WC_RETRY_EXC_ERR:
		/* A retransmitted READ that was valid at first is not refused, but there is no
		 * memory to read for the response. */
		return st->area_gone && q->opcode == IBV_WR_RDMA_READ;
	case IBV_WC_LOC_PROT_ERR:
		return st->local_gone;
	case IBV_WC_REM_OP_ERR:
		return st->pool_gone;
	default:
		return false;
	}
}

/* Checks that the first error of a connection has a reason. */
static void judge_failure(struct stream *st, const struct request *q, const struct ibv_wc *wc)
{
	struct end *end = st->from;
	struct connection *c = end->c;
	unsigned impaired = impaired_ahead(st);
	uint64_t rnr_naks = st->rnr_naks - st->rnr_then;
	bool explained = c->sim->chaos || c->sim->injects;

	if (end->failed)
		BLAME(end, "a second error, %d, behind the first", (int)wc->status);
	if (wc->status == IBV_WC_RETRY_EXC_ERR && !explained)
		explained = peer_is_down(end) || impaired > c->retry_cnt;
	else if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR && !explained)
		explained = c->rnr_retry < 7 && rnr_naks > c->rnr_retry;
	else if (q->bad && !explained)
		explained = wc->status == bad_status(q->bad);
	if (!explained && !lacks_memory(st, q, wc->status))
		BLAME(end,
		      "status %d (vendor %u) of opcode %d length %u bad %d: without reason; %u "
		      "packets that it waits for impaired, %llu RNR NAKs",
		      (int)wc->status, wc->vendor_err, q->opcode, q->len, (int)q->bad, impaired,
		      (unsigned long long)rnr_naks);
	end->failed = true;
	end->host->sim->total.failures++;
}

static int wc_opcode(int opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case ADV_WR_FLUSH:
		return ADV_WC_FLUSH;
	case ADV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

static void judge_send(struct end *end, const struct ibv_wc *wc)
{
	struct stream *st = end->out;
	uint64_t number = wc->wr_id & ~(1ull << 63);
	const struct request *q;

	if (!st || number < st->done || number >= st->posted)
		BLAME(end, "completion of request %llu; %llu to %llu are out",
		      (unsigned long long)number, st ? (unsigned long long)st->done : 0,
		      st ? (unsigned long long)st->posted : 0);
	for (uint64_t i = st->done; i < number; i++) {
		q = &st->ring[i % st->room];
		if (q->signaled || end->failed)
			BLAME(end, "request %llu has no completion, %llu behind it has",
			      (unsigned long long)i, (unsigned long long)number);
		succeeded(st, i);
	}
	q = &st->ring[number % st->room];
	if (wc->status == IBV_WC_SUCCESS) {
		if (!q->signaled)
			BLAME(end, "a completion of an unsignaled request");
		if (end->failed)
			BLAME(end, "success behind an error");
		if ((int)wc->opcode != wc_opcode(q->opcode))
			BLAME(end, "opcode %d completes as %d", q->opcode, (int)wc->opcode);
		succeeded(st, number);
		return;
	}
	if (wc->status == IBV_WC_WR_FLUSH_ERR && wc->vendor_err != ADV_ERR_INJECTED) {
		if (!end_may_flush(end))
			BLAME(end, "a request was flushed without reason");
		end->failed = true;
		end->host->sim->total.flushed++;
	} else {
		judge_failure(st, q, wc);
	}
	not_done(st, number);
}

/* ---- receives ---- */

static struct expected *first_expected(struct stream *st)
{
	return st->expect_count ? &st->expect[st->expect_head] : NULL;
}

static void remove_expected(struct stream *st, struct expected *x)
{
	unsigned i = (unsigned)(x - (st->expect + st->expect_head));

	if (i == 0) {
		st->expect_head++;
	} else {
		memmove(x, x + 1, (st->expect_count - i - 1) * sizeof(*x));
	}
	st->expect_count--;
}

/* Finds the expected UC message of a completion. Messages may be missing. The network may have
 * duplicated or delayed this message. */
static struct expected *find_uc(struct stream *st, const struct ibv_wc *wc, const struct pool *p,
				unsigned slot)
{
	const struct pieces *pieces = &p->slot[slot].pieces;
	const uint8_t *base = p->r->buf + (uint64_t)slot * p->size;
	uint8_t first[8];
	unsigned n = 0;
	uint64_t id;

	for (unsigned i = 0; i < pieces->n; i++)
		for (uint32_t k = 0; k < pieces->piece[i].len && n < 8; k++)
			first[n++] = base[pieces->piece[i].at + k];
	memcpy(&id, first, sizeof(id));
	for (unsigned i = 0; i < st->expect_count; i++) {
		struct expected *x = &st->expect[st->expect_head + i];

		if (wc->wc_flags & IBV_WC_WITH_IMM ? x->imm == wc->imm_data : x->id == id)
			return x;
	}
	return NULL;
}

static void judge_message(struct end *end, const struct ibv_wc *wc, const struct expected *x,
			  unsigned slot)
{
	const struct pool *p = end->pool;
	bool write = x->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	unsigned flags = x->opcode == IBV_WR_SEND	     ? 0
			 : x->opcode == IBV_WR_SEND_WITH_INV ? IBV_WC_WITH_INV
							     : IBV_WC_WITH_IMM;

	if (wc->opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) ||
	    wc->byte_len != x->len || wc->wc_flags != flags || (flags && wc->imm_data != x->imm))
		BLAME(end,
		      "received opcode %d of %u bytes, imm %x; opcode %d of %u bytes, imm %x was "
		      "to come",
		      (int)wc->opcode, wc->byte_len, wc->imm_data, x->opcode, x->len, x->imm);
	/* The rest of a broken UC message stays behind the next message. */
	if (!pieces_match(&p->slot[slot].pieces, p->r->buf + (uint64_t)slot * p->size, x->id,
			  write ? 0 : x->len, end->c->type != IBV_QPT_UC))
		BLAME(end, "a message of %u bytes was received with other contents", x->len);
}

static void received(struct end *end, const struct ibv_wc *wc, unsigned slot)
{
	struct stream *st = end->in;
	struct expected *x = st ? first_expected(st) : NULL;
	struct sim *s = end->host->sim;
	bool uc = end->c->type == IBV_QPT_UC;

	s->total.received++;
	if (s->chaos) {
		if (x)
			remove_expected(st, x);
		return;
	}
	if (uc && st)
		x = find_uc(st, wc, end->pool, slot);
	if (!x)
		BLAME(end, "received %u bytes, imm %x, that were not sent", wc->byte_len,
		      wc->imm_data);
	if (x->bad)
		BLAME(end, "a message that is too long was received");
	judge_message(end, wc, x, slot);
	st->received++;
	if (uc && s->duplicates)
		return;
	if (uc) {
		/* The messages before this message are lost. */
		unsigned skip = (unsigned)(x - (st->expect + st->expect_head));

		st->expect_head += skip;
		st->expect_count -= skip;
		x = first_expected(st);
	}
	remove_expected(st, x);
}

static void judge_recv(struct end *end, const struct ibv_wc *wc)
{
	unsigned slot;

	if (!end->pool)
		BLAME(end, "a receive completes where there is none");
	slot = pool_complete(end->pool, wc);
	if (wc->status == IBV_WC_SUCCESS) {
		received(end, wc, slot);
	} else if (end->host->sim->chaos || wc->vendor_err == ADV_ERR_INJECTED) {
		end->recv_flushed = true;
	} else if (wc->status == IBV_WC_LOC_LEN_ERR) {
		const struct expected *x = end->in ? first_expected(end->in) : NULL;

		if (!x || !x->bad)
			BLAME(end, "a receive failed for its length");
	} else if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		end->host->sim->total.flushed++;
		end->recv_flushed = true;
	} else if (wc->status == IBV_WC_REM_ABORT_ERR) {
		if (end->c->type != IBV_QPT_UC || !end->pool->srq)
			BLAME(end, "a receive was aborted");
	} else if (!end->in || !(end->in->bad || end->in->area_gone || end->in->pool_gone)) {
		BLAME(end, "a receive failed with status %d (vendor %u)", (int)wc->status,
		      wc->vendor_err);
	}
}

void judge(struct host *h, const struct ibv_wc *wc)
{
	struct end *end = end_find(h, wc->qp_num);

	REQUIRE(h->sim, end, "host %u: a completion of QP %06x, which is not there", h->index,
		wc->qp_num);
	if (h->sim->trace)
		printf("%14.3f us  host %u     qp %06x %s %llx: status %d, %u bytes\n",
		       (double)h->sim->now / 1000, h->index, wc->qp_num,
		       wc->wr_id >> 63 ? "send completes" : "receive completes",
		       (unsigned long long)(wc->wr_id & ~(1ull << 63)), (int)wc->status,
		       wc->byte_len);
	if (end->ud)
		datagram_judge(end->ud, wc);
	else if (wc->wr_id >> 63)
		judge_send(end, wc);
	else
		judge_recv(end, wc);
}

/* ---- progress ---- */

static void moved(struct stream *st)
{
	st->progress_at = st->from->c->sim->now;
	st->rnr_then = st->rnr_naks;
}

/* Checks, after a packet for the end's QP, whether the requester made progress. */
void judge_progress(struct end *end)
{
	struct stream *st = end->c ? end->out : NULL;

	if (!st || !end->qp || end_state(end) == IBV_QPS_ERR || end->qp->req.una_psn == st->una)
		return;
	st->una = end->qp->req.una_psn;
	moved(st);
}

/*
 * Counts unsignaled requests that succeeded. If the CQ is empty, all further requests that the
 * engine has finished must be unsignaled and successful.
 */
void judge_silent(struct end *end)
{
	struct stream *st = end->out;
	const struct adv_send_queue *sq;
	uint64_t done;

	if (!st || !end->qp || end->purged || !adv_cq_empty(end->send_queue->cq))
		return;
	sq = &end->qp->sq;
	done = st->posted - (uint32_t)(sq->head - sq->tail);
	for (uint64_t i = st->done; i < done; i++) {
		if (st->ring[i % st->room].signaled || end->failed)
			BLAME(end, "request %llu is done, and has no completion",
			      (unsigned long long)i);
		succeeded(st, i);
	}
}

void judge_stuck(struct connection *c)
{
	for (unsigned i = 0; i < c->streams; i++) {
		struct stream *st = &c->stream[i];
		struct end *end = &c->end[i];

		judge_silent(end);
		if (!end->out || st->done == st->posted || !end->qp || end->sqd || end->purged)
			continue;
		if (c->sim->now > st->progress_at + c->patience)
			BLAME(end, "no progress for %llu ms: requests %llu to %llu are out",
			      (unsigned long long)((c->sim->now - st->progress_at) / MS),
			      (unsigned long long)st->done, (unsigned long long)st->posted);
	}
}

/* Removes the outstanding requests from the model: they will never complete. */
void stream_forget(struct stream *st)
{
	for (unsigned i = 0; i < st->room && st->ring; i++) {
		free(st->ring[i].expected);
		st->ring[i].expected = NULL;
	}
	st->expect_count = 0;
}
