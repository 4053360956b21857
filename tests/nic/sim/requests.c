/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws and posts the requests of applications. */
#include <stdlib.h>

#include "sim.h"

#define COUNTER_BYTES (8u * SIM_COUNTERS)

static bool is_atomic(int opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static bool is_write(int opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_send(int opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV;
}

static bool consumes(int opcode)
{
	return is_send(opcode) || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static uint32_t random_length(struct sim *s, uint32_t mtu)
{
	uint64_t n;

	if (s->longs && chance(s, LONGS, 300))
		return 1 + (uint32_t)below(s, LONGS, s->max_len);
	switch (below(s, REQUESTS, 8)) {
	case 0:
		n = below(s, REQUESTS, 5);
		break;
	case 1:
		n = mtu * (1 + below(s, REQUESTS, 4)) - 1 + below(s, REQUESTS, 3);
		break;
	case 2:
	case 3:
	case 4:
		n = below(s, REQUESTS, 64);
		break;
	case 5:
		n = below(s, REQUESTS, mtu);
		break;
	case 6:
		n = below(s, REQUESTS, 6ull * mtu);
		break;
	default:
		n = below(s, REQUESTS, s->max_len + 1ull);
	}
	return n < s->max_len ? (uint32_t)n : s->max_len;
}

static int random_opcode(struct sim *s, const struct connection *c)
{
	static const int opcodes[] = {IBV_WR_SEND,
				      IBV_WR_SEND_WITH_IMM,
				      IBV_WR_RDMA_WRITE,
				      IBV_WR_RDMA_WRITE_WITH_IMM,
				      IBV_WR_RDMA_READ,
				      IBV_WR_RDMA_READ,
				      IBV_WR_ATOMIC_FETCH_AND_ADD,
				      IBV_WR_ATOMIC_CMP_AND_SWP,
				      ADV_WR_FLUSH,
				      ADV_WR_ATOMIC_WRITE};

	return opcodes[below(s, REQUESTS, c->type == IBV_QPT_UC ? 4 : 10)];
}

static void choose_bad(struct stream *st, struct request *q)
{
	struct sim *s = st->from->host->sim;

	if (st->from->c->type == IBV_QPT_UC || below(s, REQUESTS, 10000) >= s->bad)
		return;
	switch (below(s, REQUESTS, 5)) {
	case 0:
		if (!is_send(q->opcode) && q->len)
			q->bad = BAD_RKEY;
		break;
	case 1:
		if (is_write(q->opcode) || q->opcode == IBV_WR_RDMA_READ)
			q->bad = q->len ? BAD_BOUNDS : GOOD;
		break;
	case 2:
		if (is_atomic(q->opcode))
			q->bad = BAD_ALIGNMENT;
		break;
	case 3:
		/* The L_Key of an empty piece is not checked. */
		if (q->pieces.n && q->pieces.piece[q->pieces.n - 1].len && !is_atomic(q->opcode))
			q->bad = BAD_LKEY;
		break;
	default:
		if (is_send(q->opcode))
			q->bad = BAD_LENGTH;
	}
}

/* Computes an atomic's original and new value after all requests before it. */
static void choose_atomic(struct stream *st, struct request *q, struct ibv_send_wr *wr)
{
	struct sim *s = st->from->host->sim;
	uint64_t operand = adv_rng_next(&s->rng[REQUESTS]) >> below(s, REQUESTS, 60);

	q->counting = true;
	q->counter = (unsigned)below(s, REQUESTS, SIM_COUNTERS);
	memcpy(&q->original, st->area.posted + 8 * q->counter, 8);
	wr->wr.atomic.remote_addr = st->area.r->iova + 8 * q->counter;
	wr->wr.atomic.rkey = window_or_region_key(st, q);
	switch (q->opcode) {
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		q->shared = chance(s, REQUESTS, 200);
		wr->wr.atomic.compare_add = q->shared ? 1 : operand;
		q->value = q->original + operand;
		if (q->shared) {
			wr->wr.atomic.remote_addr = st->to->host->shared->iova;
			wr->wr.atomic.rkey = st->to->host->shared->key;
			q->by_window = false;
		}
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		q->value = chance(s, REQUESTS, 500) ? operand : q->original;
		wr->wr.atomic.compare_add = q->value == operand ? q->original : q->original + 1;
		wr->wr.atomic.swap = operand;
		break;
	default:
		q->value = operand;
		wr->wr.atomic.compare_add = operand;
	}
}

static void choose_remote(struct stream *st, struct request *q, struct ibv_send_wr *wr)
{
	struct sim *s = st->from->host->sim;
	struct area *a = &st->area;
	uint32_t spare;

	q->slot = (unsigned)below(s, REQUESTS, a->slots);
	spare = a->slot_size - (q->len < a->slot_size ? q->len : a->slot_size);
	q->offset = COUNTER_BYTES + q->slot * a->slot_size;
	/* A FLUSH of zero bytes also has an address. */
	if (st->from->c->type != IBV_QPT_UC && q->opcode != ADV_WR_FLUSH &&
	    chance(s, REQUESTS, 300))
		q->offset += (uint32_t)below(s, REQUESTS, spare + 1);
	if (is_atomic(q->opcode) || q->opcode == ADV_WR_ATOMIC_WRITE) {
		choose_atomic(st, q, wr);
	} else if (q->opcode == ADV_WR_FLUSH) {
		wr->wr.atomic.remote_addr = a->r->iova + q->offset;
		wr->wr.atomic.rkey = a->r->key;
		wr->wr.atomic.compare_add = q->len;
		wr->wr.atomic.swap = 1 | below(s, REQUESTS, 2) << 32;
	} else {
		wr->wr.rdma.remote_addr = a->r->iova + q->offset;
		wr->wr.rdma.rkey = window_or_region_key(st, q);
		/* After a READ of the same bytes, only a fence keeps the order (IBTA table 79). */
		if (is_write(q->opcode) && a->readers[q->slot])
			wr->send_flags |= IBV_SEND_FENCE;
	}
}

static void spoil(struct stream *st, const struct request *q, struct ibv_send_wr *wr)
{
	bool atomic_shaped = is_atomic(q->opcode) || q->opcode == ADV_WR_ATOMIC_WRITE ||
			     q->opcode == ADV_WR_FLUSH;
	struct sim *s = st->from->host->sim;

	switch (q->bad) {
	case BAD_RKEY:
		if (st->area.old_key && chance(s, REQUESTS, 500) && atomic_shaped)
			wr->wr.atomic.rkey = st->area.old_key;
		else if (st->area.old_key && chance(s, REQUESTS, 500) && !atomic_shaped)
			wr->wr.rdma.rkey = st->area.old_key;
		else if (atomic_shaped)
			wr->wr.atomic.rkey ^= 1u << below(s, REQUESTS, 32);
		else
			wr->wr.rdma.rkey ^= 1u << below(s, REQUESTS, 32);
		break;
	case BAD_BOUNDS: /* the range is one byte too long */
		wr->wr.rdma.remote_addr = st->area.r->iova + 1 - q->len +
					  (q->by_window ? st->area.window_len : st->area.r->len);
		if (chance(s, REQUESTS, 300))
			wr->wr.rdma.remote_addr = st->area.r->iova - 1;
		break;
	case BAD_ALIGNMENT:
		wr->wr.atomic.remote_addr += 1 + below(s, REQUESTS, 7);
		break;
	case BAD_LKEY:
		wr->sg_list[wr->num_sge - 1].lkey ^= 1u << below(s, REQUESTS, 32);
		break;
	default:
		break;
	}
}

static void expect(struct stream *st, const struct request *q, const struct ibv_send_wr *wr)
{
	struct expected *x;

	if (!consumes(q->opcode) || (q->bad && q->bad != BAD_LENGTH))
		return;
	if (st->expect_head + st->expect_count == st->expect_room) {
		if (st->expect_head)
			memmove(st->expect, st->expect + st->expect_head,
				st->expect_count * sizeof(*st->expect));
		st->expect_head = 0;
		if (2 * st->expect_count >= st->expect_room) {
			st->expect_room = st->expect_room ? 2 * st->expect_room : 64;
			st->expect = xrealloc(st->expect, st->expect_room * sizeof(*st->expect));
		}
	}
	x = &st->expect[st->expect_head + st->expect_count++];
	*x = (struct expected){.id = q->id,
			       .opcode = q->opcode,
			       .len = q->len,
			       /* Immediate data, or the R_Key to invalidate. */
			       .imm = wr->imm_data,
			       .bad = q->bad != GOOD};
}

static void remember_uc_write(struct stream *st, const struct request *q)
{
	if (st->from->c->type != IBV_QPT_UC || !is_write(q->opcode))
		return;
	if (st->write_count == st->write_room) {
		st->write_room = st->write_room ? 2 * st->write_room : 64;
		st->writes = xrealloc(st->writes, st->write_room * sizeof(*st->writes));
	}
	st->writes[st->write_count].id = q->id;
	st->writes[st->write_count].offset = q->offset;
	st->writes[st->write_count++].len = q->len;
}

static uint32_t random_flags(struct stream *st, struct request *q)
{
	struct sim *s = st->from->host->sim;
	struct connection *c = st->from->c;
	uint32_t flags = 0;

	/* A queue with only unsignaled requests would never have room again. */
	q->signaled = c->sig_all || chance(s, REQUESTS, 500) || st->unsignaled + 1 >= st->room / 2;
	if (q->signaled && !c->sig_all)
		flags |= IBV_SEND_SIGNALED;
	if (chance(s, REQUESTS, 100))
		flags |= IBV_SEND_FENCE;
	if (chance(s, REQUESTS, 200))
		flags |= IBV_SEND_SOLICITED;
	if ((is_send(q->opcode) || is_write(q->opcode)) && q->len <= c->cap.max_inline_data &&
	    q->bad != BAD_LKEY && chance(s, REQUESTS, 300))
		flags |= IBV_SEND_INLINE;
	return flags;
}

/* Draws a request, except the members that depend on its place in the queue. */
static void choose(struct stream *st, struct request *q)
{
	struct sim *s = st->from->host->sim;
	struct connection *c = st->from->c;

	memset(q, 0, sizeof(*q));
	q->id = ++s->next_id;
	if (window_choose(st, q))
		return;
	q->opcode = random_opcode(s, c);
	q->len = random_length(s, adv_mtu_bytes(c->mtu));
	/* The first word identifies a UC message. */
	if (c->type == IBV_QPT_UC && q->len < 8 && q->opcode == IBV_WR_SEND)
		q->opcode = IBV_WR_SEND_WITH_IMM;
	if (is_atomic(q->opcode)) {
		q->len = 8;
		q->pieces.n = 1;
		q->pieces.piece[0].at = (uint32_t)below(s, REQUESTS, 8);
		q->pieces.piece[0].len = 8;
	} else if (q->opcode == ADV_WR_ATOMIC_WRITE) {
		q->len = 8;
	} else if (q->opcode != ADV_WR_FLUSH) {
		pieces_cut(s, REQUESTS, &q->pieces, q->len, c->cap.max_send_sge);
	}
	choose_bad(st, q);
	if (q->bad == BAD_LENGTH) {
		q->len = s->max_len + 1;
		pieces_cut(s, REQUESTS, &q->pieces, q->len, c->cap.max_send_sge);
	}
	window_send_invalidates(st, q);
}

static void note_posted(struct stream *st, struct request *q, const struct ibv_send_wr *wr)
{
	struct sim *s = st->from->host->sim;

	if (!q->bad)
		area_request(st, q, st->posted);
	window_posted(st, q);
	remember_uc_write(st, q);
	expect(st, q, wr);
	if (q->bad && q->bad != BAD_LKEY)
		st->bad++;
	q->life = st->to->host->life;
	if (q->shared && !q->bad)
		st->to->host->shared_posted++;
	if (st->done == st->posted)
		st->progress_at = s->now;
	st->unsignaled = q->signaled ? 0 : st->unsignaled + 1;
	st->posted++;
	s->total.posted++;
	s->bytes_posted += q->len;
}

/* Posts one request. False: the queue is full, or the connection is not up. */
bool request_post(struct stream *st)
{
	struct sim *s = st->from->host->sim;
	struct request *q;
	uint64_t base;
	struct ibv_send_wr *bad = NULL, wr = {0};
	enum ibv_qp_state state = end_state(st->from);
	struct ibv_sge sge[ADV_MAX_SGE];
	int err;

	if (st->from->c->managed && st->from->side == 1 && !st->from->c->agent[1].established)
		return false;
	if (st->from->c->state != CONNECTED || (state != IBV_QPS_RTS && state != IBV_QPS_SQD) ||
	    st->posted - st->done >= st->room || !st->to->host->e)
		return false;
	q = &st->ring[st->posted % st->room];
	base = (st->posted % st->room) * (uint64_t)st->local_size;
	choose(st, q);
	wr.sg_list = sge;
	wr.opcode = (enum ibv_wr_opcode)q->opcode;
	wr.wr_id = 1ull << 63 | st->posted;
	wr.send_flags = random_flags(st, q);
	wr.imm_data = (uint32_t)q->id;
	wr.num_sge = (int)q->pieces.n;
	pieces_sges(&q->pieces, st->local, base, sge);
	if (is_window_request(q->opcode))
		window_fill(st, q, &wr);
	else
		choose_remote(st, q, &wr);
	if (q->opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = st->area.window_key;
	q->is_inline = wr.send_flags & IBV_SEND_INLINE;
	if (wr.send_flags & IBV_SEND_INLINE)
		for (unsigned i = 0; i < q->pieces.n; i++)
			sge[i].addr = (uintptr_t)(st->local->buf + base + q->pieces.piece[i].at);
	spoil(st, q, &wr);
	if (st->from->c->type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = adv_srq_number(st->to->host->xrc_srq->srq);
	pieces_fill(&q->pieces, st->local->buf + base, q->id);
	err = adv_qp_post_send(st->from->qp, s->now, &wr, &bad);
	if (err) {
		REQUIRE(s, (err == ENOMEM || s->injects) && bad == &wr, "a request was refused: %d",
			err);
		return false;
	}
	if (wr.send_flags & IBV_SEND_INLINE)
		memset(st->local->buf + base, 0xdd, st->local_size);
	memset(sge, 0xcc, sizeof(sge));
	note_posted(st, q, &wr);
	return true;
}
