/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of the server on their way to an SMB Direct client: the data of READs is written. */
#include <stdlib.h>

#include "base/clock.h"
#include "storage/smb_gateway/session_internal.h"

struct response {
	struct adv_smb_session *session;
	uint8_t *buffer;
	size_t size;
	struct adv_smb2_plan plan;
	struct ibv_send_wr *wr;
	struct ibv_sge *sge;
	struct adv_smb_direct_out out;
};

static void free_response(struct response *r)
{
	adv_smb2_plan_free(&r->plan);
	adv_gateway_put_reply(r->session->buffers, r->buffer, r->size);
	free(r->wr);
	free(r->sge);
	free(r);
}

static void response_sent(struct adv_smb_direct_out *out, bool ok)
{
	free_response(adv_container_of(out, struct response, out));
}

/* Adds the WRITEs of a READ response's data to the work. */
static void add_writes(struct response *r, const struct adv_smb2_transfer *t)
{
	const uint8_t *from = r->buffer + t->out;
	struct adv_kit_work *work = &r->out.before;
	uint32_t left = t->length;

	for (unsigned i = 0; i < t->count && left > 0; i++) {
		const struct adv_smbd_descriptor *d = &t->descriptors[i];
		uint32_t n = d->length < left ? d->length : left;
		struct ibv_send_wr *wr = &r->wr[work->count];
		struct ibv_sge *sge = &r->sge[work->count];

		if (n == 0)
			continue;
		*sge = (struct ibv_sge){(uintptr_t)from, n,
					adv_kit_buffers_lkey(r->session->buffers->replies)};
		wr->sg_list = sge;
		wr->num_sge = 1;
		wr->opcode = IBV_WR_RDMA_WRITE;
		wr->wr.rdma.remote_addr = d->offset;
		wr->wr.rdma.rkey = d->token;
		if (work->count++ > 0)
			wr[-1].next = wr;
		from += n;
		left -= n;
	}
}

/* Makes the work of a response. False: no memory. */
static bool make_work(struct response *r)
{
	unsigned most = 0;

	for (unsigned i = 0; i < r->plan.count; i++)
		most += r->plan.transfer[i]->count;
	if (most == 0)
		return true;
	r->wr = calloc(most, sizeof(*r->wr));
	r->sge = calloc(most, sizeof(*r->sge));
	if (!r->wr || !r->sge)
		return false;
	for (unsigned i = 0; i < r->plan.count; i++)
		add_writes(r, r->plan.transfer[i]);
	r->out.before.first = r->wr;
	return true;
}

void adv_smb_response(struct adv_smb_session *s, uint8_t *buffer, size_t size, size_t length)
{
	struct response *r = calloc(1, sizeof(*r));
	const char *why = NULL;

	if (!r) {
		adv_gateway_put_reply(s->buffers, buffer, size);
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
