/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of a stream on the wire. RoCE: an RDMA WRITE with immediate data, which is the
 * message. iWARP has no immediate data: an RDMA WRITE, if there is something to write, then a SEND
 * of the four bytes of the message in the sender's byte order, as rdma-core does.
 *
 * A SEND that finds no receive request ends an iWARP connection. Credits count only messages with
 * data. So on iWARP, each end posts more receive requests than it grants credits, and does not use
 * all credits that it is granted.
 */
#ifndef ADV_ABI_RSOCKET_MESSAGE_H
#define ADV_ABI_RSOCKET_MESSAGE_H

#include "abi/rsocket/state.h"

/* Messages without data that a peer may send before this end polls: at most two offers of memory,
 * two returns of credits, and the end of the stream. */
#define ADV_RS_SPARE_RECEIVES 8

/* Decides, before the queue pair is made, by the device of rs->s.id. */
void adv_rs_message_choose(struct adv_rsocket *rs);
/* Returns the receive requests of the queue pair. Call it after adv_rs_message_choose(). */
uint32_t adv_rs_message_receives(const struct adv_rsocket *rs);
/* Returns the messages that a send queue of `size` requests can hold. */
uint32_t adv_rs_message_sends(const struct adv_rsocket *rs, uint32_t size);
/* Returns the newest `seq` of this end that a peer's grant up to `limit` permits. */
uint16_t adv_rs_message_limit(const struct adv_rsocket *rs, uint16_t limit);
/* Allocates what received messages need, once the protection domain exists. 0; or -1 and errno. */
int adv_rs_message_make(struct adv_rsocket *rs);

/*
 * Posts a message with the WRITE that *write describes: its wr_id, memory and flags. The message
 * completes once, with that wr_id. 0 or errno. The caller owns a place in the send queue; no lock
 * is needed.
 */
int adv_rs_message_post(struct adv_rsocket *rs, uint32_t msg, struct ibv_send_wr *write);
/* Posts a receive request. 0 or errno. Lock held. */
int adv_rs_message_post_receive(struct adv_rsocket *rs);
/* Reads a received message. *written: the bytes that came with it; on iWARP, those that the message
 * names, because nothing else is known. False: it is no message. */
bool adv_rs_message_read(const struct adv_rsocket *rs, const struct ibv_wc *wc, uint32_t *msg,
			 uint32_t *written);

#endif
