/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A gateway: what all its sessions share, of either protocol and direction. */
#ifndef ADV_STORAGE_GATEWAY_GATEWAY_H
#define ADV_STORAGE_GATEWAY_GATEWAY_H

#include <sys/socket.h>

#include "storage/gateway/report.h"
#include "storage/gateway/stats.h"
#include "storage/kit/endpoint.h"

struct adv_gateway_command;

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

#endif
