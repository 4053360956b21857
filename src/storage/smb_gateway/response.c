/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of the server on their way to an SMB Direct client: the data of READs is written. */
#include <stdlib.h>

#include "base/clock.h"
#include "storage/smb_gateway/session_internal.h"
#include "storage/smb_gateway/transfers.h"

struct response {
	struct adv_smb_session *session;
	uint8_t *buffer;
	size_t size;
	struct adv_smb2_plan plan;
	struct adv_smb_transfers transfers;
	struct adv_smb_direct_out out;
};

static void free_response(struct response *r)
{
	adv_smb2_plan_free(&r->plan);
	adv_gateway_put(&r->session->buffers->replies, r->buffer, r->size);
	adv_smb_transfers_free(&r->transfers);
	free(r);
}

static void response_sent(struct adv_smb_direct_out *out, bool ok)
{
	free_response(adv_container_of(out, struct response, out));
}

/* Makes the work of a response. False: no memory. */
static bool make_work(struct response *r)
{
	unsigned most = 0;

	for (unsigned i = 0; i < r->plan.count; i++)
		most += r->plan.transfer[i]->count;
	if (most == 0)
		return true;
	r->transfers.opcode = IBV_WR_RDMA_WRITE;
	r->transfers.lkey = adv_kit_buffers_lkey(r->session->buffers->replies.memory);
	if (!adv_smb_transfers_allocate(&r->transfers, most))
		return false;
	for (unsigned i = 0; i < r->plan.count; i++)
		adv_smb_transfers_add(&r->transfers, &r->out.before, r->plan.transfer[i],
				      r->buffer + r->plan.transfer[i]->out);
	return true;
}

void adv_smb_response(struct adv_smb_session *s, uint8_t *buffer, size_t size, size_t length)
{
	struct response *r = calloc(1, sizeof(*r));
	const char *why = NULL;

	if (!r) {
		adv_gateway_put(&s->buffers->replies, buffer, size);
		adv_smb_session_end(s, "no memory");
		return;
	}
	r->session = s;
	r->buffer = buffer;
	r->size = size;
	adv_smb_count_response(&s->times, &s->client->counts, buffer, length, adv_clock_ns());
	s->client->counts.reply_bytes += length;
	if (!adv_smb2_response_plan(&s->table, buffer, length, &r->plan))
		why = "a message of the server is wrong";
	else if (r->plan.length == 0 || r->plan.length > adv_smb_direct_longest(s->direct))
		why = "a message of the server is longer than the client receives";
	else if (!make_work(r))
		why = "no memory";
	if (why) {
		free_response(r);
		adv_smb_session_end(s, why);
		return;
	}
	r->out.parts = r->plan.parts;
	r->out.count = r->plan.part_count;
	r->out.length = r->plan.length;
	r->out.key = r->plan.key;
	r->out.done = response_sent;
	adv_list_init(&r->out.link);
	adv_smb_direct_send(s->direct, &r->out);
}
