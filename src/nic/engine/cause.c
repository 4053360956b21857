/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of causes. docs/errors.md and `adverb explain` show it. */
#include "nic/engine/cause.h"

#include "base/array.h"

#define STATUS(name) (1u << IBV_WC_##name)
#define EVENT(name)  (1u << IBV_EVENT_##name)

/* If a receive request is in use, it fails with the status. Else the event is raised. */
#define INVALID_REQUEST STATUS(REM_INV_REQ_ERR), EVENT(QP_REQ_ERR)
#define ACCESS_ERROR	STATUS(LOC_ACCESS_ERR), EVENT(QP_ACCESS_ERR)
/* Errors that are found before a receive request is used. */
#define INVALID_AT_ONCE 0, EVENT(QP_REQ_ERR)

static const struct adv_cause causes[] = {
	[ADV_ERR_NONE] = {"NONE", STATUS(SUCCESS), 0, "no error", "nothing"},
	[ADV_ERR_FLUSHED] = {"FLUSHED", STATUS(WR_FLUSH_ERR), 0,
			     "the queue pair was in the error state (UC, UD: its send queue)",
			     "read the first failed completion, or the asynchronous event"},
	[ADV_ERR_LKEY] = {"LKEY", STATUS(LOC_PROT_ERR), 0, "no memory region has this lkey",
			  "was the region deregistered too early? is the key a window's?"},
	[ADV_ERR_LOCAL_BOUNDS] = {"LOCAL_BOUNDS", STATUS(LOC_PROT_ERR), 0,
				  "a scatter/gather entry exceeds its region",
				  "compare addr and length with the registered range"},
	[ADV_ERR_LOCAL_ACCESS] = {"LOCAL_ACCESS", STATUS(LOC_PROT_ERR), 0,
				  "the request writes to a region without local write access",
				  "register it with IBV_ACCESS_LOCAL_WRITE"},
	[ADV_ERR_MESSAGE_TOO_LONG] = {"MESSAGE_TOO_LONG", STATUS(LOC_LEN_ERR), 0,
				      "the message is longer than 2^31 bytes",
				      "send it in several messages"},
	[ADV_ERR_RECV_TOO_SMALL] = {"RECV_TOO_SMALL", STATUS(LOC_LEN_ERR), 0,
				    "the message is longer than the receive request",
				    "post longer receives; UD: add 40 bytes for the GRH"},
	[ADV_ERR_TIMEOUT] =
		{"TIMEOUT", STATUS(RETRY_EXC_ERR), 0,
		 "the peer did not answer within the time that retry_cnt and timeout allow",
		 "does the peer's queue pair exist, in RTR or RTS, with the right number and GID? "
		 "does UDP port 4791 get through?"},
	[ADV_ERR_SEQUENCE_RETRIES] =
		{"SEQUENCE_RETRIES", STATUS(RETRY_EXC_ERR), 0,
		 "NAKs for PSN sequence errors used up retry_cnt",
		 "packets are lost: compare the drop counters at both ends and in between; are "
		 "sq_psn here and rq_psn at the peer equal?"},
	[ADV_ERR_RNR_RETRIES] =
		{"RNR_RETRIES", STATUS(RNR_RETRY_EXC_ERR), 0,
		 "the peer had no receive request posted; rnr_retry retries are used up",
		 "post receives earlier at the peer; rnr_retry 7 retries forever"},
	[ADV_ERR_NAK_INVALID_REQUEST] =
		{"NAK_INVALID_REQUEST", STATUS(REM_INV_REQ_ERR), 0,
		 "the peer refused the request as invalid",
		 "the cause is in the peer's completion or in its log (ADVERB_LOG=warn)"},
	[ADV_ERR_NAK_ACCESS] = {"NAK_ACCESS", STATUS(REM_ACCESS_ERR), 0,
				"the peer refused access to its memory",
				"check rkey, address, length and the access flags of the region; "
				"the cause is in the peer's log (ADVERB_LOG=warn)"},
	[ADV_ERR_NAK_OPERATION] = {"NAK_OPERATION", STATUS(REM_OP_ERR), 0,
				   "the peer could not carry out the request",
				   "the peer's receive request failed: see its completion there"},
	[ADV_ERR_BAD_RESPONSE] = {"BAD_RESPONSE", STATUS(BAD_RESP_ERR), 0,
				  "the response is not of the kind that the request needs",
				  "the peer violates the protocol: capture UDP port 4791"},
	[ADV_ERR_REQUEST_SEQUENCE] =
		{"REQUEST_SEQUENCE", INVALID_REQUEST,
		 "the peer's packet does not continue its message, or its opcode is unknown",
		 "the peer violates the protocol: capture UDP port 4791"},
	[ADV_ERR_CQ_OVERRUN] = {"CQ_OVERRUN", 0, EVENT(CQ_ERR) | EVENT(QP_FATAL),
				"the completion queue was full when a completion was added",
				"make the queue larger (cqe) or poll more often"},
	[ADV_ERR_AH_PD] = {"AH_PD", STATUS(LOC_QP_OP_ERR), 0,
			   "the address handle belongs to another protection domain",
			   "create it in the queue pair's protection domain"},
	[ADV_ERR_REMOTE_ACCESS] =
		{"REMOTE_ACCESS", ACCESS_ERROR,
		 "the region or window does not allow the access that the peer requests",
		 "register or bind it with IBV_ACCESS_REMOTE_READ, _WRITE, _ATOMIC"},
	[ADV_ERR_REQUEST_LENGTH] =
		{"REQUEST_LENGTH", INVALID_REQUEST,
		 "the payload of the peer's packet does not fit the length of its message",
		 "is the path MTU the same at both ends?"},
	[ADV_ERR_ATOMIC_TOO_SMALL] = {"ATOMIC_TOO_SMALL", STATUS(LOC_LEN_ERR), 0,
				      "the local buffer of an atomic is shorter than 8 bytes",
				      "use a buffer of 8 bytes"},
	[ADV_ERR_NO_RD_ATOMIC] =
		{"NO_RD_ATOMIC", STATUS(LOC_QP_OP_ERR), 0,
		 "a READ or atomic on a queue pair with max_rd_atomic 0",
		 "set max_rd_atomic in ibv_modify_qp, or initiator_depth in rdma_connect"},
	[ADV_ERR_XRC_SRQ_CHANGED] = {"XRC_SRQ_CHANGED", INVALID_REQUEST,
				     "the peer names another XRC SRQ in the middle of a message",
				     "the peer violates the protocol: capture UDP port 4791"},
	[ADV_ERR_WINDOW] =
		{"WINDOW", STATUS(MW_BIND_ERR), 0,
		 "the protection domain has no memory window of this type and key",
		 "was the window freed? does it belong to the queue pair's protection domain?"},
	[ADV_ERR_BIND_LKEY] =
		{"BIND_LKEY", STATUS(MW_BIND_ERR), 0,
		 "the protection domain has no region with this lkey to bind the window to",
		 "was it deregistered? does it belong to the queue pair's protection domain?"},
	[ADV_ERR_LKEY_PD] =
		{"LKEY_PD", STATUS(LOC_PROT_ERR), 0,
		 "the lkey's region belongs to another protection domain",
		 "register it in the queue pair's protection domain (with an XRC SRQ: the SRQ's)"},
	[ADV_ERR_DATAGRAM_TOO_LONG] = {"DATAGRAM_TOO_LONG", STATUS(LOC_LEN_ERR), 0,
				       "a UD message is longer than the path MTU",
				       "send at most active_mtu bytes (ibv_query_port)"},
	[ADV_ERR_RESPONSES_LOST] = {"RESPONSES_LOST", STATUS(RETRY_EXC_ERR), 0,
				    "repeated requests for lost responses used up retry_cnt",
				    "packets from the peer are lost: compare the drop counters at "
				    "both ends and in between"},
	[ADV_ERR_NAK_RESERVED] = {"NAK_RESERVED", STATUS(BAD_RESP_ERR), 0,
				  "the peer sent a NAK with a code that RC does not use",
				  "the peer violates the protocol: capture UDP port 4791"},
	[ADV_ERR_RESPONSE_LENGTH] = {"RESPONSE_LENGTH", STATUS(BAD_RESP_ERR), 0,
				     "the response does not have the length that the request needs",
				     "is the path MTU the same at both ends?"},
	[ADV_ERR_QP_ACCESS] = {"QP_ACCESS", INVALID_AT_ONCE,
			       "the queue pair does not allow the peer's request",
			       "allow it in qp_access_flags (ibv_modify_qp)"},
	[ADV_ERR_TOO_MANY_RD_ATOMIC] =
		{"TOO_MANY_RD_ATOMIC", INVALID_AT_ONCE,
		 "the peer has more READs and atomics outstanding than max_dest_rd_atomic",
		 "set the peer's max_rd_atomic to this value at most"},
	[ADV_ERR_REQUEST_TOO_LONG] = {"REQUEST_TOO_LONG", INVALID_AT_ONCE,
				      "the peer requests more than 2^31 bytes",
				      "the peer violates the protocol: capture UDP port 4791"},
	[ADV_ERR_MISALIGNED] = {"MISALIGNED", INVALID_AT_ONCE,
				"the address of the peer's atomic is not a multiple of 8",
				"align it, and addr and iova of the region as well"},
	[ADV_ERR_RKEY] = {"RKEY", ACCESS_ERROR, "the peer's rkey names no region and no window",
			  "was the region deregistered or the window invalidated? does the peer "
			  "have the whole key?"},
	[ADV_ERR_RKEY_PD] =
		{"RKEY_PD", ACCESS_ERROR, "this queue pair may not use the rkey's region or window",
		 "use one of its protection domain; bind a type 2 window through this queue pair"},
	[ADV_ERR_REMOTE_BOUNDS] = {"REMOTE_BOUNDS", 0, EVENT(QP_ACCESS_ERR),
				   "the peer's address range exceeds the region or window",
				   "compare remote_addr and length with the registered range"},
	[ADV_ERR_INVALIDATE] = {"INVALIDATE", STATUS(LOC_ACCESS_ERR), 0,
				"the peer's SEND invalidates a key that is not a type 2 window "
				"bound through this queue pair",
				"is it invalidated already? is the key the current one?"},
	[ADV_ERR_FLUSH_TYPE] =
		{"FLUSH_TYPE", INVALID_AT_ONCE,
		 "the peer's FLUSH names no placement type, or an unknown selectivity",
		 "set IBV_FLUSH_GLOBAL or IBV_FLUSH_PERSISTENT, and a selectivity that exists"},
	[ADV_ERR_XRC_SRQ] =
		{"XRC_SRQ", INVALID_REQUEST,
		 "the XRC domain has no SRQ with the number in the peer's packet",
		 "use the number that ibv_get_srq_num returns; does the SRQ still exist?"},
	[ADV_ERR_MESSAGE_ABORTED] = {"MESSAGE_ABORTED", STATUS(REM_ABORT_ERR), 0,
				     "UC with an SRQ: the rest of the message was lost",
				     "post the buffer again; the queue pair continues to work"},
	[ADV_ERR_WINDOW_BOUND] = {"WINDOW_BOUND", STATUS(MW_BIND_ERR), 0,
				  "the type 2 window is already bound",
				  "invalidate it first (IBV_WR_LOCAL_INV)"},
	[ADV_ERR_WINDOW_KEY] =
		{"WINDOW_KEY", STATUS(MW_BIND_ERR), 0,
		 "the bind request gives the type 2 window the key that it already has",
		 "use a new key (ibv_inc_rkey)"},
	[ADV_ERR_WINDOW_LENGTH] = {"WINDOW_LENGTH", STATUS(MW_BIND_ERR), 0,
				   "the bind request for a type 2 window has length 0",
				   "to unbind the window, invalidate it (IBV_WR_LOCAL_INV)"},
	[ADV_ERR_LOCAL_INVALIDATE] =
		{"LOCAL_INVALIDATE", STATUS(MW_BIND_ERR), 0,
		 "the key to invalidate is not a type 2 window bound through this queue pair",
		 "is it invalidated already? is the key the current one?"},
	[ADV_ERR_BIND_ACCESS] =
		{"BIND_ACCESS", STATUS(MW_BIND_ERR), 0, "the region does not allow this window",
		 "register the region with IBV_ACCESS_MW_BIND and not zero-based; a window with "
		 "remote write or atomic access also needs IBV_ACCESS_LOCAL_WRITE"},
	[ADV_ERR_BIND_BOUNDS] = {"BIND_BOUNDS", STATUS(MW_BIND_ERR), 0,
				 "the window exceeds its region",
				 "compare addr and length with the registered range"},
	[ADV_ERR_INJECTED] =
		{"INJECTED", ADV_CAUSE_ANY_ERROR, 0,
		 "a fault plan made the request fail; the request itself was carried out",
		 "see adverb fault show and adverb fault --help"},
	[ADV_ERR_LOCAL_UNMAPPED] =
		{"LOCAL_UNMAPPED", STATUS(LOC_PROT_ERR), 0,
		 "a region of on-demand paging has no memory at the address, or memory without the "
		 "access that the request needs",
		 "map it before the request is posted; unmap it after it has completed"},
	[ADV_ERR_REMOTE_UNMAPPED] =
		{"REMOTE_UNMAPPED", ACCESS_ERROR,
		 "the peer accesses a region of on-demand paging where no memory is mapped",
		 "keep memory mapped while peers know its rkey and address"},
	[ADV_ERR_NO_RECEIVE] = {"NO_RECEIVE", INVALID_AT_ONCE,
				"iWARP: a SEND arrived and no receive request was posted",
				"post receives before the peer sends: iWARP does not retry"},
	[ADV_ERR_TERMINATED] =
		{"TERMINATED", 0, EVENT(QP_FATAL),
		 "iWARP: the peer found an error in a request that had completed here",
		 "the cause is in the peer's log (ADVERB_LOG=warn)"},
	[ADV_ERR_STREAM] = {"STREAM", INVALID_AT_ONCE,
			    "iWARP: the peer's stream has a wrong CRC, marker or length",
			    "the peer violates the protocol: adverb capture shows the FPDUs"},
	[ADV_ERR_NOT_IWARP] = {"NOT_IWARP", STATUS(LOC_QP_OP_ERR), 0,
			       "iWARP does not have this operation",
			       "use SEND, RDMA WRITE and RDMA READ without immediate data"},
};

const struct adv_cause *adv_cause(uint32_t number)
{
	return number < ADV_ARRAY_SIZE(causes) ? &causes[number] : NULL;
}
