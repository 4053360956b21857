/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the <rdma/rdma_cma.h> of RDMACM_1.4 has and that of Debian 12 does not have. */
#ifndef ADV_ABI_RDMACM_NEWER_H
#define ADV_ABI_RDMACM_NEWER_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/* enum rdma_cm_event_type */
#define ADV_EVENT_ADDRINFO_RESOLVED 16
#define ADV_EVENT_ADDRINFO_ERROR    17
#define ADV_EVENT_USER		    18

/* hints of rdma_getaddrinfo() and rdma_resolve_addrinfo() */
#define ADV_RAI_SA  0x00000010
#define ADV_RAI_DNS 0x00000020

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t arg);

#endif
