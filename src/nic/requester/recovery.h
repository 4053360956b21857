/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recovery of a queue pair from a loss: go-back-N as in IBTA 9.7, the same with a window that
 * losses do not reduce (adv_engine_config.fixed_window), or go-back-0, which restarts the whole
 * message at both ends (adv_engine_config.go_back_0). */
#ifndef ADV_NIC_REQUESTER_RECOVERY_H
#define ADV_NIC_REQUESTER_RECOVERY_H

#include "nic/queue/qp_state.h"

struct adv_recovery {
	/* The requester. */
	bool nak_costs_retry; /* each NAK costs a retry; false: NAKs repeat a message without limit
			       */
	bool nak_counts_once; /* further NAKs of one loss are ignored */
	bool duplicate_ack_counts;  /* a duplicate ACK shows that the peer is alive and restores the
				       retries */
	bool one_packet_at_timeout; /* after a timeout one packet is sent; the others follow its
				       acknowledgement */
	/* Prepares the retransmission from psn on, because of `why`. Returns the first PSN to
	 * retransmit. */
	uint32_t (*go_back)(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why);
	/* The responder. */
	/* Returns the oldest PSN that the responder may not acknowledge yet. */
	uint32_t (*unfinished_psn)(const struct adv_qp *qp);
	/* Called when a request cannot be accepted now. Go-back-0 drops the received part of the
	 * message in progress, because the message will restart. */
	void (*drop_unfinished)(struct adv_qp *qp);
	/* True if a request with this old PSN begins the message in progress again. Then drops the
	 * received part of that message. */
	bool (*begins_again)(struct adv_qp *qp, uint32_t psn);
};

extern const struct adv_recovery adv_recovery_go_back_n;
extern const struct adv_recovery adv_recovery_fixed_window;
extern const struct adv_recovery adv_recovery_go_back_0;

#endif
