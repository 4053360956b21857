/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/command.h"

#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

static bool is_keyed(uint8_t id)
{
	return id >> 4 == ADV_NVME_SGL_KEYED >> 4;
}

void adv_nvme_sgl_decode(const uint8_t in[16], struct adv_nvme_sgl *sgl)
{
	sgl->id = in[15];
	sgl->address = adv_get_le64(in);
	if (is_keyed(sgl->id)) {
		sgl->length = adv_get_le24(in + 8);
		sgl->key = adv_get_le32(in + 11);
	} else {
		sgl->length = adv_get_le32(in + 8);
		sgl->key = 0;
	}
}

void adv_nvme_sgl_encode(const struct adv_nvme_sgl *sgl, uint8_t out[16])
{
	memset(out, 0, 16);
	adv_put_le64(out, sgl->address);
	if (is_keyed(sgl->id)) {
		adv_put_le24(out + 8, sgl->length);
		adv_put_le32(out + 11, sgl->key);
	} else {
		adv_put_le32(out + 8, sgl->length);
	}
	out[15] = sgl->id;
}

bool adv_nvme_command_decode(const uint8_t *in, size_t len, struct adv_nvme_command *command)
{
	if (len < ADV_NVME_COMMAND_LEN)
		return false;
	command->opcode = in[0];
	command->fuse = in[1] & 3;
	command->psdt = in[1] >> 6;
	command->id = adv_get_le16(in + 2);
	command->fabrics_type = in[4];
	command->nsid = adv_get_le32(in + 4);
	command->cdw2 = adv_get_le32(in + 8);
	command->cdw3 = adv_get_le32(in + 12);
	adv_nvme_sgl_decode(in + 24, &command->sgl);
	for (size_t i = 0; i < ADV_ARRAY_SIZE(command->cdw); i++)
		command->cdw[i] = adv_get_le32(in + 40 + 4 * i);
	return true;
}

void adv_nvme_command_encode(const struct adv_nvme_command *command,
			     uint8_t out[ADV_NVME_COMMAND_LEN])
{
	memset(out, 0, ADV_NVME_COMMAND_LEN);
	out[0] = command->opcode;
	out[1] = (uint8_t)(command->fuse | command->psdt << 6);
	adv_put_le16(out + 2, command->id);
	adv_put_le32(out + 4, command->nsid);
	if (command->opcode == ADV_NVME_OPCODE_FABRICS)
		out[4] = command->fabrics_type;
	adv_put_le32(out + 8, command->cdw2);
	adv_put_le32(out + 12, command->cdw3);
	adv_nvme_sgl_encode(&command->sgl, out + 24);
	for (size_t i = 0; i < ADV_ARRAY_SIZE(command->cdw); i++)
		adv_put_le32(out + 40 + 4 * i, command->cdw[i]);
}

bool adv_nvme_completion_decode(const uint8_t *in, size_t len, struct adv_nvme_completion *c)
{
	if (len != ADV_NVME_COMPLETION_LEN)
		return false;
	c->result = adv_get_le64(in);
	c->sq_head = adv_get_le16(in + 8);
	c->sq_id = adv_get_le16(in + 10);
	c->id = adv_get_le16(in + 12);
	c->status = adv_get_le16(in + 14) >> 1;
	return true;
}

void adv_nvme_completion_encode(const struct adv_nvme_completion *c,
				uint8_t out[ADV_NVME_COMPLETION_LEN])
{
	adv_put_le64(out, c->result);
	adv_put_le16(out + 8, c->sq_head);
	adv_put_le16(out + 10, c->sq_id);
	adv_put_le16(out + 12, c->id);
	adv_put_le16(out + 14, (uint16_t)(c->status << 1));
}

enum adv_nvme_direction adv_nvme_command_direction(const struct adv_nvme_command *command)
{
	uint8_t code = command->opcode == ADV_NVME_OPCODE_FABRICS ? command->fabrics_type
								  : command->opcode;

	switch (code & 3) {
	case 1:
		return ADV_NVME_TO_CONTROLLER;
	case 2:
		return ADV_NVME_TO_HOST;
	default:
		return ADV_NVME_NO_DATA;
	}
}

struct name {
	uint8_t code;
	const char *name;
};

static const struct name fabrics_names[] = {
	{ADV_NVME_PROPERTY_SET, "Property Set"},
	{ADV_NVME_CONNECT, "Connect"},
	{ADV_NVME_PROPERTY_GET, "Property Get"},
	{ADV_NVME_AUTHENTICATION_SEND, "Authentication Send"},
	{ADV_NVME_AUTHENTICATION_RECEIVE, "Authentication Receive"},
	{ADV_NVME_DISCONNECT, "Disconnect"},
};

static const struct name admin_names[] = {
	{ADV_NVME_GET_LOG_PAGE, "Get Log Page"},
	{ADV_NVME_IDENTIFY, "Identify"},
	{ADV_NVME_ABORT, "Abort"},
	{ADV_NVME_SET_FEATURES, "Set Features"},
	{ADV_NVME_GET_FEATURES, "Get Features"},
	{ADV_NVME_ASYNC_EVENT_REQUEST, "Asynchronous Event Request"},
	{ADV_NVME_KEEP_ALIVE, "Keep Alive"},
};

static const struct name io_names[] = {
	{ADV_NVME_FLUSH, "Flush"},
	{ADV_NVME_WRITE, "Write"},
	{ADV_NVME_READ, "Read"},
	{ADV_NVME_COMPARE, "Compare"},
	{ADV_NVME_WRITE_ZEROES, "Write Zeroes"},
	{ADV_NVME_DATASET_MANAGEMENT, "Dataset Management"},
	{ADV_NVME_COPY, "Copy"},
};

static const char *name_in(const struct name *names, size_t count, uint8_t code)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].code == code)
			return names[i].name;
	}
	return "unknown command";
}

const char *adv_nvme_command_name(const struct adv_nvme_command *command, bool admin)
{
	if (command->opcode == ADV_NVME_OPCODE_FABRICS)
		return name_in(fabrics_names, ADV_ARRAY_SIZE(fabrics_names), command->fabrics_type);
	if (admin)
		return name_in(admin_names, ADV_ARRAY_SIZE(admin_names), command->opcode);
	return name_in(io_names, ADV_ARRAY_SIZE(io_names), command->opcode);
}

void adv_nvme_command_set_blocks(struct adv_nvme_command *c, uint64_t slba, uint32_t blocks)
{
	ADV_NVME_CDW(c, 10) = (uint32_t)slba;
	ADV_NVME_CDW(c, 11) = (uint32_t)(slba >> 32);
	ADV_NVME_CDW(c, 12) = (ADV_NVME_CDW(c, 12) & 0xffff0000) | (blocks - 1);
}

void adv_nvme_range_decode(const uint8_t in[ADV_NVME_RANGE_LEN], struct adv_nvme_range *range)
{
	range->attributes = adv_get_le32(in);
	range->blocks = adv_get_le32(in + 4);
	range->slba = adv_get_le64(in + 8);
}

void adv_nvme_range_encode(const struct adv_nvme_range *range, uint8_t out[ADV_NVME_RANGE_LEN])
{
	adv_put_le32(out, range->attributes);
	adv_put_le32(out + 4, range->blocks);
	adv_put_le64(out + 8, range->slba);
}

void adv_nvme_source_decode(const uint8_t in[ADV_NVME_SOURCE_LEN], struct adv_nvme_source *source)
{
	source->slba = adv_get_le64(in + 8);
	source->blocks = adv_get_le16(in + 16) + 1u;
}

void adv_nvme_source_encode(const struct adv_nvme_source *source, uint8_t out[ADV_NVME_SOURCE_LEN])
{
	memset(out, 0, ADV_NVME_SOURCE_LEN);
	adv_put_le64(out + 8, source->slba);
	adv_put_le16(out + 16, (uint16_t)(source->blocks - 1));
}
