/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of SMB 2 and 3 (MS-SMB2, section 2.2), as far as a gateway has to know them: the headers
 * of compound messages, and READ and WRITE. All numbers are little-endian.
 */
#ifndef ADV_STORAGE_SMB2_MESSAGE_H
#define ADV_STORAGE_SMB2_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADV_SMB2_HEADER_LEN = 64,
	/* READ and WRITE requests before the variable part, with their header */
	ADV_SMB2_IO_LEN = 112,
	/* a READ response before the data, with its header */
	ADV_SMB2_READ_RESPONSE_LEN = 80,
	/* the longest message over TCP: its length has 24 bits (section 2.1) */
	ADV_SMB2_TCP_MAX = 0xffffff,
};

enum adv_smb2_command { ADV_SMB2_NEGOTIATE = 0, ADV_SMB2_READ = 8, ADV_SMB2_WRITE = 9 };

enum adv_smb2_channel {
	ADV_SMB2_CHANNEL_NONE = 0,
	ADV_SMB2_CHANNEL_RDMA_V1 = 1,
	ADV_SMB2_CHANNEL_RDMA_V1_INVALIDATE = 2,
};

#define ADV_SMB2_FLAG_RESPONSE		0x00000001u
#define ADV_SMB2_FLAG_ASYNC		0x00000002u
#define ADV_SMB2_FLAG_SIGNED		0x00000008u

#define ADV_SMB2_STATUS_SUCCESS		0x00000000u
#define ADV_SMB2_STATUS_PENDING		0x00000103u
#define ADV_SMB2_STATUS_BUFFER_OVERFLOW 0x80000005u

/* One request or response of a message. */
struct adv_smb2_element {
	size_t offset, length; /* of it in the message; to the next one, with padding */
	bool last;
	uint16_t command;
	uint32_t status; /* of a response */
	uint32_t flags;
	uint64_t message_id;
};

/* The fields that READ and WRITE requests share, and those of their data. */
struct adv_smb2_io {
	uint32_t channel;
	uint16_t channel_offset, channel_length; /* of the channel information in the element */
	uint32_t length;
	uint32_t remaining;
	uint16_t data_offset; /* WRITE */
};

/* True if a message is not encrypted, compressed, or of SMB 1: it has elements. */
bool adv_smb2_is_plain(const uint8_t *message, size_t length);
/* Decodes the element at an offset of a plain message. False: there is no whole one. */
bool adv_smb2_element_at(const uint8_t *message, size_t length, size_t offset,
			 struct adv_smb2_element *e);
/* Writes the offset of the next element; 0: it is the last one. */
void adv_smb2_set_next(uint8_t *element, uint32_t next);

/* Decodes a READ or WRITE request. False: the element is too short. */
bool adv_smb2_io_decode(const uint8_t *element, const struct adv_smb2_element *e,
			struct adv_smb2_io *io);
/* Replaces these fields. */
void adv_smb2_io_encode(uint8_t *element, uint16_t command, const struct adv_smb2_io *io);
/* Makes a request wrong: a server answers it with STATUS_INVALID_PARAMETER, and a signed one with
 * STATUS_ACCESS_DENIED. */
void adv_smb2_spoil(uint8_t *element);

/* Where the data of a READ response is in the element, and how much was sent by RDMA. False: it is
 * not in it. */
bool adv_smb2_read_response_decode(const uint8_t *element, const struct adv_smb2_element *e,
				   uint32_t *offset, uint32_t *length, uint32_t *by_rdma);
/* Replaces the lengths; the data begins behind the response. */
void adv_smb2_read_response_encode(uint8_t *element, uint32_t length, uint32_t by_rdma);

/* Returns the dialect that a NEGOTIATE response chooses. 0: it is none. */
uint16_t adv_smb2_dialect(const uint8_t *element, const struct adv_smb2_element *e);

#endif
