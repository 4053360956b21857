/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/probe.h"
#include "transport/flow.h"

#define DEFAULT_WINDOW	  64
#define DEFAULT_LINE_MBPS 40000 /* the paper's, see congestion.h */

struct adv_engine *adv_engine_create(const struct adv_engine_config *config)
{
	const uint64_t *seed = config->seed;
	struct adv_engine *e;
	int err;

	/* The one state that xoshiro never leaves. */
	if (!(seed[0] | seed[1] | seed[2] | seed[3]) || (config->cc && !adv_cc_valid(config->cc))) {
		errno = EINVAL;
		return NULL;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	memcpy(e->rng.s, config->seed, sizeof(e->rng.s));
	memcpy(e->secret_key, config->seed, sizeof(e->secret_key));
	e->window = config->window ? config->window : DEFAULT_WINDOW;
	e->total_window = config->total_window ? config->total_window : 4 * e->window;
	e->unreliable_mbps = config->unreliable_mbps;
	e->cc = config->cc ? *config->cc : adv_cc_default();
	e->pace_burst = config->pace_burst;
	e->line_mbps = DEFAULT_LINE_MBPS;
	e->timeout_ticks = config->timeout_ticks ? config->timeout_ticks : 1;
	adv_list_init(&e->tx_ready);
	adv_list_init(&e->stalled);
	adv_list_init(&e->held);
	adv_list_init(&e->delayed);
	e->ack_delay = config->ack_delay;
	e->go_back_0 = config->go_back_0;
	adv_list_init(&e->cq_events);
	adv_list_init(&e->async_events);
	adv_list_init(&e->pds);
	adv_list_init(&e->cqs);
	adv_list_init(&e->srqs);
	adv_list_init(&e->xrcds);
	adv_list_init(&e->qps);
	adv_list_init(&e->groups);
	e->local_credit = config->local_credit;
	e->local_memory = config->local_memory;
	e->page_in = config->page_in;
	err = adv_unreliable_init(e);
	if (!err)
		err = adv_engine_add_qpns(e, config->qpn_first, config->qpn_count);
	if (err) {
		free(e->timers.slot);
		free(e);
		errno = err;
		return NULL;
	}
	return e;
}

void adv_engine_destroy(struct adv_engine *e)
{
	while (!adv_list_empty(&e->groups)) {
		struct adv_mcast_group *g =
			adv_container_of(e->groups.next, struct adv_mcast_group, node);

		adv_list_del(&g->node);
		free(g);
	}
	while (!adv_list_empty(&e->qps))
		adv_qp_destroy(adv_container_of(e->qps.next, struct adv_qp, node));
	while (!adv_list_empty(&e->srqs))
		adv_srq_destroy(adv_container_of(e->srqs.next, struct adv_srq, node));
	while (!adv_list_empty(&e->cqs))
		adv_cq_destroy(adv_container_of(e->cqs.next, struct adv_cq, node));
	for (uint32_t i = 0; i < e->mrs.room; i++)
		free(e->mrs.slot[i]);
	while (!adv_list_empty(&e->pds)) {
		struct adv_pd *pd = adv_container_of(e->pds.next, struct adv_pd, node);

		adv_list_del(&pd->node);
		free(pd);
	}
	while (!adv_list_empty(&e->xrcds))
		adv_xrcd_destroy(adv_container_of(e->xrcds.next, struct adv_xrcd, node));
	/* Events went with the objects they were about. */
	assert(adv_list_empty(&e->async_events));
	adv_qpns_free(e);
	adv_ahs_free(e);
	free(e->mrs.slot);
	free(e->timers.slot);
	free(e->gids);
	free(e);
}

int adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids, unsigned count)
{
	struct adv_engine_gid *copy;

	if (count > ADV_MAX_GIDS)
		return EINVAL;
	copy = calloc(count ? count : 1, sizeof(*copy));
	if (!copy)
		return ENOMEM;
	memcpy(copy, gids, count * sizeof(*copy));
	free(e->gids);
	e->gids = copy;
	e->gid_count = count;
	adv_list_for_each(struct adv_qp, qp, &e->qps, node) {
		qp->peer_is_here = adv_engine_is_here(e, &qp->path.dgid);
	}
	return 0;
}

void adv_engine_set_senders(struct adv_engine *e, const _Atomic uint16_t *port,
			    const _Atomic uint16_t *home)
{
	e->sender_port = port;
	e->sender_home = home;
}

void adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps)
{
	e->line_mbps = mbps ? mbps : DEFAULT_LINE_MBPS;
}

const struct adv_engine_counters *adv_engine_counters(const struct adv_engine *e)
{
	return &e->counters;
}

uint64_t adv_engine_random(struct adv_engine *e)
{
	return adv_rng_secret(&e->rng, e->secret_key);
}

/* ---- packets in ---- */

/* IBTA 10.9.1.2: the same key, and not both limited members; ours is the full default one. */
static bool pkey_good(uint16_t pkey)
{
	return (pkey & 0x7fff) == (ADV_PKEY_DEFAULT & 0x7fff);
}

bool adv_engine_has_gid(const struct adv_engine *e, const struct adv_gid *gid)
{
	for (unsigned i = 0; i < e->gid_count; i++)
		if (adv_gid_equal(&e->gids[i].gid, gid))
			return true;
	return false;
}

bool adv_engine_is_here(const struct adv_engine *e, const struct adv_gid *gid)
{
	return (adv_gid_is_ipv4(gid) && gid->raw[12] == 127) || adv_engine_has_gid(e, gid);
}

/*
 * A local process may send with any local address as the source, but not from the UDP port that
 * the process of this QPN holds, see link/udp_socket.c, nor through another's memory.
 */
static bool is_from(const struct adv_engine *e, uint32_t qpn, const struct adv_rx_meta *meta)
{
	uint16_t port;

	if (meta->slot)
		return meta->slot == 1 + atomic_load_explicit(&e->sender_home[adv_qpn_prefix(qpn)],
							      memory_order_relaxed);
	port = atomic_load_explicit(&e->sender_port[adv_qpn_prefix(qpn)], memory_order_relaxed);

	return port && port == meta->sport;
}

bool adv_engine_sender_good(const struct adv_engine *e, uint32_t src_qpn,
			    const struct adv_rx_meta *meta)
{
	return !e->sender_port || !adv_engine_is_here(e, &meta->sgid) || is_from(e, src_qpn, meta);
}

/* Our address, for a UD packet: one of the table, or a group that the QP is in; with a group's
 * address comes the multicast QPN, and no other one. */
static bool is_our_address(const struct adv_engine *e, const struct adv_incoming *in)
{
	return in->h->bth.dest_qpn == ADV_QPN_MULTICAST || adv_engine_has_gid(e, &in->meta->dgid);
}

static void report_established(struct adv_qp *qp)
{
	if (qp->state != IBV_QPS_RTR || qp->resp.commed)
		return;
	qp->resp.commed = true;
	adv_async_event(qp->engine, IBV_EVENT_COMM_EST, qp, NULL, NULL, ADV_ERR_NONE);
}

/* One packet for one QP; what does not fit the QP changes nothing (IBTA 9.6.1). */
static void deliver(struct adv_engine *e, struct adv_qp *qp, uint64_t now,
		    const struct adv_incoming *in)
{
	struct adv_engine_counters *c = &e->counters;

	if ((in->h->bth.opcode & ADV_SERVICE_MASK) != qp->service || !adv_qp_can_receive(qp)) {
		c->rx_no_qp++;
		return;
	}
	if (!pkey_good(in->h->bth.pkey)) {
		c->rx_bad_pkey++;
		return;
	}
	if (qp->type == IBV_QPT_UD) {
		if (!is_our_address(e, in))
			c->rx_bad_address++;
		else if (in->h->deth.qkey != qp->attr.qkey)
			c->rx_bad_qkey++;
		else if (in->h->bth.dest_qpn != ADV_QPN_MULTICAST &&
			 !adv_engine_sender_good(e, in->h->deth.src_qpn, in->meta))
			c->rx_bad_sender++;
		else
			adv_datagram_rx(qp, now, in);
		return;
	}
	if (!adv_gid_equal(&in->meta->sgid, &qp->path.dgid) ||
	    !adv_gid_equal(&in->meta->dgid, &qp->path.sgid)) {
		c->rx_bad_address++;
		return;
	}
	if (qp->peer_is_here && e->sender_port && !is_from(e, qp->attr.dest_qp_num, in->meta)) {
		c->rx_bad_sender++;
		return;
	}
	if (in->info->flags & ADV_PKT_RESPONSE) {
		adv_completer_rx(qp, now, in);
		return;
	}
	if (qp->type == IBV_QPT_XRC_SEND) {
		c->rx_no_qp++;
		return;
	}
	report_established(qp);
	if (qp->type == IBV_QPT_UC)
		adv_responder_rx_uc(qp, now, in);
	else
		adv_responder_rx(qp, now, in);
}

static void deliver_multicast(struct adv_engine *e, uint64_t now, const struct adv_incoming *in)
{
	struct adv_mcast_group *g = adv_mcast_find(e, &in->meta->dgid);

	if (!g) {
		e->counters.rx_no_qp++;
		return;
	}
	for (uint32_t i = 0; i < g->count; i++) {
		const struct adv_qp *qp = g->member[i];

		/* Not to its own sender (IBTA 10.5.2). */
		if (qp->qpn != in->h->deth.src_qpn)
			deliver(e, g->member[i], now, in);
	}
}

/* Splits payload and padding; false where the length does not fit the opcode. */
static bool split_payload(const struct adv_rx_packet *pkt, size_t header_len,
			  struct adv_incoming *in)
{
	uint32_t rest = pkt->len - (uint32_t)header_len;
	uint8_t pad = in->h->bth.pad;

	if (pad > rest || (rest & 3))
		return false;
	in->payload = adv_rx_payload(pkt, header_len);
	in->payload_len = rest - pad;
	return in->payload_len == 0 || (in->info->flags & ADV_PKT_PAYLOAD);
}

/* ---- congestion: packets that deliver() does not see, or not so ---- */

/* What deliver() would count a packet from there under; NULL: it comes from the QP's peer. */
static uint64_t *wrong_sender(struct adv_engine *e, const struct adv_qp *qp,
			      const struct adv_bth *bth, const struct adv_rx_meta *meta)
{
	struct adv_engine_counters *c = &e->counters;

	if (!qp || qp->type == IBV_QPT_UD || !adv_qp_can_receive(qp))
		return &c->rx_no_qp;
	if (!pkey_good(bth->pkey))
		return &c->rx_bad_pkey;
	if (!adv_gid_equal(&meta->sgid, &qp->path.dgid) ||
	    !adv_gid_equal(&meta->dgid, &qp->path.sgid))
		return &c->rx_bad_address;
	if (qp->peer_is_here && e->sender_port && !is_from(e, qp->attr.dest_qp_num, meta))
		return &c->rx_bad_sender;
	return NULL;
}

/* A CNP names only the QP that is to slow down (annex A17.9.3), and is believed as far as any other
 * packet of the QP's peer. */
static void deliver_cnp(struct adv_engine *e, uint64_t now, const struct adv_headers *h,
			const struct adv_rx_meta *meta)
{
	struct adv_qp *qp = adv_engine_find_qp(e, h->bth.dest_qpn);
	uint64_t *wrong = wrong_sender(e, qp, &h->bth, meta);

	if (wrong)
		++*wrong;
	else
		adv_flow_on_cnp(qp, now);
}

/* A switch has marked the packet. It is looked at once more, so that all others need not be. */
static void note_mark(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct adv_headers h;
	struct adv_qp *qp;

	e->counters.np_ecn_marked_roce_packets++;
	if (!adv_headers_decode(pkt->data, pkt->len, &h))
		return;
	qp = adv_engine_find_qp(e, h.bth.dest_qpn);
	if (!wrong_sender(e, qp, &h.bth, pkt->meta) &&
	    (h.bth.opcode & ADV_SERVICE_MASK) == qp->service)
		adv_flow_marked(qp, now, &h.bth);
}

void adv_engine_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct adv_headers h;
	struct adv_incoming in = {.h = &h, .meta = pkt->meta};
	size_t header_len;
	struct adv_qp *qp;

	e->counters.rx_packets++;
	if ((pkt->meta->tclass & ADV_ECN_MASK) == ADV_ECN_CE)
		note_mark(e, now, pkt);
	header_len = adv_headers_decode(pkt->data, pkt->len, &h);
	if (header_len == 0) {
		e->counters.rx_malformed++;
		return;
	}
	if (h.bth.opcode == ADV_OPCODE_CNP) {
		if (pkt->len == header_len)
			deliver_cnp(e, now, &h, pkt->meta);
		else
			e->counters.rx_malformed++;
		return;
	}
	if (h.bth.opcode == ADV_OPCODE_PROBE || h.bth.opcode == ADV_OPCODE_ANSWER) {
		adv_unreliable_rx(e, now, &h, pkt->meta);
		return;
	}
	in.info = &adv_opcode_table[h.bth.opcode];
	if (!split_payload(pkt, header_len, &in)) {
		e->counters.rx_malformed++;
		return;
	}
	ADV_PROBE(packet_rx, h.bth.dest_qpn, h.bth.psn, h.bth.opcode, in.payload_len);
	if (h.bth.dest_qpn == ADV_QPN_MULTICAST) {
		deliver_multicast(e, now, &in);
		return;
	}
	qp = adv_engine_find_qp(e, h.bth.dest_qpn);
	if (qp)
		deliver(e, qp, now, &in);
	else
		e->counters.rx_no_qp++;
}

/* ---- packets out ---- */

bool adv_qp_may_wait(const struct adv_qp *qp)
{
	return qp->engine->in_flight > 0 && !(qp->peer_is_here && qp->engine->local_memory);
}

bool adv_engine_tx_ready(const struct adv_engine *e)
{
	return !adv_list_empty(&e->tx_ready) || e->note_tail != e->note_head;
}

void adv_engine_hold(struct adv_engine *e, uint64_t dscps)
{
	e->held_dscps = dscps;
	adv_list_move_tail(&e->tx_ready, &e->held);
}

static bool is_held(const struct adv_engine *e, const struct adv_qp *qp)
{
	return e->held_dscps >> (qp->path.tclass >> 2) & 1 && qp->type != IBV_QPT_UD;
}

/* What waits for a batch of its own: an ACK behind requests that are to go out before it is made.
 */
static bool ack_goes_alone(const struct adv_qp *qp, const struct adv_tx_batch *batch)
{
	return qp->resp.ack_behind && batch->count && qp->peer_is_here && qp->engine->local_memory;
}

void adv_qp_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	bool requests_first = qp->resp.ack_behind || qp->resp.cut;

	if (requests_first)
		adv_requester_tx(qp, now, batch, ADV_QUANTUM);
	if (ack_goes_alone(qp, batch)) {
		adv_qp_schedule(qp);
		return;
	}
	if (adv_responder_has_tx(qp)) {
		adv_responder_tx(qp, now, batch, ADV_QUANTUM);
		qp->resp.cut = !requests_first && adv_responder_has_tx(qp);
	}
	if (!requests_first)
		adv_requester_tx(qp, now, batch, ADV_QUANTUM);
}

unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch)
{
	return adv_engine_tx_some(e, now, batch, ADV_TX_BATCH_PACKETS);
}

unsigned adv_engine_tx_some(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
			    unsigned limit)
{
	batch->count = 0;
	batch->limit = limit;
	batch->iov_used = 0;
	adv_ahs_free(e);
	adv_unreliable_tx(e, batch);
	while (!adv_list_empty(&e->tx_ready) && adv_batch_has_room(batch)) {
		struct adv_qp *qp = adv_container_of(e->tx_ready.next, struct adv_qp, tx_node);

		adv_list_del(&qp->tx_node);
		if (is_held(e, qp)) {
			adv_flow_send_cnp(qp, batch);
			adv_list_add_tail(&e->held, &qp->tx_node);
		} else if (qp->type == IBV_QPT_UD) {
			adv_datagram_tx(qp, now, batch, ADV_QUANTUM);
		} else if (qp->flow) {
			adv_flow_serve(qp, now, batch);
		} else {
			adv_qp_serve(qp, now, batch);
		}
		if (ack_goes_alone(qp, batch))
			break;
	}
	return batch->count;
}

/* ---- events ---- */

static bool is_waiting(const struct adv_engine *e, const struct adv_event *ev)
{
	adv_list_for_each(const struct adv_async_node, n, &e->async_events, node) {
		const struct adv_event *w = &n->event;

		if (w->async == ev->async && w->qp == ev->qp && w->cq == ev->cq &&
		    w->srq == ev->srq)
			return true;
	}
	return false;
}

void adv_async_event(struct adv_engine *e, enum ibv_event_type type, struct adv_qp *qp,
		     struct adv_cq *cq, struct adv_srq *srq, enum adv_vendor_err why)
{
	struct adv_event event = {ADV_EVENT_ASYNC, type, cq, qp, srq, (uint8_t)why};
	struct adv_async_node *n;

	if (is_waiting(e, &event))
		return;
	n = malloc(sizeof(*n));
	if (!n) {
		e->counters.out_of_memory++;
		return;
	}
	n->event = event;
	adv_list_add_tail(&e->async_events, &n->node);
}

void adv_async_forget(struct adv_engine *e, const void *object)
{
	adv_list_for_each_safe(struct adv_async_node, a, &e->async_events, node) {
		if (a->event.qp == object || a->event.cq == object || a->event.srq == object) {
			adv_list_del(&a->node);
			free(a);
		}
	}
}

bool adv_engine_has_event(const struct adv_engine *e)
{
	return !adv_list_empty(&e->cq_events) || !adv_list_empty(&e->async_events);
}

bool adv_engine_event(struct adv_engine *e, struct adv_event *event)
{
	if (!adv_list_empty(&e->cq_events)) {
		struct adv_cq *cq = adv_container_of(e->cq_events.next, struct adv_cq, event_node);

		adv_list_del(&cq->event_node);
		*event = (struct adv_event){.kind = ADV_EVENT_COMPLETION, .cq = cq};
		return true;
	}
	if (!adv_list_empty(&e->async_events)) {
		struct adv_async_node *a =
			adv_container_of(e->async_events.next, struct adv_async_node, node);

		*event = a->event;
		adv_list_del(&a->node);
		free(a);
		return true;
	}
	return false;
}

void adv_engine_fetch(const struct adv_engine *e)
{
	__builtin_prefetch(&e->counters);
	__builtin_prefetch(&e->counters.rx_write_requests);
	__builtin_prefetch(&e->range);
	__builtin_prefetch(&e->tx_ready);
	__builtin_prefetch(&e->in_flight);
	__builtin_prefetch(&e->note_head);
	__builtin_prefetch(&e->mrs);
}
