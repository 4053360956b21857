/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection of SMB Direct (MS-SMBD, section 3.1) at either end: negotiation, credits, messages
 * of the upper layer in fragments, keep-alive. It makes no system call; received messages and the
 * time (ms, of any clock that does not go back) are passed in, and the caller sends what
 * adv_smbd_next() gives it. The caller reassembles: it knows from the first fragment how long the
 * message is. One thread.
 */
#ifndef ADV_STORAGE_SMBDIRECT_CONNECTION_H
#define ADV_STORAGE_SMBDIRECT_CONNECTION_H

#include "storage/smbdirect/message.h"

#define ADV_SMBD_NEVER UINT64_MAX

struct adv_smbd_config {
	bool accepts; /* the peer has connected, and begins the negotiation */
	/* Receives for data transfer messages. The negotiation needs one more. */
	uint16_t receive_credits;
	uint16_t send_credits;		  /* to request of the peer */
	uint32_t send_size, receive_size; /* the longest SEND each way, bytes */
	uint32_t fragmented_size;	  /* the longest message that is received, bytes */
	uint32_t read_write_size;	  /* the longest RDMA transfer of a request, bytes */
	unsigned negotiate_ms;		  /* to the end of the negotiation */
	unsigned keepalive_ms;		  /* of silence, until the peer is asked to respond */
	unsigned response_ms;		  /* in which it has to do so */
};

enum adv_smbd_state { ADV_SMBD_NEGOTIATING, ADV_SMBD_READY, ADV_SMBD_FAILED };

/* The members are private, except those with a comment here. */
struct adv_smbd {
	enum adv_smbd_state state; /* FAILED: the caller ends the connection */
	const char *reason;	   /* of FAILED: what the peer did */
	struct adv_smbd_config config;
	uint32_t send_size;	  /* the longest SEND, bytes */
	uint32_t fragmented_size; /* the longest message that the peer receives, bytes */
	uint32_t read_write_size; /* the longest RDMA transfer that both support, bytes */

	bool negotiation_due;
	uint32_t refusal;
	uint64_t deadline, grant_at;
	bool asked, ask;
	bool respond;

	uint32_t send_credits;
	uint32_t out_length, out_sent;

	uint32_t granted, held;
	uint16_t goal;
	bool data_since;
	bool grant_now;
	uint32_t in_length, in_received;
};

/* A part of a message of the upper layer. */
struct adv_smbd_fragment {
	const uint8_t *data; /* in the received message */
	uint32_t length;
	uint32_t offset; /* in the message of the upper layer */
	uint32_t total;	 /* bytes of that message */
};

/* A message to send: the head, then a part of the present message of the upper layer. */
struct adv_smbd_send {
	uint8_t head[ADV_SMBD_RESPONSE_LEN];
	uint32_t head_length;
	uint32_t offset, length; /* of that part; length 0: only the head */
	bool last;		 /* it is the end of that message */
};

enum adv_smbd_event {
	ADV_SMBD_NOTHING,
	ADV_SMBD_NEGOTIATED, /* the connection is READY */
	ADV_SMBD_FRAGMENT,
	ADV_SMBD_BROKEN, /* the state is FAILED */
};

/* Begins. All receives are posted. */
void adv_smbd_init(struct adv_smbd *c, const struct adv_smbd_config *config, uint64_t now);

/* Handles a received message. A FRAGMENT points into it. */
enum adv_smbd_event adv_smbd_receive(struct adv_smbd *c, const uint8_t *message, size_t length,
				     uint64_t now, struct adv_smbd_fragment *fragment);
/* The receive of a message that adv_smbd_receive() got is posted again. */
void adv_smbd_reposted(struct adv_smbd *c, uint64_t now);

/* True if all of the last message of the upper layer has been sent, and the connection is READY. */
bool adv_smbd_can_begin(const struct adv_smbd *c);
/* Begins to send a message of 1 to c->fragmented_size bytes. False: it is longer. */
bool adv_smbd_begin(struct adv_smbd *c, size_t length);
/* Returns the next message to send. False: there is none, or no credit. Call it again after each of
 * the functions above, and after adv_smbd_expire(). */
bool adv_smbd_next(struct adv_smbd *c, struct adv_smbd_send *out);

/* When adv_smbd_expire() has to be called, or ADV_SMBD_NEVER. */
uint64_t adv_smbd_deadline(const struct adv_smbd *c);
void adv_smbd_expire(struct adv_smbd *c, uint64_t now);

#endif
