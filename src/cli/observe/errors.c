/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/observe/errors.h"

#include <stddef.h>

#include <infiniband/verbs.h>

#include "base/array.h"

static const char rd_only[] = "belongs to reliable datagrams, which no device offers";

static const struct adv_error_text statuses[] = {
	[IBV_WC_SUCCESS] = {"IBV_WC_SUCCESS", "success", "the request was carried out", "nothing"},
	[IBV_WC_LOC_LEN_ERR] =
		{"IBV_WC_LOC_LEN_ERR", "local length error",
		 "the message is too long to send, or longer than the receive request",
		 "compare the lengths at both ends"},
	[IBV_WC_LOC_QP_OP_ERR] = {"IBV_WC_LOC_QP_OP_ERR", "local QP operation error",
				  "the queue pair is not set up for the request", "see the cause"},
	[IBV_WC_LOC_EEC_OP_ERR] = {"IBV_WC_LOC_EEC_OP_ERR", "local EE context operation error",
				   rd_only, NULL},
	[IBV_WC_LOC_PROT_ERR] = {"IBV_WC_LOC_PROT_ERR", "local protection error",
				 "the request may not use memory of its own scatter/gather list",
				 "check its lkeys, addresses and lengths; memory must stay "
				 "registered until the completion"},
	[IBV_WC_WR_FLUSH_ERR] = {"IBV_WC_WR_FLUSH_ERR", "Work Request Flushed Error",
				 "the queue was in error, or ibv_modify_qp or a disconnect brought "
				 "it there; part or all of the request may have been carried out",
				 "the first failed completion of the queue pair has the cause"},
	[IBV_WC_MW_BIND_ERR] = {"IBV_WC_MW_BIND_ERR", "memory management operation error",
				"the memory window cannot be bound or invalidated as requested",
				"see the cause"},
	[IBV_WC_BAD_RESP_ERR] = {"IBV_WC_BAD_RESP_ERR", "bad response error",
				 "the peer's response does not fit the request",
				 "capture UDP port 4791 at both ends"},
	[IBV_WC_LOC_ACCESS_ERR] = {"IBV_WC_LOC_ACCESS_ERR", "local access error",
				   "receive request: the peer's WRITE with immediate or SEND with "
				   "invalidate named memory that it may not access",
				   "was memory deregistered or a window invalidated too early?"},
	[IBV_WC_REM_INV_REQ_ERR] =
		{"IBV_WC_REM_INV_REQ_ERR", "remote invalid request error",
		 "the responder refused the request: it is longer than the receive request, not "
		 "allowed on the queue pair, or misaligned; receive request: the peer sent such a "
		 "request",
		 "the cause is at the responder: its completion, or its log (ADVERB_LOG=warn)"},
	[IBV_WC_REM_ACCESS_ERR] =
		{"IBV_WC_REM_ACCESS_ERR", "remote access error",
		 "the responder refused access to its memory",
		 "check rkey, address, length, access flags and protection domain"},
	[IBV_WC_REM_OP_ERR] = {"IBV_WC_REM_OP_ERR", "remote operation error",
			       "the responder could not carry out the request",
			       "see its receive completion"},
	[IBV_WC_RETRY_EXC_ERR] =
		{"IBV_WC_RETRY_EXC_ERR", "transport retry counter exceeded",
		 "the peer does not answer, or packets are lost repeatedly",
		 "is the peer alive? do both ends agree on queue pair numbers, GIDs and PSNs? does "
		 "UDP port 4791 get through? then compare the drop counters"},
	[IBV_WC_RNR_RETRY_EXC_ERR] =
		{"IBV_WC_RNR_RETRY_EXC_ERR", "RNR retry counter exceeded",
		 "the peer had no receive request posted until the RNR retries were used up",
		 "post receives before the peer sends; rnr_retry 7 retries forever"},
	[IBV_WC_LOC_RDD_VIOL_ERR] = {"IBV_WC_LOC_RDD_VIOL_ERR", "local RDD violation error",
				     rd_only, NULL},
	[IBV_WC_REM_INV_RD_REQ_ERR] = {"IBV_WC_REM_INV_RD_REQ_ERR", "remote invalid RD request",
				       rd_only, NULL},
	[IBV_WC_REM_ABORT_ERR] =
		{"IBV_WC_REM_ABORT_ERR", "aborted error",
		 "UC queue pair with an SRQ: the end of a message that had begun was not received",
		 "post the buffer again; the queue pair continues to work"},
	[IBV_WC_INV_EECN_ERR] = {"IBV_WC_INV_EECN_ERR", "invalid EE context number", rd_only, NULL},
	[IBV_WC_INV_EEC_STATE_ERR] = {"IBV_WC_INV_EEC_STATE_ERR", "invalid EE context state",
				      rd_only, NULL},
	[IBV_WC_FATAL_ERR] = {"IBV_WC_FATAL_ERR", "fatal error", "a card failed", NULL},
	[IBV_WC_RESP_TIMEOUT_ERR] = {"IBV_WC_RESP_TIMEOUT_ERR", "response timeout error",
				     "no response in time; RC reports IBV_WC_RETRY_EXC_ERR instead",
				     NULL},
	[IBV_WC_GENERAL_ERR] = {"IBV_WC_GENERAL_ERR", "general error",
				"a card's driver has no other status for it", NULL},
	[IBV_WC_TM_ERR] = {"IBV_WC_TM_ERR", "TM error",
			   "belongs to tag matching, which is not offered", NULL},
	[IBV_WC_TM_RNDV_INCOMPLETE] = {"IBV_WC_TM_RNDV_INCOMPLETE", "TM software rendezvous",
				       "belongs to tag matching, which is not offered", NULL},
};

static const char no_path_migration[] = "belongs to automatic path migration, which is not offered";

static const struct adv_error_text events[] = {
	[IBV_EVENT_CQ_ERR] = {"IBV_EVENT_CQ_ERR", "CQ error",
			      "the completion queue was full when a completion was added; its "
			      "completions can still be polled",
			      "destroy it; make the next one larger, or poll more often"},
	[IBV_EVENT_QP_FATAL] =
		{"IBV_EVENT_QP_FATAL", "local work queue catastrophic error",
		 "the queue pair went to error because its completion queue was full",
		 "see IBV_EVENT_CQ_ERR"},
	[IBV_EVENT_QP_REQ_ERR] = {"IBV_EVENT_QP_REQ_ERR", "invalid request local work queue error",
				  "the queue pair refused the peer's request as invalid and went "
				  "to error; the peer sees IBV_WC_REM_INV_REQ_ERR",
				  "ADVERB_LOG=warn logs the cause"},
	[IBV_EVENT_QP_ACCESS_ERR] = {"IBV_EVENT_QP_ACCESS_ERR",
				     "local access violation work queue error",
				     "the queue pair refused the peer access to memory and went to "
				     "error; the peer sees IBV_WC_REM_ACCESS_ERR",
				     "ADVERB_LOG=warn logs the cause"},
	[IBV_EVENT_COMM_EST] = {"IBV_EVENT_COMM_EST", "communication established",
				"a queue pair in RTR received its first packet",
				"bring it to RTS (rdma_notify)"},
	[IBV_EVENT_SQ_DRAINED] = {"IBV_EVENT_SQ_DRAINED", "send queue drained",
				  "all requests that were begun before SQD have completed",
				  "change attributes, then return to RTS"},
	[IBV_EVENT_PATH_MIG] = {"IBV_EVENT_PATH_MIG", "path migrated", no_path_migration, NULL},
	[IBV_EVENT_PATH_MIG_ERR] = {"IBV_EVENT_PATH_MIG_ERR", "path migration request error",
				    no_path_migration, NULL},
	[IBV_EVENT_DEVICE_FATAL] =
		{"IBV_EVENT_DEVICE_FATAL", "local catastrophic error",
		 "the daemon and its keeper have ended, and no new daemon could be started: "
		 "addresses and connections are no longer maintained, and packets may be lost; or "
		 "a fault plan reported it",
		 "close the device and open it again"},
	[IBV_EVENT_PORT_ACTIVE] = {"IBV_EVENT_PORT_ACTIVE", "port active",
				   "an interface has an address again, or a fault plan reported it",
				   "nothing"},
	[IBV_EVENT_PORT_ERR] = {"IBV_EVENT_PORT_ERR", "port error",
				"the last interface with an address was removed or went down, or a "
				"fault plan reported it",
				"bring an interface up; queue pairs keep their state until they "
				"time out, and processes of this machine still reach each other"},
	[IBV_EVENT_LID_CHANGE] = {"IBV_EVENT_LID_CHANGE", "LID change",
				  "belongs to InfiniBand; RoCE has no LIDs", NULL},
	[IBV_EVENT_PKEY_CHANGE] = {"IBV_EVENT_PKEY_CHANGE", "P_Key change",
				   "the P_Key table never changes while programs use the device",
				   NULL},
	[IBV_EVENT_SM_CHANGE] = {"IBV_EVENT_SM_CHANGE", "SM change",
				 "belongs to InfiniBand; RoCE has no subnet manager", NULL},
	[IBV_EVENT_SRQ_ERR] = {"IBV_EVENT_SRQ_ERR", "SRQ catastrophic error",
			       "a card could not read the SRQ; this cannot happen in software",
			       NULL},
	[IBV_EVENT_SRQ_LIMIT_REACHED] = {"IBV_EVENT_SRQ_LIMIT_REACHED", "SRQ limit reached",
					 "the SRQ has fewer receive requests than its limit",
					 "post more, then set the limit again (ibv_modify_srq)"},
	[IBV_EVENT_QP_LAST_WQE_REACHED] =
		{"IBV_EVENT_QP_LAST_WQE_REACHED", "last WQE reached",
		 "a queue pair in error takes no more requests from its SRQ",
		 "poll the CQ until it is empty; then destroy the queue pair"},
	[IBV_EVENT_CLIENT_REREGISTER] = {"IBV_EVENT_CLIENT_REREGISTER", "client reregistration",
					 "belongs to InfiniBand; RoCE has no subnet manager", NULL},
	[IBV_EVENT_GID_CHANGE] = {"IBV_EVENT_GID_CHANGE", "GID table change",
				  "an address was added to the machine or removed",
				  "read the GID table again; indexes may have changed"},
	[IBV_EVENT_WQ_FATAL] =
		{"IBV_EVENT_WQ_FATAL", "WQ fatal",
		 "belongs to work queues without a queue pair, which are not offered", NULL},
};

const struct adv_error_text *adv_status_text(uint32_t status)
{
	return status < ADV_ARRAY_SIZE(statuses) ? &statuses[status] : NULL;
}

const struct adv_error_text *adv_event_text(uint32_t event)
{
	return event < ADV_ARRAY_SIZE(events) ? &events[event] : NULL;
}
