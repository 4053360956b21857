/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client of the NFS gateway: its RDMA connection, its TCP connection to the server, and the calls
 * between them. Each call gets one reply: after the TCP connection was lost, unanswered calls are
 * sent again on the next one, as an NFS client does, and the server's reply cache tells them apart.
 */
#ifndef ADV_GATEWAY_SESSION_H
#define ADV_GATEWAY_SESSION_H

#include <sys/socket.h>

#include "gateway/peer.h"
#include "gateway/report.h"
#include "gateway/stats.h"
#include "nvme_rdma/buffers.h"
#include "ulp/endpoint.h"
#include "ulp/turn.h"

enum {
	ADV_GATEWAY_MESSAGE_MAX = (2 << 20) - 4096, /* RPC message, bytes */
	ADV_GATEWAY_HEADER_ROOM = 4096,		    /* before each reply, for what is sent inline */
	ADV_GATEWAY_BUFFER_MAX = ADV_GATEWAY_MESSAGE_MAX + ADV_GATEWAY_HEADER_ROOM,
};

struct adv_gateway_command;

/* What all sessions share. */
struct adv_gateway {
	struct adv_loop *loop;
	struct adv_gateway_command *command; /* that runs it (serve.c) */
	struct sockaddr_storage server;
	char server_name[80]; /* for messages */
	struct adv_gateway_log log;
	struct adv_gateway_stats stats;
	const char *control; /* name of the control socket; NULL: the port */
	size_t buffer_bytes; /* of calls, and again of replies, on each device */
	unsigned timeout_ms; /* until a client that takes nothing is disconnected */
	unsigned session_max;
	unsigned session_count;
	struct adv_list sessions;
	/* smb: the bytes of the messages that were reassembled, and the turns for such memory. */
	size_t message_bytes;
	struct adv_list message_turns;
};

/* The buffers of a device; the user of a struct adv_device. Calls and replies have separate ones:
 * calls that wait for replies cannot take the memory that the replies need. */
struct adv_gateway_buffers {
	struct adv_gateway *gateway;
	struct adv_nvme_buffers *calls, *replies;
	struct adv_list call_turns, reply_turns;
	struct adv_task serve; /* the turns: memory was freed */
};

/* largest: bytes of a buffer. NULL: errno. */
struct adv_gateway_buffers *adv_gateway_buffers_create(struct adv_gateway *g, struct ibv_pd *pd,
						       size_t largest);
void adv_gateway_buffers_destroy(struct adv_gateway_buffers *b);
/* Returns memory of calls or of replies. NULL: there is too little, or others were first; the turn
 * waits. */
uint8_t *adv_gateway_get_call(struct adv_gateway_buffers *b, struct adv_turn *t, size_t size);
uint8_t *adv_gateway_get_reply(struct adv_gateway_buffers *b, struct adv_turn *t, size_t size);
/* Frees it; those who wait get it soon. */
void adv_gateway_put_call(struct adv_gateway_buffers *b, uint8_t *buffer, size_t size);
void adv_gateway_put_reply(struct adv_gateway_buffers *b, uint8_t *buffer, size_t size);
/* Serves those who wait soon: memory was freed, or a turn has ended. */
void adv_gateway_serve_turns(struct adv_gateway_buffers *b);

/* Accepts a client. False: the id is not changed; errno is EUSERS if there are as many clients as
 * the gateway accepts. */
bool adv_gateway_session_accept(struct adv_gateway *g, struct adv_device *d, struct rdma_cm_id *id,
				const struct rdma_conn_param *param);
/* Ends all sessions: the loop ends them. */
void adv_gateway_close_all(struct adv_gateway *g);

#endif
