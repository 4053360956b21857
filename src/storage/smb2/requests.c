/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb2/requests.h"

#include <stdlib.h>
#include <string.h>

void adv_smb2_requests_init(struct adv_smb2_requests *r, uint32_t longest)
{
	memset(r, 0, sizeof(*r));
	adv_list_init(&r->pending);
	r->longest = longest;
}

static void forget_transfer(struct adv_smb2_requests *r, struct adv_smb2_transfer *t)
{
	adv_list_del(&t->link);
	r->count--;
}

void adv_smb2_requests_free(struct adv_smb2_requests *r)
{
	adv_list_for_each_safe(struct adv_smb2_transfer, t, &r->pending, link) {
		forget_transfer(r, t);
		free(t);
	}
}

static struct adv_smb2_transfer *find_transfer(struct adv_smb2_requests *r, uint64_t message_id)
{
	adv_list_for_each(struct adv_smb2_transfer, t, &r->pending, link) {
		if (t->message_id == message_id)
			return t;
	}
	return NULL;
}

static void add_part(struct adv_smb2_plan *plan, uint8_t *from, size_t length)
{
	if (length == 0)
		return;
	plan->parts[plan->part_count++] = (struct iovec){from, length};
	plan->length += length;
}

static void start_plan(struct adv_smb2_plan *plan)
{
	plan->count = plan->part_count = 0;
	plan->key = 0;
	plan->length = 0;
}

/* --- requests --- */

/* Returns how many descriptors the channel information has; 0: it is wrong. */
static unsigned descriptors_of(const struct adv_smb2_element *e, const struct adv_smb2_io *io)
{
	unsigned n = io->channel_length / ADV_SMBD_DESCRIPTOR_LEN;

	if (io->channel_length % ADV_SMBD_DESCRIPTOR_LEN != 0 || n > ADV_SMB2_DESCRIPTORS_MAX ||
	    io->channel_offset < ADV_SMB2_IO_LEN ||
	    (size_t)io->channel_offset + io->channel_length > e->length)
		return 0;
	return n;
}

/* True if the request can be carried out: what a server with RDMA checks (MS-SMB2, sections
 * 3.3.5.12 and 3.3.5.13), and that it is not signed. */
static bool is_acceptable(const struct adv_smb2_requests *r, const struct adv_smb2_element *e,
			  const struct adv_smb2_io *io, const struct adv_smb2_transfer *t)
{
	uint32_t length = e->command == ADV_SMB2_WRITE ? io->remaining : io->length;
	uint64_t sum = 0;

	if ((e->flags & ADV_SMB2_FLAG_SIGNED) || t->count == 0 || length > r->longest ||
	    io->channel > ADV_SMB2_CHANNEL_RDMA_V1_INVALIDATE)
		return false;
	if (e->command == ADV_SMB2_WRITE && (io->length != 0 || io->data_offset != 0))
		return false;
	for (unsigned i = 0; i < t->count; i++)
		sum += t->descriptors[i].length;
	return length <= sum;
}

static struct adv_smb2_transfer *new_transfer(const uint8_t *at, const struct adv_smb2_element *e,
					      const struct adv_smb2_io *io)
{
	unsigned n = descriptors_of(e, io);
	struct adv_smb2_transfer *t = calloc(1, sizeof(*t) + n * sizeof(t->descriptors[0]));

	if (!t)
		return NULL;
	adv_list_init(&t->link);
	t->element = *e;
	t->message_id = e->message_id;
	t->command = e->command;
	t->invalidate = n > 0 && io->channel == ADV_SMB2_CHANNEL_RDMA_V1_INVALIDATE;
	t->count = n;
	for (unsigned i = 0; i < n; i++)
		adv_smbd_descriptor_decode(at + io->channel_offset + i * ADV_SMBD_DESCRIPTOR_LEN,
					   &t->descriptors[i]);
	return t;
}

/* Changes a request into one without a channel, or into a wrong one. */
static void change_request(struct adv_smb2_requests *r, uint8_t *at, struct adv_smb2_io *io,
			   struct adv_smb2_transfer *t)
{
	bool write = t->command == ADV_SMB2_WRITE;

	if (is_acceptable(r, &t->element, io, t)) {
		t->length = write ? io->remaining : io->length;
	} else {
		r->refusals++;
		adv_smb2_spoil(at);
	}
	memset(at + ADV_SMB2_IO_LEN, 0, t->element.length - ADV_SMB2_IO_LEN);
	*io = (struct adv_smb2_io){
		.length = t->length,
		.data_offset = write ? ADV_SMB2_IO_LEN : 0,
	};
	adv_smb2_io_encode(at, t->command, io);
}

/* Takes an element of a client's message. False: see adv_smb2_request_plan(). */
static bool take_request(struct adv_smb2_requests *r, uint8_t *message,
			 const struct adv_smb2_element *e, struct adv_smb2_plan *plan)
{
	uint8_t *at = message + e->offset;
	struct adv_smb2_transfer *t;
	struct adv_smb2_io io;

	if (e->command != ADV_SMB2_READ && e->command != ADV_SMB2_WRITE)
		return true;
	if (!adv_smb2_io_decode(at, e, &io) || io.channel == ADV_SMB2_CHANNEL_NONE)
		return true; /* the server answers it */
	if (plan->count == ADV_SMB2_TRANSFERS_MAX || r->count == ADV_SMB2_PENDING_MAX ||
	    find_transfer(r, e->message_id))
		return false;
	t = new_transfer(at, e, &io);
	if (!t)
		return false;
	adv_list_add_tail(&r->pending, &t->link);
	r->count++;
	change_request(r, at, &io, t);
	plan->transfer[plan->count++] = t;
	return true;
}

bool adv_smb2_request_plan(struct adv_smb2_requests *r, uint8_t *message, size_t length,
			   struct adv_smb2_plan *plan)
{
	struct adv_smb2_element e = {0};
	size_t at = 0;

	start_plan(plan);
	if (!adv_smb2_is_plain(message, length))
		return true;
	do {
		if (!adv_smb2_element_at(message, length, at, &e) ||
		    !take_request(r, message, &e, plan))
			return false;
		at += e.length;
	} while (!e.last);
	return true;
}

void adv_smb2_request_join(struct adv_smb2_plan *plan, uint8_t *message, size_t length,
			   uint8_t *const data[])
{
	static uint8_t zeros[8];
	size_t at = 0;

	for (unsigned i = 0; i < plan->count; i++) {
		struct adv_smb2_transfer *t = plan->transfer[i];
		const struct adv_smb2_element *e = &t->element;
		uint32_t pad = e->last ? 0 : (8 - t->length % 8) % 8;

		t->sent = true;
		if (t->command != ADV_SMB2_WRITE || t->length == 0)
			continue;
		if (!e->last)
			adv_smb2_set_next(message + e->offset, ADV_SMB2_IO_LEN + t->length + pad);
		add_part(plan, message + at, e->offset + ADV_SMB2_IO_LEN - at);
		add_part(plan, data[i], t->length);
		add_part(plan, zeros, pad);
		at = e->offset + e->length;
	}
	add_part(plan, message + at, length - at);
}

/* --- responses --- */

/* Takes the data out of a READ response. False: it is wrong. */
static bool cut_read_data(uint8_t *message, const struct adv_smb2_element *e,
			  struct adv_smb2_transfer *t, size_t *at, struct adv_smb2_plan *plan)
{
	uint8_t *element = message + e->offset;
	uint32_t offset, length, by_rdma;

	if (e->status != ADV_SMB2_STATUS_SUCCESS && e->status != ADV_SMB2_STATUS_BUFFER_OVERFLOW) {
		t->length = 0;
		return true;
	}
	if (!adv_smb2_read_response_decode(element, e, &offset, &length, &by_rdma) ||
	    length > t->length || (length > 0 && (e->flags & ADV_SMB2_FLAG_SIGNED)))
		return false;
	t->out = (uint32_t)(e->offset + offset);
	t->length = length;
	if (length == 0)
		return true;
	adv_smb2_read_response_encode(element, 0, length);
	if (!e->last)
		adv_smb2_set_next(element, ADV_SMB2_READ_RESPONSE_LEN);
	add_part(plan, message + *at, e->offset + ADV_SMB2_READ_RESPONSE_LEN - *at);
	*at = e->offset + e->length;
	return true;
}

/* Takes an element of a server's message; `at` is where the part that is left begins. False: it is
 * wrong. */
static bool take_response(struct adv_smb2_requests *r, uint8_t *message,
			  const struct adv_smb2_element *e, size_t *at, struct adv_smb2_plan *plan)
{
	struct adv_smb2_transfer *t = NULL;
	bool ok;

	if (e->flags & ADV_SMB2_FLAG_RESPONSE)
		t = find_transfer(r, e->message_id);
	if (!t || !t->sent ||
	    (e->status == ADV_SMB2_STATUS_PENDING && (e->flags & ADV_SMB2_FLAG_ASYNC)))
		return true;
	if (t->command != e->command || plan->count == ADV_SMB2_TRANSFERS_MAX)
		return false;
	if (t->invalidate && !plan->key)
		plan->key = t->descriptors[0].token;
	forget_transfer(r, t);
	ok = t->command == ADV_SMB2_WRITE || cut_read_data(message, e, t, at, plan);
	if (ok && t->command == ADV_SMB2_READ && t->length > 0)
		plan->transfer[plan->count++] = t;
	else
		free(t);
	return ok;
}

bool adv_smb2_response_plan(struct adv_smb2_requests *r, uint8_t *message, size_t length,
			    struct adv_smb2_plan *plan)
{
	struct adv_smb2_element e = {0};
	size_t next = 0, at = 0;

	start_plan(plan);
	while (adv_smb2_is_plain(message, length) && !e.last) {
		if (!adv_smb2_element_at(message, length, next, &e) ||
		    !take_response(r, message, &e, &at, plan)) {
			adv_smb2_plan_free(plan);
			return false;
		}
		next += e.length;
	}
	add_part(plan, message + at, length - at);
	return true;
}

void adv_smb2_plan_free(struct adv_smb2_plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++)
		free(plan->transfer[i]);
	plan->count = 0;
}
