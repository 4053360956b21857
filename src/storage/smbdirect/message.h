/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of SMB Direct (MS-SMBD, section 2.2): two that negotiate a connection, and data
 * transfer messages, each of which is a SEND. All numbers are little-endian.
 */
#ifndef ADV_STORAGE_SMBDIRECT_MESSAGE_H
#define ADV_STORAGE_SMBDIRECT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADV_SMBD_VERSION = 0x0100,
	ADV_SMBD_REQUEST_LEN = 20,
	ADV_SMBD_RESPONSE_LEN = 32,
	ADV_SMBD_EMPTY_LEN = 20,   /* a data transfer message without data */
	ADV_SMBD_DATA_OFFSET = 24, /* of the data in a message; a multiple of 8 */
	ADV_SMBD_DESCRIPTOR_LEN = 16,
	/* The least that a peer has to receive: bytes of a SEND, and of a reassembled message. */
	ADV_SMBD_RECEIVE_LEAST = 128,
	ADV_SMBD_FRAGMENTED_LEAST = 131072,
};

/* NTSTATUS of a negotiate response */
#define ADV_SMBD_SUCCESS       0u
#define ADV_SMBD_NOT_SUPPORTED 0xC00000BBu

/* SMB_DIRECT_RESPONSE_REQUESTED: a flag of a data transfer message */
#define ADV_SMBD_RESPONSE_REQUESTED 0x0001u

struct adv_smbd_request {
	uint16_t min_version, max_version;
	uint16_t credits_requested;
	uint32_t send_size, receive_size; /* of a SEND, bytes */
	uint32_t fragmented_size;	  /* of a reassembled message, bytes */
};

struct adv_smbd_response {
	uint16_t min_version, max_version, version;
	uint16_t credits_requested, credits_granted;
	uint32_t status;
	uint32_t read_write_size;
	uint32_t send_size, receive_size;
	uint32_t fragmented_size;
};

struct adv_smbd_transfer {
	uint16_t credits_requested; /* in total */
	uint16_t credits_granted;   /* further ones */
	uint16_t flags;
	uint32_t remaining; /* bytes of the upper layer's message in later messages */
	uint32_t offset;    /* of the data in the message */
	uint32_t length;    /* of the data */
};

/* SMB_DIRECT_BUFFER_DESCRIPTOR_V1: registered memory of the peer. */
struct adv_smbd_descriptor {
	uint64_t offset; /* virtual address */
	uint32_t token;	 /* R_Key */
	uint32_t length;
};

/* False: the message is too short. */
bool adv_smbd_request_decode(const uint8_t *in, size_t length, struct adv_smbd_request *r);
void adv_smbd_request_encode(const struct adv_smbd_request *r, uint8_t out[ADV_SMBD_REQUEST_LEN]);
bool adv_smbd_response_decode(const uint8_t *in, size_t length, struct adv_smbd_response *r);
void adv_smbd_response_encode(const struct adv_smbd_response *r,
			      uint8_t out[ADV_SMBD_RESPONSE_LEN]);
/* False: the message is too short, or the data is not in it. */
bool adv_smbd_transfer_decode(const uint8_t *in, size_t length, struct adv_smbd_transfer *t);
/* Returns the length of what was written: with data, zeros up to the data's offset follow. */
size_t adv_smbd_transfer_encode(const struct adv_smbd_transfer *t,
				uint8_t out[ADV_SMBD_DATA_OFFSET]);

void adv_smbd_descriptor_decode(const uint8_t in[ADV_SMBD_DESCRIPTOR_LEN],
				struct adv_smbd_descriptor *d);
void adv_smbd_descriptor_encode(const struct adv_smbd_descriptor *d,
				uint8_t out[ADV_SMBD_DESCRIPTOR_LEN]);

#endif
