/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb2/message.h"

#include "base/bytes.h"

/* Offsets in an element. */
enum {
	STATUS = 8,
	COMMAND = 12,
	FLAGS = 16,
	NEXT = 20,
	MESSAGE_ID = 24,
	BODY = ADV_SMB2_HEADER_LEN,
	STRUCTURE_SIZE = BODY,
	READ_FLAGS = BODY + 3,
	WRITE_DATA_OFFSET = BODY + 2,
	IO_LENGTH = BODY + 4,
	WRITE_CHANNEL = BODY + 32, /* four fields of channels */
	READ_CHANNEL = BODY + 36,  /* the same: MinimumCount is before them */
	RESPONSE_DATA_OFFSET = BODY + 2,
	RESPONSE_LENGTH = BODY + 4,
	RESPONSE_REMAINING = BODY + 8,
	DIALECT = BODY + 4,
	NEGOTIATE_RESPONSE_LEN = BODY + 64,
};

/* Offsets from the channel. */
enum { REMAINING = 4, CHANNEL_OFFSET = 8, CHANNEL_LENGTH = 10 };

/* SMB2_READFLAG_REQUEST_COMPRESSED */
#define COMPRESS_RESPONSE 0x02

static const uint8_t plain[4] = {0xfe, 'S', 'M', 'B'};

bool adv_smb2_is_plain(const uint8_t *message, size_t length)
{
	return length >= sizeof(plain) && memcmp(message, plain, sizeof(plain)) == 0;
}

bool adv_smb2_element_at(const uint8_t *message, size_t length, size_t offset,
			 struct adv_smb2_element *e)
{
	const uint8_t *at = message + offset;
	uint32_t next;

	if (offset > length || length - offset < ADV_SMB2_HEADER_LEN ||
	    !adv_smb2_is_plain(at, length - offset))
		return false;
	next = adv_get_le32(at + NEXT);
	if (next != 0 && (next % 8 != 0 || next < ADV_SMB2_HEADER_LEN || next >= length - offset))
		return false;
	e->offset = offset;
	e->last = next == 0;
	e->length = next ? next : length - offset;
	e->command = adv_get_le16(at + COMMAND);
	e->status = adv_get_le32(at + STATUS);
	e->flags = adv_get_le32(at + FLAGS);
	e->message_id = adv_get_le64(at + MESSAGE_ID);
	return true;
}

void adv_smb2_set_next(uint8_t *element, uint32_t next)
{
	adv_put_le32(element + NEXT, next);
}

bool adv_smb2_io_decode(const uint8_t *element, const struct adv_smb2_element *e,
			struct adv_smb2_io *io)
{
	const uint8_t *channel =
		element + (e->command == ADV_SMB2_WRITE ? WRITE_CHANNEL : READ_CHANNEL);

	if (e->length < ADV_SMB2_IO_LEN)
		return false;
	io->channel = adv_get_le32(channel);
	io->channel_offset = adv_get_le16(channel + CHANNEL_OFFSET);
	io->channel_length = adv_get_le16(channel + CHANNEL_LENGTH);
	io->length = adv_get_le32(element + IO_LENGTH);
	io->remaining = adv_get_le32(channel + REMAINING);
	io->data_offset =
		e->command == ADV_SMB2_WRITE ? adv_get_le16(element + WRITE_DATA_OFFSET) : 0;
	return true;
}

void adv_smb2_io_encode(uint8_t *element, uint16_t command, const struct adv_smb2_io *io)
{
	uint8_t *channel = element + (command == ADV_SMB2_WRITE ? WRITE_CHANNEL : READ_CHANNEL);

	adv_put_le32(channel, io->channel);
	adv_put_le16(channel + CHANNEL_OFFSET, io->channel_offset);
	adv_put_le16(channel + CHANNEL_LENGTH, io->channel_length);
	adv_put_le32(element + IO_LENGTH, io->length);
	adv_put_le32(channel + REMAINING, io->remaining);
	if (command == ADV_SMB2_WRITE)
		adv_put_le16(element + WRITE_DATA_OFFSET, io->data_offset);
	else /* data that moves by RDMA is not compressed */
		element[READ_FLAGS] &= (uint8_t)~COMPRESS_RESPONSE;
}

void adv_smb2_spoil(uint8_t *element)
{
	adv_put_le16(element + STRUCTURE_SIZE, 0);
}

bool adv_smb2_read_response_decode(const uint8_t *element, const struct adv_smb2_element *e,
				   uint32_t *offset, uint32_t *length, uint32_t *by_rdma)
{
	if (e->length < ADV_SMB2_READ_RESPONSE_LEN)
		return false;
	*offset = element[RESPONSE_DATA_OFFSET];
	*length = adv_get_le32(element + RESPONSE_LENGTH);
	*by_rdma = adv_get_le32(element + RESPONSE_REMAINING);
	return *length == 0 || (*offset >= ADV_SMB2_READ_RESPONSE_LEN && *offset <= e->length &&
				*length <= e->length - *offset);
}

void adv_smb2_read_response_encode(uint8_t *element, uint32_t length, uint32_t by_rdma)
{
	element[RESPONSE_DATA_OFFSET] = ADV_SMB2_READ_RESPONSE_LEN;
	adv_put_le32(element + RESPONSE_LENGTH, length);
	adv_put_le32(element + RESPONSE_REMAINING, by_rdma);
}

uint16_t adv_smb2_dialect(const uint8_t *element, const struct adv_smb2_element *e)
{
	if (e->command != ADV_SMB2_NEGOTIATE || !(e->flags & ADV_SMB2_FLAG_RESPONSE) ||
	    e->status != ADV_SMB2_STATUS_SUCCESS || e->length < NEGOTIATE_RESPONSE_LEN)
		return 0;
	return adv_get_le16(element + DIALECT);
}
