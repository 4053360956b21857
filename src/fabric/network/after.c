/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Transfers and computations that begin when others have arrived or ended. */
#include <errno.h>
#include <stdlib.h>

#include "fabric/network/internal.h"
#include "base/grow.h"

#define BTH_QPN		   5 /* offset of the destination QP number in the BTH */
#define MSN_MASK	   0xffffffu
#define EDGES_MOST	   UINT32_MAX
#define MESSAGES(p, bytes) (((bytes) + (p)->config.message - 1) / (p)->config.message)

/* Begins a job for which nothing is left to wait. */
static void begin_job(struct adv_fabric *f, uint32_t job)
{
	f->job[job].state.start = f->now;
	adv_fabric_at(f, f->now, ADV_DUE_START, job);
}

void adv_fabric_release(struct adv_fabric *f, uint32_t job, enum ibv_wc_status status)
{
	uint32_t e = f->job[job].waiters;

	f->job[job].arrived = true;
	f->job[job].waiters = ADV_NO_JOB;
	for (; e != ADV_NO_JOB; e = f->edge[e].next) {
		struct adv_fabric_job *waiter = &f->job[f->edge[e].job];

		waiter->cancelled |= status != IBV_WC_SUCCESS;
		if (--waiter->waits == 0)
			begin_job(f, f->edge[e].job);
	}
}

/* ---- arrivals ---- */

/* Counts the messages that the target has received. Its own count has 24 bits. */
static void count_messages(struct adv_fabric_peer *p)
{
	p->received_messages +=
		(adv_qp_messages(p->qp[1]) - (uint32_t)p->received_messages) & MSN_MASK;
}

/* Releases the waiters of the transfers whose last message has arrived. */
static void check_arrivals(struct adv_fabric *f, struct adv_fabric_peer *p)
{
	count_messages(p);
	while (p->arriving != ADV_NO_JOB && f->job[p->arriving].state.bytes != UINT64_MAX) {
		uint64_t end = p->arrived_messages + MESSAGES(p, f->job[p->arriving].state.bytes);
		uint32_t job = p->arriving;

		if (end > p->received_messages)
			return;
		p->arrived_messages = end;
		p->arriving = f->job[job].next;
		adv_fabric_release(f, job, IBV_WC_SUCCESS);
	}
}

struct adv_fabric_peer *adv_fabric_peer_of(const struct adv_fabric *f,
					   const struct adv_fabric_host *h, uint32_t qpn)
{
	const struct adv_qp *qp = adv_engine_find_qp(h->engine, qpn);
	uint32_t index = qp ? (uint32_t)(uintptr_t)adv_qp_user(qp) : UINT32_MAX;

	return index < f->peers ? &f->peer[index] : NULL;
}

void adv_fabric_arrive(struct adv_fabric *f, const struct adv_fabric_host *h,
		       const struct adv_packet *packet)
{
	const uint8_t *qpn = packet->header + BTH_QPN;
	struct adv_fabric_peer *p =
		adv_fabric_peer_of(f, h, (uint32_t)qpn[0] << 16 | (uint32_t)qpn[1] << 8 | qpn[2]);

	if (p && p->awaited)
		check_arrivals(f, p);
}

void adv_fabric_arriving(struct adv_fabric *f, uint32_t connection, uint32_t job)
{
	if (f->peer[connection].awaited && f->peer[connection].arriving == ADV_NO_JOB)
		f->peer[connection].arriving = job;
}

/* From now on, notices the arrivals of the connection. A READ's data has arrived when it ends. */
static void watch_arrivals(struct adv_fabric *f, struct adv_fabric_peer *p)
{
	uint64_t done = p->first == ADV_NO_JOB ? 0 : f->job[p->first].state.done;

	if (p->awaited || p->config.operation == ADV_FABRIC_READ)
		return;
	f->awaited = p->awaited = true;
	p->arriving = p->first;
	p->received_messages = p->posted_messages - p->outstanding;
	p->arrived_messages = p->received_messages - MESSAGES(p, done);
	check_arrivals(f, p);
}

/* ---- waiting ---- */

/* Lets `job` wait for `before`, unless that has arrived already. */
static int wait_for(struct adv_fabric *f, uint32_t job, uint32_t before)
{
	struct adv_fabric_job *b = &f->job[before];

	if (b->state.connection != ADV_FABRIC_COMPUTATION)
		watch_arrivals(f, &f->peer[b->state.connection]);
	if (b->state.end != ADV_CALENDAR_NEVER && b->state.status != IBV_WC_SUCCESS)
		f->job[job].cancelled = true;
	if (b->arrived || b->state.end != ADV_CALENDAR_NEVER)
		return 0;
	if (!adv_grow(&f->edge, f->edges, &f->edge_room, sizeof(*f->edge)))
		return ENOMEM;
	f->edge[f->edges] = (struct adv_fabric_edge){job, b->waiters};
	b->waiters = f->edges++;
	f->job[job].waits++;
	return 0;
}

int adv_fabric_wait(struct adv_fabric *f, uint32_t job, const uint32_t *after, uint32_t count)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < count; i++)
		err = wait_for(f, job, after[i]);
	if (!err && f->job[job].waits == 0)
		begin_job(f, job);
	return err;
}
