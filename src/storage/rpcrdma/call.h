/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RPC messages (RFC 5531) as far as a transport reads them: their kind, and where their arguments
 * or results begin.
 */
#ifndef ADV_STORAGE_RPCRDMA_CALL_H
#define ADV_STORAGE_RPCRDMA_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adv_rpc_kind { ADV_RPC_CALL, ADV_RPC_REPLY };
enum { ADV_RPC_GSS = 6, ADV_RPC_SYSTEM_ERROR = 5 };

struct adv_rpc_call {
	uint32_t xid;
	uint32_t program, version, procedure;
	/* RPCSEC_GSS conveys the arguments and results in another form: with a checksum, encrypted,
	 * or as tokens. No data item of it may move by RDMA (RFC 8166, section 4.2). */
	bool opaque;
	size_t body; /* offset of the arguments */
};

/* Reads the XID and the kind of a message. False: it is no RPC message. */
bool adv_rpc_kind(const uint8_t *in, size_t len, uint32_t *xid, enum adv_rpc_kind *kind);
/* Reads a call. `in` may be the first part of the message. False: it is no call of RPC version 2,
 * or its credentials are not in the first `len` bytes. */
bool adv_rpc_call_decode(const uint8_t *in, size_t len, struct adv_rpc_call *c);
/* Finds the results of a reply. False: the reply has none, as the call was refused or failed. */
bool adv_rpc_reply_results(const uint8_t *in, size_t len, size_t *body);

enum { ADV_RPC_FAILED_LEN = 24 };
/* Encodes the reply to a call that could not be carried out: SYSTEM_ERR. */
void adv_rpc_failed_encode(uint32_t xid, uint8_t out[ADV_RPC_FAILED_LEN]);

#endif
