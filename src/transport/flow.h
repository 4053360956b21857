/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of a queue pair. As the notification point, the QP answers marked packets with
 * CNPs. As the reaction point, it reduces its rate when the peer sends CNPs. The first mark or CNP
 * creates a flow for the QP. From then on, the flow's rate limits requests and READ responses. For
 * a QP without a flow, the cost is one test of a pointer.
 *
 * window.c reacts to losses, for all reliable queue pairs.
 */
#ifndef ADV_TRANSPORT_FLOW_H
#define ADV_TRANSPORT_FLOW_H

#include "transport/congestion_control.h"
#include "transport/pacer.h"
#include "transport/qp_state.h"

struct adv_flow {
	struct adv_path cnp_path; /* path of the QP, but with the DSCP of CNPs */
	uint64_t cnp_after;	  /* earliest time of the next CNP */
	bool cnp_due;
	bool turn;	  /* in the QP's next turn, requests go before responses */
	struct adv_cc cc; /* state of the engine's algorithm */
	struct adv_pacer pacer;
	struct adv_qp *qp;
	struct adv_timer pace_timer; /* expires when the rate allows the next packet */
};

/* Handles a marked packet from the QP's peer: queues a CNP if one is permitted now. */
void adv_flow_marked(struct adv_qp *qp, uint64_t now, const struct adv_bth *bth);
/* Handles a CNP from the QP's peer. */
void adv_flow_on_cnp(struct adv_qp *qp, uint64_t now);
/* Adds the due CNP, if any, to the batch, which has room. */
void adv_flow_send_cnp(struct adv_qp *qp, struct adv_tx_batch *batch);
/* Adds packets of a QP with a flow to the batch, which has room. Returns false if no rate limits
 * the QP now: the caller then adds the packets. */
bool adv_flow_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
/* Frees the flow of a QP, if any. Call it before the QP is reset or destroyed. */
void adv_flow_free(struct adv_qp *qp);
/* Returns the current rate limit, kb/s; 0: none. */
uint64_t adv_flow_rate(struct adv_qp *qp, uint64_t now);

#endif
