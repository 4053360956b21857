/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replies of the server to a client: WRITEs into its chunks, then a SEND. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/nfs_gateway/session_internal.h"

static void rdma_reply_sent(struct adv_kit_work *w, bool ok)
{
	struct adv_nfs_call *c = adv_container_of(w, struct adv_nfs_call, work);

	adv_nfs_completed(c->session);
	adv_nfs_call_free(c);
}

/* Copies the header, and the parts of the reply that are sent inline, in front of the reply.
 * Returns their length. */
static size_t fill_inline(struct adv_nfs_call *c, struct adv_rpcrdma_reply *plan)
{
	const uint8_t *message = c->reply + ADV_NFS_HEADER_ROOM;
	size_t at;

	plan->header.credits = ADV_NFS_CREDITS;
	at = adv_rpcrdma_header_encode(&plan->header, c->reply, ADV_NFS_HEADER_ROOM);
	for (unsigned i = 0; i < plan->inlined.count; i++) {
		const struct adv_rpcrdma_piece *p = &plan->inlined.piece[i];

		memcpy(c->reply + at, message + p->offset, p->length);
		at += p->length;
	}
	return at;
}

/* Makes the work requests of a plan. False: no memory. */
static bool make_work(struct adv_nfs_call *c, struct adv_rpcrdma_reply *plan, uint32_t key)
{
	uint32_t lkey = adv_kit_buffers_lkey(c->session->buffers->replies.memory);
	unsigned n = plan->transfer_count;

	c->wr = calloc(n + 1, sizeof(*c->wr));
	c->sge = calloc(n + 1, sizeof(*c->sge));
	if (!c->wr || !c->sge)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct adv_rpcrdma_transfer *t = &plan->transfers[i];

		c->sge[i].addr = (uintptr_t)(c->reply + ADV_NFS_HEADER_ROOM + t->offset);
		c->sge[i].length = t->to.length;
		c->wr[i].opcode = IBV_WR_RDMA_WRITE;
		c->wr[i].wr.rdma.remote_addr = t->to.offset;
		c->wr[i].wr.rdma.rkey = t->to.handle;
		c->wr[i].next = &c->wr[i + 1];
	}
	c->sge[n].addr = (uintptr_t)c->reply;
	c->sge[n].length = (uint32_t)fill_inline(c, plan);
	c->wr[n].opcode = key ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
	c->wr[n].invalidate_rkey = key;
	for (unsigned i = 0; i <= n; i++) {
		c->sge[i].lkey = lkey;
		c->wr[i].sg_list = &c->sge[i];
		c->wr[i].num_sge = 1;
	}
	c->work = (struct adv_kit_work){.first = c->wr, .count = n + 1, .done = rdma_reply_sent};
	return true;
}

/* Counts a call to which the server has replied. */
static void count_reply(const struct adv_nfs_call *c, size_t length)
{
	struct adv_gateway_counts *counts = &c->session->client->counts;
	size_t body;

	adv_gateway_count_answer(
		counts, c->begun, adv_clock_ns(),
		!adv_rpc_reply_results(c->reply + ADV_NFS_HEADER_ROOM, length, &body));
	counts->call_bytes += c->pieces.length;
	counts->reply_bytes += length;
}

void adv_nfs_reply(struct adv_nfs_call *c, uint8_t *buffer, size_t size, size_t length)
{
	static struct adv_rpcrdma_header call;
	static struct adv_rpcrdma_reply plan;
	struct adv_nfs_session *s = c->session;
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	unsigned count;
	size_t used;

	c->reply = buffer;
	c->reply_size = size;
	c->state = ADV_NFS_CALL_ANSWERED;
	count_reply(c, length);
	/* The header was decoded when it arrived. */
	adv_rpcrdma_header_decode(c->header, c->header_length, &call, &used);
	count = adv_nfs_scan_reply(&c->rpc, buffer + ADV_NFS_HEADER_ROOM, length, items);
	/* With the reply the client may send another call: the receive has to be there. */
	adv_endpoint_repost(s->endpoint, c->receive);
	c->receive = NULL;
	if (!adv_rpcrdma_reply_plan(&call, length, items, count, s->threshold, &plan)) {
		adv_nfs_refuse(s, &call, ADV_RPCRDMA_ERR_CHUNK);
		adv_nfs_call_free(c);
		return;
	}
	if (make_work(c, &plan, s->invalidation ? adv_rpcrdma_invalidatable(&call) : 0))
		adv_nfs_post(s, &c->work);
	else
		adv_endpoint_close(s->endpoint);
}

/* An RDMA_ERROR on its way. */
struct refusal {
	struct adv_kit_work work;
	struct adv_nfs_session *session;
	uint8_t *message;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

static void refusal_sent(struct adv_kit_work *w, bool ok)
{
	struct refusal *r = adv_container_of(w, struct refusal, work);

	r->session->refusals--;
	adv_nfs_completed(r->session);
	adv_gateway_put(&r->session->buffers->replies, r->message, ADV_RPCRDMA_ERROR_LEN);
	free(r);
}

void adv_nfs_refuse(struct adv_nfs_session *s, const struct adv_rpcrdma_header *h,
		    enum adv_rpcrdma_error error)
{
	static struct adv_rpcrdma_header out;
	struct refusal *r = NULL;

	s->client->counts.errors++;
	if (s->refusals < ADV_NFS_CALLS_MAX)
		r = calloc(1, sizeof(*r));
	if (r)
		r->message = adv_kit_buffers_get(s->buffers->replies.memory, ADV_RPCRDMA_ERROR_LEN);
	if (!r || !r->message) {
		free(r);
		adv_endpoint_close(s->endpoint);
		return;
	}
	out.xid = h->xid;
	out.version = ADV_RPCRDMA_VERSION;
	out.credits = ADV_NFS_CREDITS;
	out.procedure = ADV_RPCRDMA_ERROR;
	out.error = error;
	out.version_low = out.version_high = ADV_RPCRDMA_VERSION;
	r->session = s;
	r->sge.addr = (uintptr_t)r->message;
	r->sge.length =
		(uint32_t)adv_rpcrdma_header_encode(&out, r->message, ADV_RPCRDMA_ERROR_LEN);
	r->sge.lkey = adv_kit_buffers_lkey(s->buffers->replies.memory);
	r->wr = (struct ibv_send_wr){.sg_list = &r->sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	r->work = (struct adv_kit_work){.first = &r->wr, .count = 1, .done = refusal_sent};
	s->refusals++;
	adv_nfs_post(s, &r->work);
}

void adv_nfs_call_free(struct adv_nfs_call *c)
{
	struct adv_nfs_session *s = c->session;

	adv_list_del(&c->link);
	s->call_count--;
	if (c->fetched)
		adv_gateway_put(&s->buffers->calls, c->fetched, c->fetched_length);
	if (c->reply)
		adv_gateway_put(&s->buffers->replies, c->reply, c->reply_size);
	free(c->header);
	free(c->wr);
	free(c->sge);
	free(c);
}
