/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of a queue pair. As the notification point it answers marked packets with
 * CNPs; as the reaction point it obeys the peer's CNPs. A queue pair gets a flow at the first mark
 * or CNP. From then on its requests and READ responses keep to the flow's rate. Without a flow, the
 * cost is one test of a pointer.
 *
 * window.c reacts to losses, for all reliable queue pairs.
 */
#ifndef ADV_TRANSPORT_FLOW_H
#define ADV_TRANSPORT_FLOW_H

#include "transport/dcqcn.h"
#include "transport/pacer.h"
#include "transport/qp_state.h"

struct adv_flow {
	struct adv_path cnp_path; /* the QP's, with the DSCP of CNPs */
	uint64_t cnp_after;	  /* no further CNP before this time */
	bool cnp_due;
	bool turn; /* requests go before responses */
	struct adv_dcqcn dcqcn;
	struct adv_pacer pacer;
	struct adv_qp *qp;
	struct adv_timer pace_timer; /* the rate allows the next packet */
};

/* A marked packet from the QP's peer arrived. */
void adv_flow_marked(struct adv_qp *qp, uint64_t now, const struct adv_bth *bth);
/* A CNP from the QP's peer arrived. */
void adv_flow_on_cnp(struct adv_qp *qp, uint64_t now);
/* Adds the due CNP, if any, to the batch, which has room. */
void adv_flow_send_cnp(struct adv_qp *qp, struct adv_tx_batch *batch);
/* Adds packets of a QP that has a flow to the batch, which has room. False: no rate limits the QP
 * now, and the caller adds its packets. */
bool adv_flow_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
/* The QP is reset or destroyed: frees the flow, if there is one. */
void adv_flow_free(struct adv_qp *qp);
/* Returns the current rate limit, kb/s; 0: none. */
uint64_t adv_flow_rate(struct adv_qp *qp, uint64_t now);

#endif
