/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/connect.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

enum adv_nvme_cm_status adv_nvme_cm_request_decode(const uint8_t *in, size_t len,
						   struct adv_nvme_cm_request *request)
{
	if (len < ADV_NVME_CM_LEN)
		return ADV_NVME_CM_INVALID_LENGTH;
	if (adv_get_le16(in) != 0)
		return ADV_NVME_CM_INVALID_RECFMT;
	request->qid = adv_get_le16(in + 2);
	request->hrqsize = adv_get_le16(in + 4);
	request->hsqsize = adv_get_le16(in + 6);
	request->cntlid = adv_get_le16(in + 8);
	return ADV_NVME_CM_OK;
}

void adv_nvme_cm_request_encode(const struct adv_nvme_cm_request *request,
				uint8_t out[ADV_NVME_CM_LEN])
{
	memset(out, 0, ADV_NVME_CM_LEN);
	adv_put_le16(out + 2, request->qid);
	adv_put_le16(out + 4, request->hrqsize);
	adv_put_le16(out + 6, request->hsqsize);
	adv_put_le16(out + 8, request->cntlid);
}

bool adv_nvme_cm_accept_decode(const uint8_t *in, size_t len, uint16_t *crqsize)
{
	if (len < ADV_NVME_CM_LEN || adv_get_le16(in) != 0)
		return false;
	*crqsize = adv_get_le16(in + 2);
	return true;
}

void adv_nvme_cm_accept_encode(uint16_t crqsize, uint8_t out[ADV_NVME_CM_LEN])
{
	memset(out, 0, ADV_NVME_CM_LEN);
	adv_put_le16(out + 2, crqsize);
}

bool adv_nvme_cm_reject_decode(const uint8_t *in, size_t len, uint16_t *status)
{
	if (len < ADV_NVME_CM_REJ_LEN || adv_get_le16(in) != 0)
		return false;
	*status = adv_get_le16(in + 2);
	return true;
}

void adv_nvme_cm_reject_encode(uint16_t status, uint8_t out[ADV_NVME_CM_REJ_LEN])
{
	adv_put_le16(out, 0);
	adv_put_le16(out + 2, status);
}

const char *adv_nvme_cm_status_name(uint16_t status)
{
	static const char *const names[] = {
		[ADV_NVME_CM_OK] = "no reason",
		[ADV_NVME_CM_INVALID_LENGTH] = "invalid private data length",
		[ADV_NVME_CM_INVALID_RECFMT] = "invalid record format",
		[ADV_NVME_CM_INVALID_QID] = "invalid queue ID",
		[ADV_NVME_CM_INVALID_HSQSIZE] = "invalid host send queue size",
		[ADV_NVME_CM_INVALID_HRQSIZE] = "invalid host receive queue size",
		[ADV_NVME_CM_NO_RESOURCES] = "no resources",
		[ADV_NVME_CM_INVALID_IRD] = "invalid inbound READ depth",
		[ADV_NVME_CM_INVALID_ORD] = "invalid outbound READ depth",
		[ADV_NVME_CM_INVALID_CNTLID] = "invalid controller ID",
	};

	return status < ADV_ARRAY_SIZE(names) ? names[status] : "unknown reason";
}

void adv_nvme_connect_decode(const struct adv_nvme_command *command,
			     struct adv_nvme_connect *connect)
{
	memset(connect, 0, sizeof(*connect));
	connect->recfmt = (uint16_t)ADV_NVME_CDW(command, 10);
	connect->qid = (uint16_t)(ADV_NVME_CDW(command, 10) >> 16);
	connect->sqsize = (uint16_t)ADV_NVME_CDW(command, 11);
	connect->cattr = (uint8_t)(ADV_NVME_CDW(command, 11) >> 16);
	connect->kato = ADV_NVME_CDW(command, 12);
}

void adv_nvme_connect_encode(const struct adv_nvme_connect *connect,
			     struct adv_nvme_command *command)
{
	command->opcode = ADV_NVME_OPCODE_FABRICS;
	command->fabrics_type = ADV_NVME_CONNECT;
	ADV_NVME_CDW(command, 10) = connect->recfmt | (uint32_t)connect->qid << 16;
	ADV_NVME_CDW(command, 11) = connect->sqsize | (uint32_t)connect->cattr << 16;
	ADV_NVME_CDW(command, 12) = connect->kato;
}

/* Copies an NQN of a structure. False: it has no end within its limit. */
static bool copy_nqn(char out[ADV_NVME_NQN_LEN], const uint8_t *in)
{
	memset(out, 0, ADV_NVME_NQN_LEN);
	if (!memchr(in, 0, ADV_NVME_NQN_MAX + 1))
		return false;
	memcpy(out, in, strlen((const char *)in));
	return true;
}

unsigned adv_nvme_connect_data_decode(const uint8_t in[ADV_NVME_CONNECT_LEN],
				      struct adv_nvme_connect_data *data)
{
	memcpy(data->host_id, in, sizeof(data->host_id));
	data->cntlid = adv_get_le16(in + ADV_NVME_CONNECT_AT_CNTLID);
	if (!copy_nqn(data->subsystem_nqn, in + ADV_NVME_CONNECT_AT_SUBNQN))
		return ADV_NVME_CONNECT_AT_SUBNQN;
	if (!copy_nqn(data->host_nqn, in + ADV_NVME_CONNECT_AT_HOSTNQN))
		return ADV_NVME_CONNECT_AT_HOSTNQN;
	return 0;
}

void adv_nvme_connect_data_encode(const struct adv_nvme_connect_data *data,
				  uint8_t out[ADV_NVME_CONNECT_LEN])
{
	memset(out, 0, ADV_NVME_CONNECT_LEN);
	memcpy(out, data->host_id, sizeof(data->host_id));
	adv_put_le16(out + ADV_NVME_CONNECT_AT_CNTLID, data->cntlid);
	memcpy(out + ADV_NVME_CONNECT_AT_SUBNQN, data->subsystem_nqn,
	       strnlen(data->subsystem_nqn, ADV_NVME_NQN_MAX));
	memcpy(out + ADV_NVME_CONNECT_AT_HOSTNQN, data->host_nqn,
	       strnlen(data->host_nqn, ADV_NVME_NQN_MAX));
}

/* True if `text` begins with "yyyy-mm.". */
static bool begins_with_month(const char *text)
{
	static const char pattern[] = "0000-00.";

	for (size_t i = 0; pattern[i]; i++) {
		if (pattern[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != pattern[i])
			return false;
	}
	return true;
}

bool adv_nvme_nqn_valid(const char *nqn)
{
	size_t len = strnlen(nqn, ADV_NVME_NQN_LEN);

	if (len > ADV_NVME_NQN_MAX || strncmp(nqn, "nqn.", 4) != 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isgraph((unsigned char)nqn[i]))
			return false;
	}
	return begins_with_month(nqn + 4) && nqn[12] != 0;
}

bool adv_nvme_property_decode(const struct adv_nvme_command *command,
			      struct adv_nvme_property_access *access)
{
	uint32_t size = ADV_NVME_CDW(command, 10) & 7;

	if (size > 1)
		return false;
	access->wide = size == 1;
	access->offset = ADV_NVME_CDW(command, 11);
	access->value = ADV_NVME_CDW(command, 12) | (uint64_t)ADV_NVME_CDW(command, 13) << 32;
	if (!access->wide)
		access->value &= 0xffffffff;
	return true;
}

void adv_nvme_property_encode(const struct adv_nvme_property_access *access, bool set,
			      struct adv_nvme_command *command)
{
	command->opcode = ADV_NVME_OPCODE_FABRICS;
	command->fabrics_type = set ? ADV_NVME_PROPERTY_SET : ADV_NVME_PROPERTY_GET;
	ADV_NVME_CDW(command, 10) = access->wide;
	ADV_NVME_CDW(command, 11) = access->offset;
	ADV_NVME_CDW(command, 12) = set ? (uint32_t)access->value : 0;
	ADV_NVME_CDW(command, 13) = set && access->wide ? (uint32_t)(access->value >> 32) : 0;
}
