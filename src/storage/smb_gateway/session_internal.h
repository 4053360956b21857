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
	struct adv_gateway_buffers *buffers;
	struct adv_smb_direct *direct;
	struct adv_stream *stream; /* NULL: not connected to the server */
	bool closing;
	/* For memory of messages of the client, of their data, and of messages of the server. */
	struct adv_kit_turn message_turn, data_turn, reply_turn;
	struct adv_smb2_requests table;
	unsigned refusals;		   /* that were reported */
	struct adv_list requests;	   /* struct adv_smb_request, until the server has them */
	struct adv_gateway_client *client; /* gateway->stats */
	struct adv_smb_times times;
	char peer[ADV_GATEWAY_PEER];
};

/* Ends the connections of a session. why: for a message, or NULL. */
void adv_smb_session_end(struct adv_smb_session *s, const char *why);

/* A message of the client, whose memory is from adv_smb_message_get(): forwards it. */
void adv_smb_request(struct adv_smb_session *s, uint8_t *message, size_t length);
/* It is the session's turn to get memory for data: one request does. */
bool adv_smb_take_data_turn(struct adv_kit_turn *t);
/* Frees all requests. The connections are gone. */
void adv_smb_free_requests(struct adv_smb_session *s);

/* A message of the server, in a buffer for replies: forwards it. */
void adv_smb_response(struct adv_smb_session *s, uint8_t *buffer, size_t size, size_t length);

#endif
