/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RoCE as the protocol of queue pairs. */
#include "nic/congestion/flow.h"
#include "nic/engine/outgoing.h"
#include "nic/engine/protocol.h"
#include "nic/queue/qp_modify.h"

/* The opcodes of each type: IBTA table 70. */
static bool supported_opcodes(enum ibv_qp_type type, uint32_t *opcodes)
{
	uint32_t send = 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM;
	uint32_t write = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM;
	uint32_t read = 1u << IBV_WR_RDMA_READ | 1u << IBV_WR_ATOMIC_CMP_AND_SWP |
			1u << IBV_WR_ATOMIC_FETCH_AND_ADD | 1u << ADV_WR_FLUSH |
			1u << ADV_WR_ATOMIC_WRITE | 1u << IBV_WR_SEND_WITH_INV;
	uint32_t local = 1u << IBV_WR_BIND_MW | 1u << ADV_WR_BIND_TYPE_1 | 1u << IBV_WR_LOCAL_INV;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		*opcodes = send | write | read | local;
		return true;
	case IBV_QPT_UC:
		*opcodes = send | write | local;
		return true;
	case IBV_QPT_UD:
		*opcodes = send;
		return true;
	case IBV_QPT_XRC_RECV:
		*opcodes = 0;
		return true;
	default:
		return false;
	}
}

const struct adv_protocol adv_protocol_roce = {
	.supports = supported_opcodes,
	.modify = adv_qp_modify_roce,
	.turn = adv_outgoing_serve,
	.forget = adv_flow_free,
};
