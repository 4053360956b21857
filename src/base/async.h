/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kind of object to which an asynchronous event belongs (ibv_get_async_event(3)). Pure; any
 * thread. */
#ifndef ADV_BASE_ASYNC_H
#define ADV_BASE_ASYNC_H

#include <infiniband/verbs.h>

/* ADV_ASYNC_PORT also stands for the whole device. */
enum adv_async_object { ADV_ASYNC_PORT, ADV_ASYNC_QP, ADV_ASYNC_CQ, ADV_ASYNC_SRQ, ADV_ASYNC_WQ };

static inline enum adv_async_object adv_async_object_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return ADV_ASYNC_CQ;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return ADV_ASYNC_SRQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ADV_ASYNC_QP;
	case IBV_EVENT_WQ_FATAL:
		return ADV_ASYNC_WQ;
	default:
		return ADV_ASYNC_PORT;
	}
}

#endif
