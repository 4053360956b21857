/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP connections of an iWARP device, one for each connected queue pair. They are a link on top
 * of the device's links: receive() moves bytes from the sockets to their streams (src/nic/iwarp).
 *
 * send() moves the bytes of their turns to the sockets: sendmsg() takes headers and payload where
 * they are.
 *
 * An epoll set holds the sockets, level-triggered. A socket is watched for room only while it is
 * full, or while a turn has left bytes for a later one.
 *
 * adverbd keeps a copy of each socket, so the end of a connection is shutdown() here. The end of
 * the sending direction comes first. What the peer still sends is discarded until it ends, too:
 * unread bytes would keep its end away, and close() would turn them into a reset, by which the peer
 * could lose what was sent to it before. After ENDING_NS both directions end, which adverbd
 * notices: it reports DISCONNECTED. What is still in the socket's buffer reaches the peer after
 * both copies are closed.
 */
#include "runtime/device/streams_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "base/sys.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/queue_pair.h"
#include "nic/engine/names.h"
#include "nic/queue/qpn.h"

#define ENDING_NS    4000000000ull /* for a peer to end the connection, too; as in adverbd */
#define EVENTS	     32
#define READS	     16 /* most reads of a stream in one turn */
#define DIRECT_COUNT 2	/* with so few streams, a polling program reads without epoll */
#define LONG_PAYLOAD 4096
/* The rest of an FPDU and the header of the next one: longer payload is read to its place. */
#define BEHIND_LEN (ADV_FPDU_TRAILER_MAX + ADV_FPDU_LENGTH_LEN + ADV_DDP_HEADER_MAX)

/* ---- streams ---- */

/* The engine of an iWARP device counts FPDUs as packets, and nothing else. */
static void count_packets(struct device_streams *all)
{
	const struct adv_engine_counters *engine = adv_engine_counters(all->device->engine);

	all->link.counters.tx_packets = engine->tx_packets;
	all->link.counters.rx_packets = engine->rx_packets;
	all->link.counters.rx_malformed = engine->rx_malformed;
}

static void set_wants_room(struct device_stream *s, bool wants)
{
	if (s->wants_room == wants)
		return;
	s->wants_room = wants;
	(void)adv_device_stream_watch(s, EPOLL_CTL_MOD);
}

static struct adv_timer_heap *timers_of(const struct device_stream *s)
{
	return &s->streams->device->engine->timers;
}

/* Closes this copy of the socket, and frees the stream. The stream leaves the list first: a child
 * of a fork() by another thread closes what is in the list, and the number may soon be another
 * descriptor's. */
static void free_stream(struct device_stream *s)
{
	struct adv_timer_heap *timers = timers_of(s);

	(void)adv_device_stream_watch(s, EPOLL_CTL_DEL);
	adv_list_del(&s->node);
	adv_sys_close(s->fd);
	adv_timer_remove(timers, &s->end_timer);
	adv_timer_remove(timers, &s->flow_timer);
	adv_timers_release(timers);
	adv_timers_release(timers);
	s->streams->count--;
	free(s);
}

static void set_end_timer(struct device_stream *s, uint64_t now)
{
	if (s->end_timer.when == ADV_NEVER)
		adv_timer_set(timers_of(s), &s->end_timer, now + ENDING_NS);
}

/* Takes the connection from its queue pair, and ends this direction. */
static void part_stream(struct device_stream *s, uint64_t now)
{
	(void)adv_sys_shutdown(s->fd, SHUT_WR);
	s->qp->connection = NULL;
	adv_rdmap_stream_destroy(s->rdmap);
	s->qp = NULL;
	s->rdmap = NULL;
	set_wants_room(s, false);
	adv_device_stream_end_flows(s);
	set_end_timer(s, now);
}

/* The peer has not ended the connection in time, or has not taken the Terminate. */
static void end_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct device_stream *s = adv_container_of(t, struct device_stream, end_timer);

	if (s->qp)
		part_stream(s, now);
	(void)adv_sys_shutdown(s->fd, SHUT_RDWR);
	free_stream(s);
}

/* After the stream was used: if it has ended, ends the connection. Returns false if the stream may
 * have been freed. */
static bool still_streams(struct device_stream *s, uint64_t now)
{
	enum adv_rdmap_phase phase = adv_rdmap_phase(s->rdmap);

	if (phase == ADV_RDMAP_OPEN)
		return true;
	set_end_timer(s, now);
	if (phase == ADV_RDMAP_ENDING)
		return true;
	part_stream(s, now);
	if (s->over)
		free_stream(s);
	return false;
}

/* The connection has ended. err: the errno of the call that found it; 0: the peer has ended it. */
static void connection_ended(struct device_stream *s, uint64_t now, int err)
{
	if (err)
		adv_info("queue pair 0x%06x: the connection has failed: %s", adv_qp_num(s->qp),
			 strerror(err));
	else
		adv_debug("queue pair 0x%06x: the peer has ended the connection",
			  adv_qp_num(s->qp));
	s->over = true;
	adv_rdmap_ended(s->rdmap, now);
}

/* ---- sending ---- */

/* Sends the bytes of a turn. If the socket took all, the stream may have more. */
static void send_bytes(struct device_stream *s, const struct adv_tx_packet *pkt, uint64_t now)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)pkt->iov, .msg_iovlen = pkt->iov_count};
	bool captured = adv_device_stream_is_captured(s);
	uint64_t when = captured ? adv_clock_day_ns() : 0;
	ssize_t n;

	if (!adv_device_stream_may_send(s, now)) {
		adv_rdmap_sent(s->rdmap, now, 0);
		return;
	}
	n = adv_sys_sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		connection_ended(s, now, errno);
		return;
	}
	if (n < 0)
		adv_device_stream_not_sent(s);
	if (n > 0 && captured)
		adv_device_stream_record_tx(s, pkt->iov, (size_t)n, when);
	s->sent += n < 0 ? 0 : (uint64_t)n;
	adv_rdmap_sent(s->rdmap, now, n < 0 ? 0 : (size_t)n);
	s->streams->link.counters.tx_bytes += n < 0 ? 0 : (uint64_t)n;
	if (n == (ssize_t)pkt->payload_len)
		adv_qp_schedule(s->qp);
	else
		set_wants_room(s, true);
}

/* True if the peer's TCP has not acknowledged all bytes: before the first FPDU, the start-up reply.
 */
static bool has_unacknowledged(const struct device_stream *s)
{
	int bytes = 0;

	return adv_sys_ioctl(s->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* The connection of a queue pair; NULL: it has none. */
static struct device_stream *stream_of(const struct adv_qp *qp)
{
	return qp && qp->connection ? adv_rdmap_owner(qp->connection) : NULL;
}

/* Does what the turn of a queue pair wants (adv_iwarp_turn()). */
static void serve_turn(struct device_streams *all, const struct adv_tx_packet *pkt, uint64_t now)
{
	struct device_stream *s = stream_of(adv_qp_number_find(all->device->engine, pkt->dest_qpn));

	if (!s)
		return;
	if (pkt->iov_count) {
		send_bytes(s, pkt, now);
	} else if (adv_rdmap_wants_look(s->rdmap)) {
		adv_rdmap_reply_seen(s->rdmap, now, !has_unacknowledged(s));
		adv_qp_schedule(s->qp);
	}
	(void)still_streams(s, now);
}

static void forget_qp(struct adv_qp *qp)
{
	struct device_stream *s = stream_of(qp);

	if (s)
		part_stream(s, adv_device_now(s->streams->device));
}

static const struct adv_protocol iwarp = {
	.supports = adv_iwarp_supports,
	.modify = adv_iwarp_modify,
	.turn = adv_iwarp_turn,
	.forget = forget_qp,
};

/* ---- receiving ---- */

enum read_result {
	READ_NOTHING, /* nothing had arrived */
	READ_ALL,     /* the socket was emptied, or has ended */
	READ_PART,    /* the socket may have more */
};

/* Reads once: payload to its place, what follows through the buffer. */
static enum read_result receive_once(struct device_stream *s, uint64_t now)
{
	struct device_streams *all = s->streams;
	struct iovec iov[ADV_MAX_SGE + 1];
	struct msghdr msg = {.msg_iov = iov};
	size_t room = 0, behind, placed;
	unsigned count;
	ssize_t n;

	if (!adv_device_stream_may_receive(s, now))
		return READ_NOTHING;
	count = adv_rdmap_rx_room(s->rdmap, iov);
	for (unsigned i = 0; i < count; i++)
		room += iov[i].iov_len;
	behind = room >= LONG_PAYLOAD ? BEHIND_LEN : STREAM_BUFFER_LEN;
	iov[count] = (struct iovec){all->buffer, behind};
	msg.msg_iovlen = count + 1;
	n = adv_sys_recvmsg(s->fd, &msg, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return READ_NOTHING;
	if (n <= 0) {
		connection_ended(s, now, n < 0 ? errno : 0);
		return READ_ALL;
	}
	if (adv_device_stream_is_captured(s))
		adv_device_stream_record_rx(s, iov, (size_t)n);
	s->received += (uint64_t)n;
	all->link.counters.rx_bytes += (uint64_t)n;
	placed = (size_t)n < room ? (size_t)n : room;
	if (placed)
		adv_rdmap_rx_placed(s->rdmap, iov, placed);
	if ((size_t)n > placed)
		adv_rdmap_rx(s->rdmap, now, all->buffer, (size_t)n - placed);
	return (size_t)n == room + behind ? READ_PART : READ_ALL;
}

/* Discards what the peer still sends on a connection that ends. Frees the stream at the peer's end.
 */
static void discard_bytes(struct device_stream *s)
{
	struct iovec iov = {s->streams->buffer, STREAM_BUFFER_LEN};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n = 1;

	for (unsigned i = 0; i < READS && n > 0; i++)
		n = adv_sys_recvmsg(s->fd, &msg, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		free_stream(s);
}

/* Receives what has arrived for a stream. Returns the number of reads that found bytes or the end
 * of the connection; the stream may have ended and been freed then. */
static unsigned receive_stream(struct device_stream *s, uint64_t now)
{
	struct device_streams *all = s->streams;
	enum read_result result = READ_PART;
	unsigned reads = 0;

	if (!s->qp) {
		discard_bytes(s);
		return 0;
	}
	while (result == READ_PART && reads < READS) {
		result = receive_once(s, now);
		reads += result != READ_NOTHING;
	}
	if (still_streams(s, now) && reads)
		adv_qp_schedule(s->qp); /* answers to READs; what waited for the peer */
	if (reads)
		count_packets(all);
	return reads;
}

static void make_room(struct device_stream *s)
{
	set_wants_room(s, false);
	adv_qp_schedule(s->qp);
}

/* Receives from few streams without asking which one has bytes. */
static unsigned receive_direct(struct device_streams *all, uint64_t now)
{
	unsigned reads = 0;

	adv_list_for_each_safe(struct device_stream, s, &all->list, node) {
		if (s->wants_room)
			make_room(s);
		reads += receive_stream(s, now);
	}
	return reads;
}

static unsigned receive_all(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct device_streams *all = (struct device_streams *)(void *)link;
	struct epoll_event events[EVENTS];
	uint64_t now = all->device->now;
	unsigned reads = 0;
	int n;

	if (link->busy_polled && all->count <= DIRECT_COUNT)
		return receive_direct(all, now);
	n = adv_sys_epoll_wait(link->receive_fd, events, EVENTS, 0);
	for (int i = 0; i < n; i++) {
		struct device_stream *s = events[i].data.ptr;

		if (events[i].events & EPOLLOUT)
			make_room(s);
		if (events[i].events & (EPOLLERR | EPOLLHUP)) { /* no fault hides that */
			adv_device_stream_end_flows(s);
			s->flow[0].decided = true;
		}
		if (events[i].events & ~(uint32_t)EPOLLOUT)
			reads += receive_stream(s, now);
	}
	return reads;
}

/* ---- the link ---- */

/* A packet of an iWARP device is the turn of a queue pair. */
static bool send_turns(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct device_streams *all = (struct device_streams *)(void *)link;
	uint64_t now = adv_device_now(all->device);

	for (unsigned i = 0; i < batch->count; i++)
		serve_turn(all, &batch->packet[i], now);
	count_packets(all);
	return true;
}

static bool flush_packets(struct adv_link *link)
{
	return true;
}

/* The engine and its queue pairs do not exist any more: the streams only end. adverbd ends their
 * connections. */
static void destroy_streams(struct adv_link *link)
{
	struct device_streams *all = (struct device_streams *)(void *)link;

	adv_list_for_each_safe(struct device_stream, s, &all->list, node) {
		adv_sys_close(s->fd);
		free(s);
	}
	all->below->ops->destroy(all->below);
	adv_sys_close(link->receive_fd);
	free(all);
}

static const struct adv_link_ops ops = {
	.send = send_turns,
	.flush = flush_packets,
	.receive = receive_all,
	.destroy = destroy_streams,
};

const struct adv_protocol *adv_device_streams_protocol(void)
{
	return &iwarp;
}

struct adv_link *adv_device_streams_wrap(struct adv_device *d, struct adv_link *below)
{
	if (!d->streams)
		return below;
	d->streams->below = below;
	d->streams->link.deadline = d->fault ? d->fault->deadline : 0;
	return &d->streams->link;
}

int adv_device_streams_start(struct adv_device *d)
{
	struct device_streams *all = calloc(1, sizeof(*all));

	if (!all)
		return ENOMEM;
	all->device = d;
	adv_list_init(&all->list);
	all->link = (struct adv_link){.ops = &ops,
				      .receive_fd = adv_sys_epoll_create(EPOLL_CLOEXEC),
				      .send_fd = -1,
				      .bell_fd = -1,
				      .rx_window = 1};
	if (all->link.receive_fd < 0) {
		int err = errno;

		free(all);
		return err;
	}
	d->streams = all;
	d->receive_fd = all->link.receive_fd;
	return 0;
}

void adv_device_streams_go_on(struct adv_device *d)
{
	if (!d->streams)
		return;
	adv_list_for_each(struct device_stream, s, &d->streams->list, node)
		adv_device_stream_end_flows(s);
}

void adv_device_streams_abandon(struct adv_device *d)
{
	if (!d->streams)
		return;
	adv_list_for_each(const struct device_stream, s, &d->streams->list, node)
		adv_sys_close(s->fd);
	adv_sys_close(d->streams->link.receive_fd);
}

void adv_device_streams_describe(const struct adv_device *d, struct adv_object *out, unsigned count)
{
	for (unsigned i = 0; d->streams && i < count; i++) {
		const struct adv_qp *qp = adv_qp_number_find(d->engine, out[i].number);
		struct device_stream *s = stream_of(qp);

		out[i].qp.flags |= ADV_QP_IWARP;
		if (!s)
			continue;
		adv_device_stream_object(s, &out[i].qp);
		if (adv_rdmap_first_awaited(s->rdmap))
			out[i].qp.flags |= ADV_QP_FIRST_AWAITED;
	}
}

/* ---- attaching ---- */

/* 0 if a QP may get a connection; else EINVAL, with the reason. */
static int check_qp(const struct adv_qp *qp)
{
	if (qp->connection)
		return adv_reason(EINVAL, "it is connected already");
	if (qp->state != IBV_QPS_INIT && qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)
		return adv_reason(EINVAL, "it is in %s: a connection needs INIT, RTR or RTS",
				  adv_qp_state_name(qp->state));
	return 0;
}

/* Moves a QP to RTS, if its owner has left that to the connection. */
static void bring_to_rts(struct adv_qp *qp, uint64_t now)
{
	struct ibv_qp_attr attr;

	while (qp->state != IBV_QPS_RTS) {
		attr.qp_state = qp->state + 1;
		(void)adv_iwarp_modify(qp, now, &attr, IBV_QP_STATE);
	}
}

/* Makes what a stream needs. 0 or errno. */
static int prepare_stream(struct device_stream *s, const struct adv_rdmap_config *config)
{
	struct adv_timer_heap *timers = timers_of(s);
	int err = adv_timers_reserve(timers);

	if (err)
		return err;
	err = adv_timers_reserve(timers);
	if (err) {
		adv_timers_release(timers);
		return err;
	}
	adv_timer_init(&s->end_timer, end_timer_expired);
	adv_device_stream_flow_init(s);
	s->rdmap = adv_rdmap_stream_create(s->qp, config);
	if (s->rdmap && adv_device_stream_watch(s, EPOLL_CTL_ADD) == 0)
		return 0;
	err = s->rdmap ? errno : ENOMEM;
	if (s->rdmap)
		adv_rdmap_stream_destroy(s->rdmap);
	adv_timers_release(timers);
	adv_timers_release(timers);
	return err;
}

/* A failure leaves the QP in its state. */
static int attach_stream(struct adv_device *d, struct adv_qp *qp, int fd,
			 const struct adv_rdmap_config *config)
{
	struct device_stream *s = calloc(1, sizeof(*s));
	int err = s ? check_qp(qp) : ENOMEM;

	if (!err) {
		*s = (struct device_stream){
			.streams = d->streams, .qp = qp, .fd = fd, .number = ++d->streams->number};
		err = prepare_stream(s, config);
	}
	if (err) {
		free(s);
		return err;
	}
	bring_to_rts(qp, adv_device_now(d));
	adv_list_add_tail(&d->streams->list, &s->node);
	d->streams->count++;
	adv_rdmap_set_owner(s->rdmap, s);
	qp->connection = s->rdmap;
	adv_qp_schedule(qp); /* the message that says: ready to receive; and what was posted */
	return 0;
}

int adv_device_attach_stream(struct adv_device *d, uint32_t qpn, int fd,
			     const struct adv_rdmap_config *config)
{
	struct adv_device *shard;
	int err;

	for (unsigned i = 0; (shard = adv_device_shard(d, i)); i++) {
		struct adv_engine *e = adv_device_lock(shard);
		struct adv_qp *qp = shard->streams ? adv_qp_number_find(e, qpn) : NULL;

		err = qp ? attach_stream(shard, qp, fd, config) : ENOENT;
		adv_device_unlock(shard);
		if (err != ENOENT)
			return err;
	}
	return adv_reason(EINVAL, "there is no queue pair 0x%06x of this device", qpn);
}
