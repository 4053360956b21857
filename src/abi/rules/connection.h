/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the ids and events of librdmacm. All calls need the lock of report.h. */
#ifndef ADV_ABI_RULES_CONNECTION_H
#define ADV_ABI_RULES_CONNECTION_H

#include <rdma/rdma_cma.h>

#include "abi/check/call.h"
#include "abi/check/object.h"

/* The program has got an event, or acknowledges it. */
void adv_check_cm_event(const struct rdma_cm_event *event);
void adv_check_cm_acked(const struct rdma_cm_event *event);

/* The program calls rdma_connect(), or rdma_accept(). param may be NULL. */
void adv_check_cm_connecting(struct adv_check_call *call, const struct rdma_cm_id *id,
			     const struct rdma_conn_param *param, bool accepts);

/* The program destroys an id. */
void adv_check_cm_destroying(struct adv_check_call *call, const struct adv_check_id *id);

#endif
