/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other direction of the NFS gateway: a client over TCP, and a server over RDMA. Each TCP
 * connection gets an RDMA connection of its own. After that one was lost, calls without a reply are
 * sent again on the next one, as an NFS client does.
 */
#ifndef ADV_STORAGE_NFS_GATEWAY_REVERSE_H
#define ADV_STORAGE_NFS_GATEWAY_REVERSE_H

#include "storage/nfs_gateway/session.h"

/* Accepts a client's TCP connection; the descriptor belongs to the session. Reports an error. */
void adv_nfs_reverse_accept(struct adv_gateway *g, struct adv_connections *c, int fd);
/* Ends the sessions whose calls are in memory of a device that is gone. They have no connection to
 * the server. */
void adv_nfs_reverse_close_device(struct adv_gateway *g, const struct adv_kit_device *d);
/* Ends all sessions: the loop ends them. */
void adv_nfs_reverse_close_all(struct adv_gateway *g);

#endif
