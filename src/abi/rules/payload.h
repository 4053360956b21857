/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules on the buffers of requests between posting and completion: send-buffer-changed,
 * receive-buffer-changed, receive-buffer-reused, and unmapped-while-registered if memory is no
 * longer mapped. At most 64 KiB of a send request are hashed: all of a shorter one, else windows of
 * 4 KiB at equal distances; of a receive its first 4 KiB. All calls need the lock of report.h.
 */
#ifndef ADV_ABI_RULES_PAYLOAD_H
#define ADV_ABI_RULES_PAYLOAD_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* A request is being posted: notes the contents of its buffers. */
void adv_check_payload_posted(const struct adv_check_queue *queue, struct adv_check_work *w);
/* A send request has ended, without an error or with one. */
void adv_check_payload_sent(struct adv_check_call *call, const struct adv_check_qp *qp,
			    const struct adv_check_work *w);
/* The program has polled the completion of a message: compares those send requests of UD and UC
 * queue pairs that the device has finished. They are not sent again. The message may be an answer
 * to one of them, and then the program may use the buffer without a completion. */
void adv_check_payloads_answered(struct adv_check_call *call);
/* The program makes a call: compares receive buffers with their contents at posting, one of each of
 * the oldest queue pairs. */
void adv_check_receive_buffers(struct adv_check_call *call);
/* A request is being posted that uses memory while `recvs` are posted. Returns true if it shares
 * memory with one of them. */
bool adv_check_buffer_reused(struct adv_check_call *call, const struct adv_check_queue *recvs,
			     const struct adv_check_work *w);

#endif
