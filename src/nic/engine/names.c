/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/names.h"

#include <stdio.h>

#include "base/array.h"

const char *adv_qp_state_name(enum ibv_qp_state state)
{
	static const char *const names[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
		[IBV_QPS_RTS] = "RTS",	   [IBV_QPS_SQD] = "SQD",   [IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};

	return adv_array_name(names, ADV_ARRAY_SIZE(names), (unsigned)state);
}

const char *adv_qp_type_name(enum ibv_qp_type type)
{
	static const char *const names[] = {
		[IBV_QPT_RC] = "RC",
		[IBV_QPT_UC] = "UC",
		[IBV_QPT_UD] = "UD",
		[IBV_QPT_RAW_PACKET] = "RAW_PACKET",
		[IBV_QPT_XRC_SEND] = "XRC_SEND",
		[IBV_QPT_XRC_RECV] = "XRC_RECV",
	};

	return adv_array_name(names, ADV_ARRAY_SIZE(names), (unsigned)type);
}

const char *adv_wr_opcode_name(int opcode)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "IBV_WR_RDMA_WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "IBV_WR_RDMA_WRITE_WITH_IMM",
		[IBV_WR_SEND] = "IBV_WR_SEND",
		[IBV_WR_SEND_WITH_IMM] = "IBV_WR_SEND_WITH_IMM",
		[IBV_WR_RDMA_READ] = "IBV_WR_RDMA_READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "IBV_WR_ATOMIC_CMP_AND_SWP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "IBV_WR_ATOMIC_FETCH_AND_ADD",
		[IBV_WR_LOCAL_INV] = "IBV_WR_LOCAL_INV",
		[IBV_WR_BIND_MW] = "IBV_WR_BIND_MW",
		[IBV_WR_SEND_WITH_INV] = "IBV_WR_SEND_WITH_INV",
		[IBV_WR_TSO] = "IBV_WR_TSO",
		[IBV_WR_DRIVER1] = "IBV_WR_DRIVER1",
		[14] = "IBV_WR_FLUSH", /* newer than some headers */
		[IBV_WR_ATOMIC_WRITE] = "IBV_WR_ATOMIC_WRITE",
	};

	return adv_array_name(names, ADV_ARRAY_SIZE(names), (unsigned)opcode);
}

const char *adv_wc_status_name(enum ibv_wc_status status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "IBV_WC_SUCCESS",
		[IBV_WC_LOC_LEN_ERR] = "IBV_WC_LOC_LEN_ERR",
		[IBV_WC_LOC_QP_OP_ERR] = "IBV_WC_LOC_QP_OP_ERR",
		[IBV_WC_LOC_PROT_ERR] = "IBV_WC_LOC_PROT_ERR",
		[IBV_WC_WR_FLUSH_ERR] = "IBV_WC_WR_FLUSH_ERR",
		[IBV_WC_MW_BIND_ERR] = "IBV_WC_MW_BIND_ERR",
		[IBV_WC_BAD_RESP_ERR] = "IBV_WC_BAD_RESP_ERR",
		[IBV_WC_LOC_ACCESS_ERR] = "IBV_WC_LOC_ACCESS_ERR",
		[IBV_WC_REM_INV_REQ_ERR] = "IBV_WC_REM_INV_REQ_ERR",
		[IBV_WC_REM_ACCESS_ERR] = "IBV_WC_REM_ACCESS_ERR",
		[IBV_WC_REM_OP_ERR] = "IBV_WC_REM_OP_ERR",
		[IBV_WC_RETRY_EXC_ERR] = "IBV_WC_RETRY_EXC_ERR",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "IBV_WC_RNR_RETRY_EXC_ERR",
		[IBV_WC_REM_ABORT_ERR] = "IBV_WC_REM_ABORT_ERR",
		[IBV_WC_FATAL_ERR] = "IBV_WC_FATAL_ERR",
		[IBV_WC_RESP_TIMEOUT_ERR] = "IBV_WC_RESP_TIMEOUT_ERR",
		[IBV_WC_GENERAL_ERR] = "IBV_WC_GENERAL_ERR",
	};

	return adv_array_name(names, ADV_ARRAY_SIZE(names), (unsigned)status);
}

const char *adv_qp_attr_names(int mask, char *text, size_t size)
{
	/* By bit, from IBV_QP_STATE (bit 0) on. */
	static const char *const names[] = {
		"STATE",
		"CUR_STATE",
		"EN_SQD_ASYNC_NOTIFY",
		"ACCESS_FLAGS",
		"PKEY_INDEX",
		"PORT",
		"QKEY",
		"AV",
		"PATH_MTU",
		"TIMEOUT",
		"RETRY_CNT",
		"RNR_RETRY",
		"RQ_PSN",
		"MAX_QP_RD_ATOMIC",
		"ALT_PATH",
		"MIN_RNR_TIMER",
		"SQ_PSN",
		"MAX_DEST_RD_ATOMIC",
		"PATH_MIG_STATE",
		"CAP",
		"DEST_QPN",
	};
	size_t used = 0;

	text[0] = '\0';
	for (unsigned bit = 0; bit < 32 && used < size; bit++) {
		const char *separator = used ? " | " : "";

		if (!((unsigned)mask >> bit & 1))
			continue;
		if (bit < ADV_ARRAY_SIZE(names))
			used += (size_t)snprintf(text + used, size - used, "%sIBV_QP_%s", separator,
						 names[bit]);
		else
			used += (size_t)snprintf(text + used, size - used, "%s0x%x", separator,
						 1u << bit);
	}
	return text;
}
