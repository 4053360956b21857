/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes SMB2 messages for tests. */
#ifndef TESTS_SMB2_BUILD_H
#define TESTS_SMB2_BUILD_H

#include <string.h>

#include "base/bytes.h"
#include "storage/smb2/message.h"
#include "storage/smbdirect/message.h"

/* Writes a header at `at`. */
static inline void build_header(uint8_t *at, uint16_t command, uint64_t id, uint32_t flags,
				uint32_t next)
{
	memset(at, 0, ADV_SMB2_HEADER_LEN);
	memcpy(at, "\xfeSMB\x40", 5);
	adv_put_le16(at + 12, command);
	adv_put_le32(at + 16, flags);
	adv_put_le32(at + 20, next);
	adv_put_le64(at + 24, id);
}

/* Writes a READ or WRITE request of `length` bytes with `count` descriptors of `each` bytes, whose
 * tokens are 100, 101, ... Returns the element's length. */
static inline size_t build_io(uint8_t *at, uint16_t command, uint64_t id, uint32_t channel,
			      uint32_t length, unsigned count, uint32_t each)
{
	bool write = command == ADV_SMB2_WRITE;
	uint8_t *channel_at = at + (write ? 96 : 100); /* READ has MinimumCount before it */

	build_header(at, command, id, 0, 0);
	memset(at + 64, 0, 48);
	at[64] = 49;
	adv_put_le32(at + 68, write ? 0 : length);
	adv_put_le64(at + 72, 0x1122334455667788);
	adv_put_le32(channel_at, channel);
	adv_put_le32(channel_at + 4, write ? length : 0);
	adv_put_le16(channel_at + 8, 112);
	adv_put_le16(channel_at + 10, (uint16_t)(count * 16));
	for (unsigned i = 0; i < count; i++) {
		struct adv_smbd_descriptor d = {0x10000 + i * 0x1000, 100 + i, each};

		adv_smbd_descriptor_encode(&d, at + 112 + 16 * i);
	}
	return 112 + 16 * count;
}

/* Writes a READ response with data. Returns its length. */
static inline size_t build_read_response(uint8_t *at, uint64_t id, uint32_t status,
					 const void *data, uint32_t length)
{
	build_header(at, ADV_SMB2_READ, id, ADV_SMB2_FLAG_RESPONSE, 0);
	adv_put_le32(at + 8, status);
	memset(at + 64, 0, 16);
	at[64] = 17;
	at[66] = 80;
	adv_put_le32(at + 68, length);
	if (length > 0)
		memcpy(at + 80, data, length);
	return 80 + length;
}

#endif
