/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb2/offload.h"

#include <string.h>

bool adv_smb2_offload_find(const uint8_t *message, size_t length, struct adv_smb2_offload *o)
{
	struct adv_smb2_element e;
	struct adv_smb2_io io;

	if (!adv_smb2_element_at(message, length, 0, &e) || !e.last ||
	    (e.flags & (ADV_SMB2_FLAG_SIGNED | ADV_SMB2_FLAG_RESPONSE)) ||
	    (e.command != ADV_SMB2_READ && e.command != ADV_SMB2_WRITE) ||
	    !adv_smb2_io_decode(message, &e, &io) || io.channel != ADV_SMB2_CHANNEL_NONE)
		return false;
	if (e.command == ADV_SMB2_WRITE &&
	    (io.data_offset < ADV_SMB2_IO_LEN || io.data_offset > length ||
	     io.length > length - io.data_offset))
		return false;
	*o = (struct adv_smb2_offload){e.message_id, e.command, io.length, io.data_offset};
	return io.length > 0;
}

void adv_smb2_offload_request(const uint8_t *message, const struct adv_smb2_offload *o,
			      const struct adv_smbd_descriptor *d,
			      uint8_t out[ADV_SMB2_OFFLOAD_LEN])
{
	bool write = o->command == ADV_SMB2_WRITE;
	const struct adv_smb2_io io = {
		.channel = ADV_SMB2_CHANNEL_RDMA_V1,
		.channel_offset = ADV_SMB2_IO_LEN,
		.channel_length = ADV_SMBD_DESCRIPTOR_LEN,
		.length = write ? 0 : o->length,
		.remaining = write ? o->length : 0,
	};

	memcpy(out, message, ADV_SMB2_IO_LEN);
	adv_smb2_io_encode(out, o->command, &io);
	adv_smbd_descriptor_encode(d, out + ADV_SMB2_IO_LEN);
}

bool adv_smb2_offload_is_final(const uint8_t *message, size_t length, uint64_t *message_id)
{
	struct adv_smb2_element e;

	if (!adv_smb2_element_at(message, length, 0, &e) || !e.last ||
	    !(e.flags & ADV_SMB2_FLAG_RESPONSE) ||
	    (e.status == ADV_SMB2_STATUS_PENDING && (e.flags & ADV_SMB2_FLAG_ASYNC)))
		return false;
	*message_id = e.message_id;
	return true;
}

bool adv_smb2_offload_response(uint8_t *message, size_t length, const struct adv_smb2_offload *o,
			       uint32_t *n)
{
	struct adv_smb2_element e;
	uint32_t offset, data;

	*n = 0;
	if (!adv_smb2_element_at(message, length, 0, &e) || e.command != o->command)
		return false;
	if (e.command != ADV_SMB2_READ ||
	    (e.status != ADV_SMB2_STATUS_SUCCESS && e.status != ADV_SMB2_STATUS_BUFFER_OVERFLOW))
		return true;
	if (!adv_smb2_read_response_decode(message, &e, &offset, &data, n) || *n > o->length ||
	    (*n > 0 && (data > 0 || (e.flags & ADV_SMB2_FLAG_SIGNED))))
		return false;
	if (*n > 0)
		adv_smb2_read_response_encode(message, *n, 0);
	return true;
}
