/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client of the NFS gateway: its RDMA connection, its TCP connection to the server, and the calls
 * between them. Each call gets one reply: after the TCP connection was lost, unanswered calls are
 * sent again on the next one, as an NFS client does, and the server's reply cache tells them apart.
 */
#ifndef ADV_STORAGE_NFS_GATEWAY_SESSION_H
#define ADV_STORAGE_NFS_GATEWAY_SESSION_H

#include "storage/gateway/gateway.h"

enum {
	ADV_NFS_MESSAGE_MAX = (2 << 20) - 4096, /* RPC message, bytes */
	ADV_NFS_HEADER_ROOM = 4096,		/* before each reply, for what is sent inline */
	ADV_NFS_BUFFER_MAX = ADV_NFS_MESSAGE_MAX + ADV_NFS_HEADER_ROOM,
};

/* Accepts a client. False: the id is not changed; errno is EUSERS if there are as many clients as
 * the gateway accepts. */
bool adv_nfs_session_accept(struct adv_gateway *g, struct adv_kit_device *d, struct rdma_cm_id *id,
			    const struct rdma_conn_param *param);
/* Ends all sessions: the loop ends them. */
void adv_nfs_close_all(struct adv_gateway *g);

#endif
