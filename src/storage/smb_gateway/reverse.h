/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other direction of the SMB gateway: a client over TCP, and a server over SMB Direct. Each TCP
 * connection has an RDMA connection of its own; the end of one ends the other.
 */
#ifndef ADV_STORAGE_SMB_GATEWAY_REVERSE_H
#define ADV_STORAGE_SMB_GATEWAY_REVERSE_H

#include "storage/gateway/gateway.h"

/* Accepts a client's TCP connection; the descriptor belongs to the session. Reports an error. */
void adv_smb_reverse_accept(struct adv_gateway *g, struct adv_connections *c, int fd);
/* Ends all sessions: the loop ends them. */
void adv_smb_reverse_close_all(struct adv_gateway *g);

#endif
