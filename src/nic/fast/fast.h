/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fast path: one message from its post to its completion. These are its steps, in the order in
 * which the message travels:
 *
 *	1. post		the request is copied into the send queue		send.c
 *	2. send		the queue pair's turn: the request becomes packets	request.c
 *	3. receive	the peer checks a packet and places its payload		receive.c
 *	4. complete	the peer completes a receive request and owes an ACK
 *	5. acknowledge	the peer's turn sends the ACK				send.c
 *	6. finish	the requester completes the request			receive.c
 *
 * It serves RC queue pairs whose summary word (unusual.h) has no bit for the step. Requests are
 * SENDs and WRITEs of at most one SGE; packets have the expected PSN. All else takes the general
 * path, which decides what is right: post.c, requester.c, responder.c, completer.c. Each step
 * checks everything before it changes something, so it can leave a request or a packet to the
 * general path until then. Both have the same results: tests/nic/sim/simulate --compare checks
 * this.
 *
 * send.c and receive.c also define adv_qp_post_send(), adv_qp_post_recv(),
 * adv_engine_tx() and adv_engine_rx(), where messages enter the fast path.
 */
#ifndef ADV_NIC_FAST_FAST_H
#define ADV_NIC_FAST_FAST_H

#include "nic/fast/unusual.h"

#endif
