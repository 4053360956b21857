/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "abi/rsocket/iov.h"
#include "abi/rsocket/service.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

#define BATCH	  16
#define GRH_LEN	  40
#define CLOSE_US  1000000 /* the longest wait of a close for sends; they depend on no peer */
#define MIN_QUEUE 16

int adv_rs_dgram_open(struct adv_rsocket *rs)
{
	int fd = adv_sys_socket(rs->domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (adv_rs_enter(rs, fd)) {
		adv_sys_close(fd);
		return -1;
	}
	return 0;
}

/* Makes the queue of received datagrams. From then on the service thread reads the UDP socket. */
static int make_dgram_ready(struct adv_rsocket *rs)
{
	struct adv_rs_dgram *d = &rs->d;

	if (d->ready)
		return 0;
	rs->options.rq_size = adv_rs_clamp(rs->options.rcvbuf / ADV_RS_DGRAM_SLOT, MIN_QUEUE,
					   adv_rs_clamp(rs->options.rq_size, MIN_QUEUE, 0xfffe));
	rs->options.sq_size = adv_rs_clamp(rs->options.sndbuf / ADV_RS_DGRAM_SLOT, MIN_QUEUE,
					   adv_rs_clamp(rs->options.sq_size, MIN_QUEUE, 0xfffe));
	d->pool = calloc(rs->options.rq_size, sizeof(*d->pool));
	if (!d->pool)
		return -1;
	if (adv_rs_service_add(rs)) {
		free(d->pool);
		d->pool = NULL;
		return -1;
	}
	for (uint32_t i = 0; i < rs->options.rq_size; i++)
		adv_list_add_tail(&d->free, &d->pool[i].link);
	d->ready = true;
	return 0;
}

int adv_rs_dgram_bind(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	if (make_dgram_ready(rs))
		return -1;
	return adv_sys_bind(rs->fd, addr, len);
}

static int copy_addr(const struct adv_rsocket *rs, union adv_rs_addr *to,
		     const struct sockaddr *addr, socklen_t len)
{
	memset(to, 0, sizeof(*to));
	if (len < sizeof(addr->sa_family) || addr->sa_family != rs->domain)
		return adv_rs_error(EAFNOSUPPORT);
	if (len < adv_rs_addr_len(addr->sa_family))
		return adv_rs_error(EINVAL);
	memcpy(to, addr, adv_rs_addr_len(addr->sa_family));
	return 0;
}

int adv_rs_dgram_connect(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len)
{
	union adv_rs_addr to;

	if (len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC) {
		rs->d.peer = NULL;
		return adv_sys_connect(rs->fd, addr, len);
	}
	if (copy_addr(rs, &to, addr, len) || make_dgram_ready(rs) ||
	    adv_sys_connect(rs->fd, &to, len))
		return -1;
	rs->d.peer = adv_rs_dest_get(rs, &to);
	return rs->d.peer ? 0 : -1;
}

/* Receiving */

static void complete_receive(struct adv_rsocket *rs, struct adv_rs_dgram_qp *qp,
			     const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;
	const uint8_t *p = qp->recv_slots + (slot + (size_t)1) * ADV_RS_DGRAM_SLOT;
	union adv_rs_addr source;
	size_t len, header = 0;

	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (wc->status == IBV_WC_SUCCESS && wc->byte_len > GRH_LEN) {
		len = wc->byte_len - GRH_LEN;
		header = adv_rs_unpack_ds(&source, p, len);
		adv_rs_addr_map(&source, (sa_family_t)rs->domain);
		if (header && adv_rs_dgram_deliver(rs, &source, p + header, len - header, qp, slot))
			return;
	}
	adv_rs_dgram_post_recv(qp, slot);
}

static bool progress_qp(struct adv_rsocket *rs, struct adv_rs_dgram_qp *qp)
{
	struct ibv_wc wc[BATCH];
	bool changed = false;
	int n;

	do {
		n = ibv_poll_cq(qp->cq, BATCH, wc);
		for (int i = 0; i < n; i++) {
			if (wc[i].wr_id & ADV_RS_WR_RECV)
				complete_receive(rs, qp, &wc[i]);
			else
				qp->free_slots[qp->free_count++] = (uint32_t)wc[i].wr_id;
			changed = true;
		}
	} while (n == BATCH);
	return changed;
}

static bool progress_dgram(struct adv_rsocket *rs)
{
	bool changed = false;

	adv_list_for_each(struct adv_rs_dgram_qp, qp, &rs->d.qps, link) {
		if (progress_qp(rs, qp))
			changed = true;
	}
	return changed;
}

static bool arm_dgram(struct adv_rsocket *rs)
{
	adv_list_for_each(struct adv_rs_dgram_qp, qp, &rs->d.qps, link)
		ibv_req_notify_cq(qp->cq, 0);
	return true;
}

static bool is_dgram_receivable(struct adv_rsocket *rs)
{
	return !adv_list_empty(&rs->d.queued) || rs->d.read_shut;
}

ssize_t adv_rs_dgram_recv(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags,
			  union adv_rs_addr *source, bool *truncated)
{
	struct adv_rs_datagram *datagram;
	struct adv_rs_iov to;
	ssize_t ret = -1;
	size_t n;

	if (adv_rs_iov_start(&to, iov, count))
		return -1;
	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	if (make_dgram_ready(rs) ||
	    adv_rs_wait(rs, is_dgram_receivable,
			adv_rs_deadline(rs, flags, rs->options.recv_timeout_us))) {
		ret = -1;
	} else if (adv_list_empty(&rs->d.queued)) {
		ret = 0;
	} else {
		datagram = adv_container_of(rs->d.queued.next, struct adv_rs_datagram, link);
		n = datagram->len < to.left ? datagram->len : to.left;
		adv_rs_iov_put(&to, datagram->data, n);
		*truncated = n < datagram->len;
		ret = (flags & MSG_TRUNC) ? (ssize_t)datagram->len : (ssize_t)n;
		if (source)
			*source = datagram->source;
		if (!(flags & MSG_PEEK))
			adv_rs_dgram_release(rs, datagram);
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	return ret;
}

/* Sending */

bool adv_rs_dgram_can_send(const struct adv_rsocket *rs)
{
	adv_list_for_each(const struct adv_rs_dgram_qp, qp, &rs->d.qps, link) {
		if (qp->free_count == 0)
			return false;
	}
	return true;
}

static bool is_dgram_sendable(struct adv_rsocket *rs)
{
	return adv_rs_dgram_can_send(rs) || rs->d.write_shut;
}

static bool is_all_sent(struct adv_rsocket *rs)
{
	adv_list_for_each(const struct adv_rs_dgram_qp, qp, &rs->d.qps, link) {
		if (qp->free_count < rs->options.sq_size)
			return false;
	}
	return true;
}

/* Sends a datagram from queue pair to queue pair: its header and data are copied into a slot. */
static int send_qp(const struct adv_rs_dest *dest, struct adv_rs_iov *from, size_t len)
{
	struct adv_rs_dgram_qp *qp = dest->qp;
	uint32_t slot = qp->free_slots[--qp->free_count];
	uint8_t *p = qp->send_slots + (size_t)slot * ADV_RS_DGRAM_SLOT;
	size_t header = adv_rs_pack_ds(p, &qp->local);
	struct ibv_sge sge = {(uintptr_t)p, (uint32_t)(header + len), qp->send_mr->lkey};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = slot,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .wr.ud = {.ah = dest->ah,
						   .remote_qpn = dest->qpn,
						   .remote_qkey = RDMA_UDP_QKEY},
				 };
	int err;

	adv_rs_iov_take(from, p + header, len);
	err = ibv_post_send(qp->id->qp, &wr, &bad);
	if (err) {
		qp->free_slots[qp->free_count++] = slot;
		return adv_rs_error(err);
	}
	return 0;
}

/* Sends a datagram by UDP, because the peer's queue pair is unknown or the datagram is too long for
 * the path. */
static int send_udp(struct adv_rsocket *rs, const struct adv_rs_dest *dest, struct adv_rs_iov *from,
		    size_t len)
{
	uint8_t data[ADV_RS_DGRAM_SLOT];

	adv_rs_iov_take(from, data, len);
	return adv_rs_dgram_send_udp(rs, dest, ADV_RS_OP_DATA, data, len) < 0 ? -1 : 0;
}

static int send_one(struct adv_rsocket *rs, struct adv_rs_iov *from, const union adv_rs_addr *to,
		    int64_t deadline)
{
	struct adv_rs_dest *dest;
	size_t len = from->left, header, limit;

	if (rs->d.write_shut)
		return adv_rs_error(EPIPE);
	if (make_dgram_ready(rs) || adv_rs_wait(rs, is_dgram_sendable, deadline))
		return -1;
	if (rs->d.write_shut)
		return adv_rs_error(EPIPE);
	dest = to ? adv_rs_dest_get(rs, to) : rs->d.peer;
	if (!dest)
		return to ? -1 : adv_rs_error(EDESTADDRREQ);
	/* The receiver's buffers limit datagrams sent by UDP and by queue pair. */
	header = dest->qp->local.sa.sa_family == AF_INET ? 16 : ADV_RS_UDP_MAX_HEADER;
	limit = ADV_RS_DGRAM_SLOT - header;
	if (len > limit)
		return adv_rs_error(EMSGSIZE);
	header = dest->qp->local.sa.sa_family == AF_INET ? 8 : ADV_RS_DS_MAX_HEADER;
	return dest->ah && header + len <= dest->qp->mtu ? send_qp(dest, from, len)
							 : send_udp(rs, dest, from, len);
}

ssize_t adv_rs_dgram_send(struct adv_rsocket *rs, const struct iovec *iov, size_t count, int flags,
			  const struct sockaddr *addr, socklen_t addr_len)
{
	union adv_rs_addr to;
	struct adv_rs_iov from;
	size_t len;
	int ret;

	if (adv_rs_iov_start(&from, iov, count) || (addr && copy_addr(rs, &to, addr, addr_len)))
		return -1;
	len = from.left;
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	ret = send_one(rs, &from, addr ? &to : NULL,
		       adv_rs_deadline(rs, flags, rs->options.send_timeout_us));
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	return ret ? -1 : (ssize_t)len;
}

/* Closing */

int adv_rs_dgram_shutdown(struct adv_rsocket *rs, int how)
{
	if (how != SHUT_WR)
		rs->d.read_shut = true;
	if (how != SHUT_RD)
		rs->d.write_shut = true;
	adv_rs_wake(rs);
	return rs->d.peer ? 0 : adv_rs_error(ENOTCONN);
}

void adv_rs_dgram_close(struct adv_rsocket *rs)
{
	rs->d.read_shut = rs->d.write_shut = true;
	(void)adv_rs_wait(rs, is_all_sent, adv_rs_now() + CLOSE_US);
	adv_rs_wake(rs);
}

static void destroy_dgram(struct adv_rsocket *rs)
{
	adv_list_for_each(struct adv_rs_datagram, datagram, &rs->d.queued, link)
		free(datagram->copy);
	adv_rs_dests_free(rs);
	adv_rs_dgram_qps_free(rs);
	free(rs->d.pool);
	if (rs->fd >= 0)
		adv_sys_close(rs->fd);
}

/* Creation */

static const struct adv_rs_ops ops = {
	.progress = progress_dgram,
	.arm = arm_dgram,
	.on_readable = adv_rs_dgram_udp,
	.destroy = destroy_dgram,
};

struct adv_rsocket *adv_rs_dgram_new(int domain)
{
	struct adv_rsocket *rs = adv_rs_new(domain, SOCK_DGRAM, &ops, NULL);

	if (!rs)
		return NULL;
	adv_list_init(&rs->d.qps);
	adv_list_init(&rs->d.free);
	adv_list_init(&rs->d.queued);
	return rs;
}
