/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of a queue pair. As the notification point, the QP answers marked packets with
 * CNPs. As the reaction point, it reduces its rate when the peer sends CNPs. The first mark or CNP
 * creates a flow for the QP, or with some algorithms its beginning (struct adv_cc_ops). From then
 * on, the flow's rate limits requests and READ responses, and its window limits requests. For a QP
 * without a flow, the cost is one test of a pointer.
 *
 * window.c reacts to losses, for all reliable queue pairs.
 */
#ifndef ADV_NIC_CONGESTION_FLOW_H
#define ADV_NIC_CONGESTION_FLOW_H

#include "nic/congestion/congestion_control.h"
#include "nic/engine/incoming.h"
#include "nic/congestion/pacer.h"
#include "nic/queue/qp_state.h"
#include "nic/congestion/round_trip.h"

/* What each turn needs comes first. */
struct adv_flow {
	struct adv_timer pace_timer; /* expires when the rate allows the next packet */
	struct adv_qp *qp;
	uint64_t rate; /* cc.rate by the clock; 0: no limit */
	struct adv_pacer pacer;
	struct adv_cc cc; /* state of the engine's algorithm, by the network's time */
	bool cnp_due;
	bool turn;	    /* in the QP's next turn, requests go before responses */
	uint32_t round_psn; /* a round trip ends when this PSN is acknowledged */
	uint64_t cnp_after; /* earliest time of the next CNP */
	struct adv_round_trips round_trips;
	struct adv_telemetry *echo;	    /* of the newest request of the peer; NULL: none */
	const struct adv_telemetry *echoed; /* of the ACK that is received now; NULL: none */
	struct adv_path cnp_path;	    /* path of the QP, but with the DSCP of CNPs */
} __attribute__((aligned(ADV_CACHE_LINE)));

/* Handles a marked packet from the QP's peer: queues a CNP if one is permitted now, or lets the
 * next ACK carry the mark. */
void adv_flow_marked(struct adv_qp *qp, uint64_t now, const struct adv_bth *bth);
/* Starts congestion control when the QP enters RTS, if the algorithm begins then. Returns 0 or
 * ENOMEM. */
int adv_flow_start(struct adv_qp *qp);
/* Returns the QP's flow, and creates it if there is none; NULL: no memory. */
struct adv_flow *adv_flow_of(struct adv_qp *qp);
/* Returns what an algorithm knows of the QP. */
struct adv_cc_link adv_flow_link(const struct adv_qp *qp);
/* Handles a CNP from the QP's peer. */
void adv_flow_on_cnp(struct adv_qp *qp, uint64_t now);
/* Adds the due CNP, if any, to the batch, which has room. */
void adv_flow_send_cnp(struct adv_qp *qp, struct adv_tx_batch *batch);
/* Adds packets of a QP with a flow to the batch, which has room. Returns false if no rate limits
 * the QP now: the caller then adds the packets. */
bool adv_flow_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
/* Frees the flow of a QP, if any. Call it before the QP is reset or destroyed. */
void adv_flow_free(struct adv_qp *qp);
/* Sets f->rate after a call of the algorithm, and adjusts the pacer to the change from the rate
 * `before` at the time `at`. */
void adv_flow_rate_changed(struct adv_flow *f, uint64_t before, uint64_t at);
/* Returns the current rate limit by the clock, kb/s; 0: none. */
uint64_t adv_flow_rate(struct adv_qp *qp, uint64_t now);

/* ---- flow_ack.c: algorithms that react to ACKs ---- */

/* Passes an acknowledgement to the algorithm, before the QP handles it. */
void adv_flow_on_ack(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);

#endif
