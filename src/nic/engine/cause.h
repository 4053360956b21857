/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The causes of errors, and their explanations. */
#ifndef ADV_NIC_ENGINE_CAUSE_H
#define ADV_NIC_ENGINE_CAUSE_H

#include <stdint.h>

#include <infiniband/verbs.h>

/*
 * Causes of failed completions (vendor_err of struct ibv_wc) and of asynchronous errors of QPs and
 * CQs. Each number has one meaning, which never changes. The table in cause.c has the statuses,
 * events and explanation of each cause.
 */
enum adv_vendor_err {
	ADV_ERR_NONE = 0,
	ADV_ERR_FLUSHED = 1,
	ADV_ERR_LKEY = 2,
	ADV_ERR_LOCAL_BOUNDS = 3,
	ADV_ERR_LOCAL_ACCESS = 4,
	ADV_ERR_MESSAGE_TOO_LONG = 5,
	ADV_ERR_RECV_TOO_SMALL = 6,
	ADV_ERR_TIMEOUT = 7,
	ADV_ERR_SEQUENCE_RETRIES = 8,
	ADV_ERR_RNR_RETRIES = 9,
	ADV_ERR_NAK_INVALID_REQUEST = 10,
	ADV_ERR_NAK_ACCESS = 11,
	ADV_ERR_NAK_OPERATION = 12,
	ADV_ERR_BAD_RESPONSE = 13,
	ADV_ERR_REQUEST_SEQUENCE = 14,
	ADV_ERR_CQ_OVERRUN = 15,
	ADV_ERR_AH_PD = 16,
	ADV_ERR_REMOTE_ACCESS = 17,
	ADV_ERR_REQUEST_LENGTH = 18,
	ADV_ERR_ATOMIC_TOO_SMALL = 19,
	ADV_ERR_NO_RD_ATOMIC = 20,
	ADV_ERR_XRC_SRQ_CHANGED = 21,
	ADV_ERR_WINDOW = 22,
	ADV_ERR_BIND_LKEY = 23,
	ADV_ERR_LKEY_PD = 24,
	ADV_ERR_DATAGRAM_TOO_LONG = 25,
	ADV_ERR_RESPONSES_LOST = 26,
	ADV_ERR_NAK_RESERVED = 27,
	ADV_ERR_RESPONSE_LENGTH = 28,
	ADV_ERR_QP_ACCESS = 29,
	ADV_ERR_TOO_MANY_RD_ATOMIC = 30,
	ADV_ERR_REQUEST_TOO_LONG = 31,
	ADV_ERR_MISALIGNED = 32,
	ADV_ERR_RKEY = 33,
	ADV_ERR_RKEY_PD = 34,
	ADV_ERR_REMOTE_BOUNDS = 35,
	ADV_ERR_INVALIDATE = 36,
	ADV_ERR_FLUSH_TYPE = 37,
	ADV_ERR_XRC_SRQ = 38,
	ADV_ERR_MESSAGE_ABORTED = 39,
	ADV_ERR_WINDOW_BOUND = 40,
	ADV_ERR_WINDOW_KEY = 41,
	ADV_ERR_WINDOW_LENGTH = 42,
	ADV_ERR_LOCAL_INVALIDATE = 43,
	ADV_ERR_BIND_ACCESS = 44,
	ADV_ERR_BIND_BOUNDS = 45,
	ADV_ERR_INJECTED = 46, /* injected by an adv_injector */
	ADV_ERR_LOCAL_UNMAPPED = 47,
	ADV_ERR_REMOTE_UNMAPPED = 48,
	ADV_ERR_NO_RECEIVE = 49,
	ADV_ERR_TERMINATED = 50,
	ADV_ERR_STREAM = 51,
	ADV_ERR_NOT_IWARP = 52,
};

/* A bit for each error status up to IBV_WC_GENERAL_ERR. Later statuses belong to tag matching. */
#define ADV_CAUSE_ANY_ERROR ((2u << IBV_WC_GENERAL_ERR) - 2)

struct adv_cause {
	const char *name; /* name of the enumerator without ADV_ERR_ */
	/* How the cause is reported: one bit for each enum ibv_wc_status and enum
	 * ibv_event_type. */
	uint32_t statuses;
	uint32_t events;
	const char *text;   /* explanation */
	const char *advice; /* remedy */
};

/* Returns the cause with this number, or NULL if the number is not used. Numbers start at 0 and
 * have no gaps. */
const struct adv_cause *adv_cause(uint32_t number);

#endif
