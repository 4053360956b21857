/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of a queue pair: as the notification point it answers marked packets with
 * CNPs, as the reaction point it obeys those of its peer. A queue pair gets a flow when the first
 * of either comes, and what it sends (requests and READ responses alike) keeps to the flow's rate
 * from then on; without one, it costs a look at a pointer.
 *
 * Losses are not its business: window.c has that, for all reliable queue pairs.
 */
#ifndef ADV_TRANSPORT_FLOW_H
#define ADV_TRANSPORT_FLOW_H

#include "transport/dcqcn.h"
#include "transport/pacer.h"
#include "transport/qp_state.h"

struct adv_flow {
	struct adv_path cnp_path; /* the QP's, with the DSCP of CNPs */
	uint64_t cnp_after;	  /* no further CNP before */
	bool cnp_due;
	bool turn; /* requests go first, where there are responses as well */
	struct adv_dcqcn dcqcn;
	struct adv_pacer pacer;
	struct adv_qp *qp;
	struct adv_timer pace_timer; /* the rate allows the next packet */
};

/* A marked packet came from the QP's peer. */
void adv_flow_marked(struct adv_qp *qp, uint64_t now, const struct adv_bth *bth);
/* A CNP came from the QP's peer. */
void adv_flow_on_cnp(struct adv_qp *qp, uint64_t now);
/* The CNP that it owes, if it does. The batch has room. */
void adv_flow_send_cnp(struct adv_qp *qp, struct adv_tx_batch *batch);
/* Adds packets of a QP that has a flow to the batch, which has room. False: no rate limits the QP
 * now, and the caller adds its packets. */
bool adv_flow_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
/* The QP is reset: all is forgotten. Harmless where there is no flow. */
void adv_flow_free(struct adv_qp *qp);
/* kb/s that the QP may send now; 0: no limit. */
uint64_t adv_flow_rate(struct adv_qp *qp, uint64_t now);

#endif
