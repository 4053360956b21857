/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_STORAGE_SMB_GATEWAY_SESSION_INTERNAL_H
#define ADV_STORAGE_SMB_GATEWAY_SESSION_INTERNAL_H

#include "storage/smb_gateway/direct.h"
#include "storage/smb_gateway/memory.h"
#include "storage/smb_gateway/session.h"
#include "storage/smb_gateway/stats.h"
#include "storage/smb2/requests.h"
#include "storage/gateway/memory.h"
#include "storage/gateway/peer.h"
#include "storage/kit/stream.h"

struct adv_smb_session {
	struct adv_list link; /* gateway->sessions */
	struct adv_gateway *gateway;
	bool reverse; /* the client is at the stream, not at the SMB Direct connection */
	bool closing;
	struct adv_kit_device *device;	     /* NULL: there is no SMB Direct connection yet */
	struct adv_gateway_buffers *buffers; /* of the device */
	struct adv_smb_direct *direct;
	struct adv_stream *stream; /* NULL: not connected */
	/* For memory of messages of SMB Direct, and of the stream. */
	struct adv_kit_turn message_turn, stream_turn;
	struct adv_gateway_client *client; /* gateway->stats */
	struct adv_smb_times times;
	char peer[ADV_GATEWAY_PEER];

	/* Without --reverse: */
	struct adv_kit_turn data_turn; /* for memory of requests' data */
	struct adv_smb2_requests table;
	unsigned refusals;	  /* that were reported */
	struct adv_list requests; /* struct adv_smb_request, until the server has them */

	/* With --reverse: */
	bool offload;	       /* the server has chosen a dialect with RDMA channels */
	struct adv_list calls; /* struct adv_smb_reverse_call */
	unsigned call_count;
};

/* Ends the connections of a session. why: for a message, or NULL. */
void adv_smb_session_end(struct adv_smb_session *s, const char *why);

/* --- without --reverse --- */

/* A message of the client, whose memory is from adv_smb_message_get(): forwards it. */
void adv_smb_request(struct adv_smb_session *s, uint8_t *message, size_t length);
/* It is the session's turn to get memory for data: one request does. */
bool adv_smb_take_data_turn(struct adv_kit_turn *t);
/* Frees all requests. The connections are gone. */
void adv_smb_free_requests(struct adv_smb_session *s);

/* A message of the server, in a buffer for replies: forwards it. */
void adv_smb_response(struct adv_smb_session *s, uint8_t *buffer, size_t size, size_t length);

/* --- with --reverse --- */

/* A message of the client, in a buffer for calls: sends it to the server. */
void adv_smb_reverse_call(struct adv_smb_session *s, uint8_t *buffer, size_t size, size_t length);
/* A message of the server, from adv_smb_message_get(): sends it to the client. */
void adv_smb_reverse_response(struct adv_smb_session *s, uint8_t *message, size_t length);
/* Frees all calls. The connections are gone. */
void adv_smb_reverse_free_calls(struct adv_smb_session *s);

#endif
