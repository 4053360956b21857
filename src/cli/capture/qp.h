/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `adverb capture --qp`: which packets belong to a queue pair of a running program. */
#ifndef ADV_CLI_CAPTURE_QP_H
#define ADV_CLI_CAPTURE_QP_H

#include "cli/capture/frame.h"
#include "runtime/control/control.h"

/* An outgoing packet of a connected QP does not have the QP's own number. So the peer's number and
 * address are read from the process. */
struct adv_capture_qp {
	uint32_t qpn;
	uint32_t remote; /* QP number of the peer; 0: not known */
	struct adv_gid dgid;
	uint64_t read_at; /* time of the last attempt to read them, ns */
};

/* True if the packet was sent or received by the QP. May block for half a second, to read the QP's
 * peer. c: NULL if there is no connection now. */
bool adv_capture_qp_has(struct adv_capture_qp *qp, struct adv_control *c, uint32_t pid,
			const struct adv_tap_record *record, const struct adv_capture_frame *frame);

#endif
