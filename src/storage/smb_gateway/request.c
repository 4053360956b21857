/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of an SMB Direct client on their way to the server: the data of WRITEs is fetched. */
#include <stdlib.h>

#include "base/clock.h"
#include "storage/smb_gateway/session_internal.h"
#include "storage/smb_gateway/transfers.h"

struct adv_smb_request {
	struct adv_list link;
	struct adv_smb_session *session;
	uint8_t *message;
	size_t length;
	struct adv_smb2_plan plan;
	bool starved;  /* it waits for memory */
	uint8_t *data; /* of all WRITEs */
	size_t data_length;

	struct adv_smb_direct_reads reads;
	struct adv_smb_transfers transfers;
	struct adv_stream_out out;
};

static void free_request(struct adv_smb_request *r)
{
	struct adv_smb_session *s = r->session;

	adv_list_del(&r->link);
	if (r->data)
		adv_gateway_put(&s->buffers->calls, r->data, r->data_length);
	adv_smb_message_put(s->buffers, r->message, r->length);
	adv_smb_transfers_free(&r->transfers);
	free(r);
}

void adv_smb_free_requests(struct adv_smb_session *s)
{
	while (!adv_list_empty(&s->requests))
		free_request(adv_container_of(s->requests.next, struct adv_smb_request, link));
}

/* --- to the server --- */

static void request_sent(struct adv_stream_out *out, bool ok)
{
	free_request(adv_container_of(out, struct adv_smb_request, out));
}

static void forward_request(struct adv_smb_request *r)
{
	struct adv_smb_session *s = r->session;
	uint8_t *data[ADV_SMB2_TRANSFERS_MAX], *at = r->data;

	for (unsigned i = 0; i < r->plan.count; i++) {
		data[i] = at;
		if (r->plan.transfer[i]->command == ADV_SMB2_WRITE)
			at += r->plan.transfer[i]->length;
	}
	adv_smb2_request_join(&r->plan, r->message, r->length, data);
	s->client->counts.call_bytes += r->plan.length;
	r->out.parts = r->plan.parts;
	r->out.count = r->plan.part_count;
	r->out.done = request_sent;
	adv_list_init(&r->out.link);
	adv_stream_send(s->stream, &r->out, r->plan.length);
}

/* --- fetching --- */

static void data_fetched(struct adv_smb_direct_reads *reads, bool ok)
{
	struct adv_smb_request *r = adv_container_of(reads, struct adv_smb_request, reads);

	if (ok && !r->session->closing)
		forward_request(r);
	else
		free_request(r);
}

static void fetch_data(struct adv_smb_request *r)
{
	unsigned most = 0;
	const uint8_t *to = r->data;

	_Static_assert(ADV_SMB2_TRANSFERS_MAX * ADV_SMB2_DESCRIPTORS_MAX <=
			       ADV_SMB_DIRECT_READS_MAX,
		       "the work of a message fits");
	for (unsigned i = 0; i < r->plan.count; i++) {
		if (r->plan.transfer[i]->command == ADV_SMB2_WRITE)
			most += r->plan.transfer[i]->count;
	}
	r->transfers.opcode = IBV_WR_RDMA_READ;
	r->transfers.lkey = adv_kit_buffers_lkey(r->session->buffers->calls.memory);
	if (!adv_smb_transfers_allocate(&r->transfers, most)) {
		adv_smb_session_end(r->session, "no memory");
		return;
	}
	for (unsigned i = 0; i < r->plan.count; i++) {
		if (r->plan.transfer[i]->command == ADV_SMB2_WRITE)
			to = adv_smb_transfers_add(&r->transfers, &r->reads.work,
						   r->plan.transfer[i], to);
	}
	r->reads.done = data_fetched;
	adv_smb_direct_read(r->session->direct, &r->reads);
}

/* Gets memory for the data of a request. False: it waits. */
static bool get_data(struct adv_smb_request *r)
{
	struct adv_smb_session *s = r->session;

	r->data = adv_gateway_get(&s->buffers->calls, &s->data_turn, r->data_length);
	r->starved = !r->data;
	if (r->data)
		fetch_data(r);
	return !r->starved;
}

bool adv_smb_take_data_turn(struct adv_kit_turn *t)
{
	struct adv_smb_session *s = adv_container_of(t, struct adv_smb_session, data_turn);
	bool got = false;

	adv_list_for_each(struct adv_smb_request, r, &s->requests, link) {
		if (!r->starved || s->closing)
			continue;
		if (got) {
			adv_kit_turn_wait(&s->buffers->calls.turns, t);
			return true;
		}
		got = get_data(r);
		if (!got)
			return false;
	}
	return true;
}

/* --- from the client --- */

static void report_refusals(struct adv_smb_session *s)
{
	if (s->table.refusals > 0 && s->refusals == 0)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN,
				   "%s: a request with an RDMA channel is signed or wrong: the "
				   "server refuses it",
				   s->peer);
	s->refusals = s->table.refusals;
}

void adv_smb_request(struct adv_smb_session *s, uint8_t *message, size_t length)
{
	struct adv_smb_request *r = calloc(1, sizeof(*r));

	if (!r) {
		adv_smb_message_put(s->buffers, message, length);
		adv_smb_session_end(s, "no memory");
		return;
	}
	r->session = s;
	r->message = message;
	r->length = length;
	adv_list_add_tail(&s->requests, &r->link);
	adv_smb_count_request(&s->times, &s->client->counts, message, length, adv_clock_ns());
	if (!adv_smb2_request_plan(&s->table, message, length, &r->plan)) {
		adv_smb_session_end(s, "a message is wrong, or too many requests have no response");
		return;
	}
	report_refusals(s);
	for (unsigned i = 0; i < r->plan.count; i++) {
		if (r->plan.transfer[i]->command == ADV_SMB2_WRITE)
			r->data_length += r->plan.transfer[i]->length;
	}
	if (r->data_length > ADV_SMB_MESSAGE_MAX)
		adv_smb_session_end(s, "the data of a message is too long");
	else if (r->data_length > 0)
		get_data(r);
	else
		forward_request(r);
}
