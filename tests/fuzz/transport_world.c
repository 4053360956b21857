/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "transport.h"
#include "nic/engine/invariants.h"
#include "nic/queue/mcast.h"

#define REST_STEPS 2000000u

static const enum ibv_qp_type types[ENDS] = {[END_RC] = IBV_QPT_RC,
					     [END_RC_SRQ] = IBV_QPT_RC,
					     [END_UC] = IBV_QPT_UC,
					     [END_UD] = IBV_QPT_UD,
					     [END_XRC_SEND] = IBV_QPT_XRC_SEND,
					     [END_XRC_RECV] = IBV_QPT_XRC_RECV};

static const int rights[REGIONS] = {
	[REGION_ALL] = REMOTE | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND,
	[REGION_LOCAL] = IBV_ACCESS_LOCAL_WRITE,
	[REGION_READ] = IBV_ACCESS_REMOTE_READ,
	[REGION_WRITE] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	[REGION_ATOMIC] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	[REGION_WINDOW] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND,
	[REGION_NONE] = 0,
	[REGION_OTHER_PD] = REMOTE | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND,
};

static bool is_large_region(unsigned region)
{
	return region == REGION_ALL || region == REGION_LOCAL;
}

/* ---- regions ---- */

void region_register(struct region *r)
{
	r->mr = adv_mr_register(r->pd, r->buf, r->len, r->iova, r->access);
	FUZZ_CHECK(r->mr != NULL);
	r->key = adv_mr_rkey(r->mr);
	memset(r->granted, 0, r->len);
}

bool region_deregister(struct region *r)
{
	if (adv_mr_deregister(r->mr) != 0)
		return false;
	r->mr = NULL;
	memset(r->granted, 0, r->len);
	return true;
}

static void make_region(struct node *node, unsigned i)
{
	struct region *r = &node->region[i];
	uint8_t *block;

	r->len = is_large_region(i) ? 4096 : 512;
	r->access = rights[i];
	r->pd = i == REGION_OTHER_PD ? node->other_pd : node->pd;
	r->iova = (uint64_t)(node->index + 1) << 40 | (uint64_t)i << 20;
	block = malloc(r->len + 2 * GUARD);
	r->seen = malloc(r->len);
	r->granted = malloc(r->len);
	FUZZ_CHECK(block && r->seen && r->granted);
	memset(block, 0xa5, r->len + 2 * GUARD);
	r->buf = block + GUARD;
	memset(r->buf, (int)(0x10 * (node->index + 1) + i), r->len);
	memcpy(r->seen, r->buf, r->len);
	region_register(r);
}

/* ---- queue pairs ---- */

struct end *end_peer(const struct end *end)
{
	unsigned kind = end->kind == END_XRC_SEND   ? END_XRC_RECV
			: end->kind == END_XRC_RECV ? END_XRC_SEND
						    : end->kind;

	return &end->node->world->node[!end->node->index].end[kind];
}

struct end *world_find(struct world *w, uint32_t qpn)
{
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned k = 0; k < ENDS; k++)
			if (w->node[i].end[k].qp && w->node[i].end[k].qpn == qpn)
				return &w->node[i].end[k];
	return NULL;
}

void end_create(struct world *w, struct end *end, uint8_t options)
{
	struct node *node = end->node;
	struct adv_qp_config c = {
		.type = types[end->kind],
		.pd = node->pd,
		.send_cq = end->kind == END_RC_SRQ ? node->small_cq : node->cq,
		.recv_cq = node->cq,
		.srq = end->kind == END_RC_SRQ ? node->srq : NULL,
		.xrcd = node->xrcd,
		.cap = {32, 32, PIECES, PIECES, 64},
		.sq_sig_all = options & WORLD_SIG_ALL,
		.user = end,
	};

	end->qp = adv_qp_create(node->e, &c);
	FUZZ_CHECK(end->qp != NULL);
	end->qpn = adv_qp_num(end->qp);
	end->last_send = end->last_recv = 0;
}

void end_destroy(struct end *end)
{
	if (adv_mcast_is_member(end->qp))
		FUZZ_CHECK(adv_qp_destroy(end->qp) == EBUSY);
	for (unsigned i = 0; i < 2; i++) {
		struct adv_gid group = {.raw = {[0] = 0xff, [1] = 0x0e, [15] = (uint8_t)(1 + i)}};

		adv_qp_detach_mcast(end->qp, &group);
	}
	FUZZ_CHECK(adv_qp_destroy(end->qp) == 0);
	end->qp = NULL;
	model_forget(end->node, end->qpn, NULL);
}

static int move_to_init(struct world *w, struct end *end)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = w->access_less ? IBV_ACCESS_REMOTE_READ : REMOTE,
				.qkey = QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= end->kind == END_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return adv_qp_modify(end->qp, w->now, &a, mask);
}

static int move_to_rtr(struct world *w, struct end *end, bool ipv4)
{
	const struct end *peer = end_peer(end);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_256,
				.rq_psn = 0xfffff0 + !end->node->index,
				.max_dest_rd_atomic = 4,
				.min_rnr_timer = 1,
				.dest_qp_num = peer->qpn};
	int mask = IBV_QP_STATE;

	if (end->kind != END_UD) {
		a.ah_attr.is_global = 1;
		a.ah_attr.port_num = 1;
		a.ah_attr.grh.hop_limit = 64;
		a.ah_attr.grh.sgid_index = ipv4;
		memcpy(a.ah_attr.grh.dgid.raw, peer->node->gid[ipv4].raw, 16);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (end->kind == END_RC || end->kind == END_RC_SRQ || end->kind == END_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return adv_qp_modify(end->qp, w->now, &a, mask);
}

static int move_to_rts(struct world *w, struct end *end)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.sq_psn = 0xfffff0 + end->node->index,
				.timeout = 10,
				.retry_cnt = 3,
				.rnr_retry = 3,
				.max_rd_atomic = 4};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (end->kind == END_RC || end->kind == END_RC_SRQ || end->kind == END_XRC_SEND)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	else if (end->kind == END_XRC_RECV)
		mask |= IBV_QP_TIMEOUT;
	return adv_qp_modify(end->qp, w->now, &a, mask);
}

void world_connect(struct world *w, unsigned kind, uint8_t options)
{
	struct end *end = &w->node[0].end[kind], *both[2] = {end, end_peer(end)};

	for (unsigned i = 0; i < 2; i++)
		if (!both[i]->qp)
			end_create(w, both[i], options);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

		model_poll(both[i]->node);
		FUZZ_CHECK(adv_qp_modify(both[i]->qp, w->now, &reset, IBV_QP_STATE) == 0);
		model_forget(both[i]->node, both[i]->qpn, NULL);
		FUZZ_CHECK(move_to_init(w, both[i]) == 0);
		FUZZ_CHECK(move_to_rtr(w, both[i], options & WORLD_IPV4) == 0);
		FUZZ_CHECK(move_to_rts(w, both[i]) == 0);
	}
}

/* ---- nodes ---- */

void xrc_srq_create(struct node *node)
{
	struct ibv_srq_attr attr = {.max_wr = 16, .max_sge = PIECES};

	node->xrc_srq = adv_srq_create_xrc(node->pd, node->xrcd, node->cq, &attr, node);
	FUZZ_CHECK(node->xrc_srq != NULL);
}

void xrc_srq_destroy(struct node *node)
{
	model_forget(node, 0, node->xrc_srq);
	FUZZ_CHECK(adv_srq_destroy(node->xrc_srq) == 0);
	node->xrc_srq = NULL;
}

static void make_gids(struct world *w, struct node *node)
{
	struct adv_engine_gid gids[2] = {{.mtu = 4096}, {.mtu = 4096}};
	uint8_t last = (uint8_t)(w->one_machine ? 1 : node->index + 1);

	node->gid[0] = (struct adv_gid){{[0] = 0xfd, [3] = 1, [15] = last}};
	node->gid[1] = (struct adv_gid){{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = last}};
	gids[0].gid = node->gid[0];
	gids[1].gid = node->gid[1];
	FUZZ_CHECK(adv_engine_set_gids(node->e, gids, 2) == 0);
}

static void make_node(struct world *w, struct node *node, uint8_t options)
{
	struct ibv_srq_attr attr = {.max_wr = 16, .max_sge = PIECES};
	struct adv_engine_config c = {.seed = {node->index + 1, 2, 3, 4},
				      .qpn_first = 0x010000 * (node->index + 1),
				      .qpn_count = 0x40,
				      .window = options & WORLD_SMALL_WINDOW ? 4 : 0,
				      .local_credit = w->one_machine};

	node->world = w;
	node->e = adv_engine_create(&c);
	FUZZ_CHECK(node->e != NULL);
	make_gids(w, node);
	node->pd = adv_pd_create(node->e);
	node->other_pd = adv_pd_create(node->e);
	node->xrcd = adv_xrcd_create(node->e);
	node->cq = adv_cq_create(node->e, 512, node);
	node->small_cq = adv_cq_create(node->e, 4, node);
	FUZZ_CHECK(node->pd && node->other_pd && node->xrcd && node->cq && node->small_cq);
	node->srq = adv_srq_create(node->e, node->pd, &attr, node);
	FUZZ_CHECK(node->srq != NULL);
	if (options & WORLD_XRC)
		xrc_srq_create(node);
	for (unsigned i = 0; i < REGIONS; i++)
		make_region(node, i);
	for (unsigned i = 0; i < WINDOWS; i++) {
		node->window[i] = adv_mw_create(node->pd, i ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		FUZZ_CHECK(node->window[i] != NULL);
	}
}

struct world *world_open(uint8_t options)
{
	struct world *w = calloc(1, sizeof(*w));

	FUZZ_CHECK(w != NULL);
	w->now = SEC;
	w->one_machine = options & WORLD_ONE_MACHINE;
	w->access_less = options & WORLD_ACCESS_LESS;
	for (unsigned i = 0; i < NODES; i++) {
		w->node[i].index = i;
		make_node(w, &w->node[i], options);
		for (unsigned k = 0; k < ENDS; k++) {
			w->node[i].end[k].node = &w->node[i];
			w->node[i].end[k].kind = k;
		}
	}
	for (unsigned kind = 0; kind < ENDS; kind++)
		if (options & WORLD_XRC || (kind != END_XRC_SEND && kind != END_XRC_RECV))
			world_connect(w, kind, options);
	return w;
}

/* ---- time ---- */

void world_take(struct world *w)
{
	for (unsigned i = 0; i < NODES; i++) {
		struct node *node = &w->node[i];
		struct adv_event event;

		FUZZ_CHECK(adv_engine_check(node->e) == NULL);
		while (adv_engine_event(node->e, &event))
			if (event.kind == ADV_EVENT_ASYNC && event.async == IBV_EVENT_CQ_ERR)
				node->overrun = true;
		if (!node->no_poll)
			model_poll(node);
	}
}

static bool expire_next(struct world *w)
{
	uint64_t next = ADV_NEVER;

	for (unsigned i = 0; i < NODES; i++)
		if (adv_engine_deadline(w->node[i].e) < next)
			next = adv_engine_deadline(w->node[i].e);
	if (next == ADV_NEVER)
		return false;
	if (next > w->now)
		w->now = next;
	for (unsigned i = 0; i < NODES; i++)
		adv_engine_expire(w->node[i].e, w->now);
	return true;
}

/* Moves a QP to the error state if its requests could be retried for ever, or if it is in SQD,
 * which the program may never leave. */
static void end_endless_requests(struct world *w, struct end *end)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	enum ibv_qp_state state;

	if (!end->qp)
		return;
	state = adv_qp_state(end->qp);
	if (state == IBV_QPS_SQD ||
	    (end->qp->reliable && (end->qp->attr.rnr_retry == 7 || end->qp->attr.timeout == 0)))
		FUZZ_CHECK(adv_qp_modify(end->qp, w->now, &error, IBV_QP_STATE) == 0);
}

void world_rest(struct world *w)
{
	unsigned steps = 0;

	for (unsigned i = 0; i < NODES; i++) {
		w->node[i].no_poll = false;
		for (unsigned k = 0; k < ENDS; k++)
			end_endless_requests(w, &w->node[i].end[k]);
	}
	do {
		while (packets_pull(w) || w->flights) {
			while (w->flights)
				packets_deliver(w, 0);
			FUZZ_CHECK(steps++ < REST_STEPS);
		}
		FUZZ_CHECK(steps++ < REST_STEPS);
	} while (expire_next(w));
	world_take(w);
	model_check(w, NULL, NULL);
	for (unsigned i = 0; i < NODES; i++) {
		const struct node *node = &w->node[i];

		FUZZ_CHECK(node->e->in_flight == 0);
		FUZZ_CHECK(!adv_engine_tx_ready(node->e));
		FUZZ_CHECK(adv_list_empty(&node->e->stalled));
		for (unsigned k = 0; k < ENDS; k++) {
			const struct adv_qp *qp = node->end[k].qp;

			if (qp)
				FUZZ_CHECK(qp->sq.head == qp->sq.tail);
		}
	}
}

static void close_node(struct node *node)
{
	struct adv_engine *e = node->e;

	model_poll(node);
	for (unsigned i = 0; i < WINDOWS; i++)
		adv_mw_destroy(node->window[i]);
	FUZZ_CHECK(adv_srq_destroy(node->srq) == 0);
	if (node->xrc_srq)
		xrc_srq_destroy(node);
	FUZZ_CHECK(adv_cq_empty(node->cq) && adv_cq_empty(node->small_cq));
	FUZZ_CHECK(adv_cq_destroy(node->cq) == 0 && adv_cq_destroy(node->small_cq) == 0);
	FUZZ_CHECK(adv_xrcd_destroy(node->xrcd) == 0);
	for (unsigned i = 0; i < REGIONS; i++) {
		struct region *r = &node->region[i];

		if (r->mr)
			FUZZ_CHECK(region_deregister(r));
		free(r->buf - GUARD);
		free(r->seen);
		free(r->granted);
	}
	FUZZ_CHECK(adv_pd_destroy(node->pd) == 0 && adv_pd_destroy(node->other_pd) == 0);
	FUZZ_CHECK(e->tpt->keys.count == 0 && e->in_flight == 0);
	FUZZ_CHECK(adv_list_empty(&e->tx_ready) && adv_list_empty(&e->stalled));
	FUZZ_CHECK(adv_list_empty(&e->qps) && adv_list_empty(&e->async_events));
	adv_engine_destroy(e);
	if (node->ah)
		adv_ah_destroy(node->ah);
}

void world_close(struct world *w)
{
	while (w->flights)
		packets_drop(w, 0);
	for (unsigned i = 0; i < NODES; i++) {
		for (unsigned k = 0; k < ENDS; k++)
			if (w->node[i].end[k].qp)
				end_destroy(&w->node[i].end[k]);
		FUZZ_CHECK(w->node[i].e->in_flight == 0);
		close_node(&w->node[i]);
	}
	free(w);
}
