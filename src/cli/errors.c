/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/errors.h"

#include <stddef.h>

#include <infiniband/verbs.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char rd_only[] = "of reliable datagrams, which no device offers";

static const struct adv_error_text statuses[] = {
	[IBV_WC_SUCCESS] = {"IBV_WC_SUCCESS", "success", "the request was carried out", "nothing"},
	[IBV_WC_LOC_LEN_ERR] = {"IBV_WC_LOC_LEN_ERR", "local length error",
				"the message is too long to be sent, or for the receive request",
				"compare the lengths at both ends"},
	[IBV_WC_LOC_QP_OP_ERR] = {"IBV_WC_LOC_QP_OP_ERR", "local QP operation error",
				  "the queue pair is not set up for the request", "see the cause"},
	[IBV_WC_LOC_EEC_OP_ERR] = {"IBV_WC_LOC_EEC_OP_ERR", "local EE context operation error",
				   rd_only, NULL},
	[IBV_WC_LOC_PROT_ERR] = {"IBV_WC_LOC_PROT_ERR", "local protection error",
				 "memory of the request's own scatter/gather list may not be used",
				 "look at its lkeys, addresses and lengths; memory must stay "
				 "registered until the completion"},
	[IBV_WC_WR_FLUSH_ERR] = {"IBV_WC_WR_FLUSH_ERR", "Work Request Flushed Error",
				 "the queue was in error, or brought there by ibv_modify_qp or a "
				 "disconnect: nobody knows how much of the request was done",
				 "the first failed completion of the queue pair is the real one"},
	[IBV_WC_MW_BIND_ERR] = {"IBV_WC_MW_BIND_ERR", "memory management operation error",
				"a memory window cannot be bound or invalidated so",
				"see the cause"},
	[IBV_WC_BAD_RESP_ERR] = {"IBV_WC_BAD_RESP_ERR", "bad response error",
				 "the peer's answer makes no sense",
				 "capture UDP port 4791 at both ends"},
	[IBV_WC_LOC_ACCESS_ERR] = {"IBV_WC_LOC_ACCESS_ERR", "local access error",
				   "of a receive request: the peer's WRITE with immediate, or SEND "
				   "with invalidate, asked for memory that it may not have",
				   "was memory deregistered, or a window invalidated, too early?"},
	[IBV_WC_REM_INV_REQ_ERR] = {"IBV_WC_REM_INV_REQ_ERR", "remote invalid request error",
				    "the responder does not accept the request as it is: too long "
				    "for the receive request, not allowed on its queue pair, "
				    "misaligned; of a receive request: such a request came",
				    "the responder knows the cause"},
	[IBV_WC_REM_ACCESS_ERR] =
		{"IBV_WC_REM_ACCESS_ERR", "remote access error",
		 "the responder does not give access to the memory",
		 "look at rkey, address, length, access flags, protection domain"},
	[IBV_WC_REM_OP_ERR] = {"IBV_WC_REM_OP_ERR", "remote operation error",
			       "the responder failed for a reason of its own",
			       "look at its receive completion"},
	[IBV_WC_RETRY_EXC_ERR] =
		{"IBV_WC_RETRY_EXC_ERR", "transport retry counter exceeded",
		 "the peer does not answer, or packets are lost again and again",
		 "is the peer alive? do both have the same numbers, GIDs and PSNs? "
		 "does UDP port 4791 get through? then count drops"},
	[IBV_WC_RNR_RETRY_EXC_ERR] = {"IBV_WC_RNR_RETRY_EXC_ERR", "RNR retry counter exceeded",
				      "the peer had no receive request posted for too long",
				      "post receives before the peer sends; rnr_retry 7 waits for "
				      "ever"},
	[IBV_WC_LOC_RDD_VIOL_ERR] = {"IBV_WC_LOC_RDD_VIOL_ERR", "local RDD violation error",
				     rd_only, NULL},
	[IBV_WC_REM_INV_RD_REQ_ERR] = {"IBV_WC_REM_INV_RD_REQ_ERR", "remote invalid RD request",
				       rd_only, NULL},
	[IBV_WC_REM_ABORT_ERR] =
		{"IBV_WC_REM_ABORT_ERR", "aborted error",
		 "of a UC queue pair with an SRQ: a message that had begun was not "
		 "received to its end",
		 "post the buffer again; the queue pair goes on"},
	[IBV_WC_INV_EECN_ERR] = {"IBV_WC_INV_EECN_ERR", "invalid EE context number", rd_only, NULL},
	[IBV_WC_INV_EEC_STATE_ERR] = {"IBV_WC_INV_EEC_STATE_ERR", "invalid EE context state",
				      rd_only, NULL},
	[IBV_WC_FATAL_ERR] = {"IBV_WC_FATAL_ERR", "fatal error", "a card has broken down", NULL},
	[IBV_WC_RESP_TIMEOUT_ERR] = {"IBV_WC_RESP_TIMEOUT_ERR", "response timeout error",
				     "no answer in time; with RC that is IBV_WC_RETRY_EXC_ERR",
				     NULL},
	[IBV_WC_GENERAL_ERR] = {"IBV_WC_GENERAL_ERR", "general error",
				"a card's driver has no other status for it", NULL},
	[IBV_WC_TM_ERR] = {"IBV_WC_TM_ERR", "TM error", "of tag matching, which is not offered",
			   NULL},
	[IBV_WC_TM_RNDV_INCOMPLETE] = {"IBV_WC_TM_RNDV_INCOMPLETE", "TM software rendezvous",
				       "of tag matching, which is not offered", NULL},
};

static const char no_path_migration[] = "of automatic path migration, which is not offered";

static const struct adv_error_text events[] = {
	[IBV_EVENT_CQ_ERR] = {"IBV_EVENT_CQ_ERR", "CQ error",
			      "a completion queue was full when a completion came; what is in it "
			      "can still be polled",
			      "make it larger, or poll more often; destroy it"},
	[IBV_EVENT_QP_FATAL] = {"IBV_EVENT_QP_FATAL", "local work queue catastrophic error",
				"the queue pair went to error as a completion found no room",
				"see IBV_EVENT_CQ_ERR"},
	[IBV_EVENT_QP_REQ_ERR] = {"IBV_EVENT_QP_REQ_ERR", "invalid request local work queue error",
				  "the peer's request was refused as invalid, and the queue pair "
				  "went to error; the peer sees IBV_WC_REM_INV_REQ_ERR",
				  "ADVERB_LOG=warn tells the cause"},
	[IBV_EVENT_QP_ACCESS_ERR] =
		{"IBV_EVENT_QP_ACCESS_ERR", "local access violation work queue error",
		 "the peer was refused access to memory, and the queue pair went "
		 "to error; the peer sees IBV_WC_REM_ACCESS_ERR",
		 "ADVERB_LOG=warn tells the cause"},
	[IBV_EVENT_COMM_EST] = {"IBV_EVENT_COMM_EST", "communication established",
				"the first packet came to a queue pair in RTR",
				"bring it to RTS (rdma_notify)"},
	[IBV_EVENT_SQ_DRAINED] = {"IBV_EVENT_SQ_DRAINED", "send queue drained",
				  "all that was begun before SQD is done",
				  "change attributes, go on with RTS"},
	[IBV_EVENT_PATH_MIG] = {"IBV_EVENT_PATH_MIG", "path migrated", no_path_migration, NULL},
	[IBV_EVENT_PATH_MIG_ERR] = {"IBV_EVENT_PATH_MIG_ERR", "path migration request error",
				    no_path_migration, NULL},
	[IBV_EVENT_DEVICE_FATAL] =
		{"IBV_EVENT_DEVICE_FATAL", "local catastrophic error",
		 "the daemon and its keeper have ended, and no other could be started: "
		 "addresses and connections are no longer looked after, and packets may not "
		 "find their way; or a fault plan says so",
		 "close the device and open it again"},
	[IBV_EVENT_PORT_ACTIVE] =
		{"IBV_EVENT_PORT_ACTIVE", "port active",
		 "there is an interface with an address again, or a fault plan says "
		 "so",
		 "nothing"},
	[IBV_EVENT_PORT_ERR] =
		{"IBV_EVENT_PORT_ERR", "port error",
		 "the last interface with an address is gone or down, or a fault plan says so",
		 "bring it up; queue pairs stay as they are until they time out, and "
		 "processes of this machine still reach each other"},
	[IBV_EVENT_LID_CHANGE] = {"IBV_EVENT_LID_CHANGE", "LID change",
				  "of InfiniBand; RoCE has no LIDs", NULL},
	[IBV_EVENT_PKEY_CHANGE] = {"IBV_EVENT_PKEY_CHANGE", "P_Key change",
				   "the table of P_Keys is always 0xffff alone", NULL},
	[IBV_EVENT_SM_CHANGE] = {"IBV_EVENT_SM_CHANGE", "SM change",
				 "of InfiniBand; RoCE has no subnet manager", NULL},
	[IBV_EVENT_SRQ_ERR] = {"IBV_EVENT_SRQ_ERR", "SRQ catastrophic error",
			       "a card could not read the SRQ; that cannot happen here", NULL},
	[IBV_EVENT_SRQ_LIMIT_REACHED] = {"IBV_EVENT_SRQ_LIMIT_REACHED", "SRQ limit reached",
					 "fewer receive requests are left than the limit",
					 "post more, then set the limit again (ibv_modify_srq)"},
	[IBV_EVENT_QP_LAST_WQE_REACHED] = {"IBV_EVENT_QP_LAST_WQE_REACHED", "last WQE reached",
					   "a queue pair in error takes nothing more from its SRQ",
					   "poll what is in the CQ; then it may be destroyed"},
	[IBV_EVENT_CLIENT_REREGISTER] = {"IBV_EVENT_CLIENT_REREGISTER", "client reregistration",
					 "of InfiniBand; RoCE has no subnet manager", NULL},
	[IBV_EVENT_GID_CHANGE] = {"IBV_EVENT_GID_CHANGE", "GID table change",
				  "an address of the machine came or went",
				  "read the table again; indexes may have moved"},
	[IBV_EVENT_WQ_FATAL] = {"IBV_EVENT_WQ_FATAL", "WQ fatal",
				"of work queues without a queue pair, which are not offered", NULL},
};

const struct adv_error_text *adv_status_text(uint32_t status)
{
	return status < COUNT(statuses) ? &statuses[status] : NULL;
}

const struct adv_error_text *adv_event_text(uint32_t event)
{
	return event < COUNT(events) ? &events[event] : NULL;
}
