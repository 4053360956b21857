/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client of the SMB gateway: its SMB Direct connection, its TCP connection to the server, and the
 * messages between them. With --reverse, the client uses TCP, and the server SMB Direct. An SMB
 * session ends with its connection, so the end of one connection ends the other; the client
 * connects again.
 */
#ifndef ADV_STORAGE_SMB_GATEWAY_SESSION_H
#define ADV_STORAGE_SMB_GATEWAY_SESSION_H

#include "storage/gateway/gateway.h"

/* The longest RDMA transfer of a client's request, bytes. Linux requests as much without a channel
 * at times, and then the response is one message: older kernels receive up to 1 MiB. */
enum { ADV_SMB_READ_WRITE_SIZE = 15 << 16 };

/* Accepts a client. False: the id is not changed; errno is EUSERS if there are as many clients as
 * the gateway accepts. */
bool adv_smb_session_accept(struct adv_gateway *g, struct adv_kit_device *d, struct rdma_cm_id *id,
			    const struct rdma_conn_param *param);
/* Accepts a client's TCP connection; the descriptor belongs to the session. Reports an error. */
void adv_smb_reverse_accept(struct adv_gateway *g, struct adv_connections *c, int fd);
/* Ends all sessions: the loop ends them. */
void adv_smb_close_all(struct adv_gateway *g);

#endif
