/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes the state of a queue pair, and counts those that are connected. */
#ifndef ADV_NIC_QUEUE_CONNECTED_H
#define ADV_NIC_QUEUE_CONNECTED_H

#include "nic/engine/state.h"
#include "nic/queue/qp_state.h"

/* True in the states in which packets have an effect: in ERR, a responder still answers. */
static inline bool adv_qp_state_is_connected(enum ibv_qp_state state)
{
	return state != IBV_QPS_RESET && state != IBV_QPS_INIT;
}

/* Changes the state, and nothing else. Every change goes through here, as the engine counts its
 * connected queue pairs (adv_engine_is_connected()). */
static inline void adv_qp_set_state(struct adv_qp *qp, enum ibv_qp_state state)
{
	qp->engine->front.connected += adv_qp_state_is_connected(state);
	qp->engine->front.connected -= adv_qp_state_is_connected(qp->state);
	qp->state = state;
}

#endif
