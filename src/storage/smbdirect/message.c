/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smbdirect/message.h"

#include "base/bytes.h"

bool adv_smbd_request_decode(const uint8_t *in, size_t length, struct adv_smbd_request *r)
{
	if (length < ADV_SMBD_REQUEST_LEN)
		return false;
	r->min_version = adv_get_le16(in);
	r->max_version = adv_get_le16(in + 2);
	r->credits_requested = adv_get_le16(in + 6);
	r->send_size = adv_get_le32(in + 8);
	r->receive_size = adv_get_le32(in + 12);
	r->fragmented_size = adv_get_le32(in + 16);
	return true;
}

void adv_smbd_request_encode(const struct adv_smbd_request *r, uint8_t out[ADV_SMBD_REQUEST_LEN])
{
	adv_put_le16(out, r->min_version);
	adv_put_le16(out + 2, r->max_version);
	adv_put_le16(out + 4, 0);
	adv_put_le16(out + 6, r->credits_requested);
	adv_put_le32(out + 8, r->send_size);
	adv_put_le32(out + 12, r->receive_size);
	adv_put_le32(out + 16, r->fragmented_size);
}

bool adv_smbd_response_decode(const uint8_t *in, size_t length, struct adv_smbd_response *r)
{
	if (length < ADV_SMBD_RESPONSE_LEN)
		return false;
	r->min_version = adv_get_le16(in);
	r->max_version = adv_get_le16(in + 2);
	r->version = adv_get_le16(in + 4);
	r->credits_requested = adv_get_le16(in + 8);
	r->credits_granted = adv_get_le16(in + 10);
	r->status = adv_get_le32(in + 12);
	r->read_write_size = adv_get_le32(in + 16);
	r->send_size = adv_get_le32(in + 20);
	r->receive_size = adv_get_le32(in + 24);
	r->fragmented_size = adv_get_le32(in + 28);
	return true;
}

void adv_smbd_response_encode(const struct adv_smbd_response *r, uint8_t out[ADV_SMBD_RESPONSE_LEN])
{
	adv_put_le16(out, r->min_version);
	adv_put_le16(out + 2, r->max_version);
	adv_put_le16(out + 4, r->version);
	adv_put_le16(out + 6, 0);
	adv_put_le16(out + 8, r->credits_requested);
	adv_put_le16(out + 10, r->credits_granted);
	adv_put_le32(out + 12, r->status);
	adv_put_le32(out + 16, r->read_write_size);
	adv_put_le32(out + 20, r->send_size);
	adv_put_le32(out + 24, r->receive_size);
	adv_put_le32(out + 28, r->fragmented_size);
}

bool adv_smbd_transfer_decode(const uint8_t *in, size_t length, struct adv_smbd_transfer *t)
{
	if (length < ADV_SMBD_EMPTY_LEN)
		return false;
	t->credits_requested = adv_get_le16(in);
	t->credits_granted = adv_get_le16(in + 2);
	t->flags = adv_get_le16(in + 4);
	t->remaining = adv_get_le32(in + 8);
	t->offset = adv_get_le32(in + 12);
	t->length = adv_get_le32(in + 16);
	if (t->offset % 8 != 0 || (uint64_t)t->offset + t->length > length)
		return false;
	/* Data that begins in the header is no data. */
	return t->length == 0 || t->offset >= ADV_SMBD_EMPTY_LEN;
}

size_t adv_smbd_transfer_encode(const struct adv_smbd_transfer *t,
				uint8_t out[ADV_SMBD_DATA_OFFSET])
{
	adv_put_le16(out, t->credits_requested);
	adv_put_le16(out + 2, t->credits_granted);
	adv_put_le16(out + 4, t->flags);
	adv_put_le16(out + 6, 0);
	adv_put_le32(out + 8, t->remaining);
	adv_put_le32(out + 12, t->offset);
	adv_put_le32(out + 16, t->length);
	if (t->length == 0)
		return ADV_SMBD_EMPTY_LEN;
	adv_put_le32(out + 20, 0);
	return ADV_SMBD_DATA_OFFSET;
}

void adv_smbd_descriptor_decode(const uint8_t in[ADV_SMBD_DESCRIPTOR_LEN],
				struct adv_smbd_descriptor *d)
{
	d->offset = adv_get_le64(in);
	d->token = adv_get_le32(in + 8);
	d->length = adv_get_le32(in + 12);
}

void adv_smbd_descriptor_encode(const struct adv_smbd_descriptor *d,
				uint8_t out[ADV_SMBD_DESCRIPTOR_LEN])
{
	adv_put_le64(out, d->offset);
	adv_put_le32(out + 8, d->token);
	adv_put_le32(out + 12, d->length);
}
