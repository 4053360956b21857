/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A part of addrinfo.c that addrinfo_event.c uses. */
#ifndef ADV_ABI_RDMACM_ADDRINFO_H
#define ADV_ABI_RDMACM_ADDRINFO_H

#include <rdma/rdma_cma.h>

/* Rejects hints with RAI_SA, because RoCE has no subnet administrator to query. hints may be NULL.
 * Returns 0 or EOPNOTSUPP, and keeps the reason. Any thread may call it. */
int adv_rdma_check_sa(const struct rdma_addrinfo *hints);

#endif
