/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a program of requests, packets and destruction for two connected engines
 * (transport.h). Its first byte has the options of the world; steps of one size follow. Checks
 * that:
 * - memory changes only where a request or an access right allows it;
 * - each request completes once and in order;
 * - the engines come to rest, and no object or packet remains.
 */
#include <string.h>

#include "base/array.h"
#include "records.h"
#include "transport.h"

#define STEPS_MAX 256

const size_t fuzz_records_from = 1;
const size_t fuzz_record_len = sizeof(struct step);

/* ---- requests ---- */

/* Fills the scatter/gather list of a request with up to PIECES pieces of one region. Returns their
 * number. */
static int fill_sges(struct node *node, const struct step *s, struct ibv_sge *sge,
		     struct request *r)
{
	struct region *region = &node->region[(s->e & 0xff) % REGIONS];
	int num = (int)((s->e >> 16 & 0xff) % (PIECES + 1));
	uint32_t at = s->d % region->len, left = s->c % 5000;

	for (int i = 0; i < num; i++) {
		uint32_t len = i == num - 1 ? left : left / 3,
			 inside = region->len - at % region->len;

		sge[i] = (struct ibv_sge){region->iova + at, len, region->key};
		if (s->e >> 24 == 0xff)
			sge[i].lkey ^= 1;
		r->piece[r->pieces].region = region;
		r->piece[r->pieces].at = at;
		r->piece[r->pieces++].len = at >= region->len ? 0 : len < inside ? len : inside;
		r->length += len;
		at += len;
		left -= len;
	}
	return num;
}

/* Moves the data out of all regions, as inline data may be anywhere. */
static void make_inline(const struct node *node, struct ibv_send_wr *wr)
{
	static uint8_t bytes[5000];

	for (int i = 0; i < wr->num_sge; i++)
		wr->sg_list[i].addr = (uintptr_t)bytes;
}

static void fill_bind(struct node *node, const struct step *s, struct ibv_send_wr *wr,
		      struct ibv_mw *ibv, struct ibv_mr *mr)
{
	struct adv_mw *mw = node->window[s->f % WINDOWS];
	struct region *region = &node->region[(s->e >> 8 & 0xff) % REGIONS];

	if (wr->opcode == IBV_WR_LOCAL_INV) {
		wr->invalidate_rkey = adv_mw_rkey(mw) + (s->f >> 8 & 1);
		return;
	}
	ibv->type = wr->opcode == IBV_WR_BIND_MW ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1;
	ibv->rkey = adv_mw_rkey(mw);
	mr->lkey = region->key;
	wr->bind_mw.mw = ibv;
	wr->bind_mw.rkey = (ibv->rkey & ~0xffu) | ((ibv->rkey + 1 + (s->f >> 16 & 1)) & 0xff);
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = region->iova + s->g % 600,
		.length = s->c % 600,
		.mw_access_flags = (s->h & REMOTE) | (s->h & IBV_ACCESS_ZERO_BASED),
	};
}

/* Records, when a bind is posted, the rights that the window gives to bytes of the region. */
static void note_bind(struct node *node, const struct step *s, const struct ibv_send_wr *wr)
{
	struct region *region = &node->region[(s->e >> 8 & 0xff) % REGIONS];
	uint64_t at = s->g % 600, end = at + wr->bind_mw.bind_info.length;

	if (wr->opcode == IBV_WR_LOCAL_INV || end > region->len || !region->mr ||
	    !(region->access & IBV_ACCESS_MW_BIND))
		return;
	for (; at < end; at++)
		region->granted[at] |= (uint8_t)wr->bind_mw.bind_info.mw_access_flags;
}

static void fill_remote(struct world *w, const struct end *end, const struct step *s,
			struct ibv_send_wr *wr)
{
	struct node *peer = end_peer(end)->node;
	unsigned n = (s->e >> 8 & 0xff) % (REGIONS + WINDOWS);
	const struct region *region = &peer->region[n % REGIONS];
	uint64_t va = region->iova + s->f % 5000;
	uint32_t key = n < REGIONS ? region->key : adv_mw_rkey(peer->window[n - REGIONS]);

	if (s->f >> 28 == 0xf)
		key ^= 0x100;
	switch ((int)wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case ADV_WR_ATOMIC_WRITE:
		wr->wr.atomic.remote_addr = s->f & 0x10000 ? va : va & ~7ull;
		wr->wr.atomic.rkey = key;
		wr->wr.atomic.compare_add = s->g;
		wr->wr.atomic.swap = s->h;
		break;
	case ADV_WR_FLUSH:
		wr->wr.atomic.remote_addr = va;
		wr->wr.atomic.rkey = key;
		wr->wr.atomic.compare_add = s->g;
		wr->wr.atomic.swap = (s->h & 3) | (uint64_t)(s->h >> 2 & 3) << 32;
		break;
	case IBV_WR_SEND_WITH_INV:
		wr->invalidate_rkey = key;
		break;
	default:
		wr->wr.rdma.remote_addr = va;
		wr->wr.rdma.rkey = key;
	}
	if (end->kind == END_XRC_SEND && peer->xrc_srq)
		wr->qp_type.xrc.remote_srqn = adv_srq_number(peer->xrc_srq) + (s->h >> 31);
}

/* Creates the node's address handle if it has none. post_send() may destroy it after the request.
 */
static void fill_datagram(const struct end *end, const struct step *s, struct ibv_send_wr *wr)
{
	struct node *node = end->node;
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};

	if (!node->ah) {
		memcpy(attr.grh.dgid.raw, end_peer(end)->node->gid[0].raw, 16);
		if (s->h & 0x100) {
			memset(attr.grh.dgid.raw, 0, 16);
			attr.grh.dgid.raw[0] = 0xff;
			attr.grh.dgid.raw[1] = 0x0e;
			attr.grh.dgid.raw[15] = (uint8_t)(1 + (s->h & 1));
		}
		node->ah = calloc(1, sizeof(*node->ah));
		FUZZ_CHECK(node->ah);
		FUZZ_CHECK(adv_qp_path_from_attr(node->e, &attr, 0, 0, &node->ah->path) == 0);
		node->ah->pd = s->h & 0x200 ? node->other_pd : node->pd;
	}
	wr->wr.ud.ah = &node->ah->ibv;
	wr->wr.ud.remote_qpn = s->h & 0x100 ? ADV_QPN_MULTICAST : end_peer(end)->qpn;
	wr->wr.ud.remote_qkey = s->h & 0x400 ? s->g : QKEY;
}

static bool is_bind(int opcode)
{
	return opcode == IBV_WR_BIND_MW || opcode == ADV_WR_BIND_TYPE_1 ||
	       opcode == IBV_WR_LOCAL_INV;
}

static void post_send(struct world *w, const struct step *s)
{
	static const int opcodes[] = {IBV_WR_SEND,
				      IBV_WR_SEND_WITH_IMM,
				      IBV_WR_SEND_WITH_INV,
				      IBV_WR_RDMA_WRITE,
				      IBV_WR_RDMA_WRITE_WITH_IMM,
				      IBV_WR_RDMA_READ,
				      IBV_WR_ATOMIC_CMP_AND_SWP,
				      IBV_WR_ATOMIC_FETCH_AND_ADD,
				      ADV_WR_FLUSH,
				      ADV_WR_ATOMIC_WRITE,
				      IBV_WR_BIND_MW,
				      ADV_WR_BIND_TYPE_1,
				      IBV_WR_LOCAL_INV};
	struct end *end = step_end(w, s);
	struct node *node = end->node;
	struct request *r = model_request(node);
	struct ibv_sge sge[PIECES];
	struct ibv_mw mw = {0};
	struct ibv_mr mr = {0};
	struct ibv_send_wr wr = {.wr_id = node->posted, .sg_list = sge, .imm_data = s->g}, *bad;

	if (!r || !end->qp)
		return;
	wr.opcode = (enum ibv_wr_opcode)opcodes[s->a % ADV_ARRAY_SIZE(opcodes)];
	wr.send_flags = s->b & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	wr.num_sge = fill_sges(node, s, sge, r);
	if (s->b & 0x80) {
		wr.send_flags |= IBV_SEND_INLINE;
		make_inline(node, &wr);
	}
	if (end->kind == END_UD)
		fill_datagram(end, s, &wr);
	else if (is_bind((int)wr.opcode))
		fill_bind(node, s, &wr, &mw, &mr);
	else
		fill_remote(w, end, s, &wr);
	r->qpn = end->qpn;
	r->signaled = end->qp->sq_sig_all || wr.send_flags & IBV_SEND_SIGNALED;
	r->result = wr.opcode == IBV_WR_RDMA_READ || wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (adv_qp_post_send(end->qp, w->now, &wr, &bad) == 0) {
		model_posted(node, r);
		if (end->kind != END_UD && is_bind((int)wr.opcode))
			note_bind(node, s, &wr);
	}
	if (end->kind == END_UD && s->b & 0x40) {
		adv_ah_destroy(node->ah);
		node->ah = NULL;
	}
}

static void post_recv(struct world *w, const struct step *s)
{
	struct end *end = step_end(w, s);
	struct node *node = end->node;
	struct request *r = model_request(node);
	struct ibv_sge sge[PIECES];
	struct ibv_recv_wr wr = {.wr_id = node->posted, .sg_list = sge}, *bad;
	int err;

	if (!r || !end->qp || (end->kind == END_XRC_RECV && !node->xrc_srq))
		return;
	wr.num_sge = fill_sges(node, s, sge, r);
	r->recv = r->signaled = true;
	if (end->kind == END_RC_SRQ)
		r->srq = node->srq;
	else if (end->kind == END_XRC_RECV)
		r->srq = node->xrc_srq;
	else
		r->qpn = end->qpn;
	err = r->srq ? adv_srq_post((struct adv_srq *)(uintptr_t)r->srq, &wr, &bad)
		     : adv_qp_post_recv(end->qp, w->now, &wr, &bad);
	if (err == 0)
		model_posted(node, r);
}

/* ---- control ---- */

/* Changes the state as programs do, or any attributes with any mask. */
static void modify_qp(struct world *w, const struct step *s)
{
	struct end *end = step_end(w, s);
	struct ibv_qp_attr a = {.qp_state = (enum ibv_qp_state)(s->a % 7),
				.cur_qp_state = (enum ibv_qp_state)(s->c % 7),
				.en_sqd_async_notify = s->b & 1,
				.path_mtu = (enum ibv_mtu)(s->d % 6),
				.rq_psn = s->e,
				.sq_psn = s->f,
				.dest_qp_num = end_peer(end)->qpn,
				.qp_access_flags = s->g & (REMOTE | IBV_ACCESS_LOCAL_WRITE),
				.max_dest_rd_atomic = (uint8_t)(s->d >> 8),
				.max_rd_atomic = (uint8_t)(s->c >> 8),
				.min_rnr_timer = s->g >> 8 & 31,
				.timeout = s->g >> 16 & 31,
				.retry_cnt = s->g >> 24 & 7,
				.rnr_retry = s->g >> 28 & 7,
				.qkey = QKEY,
				.port_num = 1};
	int mask = IBV_QP_STATE | (s->b & 0x80 ? (int)s->h : 0);

	if (!end->qp)
		return;
	a.ah_attr = end->qp->attr.ah_attr;
	a.qp_access_flags &=
		w->access_less ? ~(unsigned)(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
			       : ~0u;
	if (a.qp_state == IBV_QPS_RESET)
		model_poll(end->node);
	if (adv_qp_modify(end->qp, w->now, &a, mask) == 0 && a.qp_state == IBV_QPS_RESET)
		model_forget(end->node, end->qpn, NULL);
}

static void change_memory(struct world *w, const struct step *s)
{
	struct node *node = &w->node[s->who & 1];
	struct region *r = &node->region[s->a % REGIONS];
	struct adv_mw **mw = &node->window[s->c % WINDOWS];

	switch (s->b % 3) {
	case 0:
		if (r->mr)
			region_deregister(r);
		else
			region_register(r);
		break;
	case 1:
		if (r->mr && adv_mr_reregister(r->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0,
					       (int)(s->e & REMOTE) | IBV_ACCESS_LOCAL_WRITE) == 0)
			r->access = (int)(s->e & REMOTE) | IBV_ACCESS_LOCAL_WRITE;
		break;
	default:
		adv_mw_destroy(*mw);
		*mw = adv_mw_create(node->pd, s->c % WINDOWS ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		FUZZ_CHECK(*mw);
	}
}

static void change_queues(struct world *w, const struct step *s)
{
	struct node *node = &w->node[s->who & 1];
	struct ibv_srq_attr attr = {.max_wr = s->c % 64, .srq_limit = s->d % 16};
	struct adv_srq *srq = s->b & 1 && node->xrc_srq ? node->xrc_srq : node->srq;
	struct adv_cq *cq = s->b & 1 ? node->small_cq : node->cq;

	switch (s->a % 6) {
	case 0:
		adv_cq_arm(cq, s->b & 2);
		break;
	case 1:
		adv_cq_moderate(cq, s->c % 8, s->e % (10 * MS));
		break;
	case 2:
		adv_cq_resize(cq, 1 + s->c % 600);
		break;
	case 3:
		adv_srq_modify(srq, &attr, s->b >> 2 & 3);
		break;
	case 4:
		node->no_poll = !node->no_poll;
		break;
	default:
		if (node->xrc_srq)
			xrc_srq_destroy(node);
		else
			xrc_srq_create(node);
	}
}

static void create_or_destroy(struct world *w, const struct step *s, uint8_t options)
{
	struct end *end = step_end(w, s);
	struct adv_gid group = {.raw = {[0] = 0xff, [1] = 0x0e, [15] = (uint8_t)(1 + s->b % 2)}};

	switch (s->a % 5) {
	case 0:
		if (end->qp)
			end_destroy(end);
		break;
	case 1:
		if (!end->qp)
			end_create(w, end, options);
		break;
	case 2:
		world_connect(w, end->kind == END_XRC_RECV ? END_XRC_SEND : end->kind, options);
		break;
	case 3:
		if (end->qp)
			adv_qp_attach_mcast(end->qp, &group);
		break;
	default:
		if (end->qp)
			adv_qp_detach_mcast(end->qp, &group);
	}
}

/* ---- the network ---- */

static void step_network(struct world *w, const struct step *s)
{
	unsigned i = w->flights ? s->c % w->flights : 0;

	switch (s->a % 5) {
	case 0:
		packets_pull(w);
		break;
	case 1:
		for (unsigned n = 0; n <= s->b % 16u && w->flights; n++)
			packets_deliver(w, 0);
		break;
	case 2:
		if (w->flights)
			packets_drop(w, i);
		break;
	case 3:
		if (w->flights)
			packets_launch(w, &w->flight[i], w->flight[i].data, w->flight[i].len);
		break;
	default:
		if (w->flights)
			packets_deliver(w, i);
	}
}

static void pass_time(struct world *w, const struct step *s)
{
	w->now += (uint64_t)s->e << s->b % 8;
	for (unsigned i = 0; i < NODES; i++) {
		if (adv_engine_deadline(w->node[i].e) <= w->now)
			adv_engine_expire(w->node[i].e, w->now);
		FUZZ_CHECK(adv_engine_deadline(w->node[i].e) > w->now);
	}
	model_check(w, NULL, NULL);
	world_take(w);
}

static void run_step(struct world *w, const struct step *s, uint8_t options)
{
	switch (s->code % 16) {
	case 0:
	case 1:
		post_send(w, s);
		break;
	case 2:
	case 3:
		post_recv(w, s);
		break;
	case 4:
	case 5:
		step_network(w, s);
		break;
	case 6:
		for (unsigned i = 0; i < s->a % 8u && packets_pull(w); i++)
			while (w->flights)
				packets_deliver(w, 0);
		break;
	case 7:
		pass_time(w, s);
		break;
	case 8:
	case 9:
		packets_mutate(w, s);
		break;
	case 10:
	case 11:
	case 12:
		packets_forge(w, s);
		break;
	case 13:
		modify_qp(w, s);
		break;
	case 14:
		change_memory(w, s);
		break;
	default:
		if (s->b & 0x40)
			change_queues(w, s);
		else
			create_or_destroy(w, s, options);
	}
	model_check(w, NULL, NULL);
	world_take(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w;
	struct step s;

	if (size < 1)
		return 0;
	w = world_open(data[0]);
	for (size_t at = 1, n = 0; at + sizeof(s) <= size && n < STEPS_MAX; at += sizeof(s), n++) {
		memcpy(&s, data + at, sizeof(s));
		run_step(w, &s, data[0]);
	}
	if (!(data[0] & WORLD_ABRUPT))
		world_rest(w);
	world_close(w);
	return 0;
}
