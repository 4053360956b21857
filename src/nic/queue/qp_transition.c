/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/queue/qp_transition.h"

#include <stddef.h>

#include "base/array.h"

enum { RC, UC, UD, XRC_SEND, XRC_RECV, TYPES };

struct transition {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int required[TYPES];
	int optional[TYPES];
};

#define INIT_CONNECTED (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD	       (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC	       (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC	       (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_RC                                                                                     \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
	 IBV_QP_MAX_QP_RD_ATOMIC)
#define LIVE_UC (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define LIVE_RC (LIVE_UC | IBV_QP_MIN_RNR_TIMER)
#define LIVE_UD (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define SQD_UC	(IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE)
#define SQD_RC                                                                                     \
	(SQD_UC | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |             \
	 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define NOTIFY IBV_QP_EN_SQD_ASYNC_NOTIFY
/* An XRC QP has those attributes of RC that its direction uses (A14.3), as in the kernel's
 * tables. */
#define RTS_XRC_RECV (IBV_QP_SQ_PSN | IBV_QP_TIMEOUT)
#define SQD_XRC_SEND                                                                               \
	(SQD_UC | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |             \
	 IBV_QP_MAX_QP_RD_ATOMIC)
#define SQD_XRC_RECV                                                                               \
	(SQD_UC | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTR_OPTIONAL (IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)

/*
 * The transitions to RESET and ERR are possible from every state and need no attributes (10.3.1).
 * Alternate paths and changes of the capacities are not supported, and the device does not report
 * them as capabilities.
 */
static const struct transition transitions[] = {
	{IBV_QPS_RESET,
	 IBV_QPS_INIT,
	 {INIT_CONNECTED, INIT_CONNECTED, INIT_UD, INIT_CONNECTED, INIT_CONNECTED},
	 {0, 0, 0, 0, 0}},
	{IBV_QPS_INIT,
	 IBV_QPS_INIT,
	 {0, 0, 0, 0, 0},
	 {INIT_CONNECTED, INIT_CONNECTED, INIT_UD, INIT_CONNECTED, INIT_CONNECTED}},
	{IBV_QPS_INIT,
	 IBV_QPS_RTR,
	 {RTR_RC, RTR_UC, 0, RTR_UC, RTR_RC},
	 {RTR_OPTIONAL, RTR_OPTIONAL, IBV_QP_QKEY | IBV_QP_PKEY_INDEX, RTR_OPTIONAL, RTR_OPTIONAL}},
	{IBV_QPS_RTR,
	 IBV_QPS_RTS,
	 {RTS_RC, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, RTS_RC, RTS_XRC_RECV},
	 {LIVE_RC, LIVE_UC, LIVE_UD, LIVE_UC, LIVE_RC}},
	{IBV_QPS_RTS, IBV_QPS_RTS, {0, 0, 0, 0, 0}, {LIVE_RC, LIVE_UC, LIVE_UD, LIVE_UC, LIVE_RC}},
	{IBV_QPS_RTS, IBV_QPS_SQD, {0, 0, 0, 0, 0}, {NOTIFY, NOTIFY, NOTIFY, NOTIFY, NOTIFY}},
	{IBV_QPS_SQD, IBV_QPS_RTS, {0, 0, 0, 0, 0}, {LIVE_RC, LIVE_UC, LIVE_UD, LIVE_UC, LIVE_RC}},
	{IBV_QPS_SQD,
	 IBV_QPS_SQD,
	 {0, 0, 0, 0, 0},
	 {SQD_RC, SQD_UC, IBV_QP_PKEY_INDEX | IBV_QP_QKEY, SQD_XRC_SEND, SQD_XRC_RECV}},
	{IBV_QPS_SQE,
	 IBV_QPS_RTS,
	 {0, 0, 0, 0, 0},
	 {IBV_QP_CUR_STATE, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, LIVE_UD, IBV_QP_CUR_STATE,
	  IBV_QP_CUR_STATE}},
};

static int type_index(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_UC:
		return UC;
	case IBV_QPT_XRC_SEND:
		return XRC_SEND;
	case IBV_QPT_XRC_RECV:
		return XRC_RECV;
	default:
		return UD;
	}
}

bool adv_qp_transition(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		       int *required, int *optional)
{
	*required = *optional = 0;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return true;
	for (size_t i = 0; i < ADV_ARRAY_SIZE(transitions); i++) {
		const struct transition *t = &transitions[i];

		if (t->from != from || t->to != to)
			continue;
		*required = t->required[type_index(type)];
		*optional = t->optional[type_index(type)];
		return true;
	}
	return false;
}
