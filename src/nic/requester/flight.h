/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts PSNs in flight: of each QP, and of all QPs of an engine together. */
#ifndef ADV_NIC_REQUESTER_FLIGHT_H
#define ADV_NIC_REQUESTER_FLIGHT_H

#include "nic/queue/qp_state.h"

static inline uint32_t adv_flight_psns(const struct adv_qp *qp)
{
	return (qp->req.next_psn - qp->req.una_psn) & ADV_PSN_MASK;
}

/* Schedules the QPs that wait for total_window, the window that all QPs share. */
void adv_flight_unstall(struct adv_engine *e);

/* Schedules them if the window has room. */
static inline void adv_flight_check_stalled(struct adv_engine *e)
{
	if (!adv_list_empty(&e->stalled) && e->in_flight < e->total_window)
		adv_flight_unstall(e);
}

/* Sets the oldest unacknowledged PSN and the next one to send. */
static inline void adv_flight_set(struct adv_qp *qp, uint32_t una, uint32_t next)
{
	struct adv_engine *e = qp->engine;

	e->in_flight -= adv_flight_psns(qp);
	qp->req.una_psn = una;
	qp->req.next_psn = next;
	e->in_flight += adv_flight_psns(qp);
	adv_flight_check_stalled(e);
}

/* As adv_flight_set(), after `acked` PSNs before una were acknowledged. */
static inline void adv_flight_acked(struct adv_qp *qp, uint32_t una, uint32_t acked)
{
	struct adv_engine *e = qp->engine;

	e->in_flight -= acked;
	qp->req.una_psn = una;
	adv_flight_check_stalled(e);
}

/* Adds the QP to the list of QPs that wait for total_window. */
void adv_flight_stall(struct adv_qp *qp);

/* Returns false if n more packets must wait, for the QP's own window or for total_window. If they
 * wait for total_window, adds the QP to the list of waiting QPs. */
static inline bool adv_flight_has_room(struct adv_qp *qp, uint32_t n)
{
	struct adv_engine *e = qp->engine;
	uint32_t own = adv_flight_psns(qp);

	if (own && own + n > qp->req.cwnd)
		return false;
	if (e->in_flight && e->in_flight + n > e->total_window) {
		adv_flight_stall(qp);
		return false;
	}
	return true;
}

/* Clears the PSNs in flight, e.g. after an error. */
void adv_flight_abandon(struct adv_qp *qp);

#endif
