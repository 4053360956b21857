/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int complain(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return -1;
}

double peer_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int make_qp(struct peer *p, unsigned i)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};

	p->qp[i] = ibv_create_qp(p->pd, &init);
	if (!p->qp[i])
		return complain("ibv_create_qp");
	errno = ibv_modify_qp(p->qp[i], &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	return errno ? complain("ibv_modify_qp to INIT") : 0;
}

static int open_first_device(struct peer *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0]) {
		fprintf(stderr, "no RDMA device\n");
		if (list)
			ibv_free_device_list(list);
		return -1;
	}
	p->context = ibv_open_device(list[0]);
	if (!p->context)
		complain("ibv_open_device");
	ibv_free_device_list(list);
	return p->context ? 0 : -1;
}

int peer_open(struct peer *p, unsigned qps, size_t length, int gid_index)
{
	memset(p, 0, sizeof(*p));
	p->sock = -1;
	p->qps = qps;
	p->length = length;
	p->gid_index = gid_index;
	if (qps > PEER_MAX_QPS || open_first_device(p))
		return -1;
	p->pd = ibv_alloc_pd(p->context);
	if (!p->pd)
		return complain("ibv_alloc_pd");
	p->channel = ibv_create_comp_channel(p->context);
	if (!p->channel)
		return complain("ibv_create_comp_channel");
	p->cq = ibv_create_cq(p->context, (int)(32 * qps), NULL, p->channel, 0);
	if (!p->cq)
		return complain("ibv_create_cq");
	p->buffer = aligned_alloc(4096, (length + 4095) & ~(size_t)4095);
	if (!p->buffer)
		return complain("aligned_alloc");
	memset(p->buffer, 0, length);
	p->mr = ibv_reg_mr(p->pd, p->buffer, length,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!p->mr)
		return complain("ibv_reg_mr");
	for (unsigned i = 0; i < qps; i++) {
		if (make_qp(p, i))
			return -1;
	}
	return 0;
}

static int wait_for_caller(int port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int one = 1;
	int listener = socket(AF_INET6, SOCK_STREAM, 0);
	int sock;

	if (listener < 0)
		return complain("socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) || listen(listener, 1)) {
		complain("bind or listen");
		close(listener);
		return -1;
	}
	sock = accept(listener, NULL, NULL);
	if (sock < 0)
		complain("accept");
	close(listener);
	return sock;
}

static int call(const char *host, int port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[16];
	int sock = -1;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &found)) {
		fprintf(stderr, "%s: no such host\n", host);
		return -1;
	}
	for (int i = 0; i < 200; i++) {
		sock = socket(found->ai_family, SOCK_STREAM, 0);
		if (sock < 0 || connect(sock, found->ai_addr, found->ai_addrlen) == 0)
			break;
		close(sock);
		sock = -1;
		usleep(50000);
	}
	if (sock < 0)
		complain(host);
	freeaddrinfo(found);
	return sock;
}

int peer_meet(struct peer *p, const char *host, int port)
{
	int one = 1;

	p->sock = host ? call(host, port) : wait_for_caller(port);
	if (p->sock < 0)
		return -1;
	setsockopt(p->sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

int peer_tell(struct peer *p, const void *bytes, size_t length)
{
	return send(p->sock, bytes, length, MSG_NOSIGNAL) == (ssize_t)length ? 0 : -1;
}

int peer_hear(struct peer *p, void *bytes, size_t length)
{
	return recv(p->sock, bytes, length, MSG_WAITALL) == (ssize_t)length ? 0 : -1;
}

int peer_gone(const struct peer *p)
{
	char byte;
	ssize_t n = recv(p->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

static int to_rtr(struct peer *p, unsigned i, enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = p->remote[i].qpn,
		.rq_psn = p->remote[i].psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = p->remote[i].gid,
				    .sgid_index = (uint8_t)p->gid_index,
				    .hop_limit = 64}},
	};

	errno = ibv_modify_qp(p->qp[i], &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
	return errno ? complain("ibv_modify_qp to RTR") : 0;
}

static int to_rts(struct peer *p, unsigned i, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = p->no_timeout ? 0
			   : p->timeout	 ? p->timeout
					 : 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = psn,
		.max_rd_atomic = 1,
	};

	errno = ibv_modify_qp(p->qp[i], &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return errno ? complain("ibv_modify_qp to RTS") : 0;
}

int peer_connect(struct peer *p)
{
	struct peer_address mine[PEER_MAX_QPS] = {0};
	struct ibv_port_attr port;
	union ibv_gid gid;
	char ready = 'r';

	if (ibv_query_port(p->context, 1, &port) ||
	    ibv_query_gid(p->context, 1, p->gid_index, &gid))
		return complain("ibv_query_port or ibv_query_gid");
	for (unsigned i = 0; i < p->qps; i++) {
		mine[i].qpn = p->qp[i]->qp_num;
		mine[i].rkey = p->mr->rkey;
		mine[i].buffer = (uintptr_t)p->buffer;
		mine[i].gid = gid;
		if (getrandom(&mine[i].psn, sizeof(mine[i].psn), 0) < 0)
			return complain("getrandom");
		mine[i].psn &= 0xffffff;
	}
	if (peer_tell(p, mine, p->qps * sizeof(mine[0])) ||
	    peer_hear(p, p->remote, p->qps * sizeof(mine[0])))
		return complain("exchange of addresses");
	for (unsigned i = 0; i < p->qps; i++) {
		if (to_rtr(p, i, port.active_mtu) || to_rts(p, i, mine[i].psn))
			return -1;
	}
	/* Neither end sends before both are ready. */
	if (peer_tell(p, &ready, 1) || peer_hear(p, &ready, 1))
		return complain("ready");
	return 0;
}

int peer_complete(struct peer *p, struct ibv_wc *wc, double seconds)
{
	double end = peer_now() + seconds;
	int n;

	while ((n = ibv_poll_cq(p->cq, 1, wc)) == 0) {
		if (peer_now() > end) {
			fprintf(stderr, "no completion within %.1f s\n", seconds);
			return -1;
		}
		sched_yield();
	}
	if (n < 0)
		return complain("ibv_poll_cq");
	if (wc->status != IBV_WC_SUCCESS) {
		fprintf(stderr, "completion of %s: %s (vendor_err %u)\n",
			wc->wr_id ? "send" : "receive", ibv_wc_status_str(wc->status),
			wc->vendor_err);
		return -1;
	}
	return 0;
}

void peer_close(struct peer *p)
{
	for (unsigned i = 0; i < p->qps; i++) {
		if (p->qp[i])
			ibv_destroy_qp(p->qp[i]);
	}
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->cq)
		ibv_destroy_cq(p->cq);
	if (p->channel)
		ibv_destroy_comp_channel(p->channel);
	if (p->pd)
		ibv_dealloc_pd(p->pd);
	if (p->context)
		ibv_close_device(p->context);
	free(p->buffer);
	if (p->sock >= 0)
		close(p->sock);
}

static uint8_t pattern(uint32_t seed, size_t at)
{
	uint32_t x = (seed + (uint32_t)at) * 2654435761u;

	return (uint8_t)(x >> 24);
}

void peer_fill(uint8_t *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern(seed, i);
}

int peer_compare(const uint8_t *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != pattern(seed, i)) {
			fprintf(stderr, "invalid data at byte %zu of %zu: %02x, not %02x\n", i,
				length, bytes[i], pattern(seed, i));
			return -1;
		}
	}
	return 0;
}
