/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending and receiving of streams. A call claims room or messages under the lock, and copies the
 * data without the lock.
 */
#include <errno.h>
#include <string.h>

#include "abi/rsocket/iov.h"
#include "abi/rsocket/message.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

#define FIRST_PIECE 16384 /* bytes; small, so that the peer copies while this end copies */
#define MAX_PIECE   65536
#define MAX_INLINE  1024 /* bytes of inline data, which are first copied to the stack */

/* A write in progress: the request to post when its bytes are gathered. */
struct piece {
	struct ibv_send_wr wr;
	struct ibv_sge sge[2];
	uint32_t length;
	bool is_message; /* else a WRITE that the peer's program does not notice */
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool is_open(struct adv_rsocket *rs)
{
	return !adv_rs_state_opening(rs->s.state);
}

/* Waits until the stream has connected or has failed. Returns 0 if it is connected, or was; -1 and
 * ENOTCONN, or an errno of adv_rs_wait(). */
static int need_connection(struct adv_rsocket *rs, int64_t deadline)
{
	if (adv_rs_state_opening(rs->s.state) && adv_rs_wait(rs, is_open, deadline))
		return -1;
	switch (rs->s.state) {
	case ADV_RS_CONNECTED:
	case ADV_RS_DISCONNECTED:
	case ADV_RS_BROKEN:
		return 0;
	default:
		return adv_rs_error(ENOTCONN);
	}
}

static bool is_sendable(struct adv_rsocket *rs)
{
	return !rs->s.writable || adv_rs_stream_can_send(rs);
}

static bool writable_at(struct adv_rsocket *rs)
{
	return !rs->s.writable || adv_rs_stream_can_write(rs);
}

/* Returns the error of a stream that is not writable. */
static int not_writable(struct adv_rsocket *rs)
{
	int err = rs->err;

	if (rs->s.state == ADV_RS_CONNECTED || rs->s.reset_returned)
		return adv_rs_error(EPIPE);
	rs->s.reset_returned = true;
	rs->err = 0;
	return adv_rs_error(err ? err : ECONNRESET);
}

/* Claims room in the send memory for the piece. Lock held. */
static void claim_ring(struct adv_rs_sending *send, struct piece *piece)
{
	uint32_t first = min_u32(piece->length, send->size - send->at);
	uint32_t key = send->ring.mr->lkey;

	piece->sge[0] = (struct ibv_sge){(uintptr_t)send->ring.p + send->at, first, key};
	piece->sge[1] = (struct ibv_sge){(uintptr_t)send->ring.p, piece->length - first, key};
	piece->wr.num_sge = first < piece->length ? 2 : 1;
	piece->wr.wr_id |= piece->length;
	send->at = (send->at + piece->length) % send->size;
	send->space -= piece->length;
}

/* Claims `length` bytes of the target, one send request, and room in the send memory unless the
 * data is sent inline. Lock held. */
static void claim_room(struct adv_rsocket *rs, struct piece *piece, uint32_t length)
{
	struct adv_rs_sending *send = &rs->s.send;

	*piece = (struct piece){.length = length, .is_message = true};
	piece->wr.wr_id = adv_rs_msg(ADV_RS_OP_DATA, 0);
	piece->wr.wr.rdma.remote_addr = send->target.addr;
	piece->wr.wr.rdma.rkey = send->target.key;
	send->target.addr += length;
	send->target.length -= length;
	send->seq++;
	send->requests_out++;
	if (length > send->inline_size || length > MAX_INLINE)
		claim_ring(send, piece);
}

static void claim_at(struct adv_rsocket *rs, struct piece *piece, uint32_t length,
		     const struct adv_rs_sge *where)
{
	struct adv_rs_sending *send = &rs->s.send;

	*piece = (struct piece){.length = length};
	piece->wr.wr_id = adv_rs_msg(ADV_RS_OP_WRITE, 0);
	piece->wr.opcode = IBV_WR_RDMA_WRITE;
	piece->wr.wr.rdma.remote_addr = where->addr;
	piece->wr.wr.rdma.rkey = where->key;
	send->requests_out++;
	if (length > send->inline_size || length > MAX_INLINE)
		claim_ring(send, piece);
}

/* Copies the data of the piece and posts its request. Only send_lock is held: this thread owns the
 * claimed room, and a QP accepts posts from any thread. */
static int fill_and_post(struct adv_rsocket *rs, struct piece *piece, struct adv_rs_iov *from)
{
	uint8_t small[MAX_INLINE];
	struct ibv_send_wr *bad;

	if (piece->wr.num_sge == 0) {
		adv_rs_iov_take(from, small, piece->length);
		piece->sge[0] = (struct ibv_sge){(uintptr_t)small, piece->length, 0};
		piece->wr.num_sge = 1;
		piece->wr.send_flags = IBV_SEND_INLINE;
	} else {
		for (int i = 0; i < piece->wr.num_sge; i++)
			adv_rs_iov_take(from, (void *)(uintptr_t)piece->sge[i].addr,
					piece->sge[i].length);
	}
	piece->wr.sg_list = piece->sge;
	if (piece->is_message)
		return adv_rs_message_post(rs, adv_rs_msg(ADV_RS_OP_DATA, piece->length),
					   &piece->wr);
	return ibv_post_send(rs->s.qp, &piece->wr, &bad);
}

/* Sends one piece; releases the lock while it copies. 0; or -1 and errno, and the connection is
 * broken. */
static int send_message(struct adv_rsocket *rs, struct piece *piece, struct adv_rs_iov *from)
{
	int err;

	pthread_mutex_unlock(&rs->lock);
	err = fill_and_post(rs, piece, from);
	pthread_mutex_lock(&rs->lock);
	if (err) {
		adv_rs_stream_break(rs, err);
		return not_writable(rs);
	}
	return 0;
}

/* Returns the length of the next piece, and doubles *limit up to MAX_PIECE. */
static uint32_t next_piece(uint32_t *limit, size_t left)
{
	uint32_t now = *limit;

	if (*limit < MAX_PIECE)
		*limit *= 2;
	return left < now ? (uint32_t)left : now;
}

static int send_loop(struct adv_rsocket *rs, struct adv_rs_iov *from, int64_t deadline)
{
	uint32_t limit = FIRST_PIECE;
	struct piece piece;

	while (from->left > 0) {
		struct adv_rs_sending *send = &rs->s.send;

		if (adv_rs_wait(rs, is_sendable, deadline))
			return -1;
		if (!rs->s.writable)
			return not_writable(rs);
		claim_room(rs, &piece,
			   min_u32(next_piece(&limit, from->left),
				   min_u32(send->space, send->target.length)));
		if (send_message(rs, &piece, from))
			return -1;
	}
	return 0;
}

static int write_loop(struct adv_rsocket *rs, struct adv_rs_iov *from, uint64_t offset,
		      int64_t deadline)
{
	uint32_t limit = FIRST_PIECE;
	struct adv_rs_sge where;
	struct piece piece;

	while (from->left > 0) {
		if (adv_rs_wait(rs, writable_at, deadline))
			return -1;
		if (!rs->s.writable)
			return not_writable(rs);
		if (!adv_rs_mapping_find(rs, offset, &where))
			return adv_rs_error(EINVAL);
		claim_at(rs, &piece,
			 min_u32(next_piece(&limit, from->left),
				 min_u32(rs->s.send.space, where.length)),
			 &where);
		offset += piece.length;
		if (send_message(rs, &piece, from))
			return -1;
	}
	return 0;
}

/* If offset is NULL, writes into the stream, else into the peer's mapping. */
static ssize_t send_any(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags,
			const uint64_t *offset)
{
	struct adv_rs_iov from;
	int64_t deadline;
	size_t total;
	int ret;

	if (adv_rs_iov_start(&from, iov, count))
		return -1;
	total = from.left;
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	deadline = adv_rs_deadline(rs, flags, rs->options.send_timeout_us);
	ret = need_connection(rs, deadline);
	if (ret == 0 && !rs->s.writable)
		ret = not_writable(rs);
	if (ret == 0)
		ret = adv_rs_mappings_send(rs, deadline);
	if (ret == 0)
		ret = offset ? write_loop(rs, &from, *offset, deadline)
			     : send_loop(rs, &from, deadline);
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	return ret && from.left == total ? -1 : (ssize_t)(total - from.left);
}

ssize_t adv_rs_stream_send(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags)
{
	return send_any(rs, iov, count, flags, NULL);
}

ssize_t adv_rs_stream_write_at(struct adv_rsocket *rs, const struct iovec *iov, uint64_t offset,
			       int flags)
{
	return send_any(rs, iov, 1, flags, &offset);
}

static bool is_receivable(struct adv_rsocket *rs)
{
	return rs->s.recv.bytes > 0 || !rs->s.readable;
}

/* Copies n bytes of the ring, beginning at `at`. recv_lock is held; the peer cannot write to these
 * bytes now. */
static void copy_out(const struct adv_rs_receiving *recv, uint32_t at, uint32_t n,
		     struct adv_rs_iov *to)
{
	uint32_t first = min_u32(n, recv->size - at);

	adv_rs_iov_put(to, recv->ring.p + at, first);
	adv_rs_iov_put(to, recv->ring.p, n - first);
}

/* Marks n bytes as read and removes the messages that are read completely. Lock held. */
static void consume_bytes(struct adv_rs_receiving *recv, uint32_t n)
{
	recv->at = (recv->at + n) % recv->size;
	recv->bytes -= n;
	recv->freed += n;
	while (n > 0) {
		uint32_t part = min_u32(n, recv->lengths[recv->head]);

		recv->lengths[recv->head] -= part;
		n -= part;
		if (recv->lengths[recv->head] == 0) {
			recv->head = (recv->head + 1) % (recv->credits + 1u);
			recv->seq++;
		}
	}
}

/* Receives the available data. Lock held at entry and exit. */
static void receive_some(struct adv_rsocket *rs, struct adv_rs_iov *to, bool peek)
{
	struct adv_rs_receiving *recv = &rs->s.recv;
	uint32_t n = to->left < recv->bytes ? (uint32_t)to->left : recv->bytes;
	uint32_t at = recv->at;

	pthread_mutex_unlock(&rs->lock);
	copy_out(recv, at, n, to);
	pthread_mutex_lock(&rs->lock);
	if (peek)
		return;
	consume_bytes(recv, n);
	adv_rs_progress(rs); /* returns credits */
}

static int receive_loop(struct adv_rsocket *rs, struct adv_rs_iov *to, int flags, int64_t deadline)
{
	size_t total = to->left;
	int err;

	do {
		if (rs->s.recv.bytes == 0 && adv_rs_wait(rs, is_receivable, deadline))
			return -1;
		if (rs->s.recv.bytes == 0)
			break;
		receive_some(rs, to, flags & MSG_PEEK);
	} while ((flags & MSG_WAITALL) && !(flags & MSG_PEEK) && to->left > 0);
	if (to->left < total || rs->s.state != ADV_RS_BROKEN || !rs->err)
		return 0;
	/* All data of the peer has been read. The call returns the error once, then the end of the
	 * stream. */
	err = rs->err;
	rs->err = 0;
	return adv_rs_error(err);
}

ssize_t adv_rs_stream_recv(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags)
{
	struct adv_rs_iov to;
	int64_t deadline;
	size_t total;
	int ret;

	if (flags & MSG_OOB)
		return adv_rs_error(EOPNOTSUPP);
	if (adv_rs_iov_start(&to, iov, count))
		return -1;
	total = to.left;
	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	deadline = adv_rs_deadline(rs, flags, rs->options.recv_timeout_us);
	ret = need_connection(rs, deadline);
	if (ret == 0 && total > 0)
		ret = receive_loop(rs, &to, flags, deadline);
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	return ret && to.left == total ? -1 : (ssize_t)(total - to.left);
}
