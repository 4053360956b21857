/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions of a stream, and its control messages.
 *
 * A message costs the sender a credit. The receiver returns the credit when the application has
 * read the message. Control messages cost no credit. If they exceed the receive requests of the
 * peer, the hardware retries them (RNR). On iWARP they never do (message.h).
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "abi/rsocket/message.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/wait.h"

#define BATCH 16

/* Takes the next entry of the target list. False: the peer has not written the entry yet. */
static bool take_target(struct adv_rs_stream *s)
{
	struct adv_rs_exposed *exposed = (void *)s->exposed.p;
	struct adv_rs_sge *entry = &exposed->targets[s->send.target_index];

	/*
	 * The peer may be writing the entry now. The entry was zero before. So it is complete when
	 * its address and its length are both set.
	 */
	if (!__atomic_load_n(&entry->length, __ATOMIC_ACQUIRE) ||
	    !__atomic_load_n(&entry->addr, __ATOMIC_ACQUIRE))
		return false;
	s->send.target = *entry;
	memset(entry, 0, sizeof(*entry));
	s->send.target_index = (s->send.target_index + 1) % ADV_RS_TARGETS;
	return s->send.target.length > 0;
}

bool adv_rs_stream_can_write(const struct adv_rsocket *rs)
{
	const struct adv_rs_sending *send = &rs->s.send;

	return rs->s.state == ADV_RS_CONNECTED && send->requests_out < send->requests &&
	       send->space >= ADV_RS_LOW_WATER;
}

bool adv_rs_stream_can_send(struct adv_rsocket *rs)
{
	struct adv_rs_sending *send = &rs->s.send;

	return adv_rs_stream_can_write(rs) && send->seq != send->seq_limit &&
	       (send->target.length > 0 || take_target(&rs->s));
}

void adv_rs_stream_disconnect(struct adv_rsocket *rs)
{
	if (rs->s.disconnected || !rs->s.qp)
		return;
	rs->s.disconnected = true;
	(void)rdma_disconnect(rs->s.id);
}

void adv_rs_stream_end(struct adv_rsocket *rs)
{
	rs->s.state = ADV_RS_DISCONNECTED;
	rs->s.readable = rs->s.writable = false;
	adv_rs_wake(rs);
}

void adv_rs_stream_break(struct adv_rsocket *rs, int err)
{
	adv_debug("rsocket %d: connection broken: %s", rs->fd, strerror(err));
	adv_rs_stream_end(rs);
	rs->s.state = ADV_RS_BROKEN;
	rs->err = err;
	adv_rs_stream_disconnect(rs);
}

static void post_message(struct adv_rsocket *rs, uint32_t msg, struct ibv_send_wr *wr)
{
	int err;

	wr->wr_id = msg;
	err = adv_rs_message_post(rs, msg, wr);
	if (err)
		adv_rs_stream_break(rs, err);
}

void adv_rs_stream_post_ctrl(struct adv_rsocket *rs, enum adv_rs_ctrl what)
{
	struct ibv_send_wr wr = {0};

	rs->s.send.ctrl_free--;
	post_message(rs, adv_rs_msg(ADV_RS_OP_CTRL, what), &wr);
}

void adv_rs_stream_post_keepalive(struct adv_rsocket *rs)
{
	struct ibv_send_wr wr = {
		.wr_id = adv_rs_msg(ADV_RS_OP_CTRL, ADV_RS_CTRL_KEEPALIVE),
		.opcode = IBV_WR_RDMA_WRITE,
	};
	struct ibv_send_wr *bad;
	int err;

	if (rs->s.state != ADV_RS_CONNECTED || !rs->s.send.ctrl_free)
		return;
	rs->s.send.ctrl_free--;
	err = ibv_post_send(rs->s.qp, &wr, &bad);
	if (err)
		adv_rs_stream_break(rs, err);
}

/* Fills in *wr, which offers the peer the half of the receive memory that has been read. */
static void offer_half(struct adv_rsocket *rs, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	struct adv_rs_stream *s = &rs->s;
	struct adv_rs_receiving *recv = &s->recv;
	struct adv_rs_sge *slot = (void *)(s->send.ring.p + s->send.size);
	uint32_t half = recv->size / 2;
	/* The granted memory that is not filled yet ends where the offered half begins. */
	uint32_t start = (recv->filled + recv->granted) % recv->size;

	slot += s->send.ctrl_next;
	s->send.ctrl_next = (s->send.ctrl_next + 1) % ADV_RS_CTRL_SLOTS;
	*slot = (struct adv_rs_sge){(uintptr_t)recv->ring.p + start, recv->ring.mr->rkey, half};
	if (s->swap)
		adv_rs_swap_sge(slot);
	*sge = (struct ibv_sge){(uintptr_t)slot, sizeof(*slot), s->send.ring.mr->lkey};
	wr->sg_list = sge;
	wr->num_sge = 1;
	if (s->send.inline_size >= sizeof(*slot))
		wr->send_flags = IBV_SEND_INLINE;
	wr->wr.rdma.remote_addr = recv->list.addr + recv->list_index * sizeof(struct adv_rs_sge);
	wr->wr.rdma.rkey = recv->list.key;
	recv->list_index = (recv->list_index + 1) % recv->list.length;
	recv->freed -= half;
	recv->granted += half;
}

/* Returns credits and free memory to the peer, if enough are due. True if it sent a message. */
static bool give_credits(struct adv_rsocket *rs)
{
	struct adv_rs_stream *s = &rs->s;
	struct adv_rs_receiving *recv = &s->recv;
	bool half_free = recv->freed >= recv->size / 2;
	bool due = (int16_t)(uint16_t)(recv->seq - recv->credits_due) >= 0;
	struct ibv_send_wr wr = {0};
	struct ibv_sge sge;
	uint32_t msg;

	if (s->state != ADV_RS_CONNECTED || !s->send.ctrl_free || (!half_free && !due))
		return false;
	msg = adv_rs_msg(ADV_RS_OP_SGL, (uint16_t)(recv->seq + recv->credits));
	s->send.ctrl_free--;
	recv->credits_due = (uint16_t)(recv->seq + recv->credits / 2);
	if (half_free)
		offer_half(rs, &wr, &sge);
	post_message(rs, msg, &wr);
	return true;
}

/* Handles a message of the peer, which has filled `length` bytes of the receive memory. False: the
 * peer violates the protocol. */
static bool take_data(struct adv_rsocket *rs, uint32_t length, uint32_t written)
{
	struct adv_rs_receiving *recv = &rs->s.recv;
	uint32_t half = recv->size / 2;
	uint32_t left = half - recv->filled % half; /* a message stays within a half */
	unsigned next = (recv->tail + 1) % (recv->credits + 1u);

	if (!length || length != written || length > left || length > recv->granted ||
	    next == recv->head)
		return false;
	recv->lengths[recv->tail] = length;
	recv->tail = next;
	recv->bytes += length;
	recv->granted -= length;
	recv->filled = (recv->filled + length) % recv->size;
	return true;
}

static void take_ctrl(struct adv_rsocket *rs, uint32_t what)
{
	if (what == ADV_RS_CTRL_DISCONNECT || (what == ADV_RS_CTRL_SHUTDOWN && !rs->s.writable))
		adv_rs_stream_end(rs);
	else if (what == ADV_RS_CTRL_SHUTDOWN)
		rs->s.readable = false;
}

static void complete_receive(struct adv_rsocket *rs, const struct ibv_wc *wc)
{
	struct adv_rs_stream *s = &rs->s;
	uint32_t msg, written;
	bool good = adv_rs_message_read(rs, wc, &msg, &written);

	s->recv.unposted++;
	if (good) {
		switch (adv_rs_msg_op(msg)) {
		case ADV_RS_OP_DATA:
			good = take_data(rs, adv_rs_msg_data(msg), written);
			break;
		case ADV_RS_OP_SGL:
			s->send.seq_limit =
				adv_rs_message_limit(rs, (uint16_t)adv_rs_msg_data(msg));
			break;
		case ADV_RS_OP_IOMAP_SGL:
			s->recv.seq++; /* the message has no data to read, but cost a credit */
			break;
		case ADV_RS_OP_CTRL:
			take_ctrl(rs, adv_rs_msg_data(msg));
			break;
		default:
			good = false;
		}
	}
	if (!good)
		adv_rs_stream_break(rs, ECONNRESET);
}

static void complete_send(struct adv_rsocket *rs, uint64_t wr_id)
{
	struct adv_rs_sending *send = &rs->s.send;
	uint32_t msg = (uint32_t)wr_id;

	switch (adv_rs_msg_op(msg)) {
	case ADV_RS_OP_SGL:
		send->ctrl_free++;
		break;
	case ADV_RS_OP_CTRL:
		send->ctrl_free++;
		if (adv_rs_msg_data(msg) == ADV_RS_CTRL_DISCONNECT)
			adv_rs_stream_end(rs);
		break;
	default:
		send->requests_out--;
		send->space += adv_rs_msg_data(msg);
	}
}

static void handle_completion(struct adv_rsocket *rs, const struct ibv_wc *wc)
{
	bool is_recv = wc->wr_id & ADV_RS_WR_RECV;

	if (wc->status == IBV_WC_SUCCESS && is_recv)
		complete_receive(rs, wc);
	else if (!is_recv && wc->wr_id != ADV_RS_WR_PART)
		complete_send(rs, wc->wr_id);
	if (wc->status != IBV_WC_SUCCESS && rs->s.state == ADV_RS_CONNECTED)
		adv_rs_stream_break(rs,
				    wc->status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET);
}

static void post_receives(struct adv_rsocket *rs)
{
	struct adv_rs_receiving *recv = &rs->s.recv;

	while (recv->unposted > 0 && rs->s.state == ADV_RS_CONNECTED) {
		int err = adv_rs_message_post_receive(rs);

		if (err)
			adv_rs_stream_break(rs, err);
		else
			recv->unposted--;
	}
}

bool adv_rs_stream_progress(struct adv_rsocket *rs)
{
	struct ibv_wc wc[BATCH];
	bool changed;
	int n;

	if (rs->s.state != ADV_RS_CONNECTED)
		return false;
	changed = give_credits(rs);
	do {
		n = ibv_poll_cq(rs->s.cq, BATCH, wc);
		for (int i = 0; i < n && rs->s.state == ADV_RS_CONNECTED; i++)
			handle_completion(rs, &wc[i]);
		if (n > 0)
			changed = true;
		post_receives(rs);
	} while (n == BATCH && rs->s.state == ADV_RS_CONNECTED);
	if (n < 0 && rs->s.state == ADV_RS_CONNECTED)
		adv_rs_stream_break(rs, EIO);
	if (changed)
		give_credits(rs);
	return changed || n < 0;
}
