/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/rpcrdma/call.h"

#include "base/bytes.h"

enum {
	RPC_VERSION = 2,
	ACCEPTED = 0,
	SUCCESS = 0,
	AUTH_MAX = 400, /* bytes of credentials or of a verifier */
	GSS_DATA = 0,	/* procedure of a GSS credential: an ordinary call */
	GSS_SERVICE_NONE = 1,
};

bool adv_rpc_kind(const uint8_t *in, size_t len, uint32_t *xid, enum adv_rpc_kind *kind)
{
	uint32_t value;

	if (len < 8)
		return false;
	*xid = adv_get_be32(in);
	value = adv_get_be32(in + 4);
	*kind = value;
	return value == ADV_RPC_CALL || value == ADV_RPC_REPLY;
}

/* Skips credentials or a verifier at `at`: flavor, length, contents. False: they are too long. */
static bool skip_auth(const uint8_t *in, size_t len, size_t *at)
{
	uint32_t size;

	if (len < *at + 8)
		return false;
	size = adv_get_be32(in + *at + 4);
	if (size > AUTH_MAX)
		return false;
	*at += 8 + ((size + 3) & ~3u);
	return *at <= len;
}

/* True if the credentials at `in` change the form of the arguments. */
static bool is_opaque(const uint8_t *in)
{
	if (adv_get_be32(in) != ADV_RPC_GSS)
		return false;
	/* version, procedure, sequence number, service (RFC 2203, section 5) */
	if (adv_get_be32(in + 4) < 16)
		return true;
	return adv_get_be32(in + 12) != GSS_DATA || adv_get_be32(in + 20) != GSS_SERVICE_NONE;
}

bool adv_rpc_call_decode(const uint8_t *in, size_t len, struct adv_rpc_call *c)
{
	enum adv_rpc_kind kind;
	size_t at = 24;

	if (!adv_rpc_kind(in, len, &c->xid, &kind) || kind != ADV_RPC_CALL || len < at)
		return false;
	if (adv_get_be32(in + 8) != RPC_VERSION)
		return false;
	c->program = adv_get_be32(in + 12);
	c->version = adv_get_be32(in + 16);
	c->procedure = adv_get_be32(in + 20);
	if (!skip_auth(in, len, &at))
		return false;
	c->opaque = is_opaque(in + 24);
	if (!skip_auth(in, len, &at))
		return false;
	c->body = at;
	return true;
}

bool adv_rpc_reply_results(const uint8_t *in, size_t len, size_t *body)
{
	enum adv_rpc_kind kind;
	uint32_t xid;
	size_t at = 12;

	if (!adv_rpc_kind(in, len, &xid, &kind) || kind != ADV_RPC_REPLY || len < at)
		return false;
	if (adv_get_be32(in + 8) != ACCEPTED || !skip_auth(in, len, &at) || len < at + 4)
		return false;
	*body = at + 4;
	return adv_get_be32(in + at) == SUCCESS;
}

void adv_rpc_failed_encode(uint32_t xid, uint8_t out[ADV_RPC_FAILED_LEN])
{
	adv_put_be32(out, xid);
	adv_put_be32(out + 4, ADV_RPC_REPLY);
	adv_put_be32(out + 8, ACCEPTED);
	adv_put_be32(out + 12, 0); /* AUTH_NONE */
	adv_put_be32(out + 16, 0);
	adv_put_be32(out + 20, ADV_RPC_SYSTEM_ERROR);
}
