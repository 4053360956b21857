/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one table of causes; docs/errors.md and `adverb explain` show it. */
#include "transport/cause.h"

#define STATUS(name) (1u << IBV_WC_##name)
#define EVENT(name)  (1u << IBV_EVENT_##name)

/* A receive request in use fails with the status; where there is none, the event comes. */
#define INVALID_REQUEST STATUS(REM_INV_REQ_ERR), EVENT(QP_REQ_ERR)
#define ACCESS_ERROR	STATUS(LOC_ACCESS_ERR), EVENT(QP_ACCESS_ERR)
/* Found before a receive request is taken. */
#define INVALID_AT_ONCE 0, EVENT(QP_REQ_ERR)

static const struct adv_cause causes[] = {
	[ADV_ERR_NONE] = {"NONE", STATUS(SUCCESS), 0, "no error", "nothing"},
	[ADV_ERR_FLUSHED] = {"FLUSHED", STATUS(WR_FLUSH_ERR), 0,
			     "the queue pair was in the error state (UC, UD: its send queue)",
			     "look at the first failed completion, or at the asynchronous event"},
	[ADV_ERR_LKEY] = {"LKEY", STATUS(LOC_PROT_ERR), 0, "no memory region has this lkey",
			  "was the region deregistered too early? is it a window's key?"},
	[ADV_ERR_LOCAL_BOUNDS] = {"LOCAL_BOUNDS", STATUS(LOC_PROT_ERR), 0,
				  "a scatter/gather entry reaches beyond its region",
				  "compare addr and length with what was registered"},
	[ADV_ERR_LOCAL_ACCESS] = {"LOCAL_ACCESS", STATUS(LOC_PROT_ERR), 0,
				  "the region is to be written but has no local write access",
				  "register it with IBV_ACCESS_LOCAL_WRITE"},
	[ADV_ERR_MESSAGE_TOO_LONG] = {"MESSAGE_TOO_LONG", STATUS(LOC_LEN_ERR), 0,
				      "the message is longer than 2^31 bytes",
				      "send it in several messages"},
	[ADV_ERR_RECV_TOO_SMALL] = {"RECV_TOO_SMALL", STATUS(LOC_LEN_ERR), 0,
				    "the message is longer than the receive request",
				    "post larger receives; UD: 40 bytes more, for the GRH"},
	[ADV_ERR_TIMEOUT] =
		{"TIMEOUT", STATUS(RETRY_EXC_ERR), 0,
		 "the peer has said nothing for as long as retry_cnt and timeout allow",
		 "does the peer's queue pair exist, in RTR or RTS, with the right number "
		 "and GID? does UDP port 4791 get through?"},
	[ADV_ERR_SEQUENCE_RETRIES] = {"SEQUENCE_RETRIES", STATUS(RETRY_EXC_ERR), 0,
				      "retry_cnt was used up by NAKs of sequence error",
				      "packets are lost: count drops at both ends and between; are "
				      "sq_psn here and rq_psn at the peer the same?"},
	[ADV_ERR_RNR_RETRIES] = {"RNR_RETRIES", STATUS(RNR_RETRY_EXC_ERR), 0,
				 "the peer had no receive posted, rnr_retry times",
				 "post receives earlier there; rnr_retry 7 waits for ever"},
	[ADV_ERR_NAK_INVALID_REQUEST] = {"NAK_INVALID_REQUEST", STATUS(REM_INV_REQ_ERR), 0,
					 "the peer has refused the request as invalid",
					 "the cause is known there: its completion, or its log "
					 "(ADVERB_LOG=warn)"},
	[ADV_ERR_NAK_ACCESS] =
		{"NAK_ACCESS", STATUS(REM_ACCESS_ERR), 0,
		 "the peer has refused access to its memory",
		 "check rkey, address, length and the access flags of the region; the "
		 "peer's log has the cause (ADVERB_LOG=warn)"},
	[ADV_ERR_NAK_OPERATION] = {"NAK_OPERATION", STATUS(REM_OP_ERR), 0,
				   "the peer could not carry the request out",
				   "its receive request failed: see the completion there"},
	[ADV_ERR_BAD_RESPONSE] = {"BAD_RESPONSE", STATUS(BAD_RESP_ERR), 0,
				  "a response is not of the kind that its request asks for",
				  "the peer does not keep to the protocol: capture port 4791"},
	[ADV_ERR_REQUEST_SEQUENCE] =
		{"REQUEST_SEQUENCE", INVALID_REQUEST,
		 "the peer's packet does not continue its message, or is of no "
		 "known kind",
		 "the peer does not keep to the protocol: capture port 4791"},
	[ADV_ERR_CQ_OVERRUN] = {"CQ_OVERRUN", 0, EVENT(CQ_ERR) | EVENT(QP_FATAL),
				"a completion found its completion queue full",
				"make the queue larger (cqe) or poll more often"},
	[ADV_ERR_AH_PD] = {"AH_PD", STATUS(LOC_QP_OP_ERR), 0,
			   "the address handle is of another protection domain",
			   "make it in the queue pair's"},
	[ADV_ERR_REMOTE_ACCESS] =
		{"REMOTE_ACCESS", ACCESS_ERROR,
		 "the region or window does not allow what the peer asks for",
		 "register or bind it with IBV_ACCESS_REMOTE_READ, _WRITE, _ATOMIC"},
	[ADV_ERR_REQUEST_LENGTH] = {"REQUEST_LENGTH", INVALID_REQUEST,
				    "the peer's payload does not add up to what the message said",
				    "have both the same path MTU?"},
	[ADV_ERR_ATOMIC_TOO_SMALL] = {"ATOMIC_TOO_SMALL", STATUS(LOC_LEN_ERR), 0,
				      "an atomic's local buffer is shorter than 8 bytes",
				      "give it 8"},
	[ADV_ERR_NO_RD_ATOMIC] = {"NO_RD_ATOMIC", STATUS(LOC_QP_OP_ERR), 0,
				  "READ or atomic on a queue pair with max_rd_atomic 0",
				  "set max_rd_atomic in ibv_modify_qp, initiator_depth in "
				  "rdma_connect"},
	[ADV_ERR_XRC_SRQ_CHANGED] = {"XRC_SRQ_CHANGED", INVALID_REQUEST,
				     "the peer names another XRC SRQ in mid message",
				     "the peer does not keep to the protocol: capture port 4791"},
	[ADV_ERR_WINDOW] = {"WINDOW", STATUS(MW_BIND_ERR), 0,
			    "no memory window of this type and key in the protection domain",
			    "was the window freed? is it of the queue pair's protection domain?"},
	[ADV_ERR_BIND_LKEY] = {"BIND_LKEY", STATUS(MW_BIND_ERR), 0,
			       "no region for the window in the protection domain",
			       "was it deregistered? is it of the queue pair's protection domain?"},
	[ADV_ERR_LKEY_PD] = {"LKEY_PD", STATUS(LOC_PROT_ERR), 0,
			     "the lkey's region is of another protection domain",
			     "register it in the queue pair's (with an XRC SRQ: the SRQ's)"},
	[ADV_ERR_DATAGRAM_TOO_LONG] = {"DATAGRAM_TOO_LONG", STATUS(LOC_LEN_ERR), 0,
				       "a UD message is longer than the path MTU",
				       "keep to active_mtu of ibv_query_port"},
	[ADV_ERR_RESPONSES_LOST] =
		{"RESPONSES_LOST", STATUS(RETRY_EXC_ERR), 0,
		 "retry_cnt was used up asking for lost responses",
		 "packets are lost on the way back: count drops at both ends and "
		 "between"},
	[ADV_ERR_NAK_RESERVED] = {"NAK_RESERVED", STATUS(BAD_RESP_ERR), 0,
				  "the peer has sent a NAK that RC does not have",
				  "the peer does not keep to the protocol: capture port 4791"},
	[ADV_ERR_RESPONSE_LENGTH] =
		{"RESPONSE_LENGTH", STATUS(BAD_RESP_ERR), 0,
		 "a response does not have the length that its request asks for",
		 "have both the same path MTU?"},
	[ADV_ERR_QP_ACCESS] = {"QP_ACCESS", INVALID_AT_ONCE,
			       "the queue pair does not allow what the peer asks for",
			       "set it in qp_access_flags in ibv_modify_qp"},
	[ADV_ERR_TOO_MANY_RD_ATOMIC] = {"TOO_MANY_RD_ATOMIC", INVALID_AT_ONCE,
					"the peer has more READs and atomics out than "
					"max_dest_rd_atomic",
					"keep the peer's max_rd_atomic to it"},
	[ADV_ERR_REQUEST_TOO_LONG] = {"REQUEST_TOO_LONG", INVALID_AT_ONCE,
				      "the peer asks for more than 2^31 bytes",
				      "the peer does not keep to the protocol: capture port 4791"},
	[ADV_ERR_MISALIGNED] = {"MISALIGNED", INVALID_AT_ONCE,
				"the address of the peer's atomic is not a multiple of 8",
				"align it, and addr and iova of the region as well"},
	[ADV_ERR_RKEY] = {"RKEY", ACCESS_ERROR, "the peer's rkey names no region and no window",
			  "was it deregistered or invalidated? was the key passed on whole?"},
	[ADV_ERR_RKEY_PD] = {"RKEY_PD", ACCESS_ERROR,
			     "the rkey's region or window is not for this queue pair",
			     "take one of its protection domain; a window of type 2 that is bound "
			     "through it"},
	[ADV_ERR_REMOTE_BOUNDS] = {"REMOTE_BOUNDS", 0, EVENT(QP_ACCESS_ERR),
				   "the peer reaches beyond the region or window",
				   "compare remote_addr and length with what was registered"},
	[ADV_ERR_INVALIDATE] =
		{"INVALIDATE", STATUS(LOC_ACCESS_ERR), 0,
		 "the peer's SEND invalidates what is no type 2 window bound through "
		 "this queue pair",
		 "is it invalidated already? is the key the current one?"},
	[ADV_ERR_FLUSH_TYPE] = {"FLUSH_TYPE", INVALID_AT_ONCE,
				"the peer's FLUSH asks for no placement, or an unknown selectivity",
				"give IBV_FLUSH_GLOBAL, and a selectivity that exists"},
	[ADV_ERR_XRC_SRQ] = {"XRC_SRQ", INVALID_REQUEST,
			     "the XRC domain has no SRQ of the number that the peer gives",
			     "take the number of ibv_get_srq_num; does the SRQ still exist?"},
	[ADV_ERR_MESSAGE_ABORTED] = {"MESSAGE_ABORTED", STATUS(REM_ABORT_ERR), 0,
				     "UC with an SRQ: the rest of the message was lost",
				     "post the buffer again; the queue pair goes on"},
	[ADV_ERR_WINDOW_BOUND] = {"WINDOW_BOUND", STATUS(MW_BIND_ERR), 0,
				  "the type 2 window is bound already",
				  "invalidate it first (IBV_WR_LOCAL_INV)"},
	[ADV_ERR_WINDOW_KEY] = {"WINDOW_KEY", STATUS(MW_BIND_ERR), 0,
				"the type 2 window is to be bound with the key that it has",
				"take a new one (ibv_inc_rkey)"},
	[ADV_ERR_WINDOW_LENGTH] = {"WINDOW_LENGTH", STATUS(MW_BIND_ERR), 0,
				   "a type 2 window is to be bound to no bytes",
				   "to unbind it, invalidate it (IBV_WR_LOCAL_INV)"},
	[ADV_ERR_LOCAL_INVALIDATE] = {"LOCAL_INVALIDATE", STATUS(MW_BIND_ERR), 0,
				      "what is to be invalidated is no type 2 window bound through "
				      "this queue pair",
				      "is it invalidated already? is the key the current one?"},
	[ADV_ERR_BIND_ACCESS] =
		{"BIND_ACCESS", STATUS(MW_BIND_ERR), 0, "the region does not allow this window",
		 "register it with IBV_ACCESS_MW_BIND, for windows that are written "
		 "IBV_ACCESS_LOCAL_WRITE, not zero-based"},
	[ADV_ERR_BIND_BOUNDS] = {"BIND_BOUNDS", STATUS(MW_BIND_ERR), 0,
				 "the window reaches beyond its region",
				 "compare addr and length with what was registered"},
	[ADV_ERR_INJECTED] = {"INJECTED", ADV_CAUSE_ANY_ERROR, 0,
			      "a fault plan says so; the request itself was carried out",
			      "adverb fault show; see docs/faults.md"},
	[ADV_ERR_LOCAL_UNMAPPED] =
		{"LOCAL_UNMAPPED", STATUS(LOC_PROT_ERR), 0,
		 "a region of on-demand paging has no memory there, or none of its access",
		 "map it before the request is posted; unmap it after it has completed"},
	[ADV_ERR_REMOTE_UNMAPPED] =
		{"REMOTE_UNMAPPED", ACCESS_ERROR,
		 "the peer reaches where a region of on-demand paging has no memory",
		 "keep mapped what peers have the rkey and the address of"},
};

const struct adv_cause *adv_cause(uint32_t number)
{
	return number < sizeof(causes) / sizeof(causes[0]) ? &causes[number] : NULL;
}
