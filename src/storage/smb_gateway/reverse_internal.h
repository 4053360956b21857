/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_STORAGE_SMB_GATEWAY_REVERSE_INTERNAL_H
#define ADV_STORAGE_SMB_GATEWAY_REVERSE_INTERNAL_H

#include "storage/smb_gateway/direct.h"
#include "storage/smb_gateway/reverse.h"
#include "storage/smb_gateway/stats.h"
#include "storage/smb2/offload.h"
#include "storage/gateway/memory.h"
#include "storage/gateway/peer.h"
#include "storage/kit/stream.h"

struct adv_smb_reverse {
	struct adv_list link; /* gateway->sessions */
	struct adv_gateway *gateway;
	struct adv_kit_device *device;	     /* NULL: not connected to the server yet */
	struct adv_gateway_buffers *buffers; /* of the device */
	struct adv_smb_direct *direct;
	struct adv_stream *stream; /* NULL: the client is gone */
	bool closing;
	/* For memory of messages of the server, and of the stream. */
	struct adv_kit_turn message_turn, record_turn;
	bool offload;	       /* the server has chosen a dialect with RDMA channels */
	struct adv_list calls; /* struct adv_smb_reverse_call */
	unsigned call_count;
	struct adv_gateway_client *client; /* gateway->stats */
	struct adv_smb_times times;
	char peer[ADV_GATEWAY_PEER];
};

/* Ends the connections of a session. why: for a message, or NULL. */
void adv_smb_reverse_end(struct adv_smb_reverse *s, const char *why);

/* A message of the client, in a buffer for calls: sends it to the server. */
void adv_smb_reverse_call(struct adv_smb_reverse *s, uint8_t *buffer, size_t size, size_t length);
/* A message of the server, from adv_smb_message_get(): sends it to the client. */
void adv_smb_reverse_response(struct adv_smb_reverse *s, uint8_t *message, size_t length);
/* Frees all calls. The connections are gone. */
void adv_smb_reverse_free_calls(struct adv_smb_reverse *s);

#endif
