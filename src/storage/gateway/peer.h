/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The peer of a connection as text, for messages: "client ADDRESS port N", or "client unknown". */
#ifndef ADV_STORAGE_GATEWAY_PEER_H
#define ADV_STORAGE_GATEWAY_PEER_H

#include <stddef.h>

#include <rdma/rdma_cma.h>

enum { ADV_GATEWAY_PEER = 96 }; /* bytes; each such text fits */

/* Writes at most `size` bytes to `name`, with the final 0. size: at least 16. */
void adv_gateway_name_socket(char *name, size_t size, int fd);
void adv_gateway_name_id(char *name, size_t size, struct rdma_cm_id *id);

#endif
