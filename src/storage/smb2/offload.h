/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client's side of RDMA channels, for a client that has none: a READ or WRITE request gets an
 * RDMA channel with one descriptor, and the data comes back into the READ response (MS-SMB2,
 * sections 3.2.4.6 and 3.2.4.7).
 */
#ifndef ADV_STORAGE_SMB2_OFFLOAD_H
#define ADV_STORAGE_SMB2_OFFLOAD_H

#include "storage/smb2/message.h"
#include "storage/smbdirect/message.h"

/* a request with one descriptor */
enum { ADV_SMB2_OFFLOAD_LEN = ADV_SMB2_IO_LEN + ADV_SMBD_DESCRIPTOR_LEN };

struct adv_smb2_offload {
	uint64_t message_id;
	uint16_t command;
	uint32_t length; /* bytes of data */
	uint32_t offset; /* WRITE: of the data in the message */
};

/* True if a client's message is one READ or WRITE request that can have a channel: not signed,
 * without one, and with its data. */
bool adv_smb2_offload_find(const uint8_t *message, size_t length, struct adv_smb2_offload *o);
/* Makes the request with a channel. */
void adv_smb2_offload_request(const uint8_t *message, const struct adv_smb2_offload *o,
			      const struct adv_smbd_descriptor *d,
			      uint8_t out[ADV_SMB2_OFFLOAD_LEN]);

/* True if a server's message is one final response; its message id is set. */
bool adv_smb2_offload_is_final(const uint8_t *message, size_t length, uint64_t *message_id);
/* Changes the response to such a request, so that it has the data that was written by RDMA: `n`
 * bytes, which belong behind the first ADV_SMB2_READ_RESPONSE_LEN bytes; 0: nothing is changed.
 * False: the response is wrong. */
bool adv_smb2_offload_response(uint8_t *message, size_t length, const struct adv_smb2_offload *o,
			       uint32_t *n);

#endif
