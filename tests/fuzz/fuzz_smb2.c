/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a conversation: each message has a byte with its kind (a client's, a server's), two
 * bytes with its length, and its bytes. Checks that no plan points outside its message, that all
 * data is inside the descriptors' memory, that no request keeps a channel, and that one that gets a
 * channel has it.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/smb2/offload.h"
#include "storage/smb2/requests.h"

enum { LONGEST = 1 << 20, MOST = 4096 };

static struct adv_smb2_requests requests;
static struct adv_smb2_plan plan;
static uint8_t message[MOST], joined[MOST + ADV_SMB2_TRANSFERS_MAX * 8];
static uint8_t data[LONGEST];

static void check_parts(size_t length)
{
	size_t sum = 0;

	FUZZ_CHECK(plan.part_count <= ADV_SMB2_PARTS_MAX);
	for (unsigned i = 0; i < plan.part_count; i++) {
		const uint8_t *from = plan.parts[i].iov_base;

		FUZZ_CHECK(plan.parts[i].iov_len > 0);
		if (from >= message && from < message + MOST)
			FUZZ_CHECK(from + plan.parts[i].iov_len <= message + length);
		sum += plan.parts[i].iov_len;
	}
	FUZZ_CHECK(sum == plan.length);
}

static void check_transfer(const struct adv_smb2_transfer *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < t->count; i++)
		sum += t->descriptors[i].length;
	FUZZ_CHECK(t->length <= LONGEST && t->length <= sum);
}

/* Checks that nothing of what the server receives has a channel. The data of WRITEs is left out. */
static void check_no_channel(void)
{
	struct adv_smb2_element e;
	struct adv_smb2_io io;

	for (unsigned i = 0; i < plan.count; i++) {
		const struct adv_smb2_transfer *t = plan.transfer[i];

		e = t->element;
		FUZZ_CHECK(adv_smb2_io_decode(message + e.offset, &e, &io));
		FUZZ_CHECK(io.channel == 0 && io.channel_offset == 0 && io.channel_length == 0);
	}
}

/* Checks the request that goes to a server with RDMA in place of a client's. */
static void check_offload(size_t length)
{
	const struct adv_smbd_descriptor d = {1, 2, 3};
	uint8_t out[ADV_SMB2_OFFLOAD_LEN];
	struct adv_smb2_element first;
	struct adv_smb2_offload o;
	struct adv_smb2_io io;

	if (!adv_smb2_offload_find(message, length, &o))
		return;
	FUZZ_CHECK(o.command == ADV_SMB2_READ || (size_t)o.offset + o.length <= length);
	adv_smb2_offload_request(message, &o, &d, out);
	FUZZ_CHECK(adv_smb2_element_at(out, sizeof(out), 0, &first) && first.last &&
		   first.command == o.command && first.message_id == o.message_id);
	FUZZ_CHECK(adv_smb2_io_decode(out, &first, &io));
	FUZZ_CHECK(io.channel == ADV_SMB2_CHANNEL_RDMA_V1 &&
		   io.channel_offset + io.channel_length == ADV_SMB2_OFFLOAD_LEN);
	FUZZ_CHECK(io.length + io.remaining == o.length);
}

static void from_client(size_t length)
{
	uint8_t *const from[ADV_SMB2_TRANSFERS_MAX] = {data, data, data, data,
						       data, data, data, data};

	check_offload(length);
	if (!adv_smb2_request_plan(&requests, message, length, &plan))
		return;
	FUZZ_CHECK(requests.count <= ADV_SMB2_PENDING_MAX);
	for (unsigned i = 0; i < plan.count; i++)
		check_transfer(plan.transfer[i]);
	adv_smb2_request_join(&plan, message, length, from);
	check_parts(length);
	check_no_channel();
}

static void from_server(size_t length)
{
	const struct adv_smb2_offload o = {7, ADV_SMB2_READ, 1000, 0};
	struct adv_smb2_element e;
	uint64_t id;
	uint32_t n;

	if (adv_smb2_element_at(message, length, 0, &e) && adv_smb2_dialect(message, &e) != 0)
		FUZZ_CHECK(e.command == ADV_SMB2_NEGOTIATE);
	memcpy(joined, message, length);
	if (adv_smb2_offload_is_final(joined, length, &id) &&
	    adv_smb2_offload_response(joined, length, &o, &n))
		FUZZ_CHECK(n <= o.length && (n == 0 || length >= ADV_SMB2_READ_RESPONSE_LEN));
	if (!adv_smb2_response_plan(&requests, message, length, &plan))
		return;
	check_parts(length);
	for (unsigned i = 0; i < plan.count; i++) {
		const struct adv_smb2_transfer *t = plan.transfer[i];

		check_transfer(t);
		FUZZ_CHECK(t->length > 0 && (size_t)t->out + t->length <= length);
	}
	adv_smb2_plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
	adv_smb2_requests_init(&requests, LONGEST);
	while (size >= 3) {
		size_t length = (in[1] | (size_t)in[2] << 8) % MOST;
		bool server = in[0] & 1;

		in += 3;
		size -= 3;
		if (length > size)
			length = size;
		memcpy(message, in, length);
		if (server)
			from_server(length);
		else
			from_client(length);
		in += length;
		size -= length;
	}
	adv_smb2_requests_free(&requests);
	FUZZ_CHECK(requests.count == 0);
	return 0;
}
