/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue pair of a stream, and its memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "abi/rsocket/memory.h"
#include "abi/rsocket/message.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"

#define MIN_REQUESTS 16
#define MAX_REQUESTS 0xfffe

/* Reduces sizes to what the device supports. */
static int fit_sizes(struct adv_rsocket *rs)
{
	struct ibv_device_attr attr;
	uint32_t most;
	int err = ibv_query_device(rs->s.id->verbs, &attr);

	if (err)
		return adv_rs_error(err);
	most = adv_rs_clamp((uint32_t)attr.max_qp_wr, MIN_REQUESTS, MAX_REQUESTS);
	rs->options.sq_size = adv_rs_clamp(rs->options.sq_size, MIN_REQUESTS, most);
	rs->options.rq_size = adv_rs_clamp(rs->options.rq_size, MIN_REQUESTS, most);
	/* Two equal halves of whole cache lines, with room for more than one message. */
	rs->options.rcvbuf = (adv_rs_clamp(rs->options.rcvbuf, 256, 1u << 31) + 127) & ~127u;
	rs->options.sndbuf = adv_rs_clamp(rs->options.sndbuf, 2 * ADV_RS_LOW_WATER, 1u << 31);
	return 0;
}

static int make_qp(struct adv_rsocket *rs)
{
	struct adv_rs_stream *s = &rs->s;
	struct ibv_qp_init_attr attr;
	uint32_t inline_size = rs->options.inline_size, receives = adv_rs_message_receives(rs);

	s->pd = ibv_alloc_pd(s->id->verbs);
	if (!s->pd)
		return -1;
	rs->channel = ibv_create_comp_channel(s->id->verbs);
	if (!rs->channel || adv_sys_fcntl(rs->channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	s->cq = ibv_create_cq(s->id->verbs, (int)(rs->options.sq_size + receives), NULL,
			      rs->channel, 0);
	if (!s->cq)
		return -1;
	for (;;) {
		attr = (struct ibv_qp_init_attr){
			.send_cq = s->cq,
			.recv_cq = s->cq,
			.cap = {.max_send_wr = rs->options.sq_size,
				.max_recv_wr = receives,
				.max_send_sge = 2,
				.max_recv_sge = 1,
				.max_inline_data = inline_size},
			.qp_type = IBV_QPT_RC,
			.sq_sig_all = 1,
		};
		if (rdma_create_qp(s->id, s->pd, &attr) == 0)
			break;
		if (!inline_size || (errno != EINVAL && errno != ENOMEM))
			return -1;
		inline_size /= 2; /* the device does not support the requested size */
	}
	s->qp = s->id->qp;
	rs->options.inline_size = attr.cap.max_inline_data;
	return 0;
}

static int make_memory(struct adv_rsocket *rs)
{
	struct adv_rs_stream *s = &rs->s;
	struct adv_rs_sending *send = &s->send;
	struct adv_rs_receiving *recv = &s->recv;
	const int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	if (adv_rs_memory_make(s->pd, &s->exposed,
			       sizeof(struct adv_rs_exposed) +
				       rs->options.mappings * sizeof(struct adv_rs_mapping),
			       remote) ||
	    adv_rs_memory_make(s->pd, &recv->ring, rs->options.rcvbuf, remote) ||
	    adv_rs_memory_make(s->pd, &send->ring,
			       rs->options.sndbuf + ADV_RS_CTRL_SLOTS * sizeof(struct adv_rs_sge),
			       IBV_ACCESS_LOCAL_WRITE) ||
	    adv_rs_message_make(rs))
		return -1;
	recv->lengths = calloc(rs->options.rq_size + 1, sizeof(*recv->lengths));
	if (!recv->lengths)
		return -1;
	send->size = send->space = rs->options.sndbuf;
	send->requests = adv_rs_message_sends(rs, rs->options.sq_size) - ADV_RS_CTRL_SLOTS;
	send->ctrl_free = ADV_RS_CTRL_SLOTS;
	send->inline_size = rs->options.inline_size;
	recv->size = rs->options.rcvbuf;
	/* The private data grants the peer the first half. The second half counts as read. */
	recv->granted = recv->freed = recv->size / 2;
	recv->credits = (uint16_t)rs->options.rq_size;
	recv->credits_due = recv->credits / 2;
	recv->unposted = adv_rs_message_receives(rs);
	return 0;
}

int adv_rs_endpoint_make(struct adv_rsocket *rs)
{
	int err;

	adv_rs_message_choose(rs);
	if (fit_sizes(rs) || make_qp(rs) || make_memory(rs))
		return -1;
	for (; rs->s.recv.unposted > 0; rs->s.recv.unposted--) {
		err = adv_rs_message_post_receive(rs);
		if (err)
			return adv_rs_error(err);
	}
	return 0;
}

/* Takes what is left in the CQ, such as the flushed receive requests of a refused connection. */
static void take_completions(struct ibv_cq *cq)
{
	enum { BATCH = 16 };
	struct ibv_wc wc[BATCH];

	while (ibv_poll_cq(cq, BATCH, wc) == BATCH)
		continue;
}

void adv_rs_endpoint_free(struct adv_rsocket *rs)
{
	struct adv_rs_stream *s = &rs->s;

	if (s->qp) {
		take_completions(s->cq);
		rdma_destroy_qp(s->id);
	}
	adv_rs_mappings_free(rs);
	adv_rs_memory_free(&s->exposed);
	adv_rs_memory_free(&s->recv.ring);
	adv_rs_memory_free(&s->send.ring);
	adv_rs_memory_free(&s->recv.messages);
	free(s->recv.lengths);
	free(s->peer_table_used);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (rs->channel)
		ibv_destroy_comp_channel(rs->channel);
	if (s->pd)
		ibv_dealloc_pd(s->pd);
}

void adv_rs_endpoint_describe(struct adv_rsocket *rs, struct adv_rs_conn *conn)
{
	struct adv_rs_stream *s = &rs->s;

	*conn = (struct adv_rs_conn){
		.big_endian = adv_rs_host_is_big_endian(),
		.mappings = true,
		.credits = s->recv.credits,
		.mapping_count = rs->options.mappings,
		.targets = {(uintptr_t)s->exposed.p, s->exposed.mr->rkey, ADV_RS_TARGETS},
		.buffer = {(uintptr_t)s->recv.ring.p, s->recv.ring.mr->rkey, s->recv.size / 2},
	};
}

void adv_rs_endpoint_store_peer(struct adv_rsocket *rs, const struct adv_rs_conn *conn)
{
	struct adv_rs_stream *s = &rs->s;

	s->swap = conn->big_endian != adv_rs_host_is_big_endian();
	s->recv.list = conn->targets;
	s->recv.list_index = 1; /* entry 0 is the receive buffer in the private data */
	s->send.target = conn->buffer;
	s->send.target_index = 1;
	if (s->by_send)
		s->send.spared = conn->credits / 2 < ADV_RS_SPARE_RECEIVES ? conn->credits / 2
									   : ADV_RS_SPARE_RECEIVES;
	s->send.seq_limit = adv_rs_message_limit(rs, conn->credits);
	s->peer_table = (struct adv_rs_sge){
		.addr = conn->targets.addr + sizeof(struct adv_rs_sge) * conn->targets.length,
		.key = conn->targets.key,
		.length = conn->mapping_count,
	};
	s->readable = s->writable = true;
}
