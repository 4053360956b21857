/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "transport.h"

/* ---- requests ---- */

struct request *model_request(struct node *node)
{
	struct request *r;

	if (node->posted == WRS)
		return NULL;
	r = &node->wr[node->posted];
	memset(r, 0, sizeof(*r));
	return r;
}

void model_posted(struct node *node, struct request *r)
{
	r->order = ++node->posted;
	r->live = true;
}

void model_forget(struct node *node, uint32_t qpn, const struct adv_srq *srq)
{
	for (uint32_t i = 0; i < node->posted; i++)
		if (node->wr[i].qpn == qpn && node->wr[i].srq == srq)
			node->wr[i].live = false;
}

/* Checks that older requests of the same queue have completed, except unsignaled ones. */
static void check_order(struct node *node, struct end *end, const struct request *r)
{
	uint32_t *last = r->recv ? &end->last_recv : &end->last_send;

	FUZZ_CHECK(r->order > *last);
	for (uint32_t i = *last; i + 1 < r->order; i++) {
		struct request *older = &node->wr[i];

		if (older->qpn != r->qpn || older->recv != r->recv || !older->live)
			continue;
		FUZZ_CHECK(!older->signaled || node->overrun);
		older->live = false;
	}
	*last = r->order;
}

static void check_completion(struct node *node, const struct ibv_wc *wc)
{
	struct end *end = world_find(node->world, wc->qp_num);
	struct request *r;

	FUZZ_CHECK(wc->wr_id < node->posted);
	r = &node->wr[wc->wr_id];
	FUZZ_CHECK(r->live);
	FUZZ_CHECK(r->qpn ? r->qpn == wc->qp_num : r->srq == node->srq || r->srq == node->xrc_srq);
	if (r->qpn) {
		FUZZ_CHECK(end && end->node == node);
		check_order(node, end, r);
	}
	if (wc->status == IBV_WC_SUCCESS) {
		FUZZ_CHECK(r->signaled);
		/* With the immediate data of a WRITE, byte_len is the number of written bytes. */
		if (r->recv)
			FUZZ_CHECK(wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ||
				   (wc->opcode == IBV_WC_RECV && wc->byte_len <= r->length));
	}
	r->live = false;
}

void model_poll(struct node *node)
{
	struct ibv_wc wc;

	while (adv_cq_poll(node->cq, 1, &wc) == 1)
		check_completion(node, &wc);
	while (adv_cq_poll(node->small_cq, 1, &wc) == 1)
		check_completion(node, &wc);
}

/* ---- memory ---- */

static bool piece_has(const struct request *r, const struct region *region, uint32_t at)
{
	for (unsigned i = 0; i < r->pieces; i++)
		if (r->piece[i].region == region && at - r->piece[i].at < r->piece[i].len)
			return true;
	return false;
}

static bool is_request_target(const struct node *node, const struct region *region, uint32_t at,
			      bool recv, const struct end *to)
{
	for (uint32_t i = 0; i < node->posted; i++) {
		const struct request *r = &node->wr[i];

		if (!r->live || r->recv != recv || !(recv || r->result))
			continue;
		/* A multicast packet may be received by any member (to is NULL). */
		if (r->qpn && to && r->qpn != to->qpn)
			continue;
		if (piece_has(r, region, at))
			return true;
	}
	return false;
}

/* True if a packet with these headers may change this byte of the receiving node. */
static bool may_change(struct world *w, const struct node *node, const struct region *region,
		       uint32_t at, const struct adv_headers *h)
{
	const struct adv_opcode_info *info = &adv_opcode_table[h->bth.opcode];
	const struct end *to = world_find(w, h->bth.dest_qpn);
	int need = IBV_ACCESS_REMOTE_WRITE;

	if (!region->mr || region->pd == node->other_pd ||
	    !(region->access & IBV_ACCESS_LOCAL_WRITE))
		return false;
	if (info->flags & ADV_PKT_RESPONSE)
		return to && to->node == node && is_request_target(node, region, at, false, to);
	if (info->flags & ADV_PKT_SEND)
		return is_request_target(node, region, at, true, to);
	if (info->flags & ADV_PKT_ATOMIC)
		need = IBV_ACCESS_REMOTE_ATOMIC;
	return to && to->node == node && (to->qp->attr.qp_access_flags & (unsigned)need) &&
	       ((region->access | region->granted[at]) & need);
}

static void check_guard(const uint8_t *p)
{
	/* All bytes are equal, and the first one is correct. */
	FUZZ_CHECK(p[0] == 0xa5 && memcmp(p, p + 1, GUARD - 1) == 0);
}

static void check_region(struct world *w, const struct node *node, struct region *r,
			 const struct adv_headers *h)
{
	check_guard(r->buf - GUARD);
	check_guard(r->buf + r->len);
	if (memcmp(r->buf, r->seen, r->len) == 0)
		return;
	FUZZ_CHECK(h != NULL);
	for (uint32_t i = 0; i < r->len; i++)
		if (r->buf[i] != r->seen[i])
			FUZZ_CHECK(may_change(w, node, r, i, h));
	memcpy(r->seen, r->buf, r->len);
}

void model_check(struct world *w, const struct node *node, const struct flight *f)
{
	struct adv_headers h;
	bool decoded = f && adv_headers_decode(f->data, f->len, &h);

	for (unsigned i = 0; i < NODES; i++)
		for (unsigned k = 0; k < REGIONS; k++)
			check_region(w, node, &w->node[i].region[k],
				     decoded && node == &w->node[i] ? &h : NULL);
}

/* Returns the node's region that contains the address; NULL: none. */
static const struct region *region_of(const struct node *node, const uint8_t *p)
{
	for (unsigned i = 0; i < REGIONS; i++)
		if ((uintptr_t)p - (uintptr_t)node->region[i].buf < node->region[i].len)
			return &node->region[i];
	return NULL;
}

void model_check_sent(const struct node *node, const struct adv_tx_packet *pkt)
{
	const struct adv_opcode_info *info = &adv_opcode_table[pkt->header[0]];

	for (unsigned i = 0; i < pkt->iov_count; i++) {
		const uint8_t *p = pkt->iov[i].iov_base;
		const struct region *r = region_of(node, p);
		uint32_t len = (uint32_t)pkt->iov[i].iov_len, at;

		if (len == 0)
			continue;
		if (!r) { /* inline data */
			FUZZ_CHECK(info->flags & ADV_PKT_REQUEST);
			continue;
		}
		at = (uint32_t)(p - r->buf);
		FUZZ_CHECK(r->mr && r->pd == node->pd && len <= r->len - at);
		for (uint32_t k = 0; info->flags & ADV_PKT_RESPONSE && k < len; k++)
			FUZZ_CHECK((r->access | r->granted[at + k]) & IBV_ACCESS_REMOTE_READ);
	}
}
