/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the queue pairs of an engine do on the wire. An engine has one protocol, and all its queue
 * pairs have it: RoCE (roce.c), or another one that the engine's owner passes to
 * adv_engine_create(). Queues, completions, memory keys, and the states RESET and ERR are common.
 *
 * The fast path (fast.h) is RoCE's, and does not look at this table. An engine with another
 * protocol needs adv_engine_config.no_fast_path.
 */
#ifndef ADV_NIC_ENGINE_PROTOCOL_H
#define ADV_NIC_ENGINE_PROTOCOL_H

#include "nic/queue/qp_state.h"

struct adv_protocol {
	/* Sets *opcodes to the send opcodes of a type of queue pair, one bit each. False: there is
	 * no such type. */
	bool (*supports)(enum ibv_qp_type type, uint32_t *opcodes);
	/*
	 * Changes the state and the attributes of a QP (ibv_modify_qp); `mask` may lack
	 * IBV_QP_STATE. 0, or EINVAL or ENOMEM with a reason and without any effect. RESET and ERR
	 * are adv_qp_clear() and adv_qp_enter_error().
	 */
	int (*modify)(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);
	/* Gives a scheduled QP (adv_qp_schedule()) its turn to send. It may add packets to the
	 * batch, which has room. A QP that schedules itself must have added a packet. */
	void (*turn)(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
	/* Frees what the protocol holds for a QP, before the QP is reset or destroyed. */
	void (*forget)(struct adv_qp *qp);
};

extern const struct adv_protocol adv_protocol_roce;

#endif
