/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: create, destroy, reset. */
#include <stdlib.h>

#include "base/array.h"
#include "nic/queue/ah.h"
#include "nic/engine/completed.h"
#include "nic/queue/connected.h"
#include "nic/queue/cq.h"
#include "nic/memory/domain.h"
#include "nic/requester/flight.h"
#include "nic/congestion/flow.h"
#include "nic/queue/mcast.h"
#include "nic/memory/mw.h"
#include "nic/engine/protocol.h"
#include "nic/queue/qp.h"
#include "nic/queue/qp_complete.h"
#include "nic/queue/qpn.h"
#include "nic/responder/ack.h"
#include "nic/requester/retransmit.h"
#include "nic/requester/selective.h"
#include "nic/queue/srq.h"
#include "nic/queue/unreliable.h"
#include "nic/fast/unusual.h"

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static int service_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return ADV_SERVICE_RC;
	case IBV_QPT_UC:
		return ADV_SERVICE_UC;
	case IBV_QPT_UD:
		return ADV_SERVICE_UD;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return ADV_SERVICE_XRC;
	default:
		return -1;
	}
}

/* Removes members that the QP type does not use from the configuration (A14.3). XRC_SEND receives
 * nothing. XRC_RECV uses the PD, CQ and receive requests of the SRQs in its domain. */
static void drop_unused(struct adv_qp_config *c)
{
	if (c->type != IBV_QPT_XRC_RECV)
		c->xrcd = NULL;
	if (c->type == IBV_QPT_XRC_SEND) {
		c->recv_cq = c->send_cq;
		c->srq = NULL;
		c->cap.max_recv_wr = c->cap.max_recv_sge = 0;
	} else if (c->type == IBV_QPT_XRC_RECV) {
		c->pd = NULL;
		c->send_cq = c->recv_cq = NULL;
		c->srq = NULL;
		memset(&c->cap, 0, sizeof(c->cap));
	}
}

/* Checks the sizes of the queues. 0 or EINVAL. */
static int check_capacities(const struct adv_qp_config *c)
{
	const struct {
		const char *name;
		uint32_t value;
		uint32_t limit;
	} sizes[] = {
		{"max_send_wr", c->cap.max_send_wr, ADV_MAX_QP_WR},
		{"max_send_sge", c->cap.max_send_sge, ADV_MAX_SGE},
		{"max_inline_data", c->cap.max_inline_data, ADV_MAX_INLINE},
		{"max_recv_wr", c->srq ? 0 : c->cap.max_recv_wr, ADV_MAX_QP_WR},
		{"max_recv_sge", c->srq ? 0 : c->cap.max_recv_sge, ADV_MAX_SGE},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(sizes); i++)
		if (sizes[i].value > sizes[i].limit)
			return adv_reason(EINVAL, "cap.%s %u is above %u, the limit of the device",
					  sizes[i].name, sizes[i].value, sizes[i].limit);
	return 0;
}

/* Checks the configuration. 0, and the opcodes of the QP, or errno. */
static int check_config(const struct adv_engine *e, const struct adv_qp_config *c,
			uint32_t *opcodes)
{
	if (service_of(c->type) < 0 || !e->protocol->supports(c->type, opcodes))
		return adv_reason(EOPNOTSUPP, "qp_type %d does not exist here", (int)c->type);
	if (c->type == IBV_QPT_XRC_RECV)
		return c->xrcd ? 0 : EINVAL;
	if (!c->pd || !c->send_cq || !c->recv_cq)
		return EINVAL;
	return check_capacities(c);
}

/* Rounds the requested queue sizes up. A size of 0 stays 0: the queue does not exist. */
static void size_queues(struct adv_qp *qp, struct ibv_qp_cap *cap)
{
	uint32_t data = cap->max_send_sge * (uint32_t)sizeof(struct ibv_sge);

	if (data < cap->max_inline_data)
		data = cap->max_inline_data;
	data = (data + 15) & ~15u;
	qp->sq.size = cap->max_send_wr ? power_of_two(cap->max_send_wr) : 0;
	qp->sq.max_sge = cap->max_send_sge;
	/* inline data may use the room of the SGEs, because some programs rely on it */
	qp->sq.max_inline = cap->max_inline_data = data;
	qp->sq.stride = (uint32_t)sizeof(struct adv_send_wqe) + data;
	cap->max_send_wr = qp->sq.size;
	if (qp->srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
	qp->rq.size = cap->max_recv_wr ? power_of_two(cap->max_recv_wr) : 0;
	qp->rq.max_sge = cap->max_recv_sge;
	qp->rq.stride = (uint32_t)(sizeof(struct adv_recv_wqe) +
				   cap->max_recv_sge * sizeof(struct ibv_sge));
	cap->max_recv_wr = qp->rq.size;
}

/* Counts the QP as a user of its objects. */
static void hold_objects(struct adv_qp *qp)
{
	if (qp->xrcd) {
		qp->xrcd->users++;
		return;
	}
	qp->pd->users++;
	qp->send_cq->users++;
	qp->recv_cq->users++;
	if (qp->srq)
		qp->srq->users++;
}

static void release_objects(struct adv_qp *qp)
{
	if (qp->xrcd) {
		qp->xrcd->users--;
		return;
	}
	qp->pd->users--;
	qp->send_cq->users--;
	qp->recv_cq->users--;
	if (qp->srq)
		qp->srq->users--;
}

struct adv_qp *adv_qp_create(struct adv_engine *e, struct adv_qp_config *config)
{
	struct adv_qp *qp;
	uint32_t opcodes;

	drop_unused(config);
	errno = check_config(e, config, &opcodes);
	if (errno)
		return NULL;
	errno = ENOMEM;
	qp = adv_lines_calloc(sizeof(*qp));
	if (!qp)
		return NULL;
	if (adv_timers_reserve(&e->timers)) {
		free(qp);
		return NULL;
	}
	if (adv_qp_number_take(e, qp)) {
		adv_timers_release(&e->timers);
		free(qp);
		return adv_reason_no_object(ENOMEM, "no queue pair number is left (max_qp)");
	}
	qp->engine = e;
	qp->type = config->type;
	qp->opcodes = opcodes;
	qp->service = (uint8_t)service_of(qp->type);
	qp->reliable = qp->service == ADV_SERVICE_RC || qp->service == ADV_SERVICE_XRC;
	qp->xrcd = config->xrcd;
	qp->pd = config->pd;
	qp->send_cq = config->send_cq;
	qp->recv_cq = config->recv_cq;
	qp->srq = config->srq;
	qp->user = config->user;
	qp->sq_sig_all = config->sq_sig_all;
	qp->block_self_multicast = config->block_self_multicast;
	size_queues(qp, &config->cap);
	qp->attr.cap = config->cap;
	qp->state = IBV_QPS_RESET;
	adv_timer_init(&qp->req.timer,
		       qp->reliable ? adv_retransmit_timer_expired : adv_unreliable_rate_expired);
	adv_affiliated_init(&qp->events, qp);
	adv_list_init(&qp->tx_node);
	adv_list_init(&qp->delay_node);
	adv_list_init(&qp->stall_node);
	adv_list_init(&qp->windows);
	adv_list_add_tail(&e->qps, &qp->node);
	adv_completed_init(qp);
	hold_objects(qp);
	adv_qp_review(qp);
	e->work.qps_created++;
	return qp;
}

bool adv_qp_in_use(const struct adv_qp *qp)
{
	return adv_mcast_is_member(qp);
}

int adv_qp_destroy(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;

	if (adv_qp_in_use(qp))
		return adv_reason(EBUSY, "it is in a multicast group: ibv_detach_mcast() first");
	adv_qp_clear(qp);
	adv_timer_remove(&e->timers, &qp->req.timer);
	adv_timers_release(&e->timers);
	adv_affiliated_forget(&qp->events);
	adv_qp_number_release(e, qp->qpn);
	adv_list_del(&qp->node);
	release_objects(qp);
	e->work.qps_destroyed++;
	adv_completed_free(qp);
	free(qp);
	return 0;
}

/* Releases the receive request of an incomplete message without a completion. */
static void drop_recv(struct adv_qp *qp)
{
	if (qp->resp.recv && qp->srq)
		adv_srq_release(qp->srq, qp->resp.recv);
	qp->resp.recv = NULL;
}

void adv_qp_clear(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;
	struct adv_timer timer;

	/* With RoCE, this removes the flow's timer, which may move other timers in the heap. */
	e->protocol->forget(qp);
	drop_recv(qp);
	adv_mw_forget(qp);
	for (; qp->type == IBV_QPT_UD && qp->sq.tail != qp->sq.head; qp->sq.tail++)
		adv_ah_release(e, adv_send_wqe_at(qp, qp->sq.tail)->ah);
	if (!qp->xrcd) {
		adv_cq_purge(qp->send_cq, qp);
		adv_cq_purge(qp->recv_cq, qp);
	}
	adv_timer_cancel(&qp->req.timer);
	timer = qp->req.timer;
	adv_list_del(&qp->tx_node);
	adv_list_del(&qp->stall_node);
	qp->resp.dead = false; /* no READ is answered any more */
	/* Gives back the QP's share of total_window: other QPs may wait for it. */
	if (qp->reliable)
		adv_flight_abandon(qp);
	free(qp->sq.ring);
	free(qp->rq.ring);
	free(qp->req.rd_end);
	free(qp->resp.res);
	adv_selective_end(qp);
	qp->sq.ring = NULL;
	qp->rq.ring = NULL;
	qp->sq.fast_room = qp->rq.fast_room = 0;
	qp->sq.head = qp->sq.next = qp->sq.tail = qp->sq.freed = 0;
	qp->rq.head = qp->rq.next = qp->rq.freed = 0;
	memset(&qp->req, 0, sizeof(qp->req));
	adv_responder_ack_forget(qp);
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->req.timer = timer;
	qp->last_wqe_reported = false;
	memset(&qp->error, 0, sizeof(qp->error));
	adv_qp_set_state(qp, IBV_QPS_RESET);
}

void adv_qp_reset(struct adv_qp *qp)
{
	struct ibv_qp_cap cap = qp->attr.cap;

	adv_qp_clear(qp);
	qp->sqd_event_wanted = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->attr.cap = cap;
	adv_qp_review(qp);
}

bool adv_qp_modify_ended(struct adv_qp *qp, uint64_t now, enum ibv_qp_state next, int mask)
{
	if (next != IBV_QPS_RESET && next != IBV_QPS_ERR)
		return false;
	if (mask & IBV_QP_STATE) {
		if (next == IBV_QPS_RESET)
			adv_qp_reset(qp);
		else
			adv_qp_enter_error(qp, now);
	}
	return true;
}

uint32_t adv_qp_num(const struct adv_qp *qp)
{
	return qp->qpn;
}

uint32_t adv_qp_recvs_taken(const struct adv_qp *qp)
{
	return qp->rq.next;
}

uint32_t adv_qp_sends_ended(const struct adv_qp *qp)
{
	return qp->sq.tail;
}

enum ibv_qp_state adv_qp_state(const struct adv_qp *qp)
{
	return qp->state;
}

uint32_t adv_qp_rate_limit(struct adv_qp *qp, uint64_t now)
{
	return (uint32_t)((adv_flow_rate(qp, now) + 999) / 1000);
}

void *adv_qp_user(const struct adv_qp *qp)
{
	return qp->user;
}

void adv_qp_set_user(struct adv_qp *qp, void *user)
{
	qp->user = user;
}
