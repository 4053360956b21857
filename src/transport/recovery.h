/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a queue pair recovers from a loss: go-back-N as in IBTA 9.7, or go-back-0, which restarts the
 * whole message at both ends (adv_engine_config.go_back_0).
 */
#ifndef ADV_TRANSPORT_RECOVERY_H
#define ADV_TRANSPORT_RECOVERY_H

#include "transport/qp_state.h"

struct adv_recovery {
	/* The requester. */
	bool nak_costs_retry;	    /* else NAKs repeat a message without end */
	bool nak_counts_once;	    /* further NAKs of one loss are ignored */
	bool duplicate_ack_counts;  /* it shows that the peer is alive */
	bool one_packet_at_timeout; /* the rest follows when that one is acknowledged */
	/* Packets from psn on are to be sent again, because of `why`. Returns the first PSN that is
	 * sent again. */
	uint32_t (*go_back)(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why);
	/* The responder. */
	/* The oldest PSN that it may not acknowledge yet. */
	uint32_t (*unfinished_psn)(const struct adv_qp *qp);
	/* A request cannot be accepted now: drops the received part of a message that restarts. */
	void (*drop_unfinished)(struct adv_qp *qp);
	/* True if a request with this old PSN begins the message in progress again, which is then
	 * dropped. */
	bool (*begins_again)(struct adv_qp *qp, uint32_t psn);
};

extern const struct adv_recovery adv_recovery_go_back_n;
extern const struct adv_recovery adv_recovery_go_back_0;

#endif
