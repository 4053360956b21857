/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_STORAGE_NFS_GATEWAY_REVERSE_INTERNAL_H
#define ADV_STORAGE_NFS_GATEWAY_REVERSE_INTERNAL_H

#include "storage/nfs_gateway/reverse.h"
#include "storage/nfs_gateway/session_internal.h"

struct adv_nfs_reverse_call {
	struct adv_list link;
	struct adv_nfs_session *session;
	struct adv_rpc_call rpc;
	uint64_t begun;	 /* of adv_clock_ns(): when it arrived */
	uint8_t *buffer; /* ADV_NFS_HEADER_ROOM before the message: what is sent inline */
	size_t size, length;
	uint8_t *reply; /* ADV_NFS_HEADER_ROOM for what arrives inline, and memory for chunks */
	size_t reply_size;
	struct ibv_mr *call_mr, *reply_mr; /* what the server may read and write */
	bool in_flight;			   /* it uses a credit */
	bool sending;			   /* its work is posted */
	bool answered, replying;	   /* its reply is known; is in the stream */

	struct adv_kit_work work;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct adv_stream_out out;
	struct iovec parts[ADV_RPCRDMA_PIECES_MAX];
	uint8_t failed[ADV_RPC_FAILED_LEN];
};

/* There are buffers, or fewer calls: the stream may go on. */
void adv_nfs_reverse_unblock(struct adv_nfs_session *s);

/* --- calls and replies --- */

/* A call of the client. Owns the buffer, which has ADV_NFS_HEADER_ROOM before the message.
 * False: it is no call, and the buffer is freed. */
bool adv_nfs_reverse_add_call(struct adv_nfs_session *s, uint8_t *buffer, size_t size,
			      size_t length);
/* Sends the calls for which there are credits and memory. */
void adv_nfs_reverse_send_calls(struct adv_nfs_session *s);
/* It is the session's turn to get memory for a reply: sends one call. */
bool adv_nfs_reverse_take_reply_turn(struct adv_kit_turn *t);
/* A reply or an error of the server. */
void adv_nfs_reverse_reply(struct adv_nfs_session *s, const struct adv_rpcrdma_header *h,
			   const uint8_t *body, size_t length);
/* The connection to the server has ended: its calls wait for the next one. */
void adv_nfs_reverse_take_back(struct adv_nfs_session *s);
/* True if a call has no reply. */
bool adv_nfs_reverse_has_calls(const struct adv_nfs_session *s);
/* Frees all calls. The connections are gone. */
void adv_nfs_reverse_free_calls(struct adv_nfs_session *s);

#endif
