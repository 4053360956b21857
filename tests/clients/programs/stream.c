/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stream [-u] [-p port] [-n messages] [-x] [host]
 *
 * Sends messages one way over UC, or with -u over UD. Without host: posts receives for all messages
 * and counts them; with -x it stops itself (SIGSTOP) after a tenth of them. With host: sends at
 * full speed. No message may be missing, arrive twice, or arrive before an earlier one. Exit
 * status: 0 if the receiver has all messages, or the sender has sent all.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define SIZE	 1024u /* bytes of a message */
#define GRH	 40u   /* bytes before each UD message */
#define DEPTH	 128u  /* outstanding messages */
#define QKEY	 0x1234u
#define PATIENCE 20.0 /* longest wait for a message after all were sent, s */

struct stream {
	struct peer peer;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct peer_address remote;
	bool datagrams;
	bool stops;
	unsigned messages;
};

static int complain(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return -1;
}

static int make_qp(struct stream *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = s->datagrams ? IBV_QPT_UD : IBV_QPT_UC,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = s->messages,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		   (s->datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	s->cq = ibv_create_cq(s->peer.context, (int)(DEPTH + s->messages), NULL, NULL, 0);
	if (!s->cq)
		return complain("ibv_create_cq");
	init.send_cq = init.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->peer.pd, &init);
	if (!s->qp)
		return complain("ibv_create_qp");
	errno = ibv_modify_qp(s->qp, &attr, mask);
	return errno ? complain("ibv_modify_qp to INIT") : 0;
}

static int post_receive(struct stream *s, unsigned i)
{
	struct ibv_sge sge = {(uintptr_t)s->peer.buffer + i * (uint64_t)(GRH + SIZE), GRH + SIZE,
			      s->peer.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	errno = ibv_post_recv(s->qp, &wr, &bad);
	return errno ? complain("ibv_post_recv") : 0;
}

static int to_rts(struct stream *s)
{
	struct ibv_ah_attr to = {
		.is_global = 1, .port_num = 1, .grh = {.dgid = s->remote.gid, .hop_limit = 64}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = s->remote.qpn,
				   .ah_attr = to};
	int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	errno = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | (s->datagrams ? 0 : connected));
	if (errno)
		return complain("ibv_modify_qp to RTR");
	attr.qp_state = IBV_QPS_RTS;
	errno = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (errno)
		return complain("ibv_modify_qp to RTS");
	s->ah = s->datagrams ? ibv_create_ah(s->peer.pd, &to) : NULL;
	return s->datagrams && !s->ah ? complain("ibv_create_ah") : 0;
}

static int start(struct stream *s, const char *host, int port)
{
	struct peer_address mine = {0};
	char ready = 'r';

	if (peer_open(&s->peer, 1, s->messages * (size_t)(GRH + SIZE), 0) || make_qp(s))
		return -1;
	for (unsigned i = 0; !host && i < s->messages; i++)
		if (post_receive(s, i))
			return -1;
	mine.qpn = s->qp->qp_num;
	if (ibv_query_gid(s->peer.context, 1, 0, &mine.gid))
		return complain("ibv_query_gid");
	if (peer_meet(&s->peer, host, port) || peer_tell(&s->peer, &mine, sizeof(mine)) ||
	    peer_hear(&s->peer, &s->remote, sizeof(s->remote)) || to_rts(s))
		return -1;
	/* Neither end sends before both are ready. */
	return peer_tell(&s->peer, &ready, 1) || peer_hear(&s->peer, &ready, 1) ? -1 : 0;
}

/* Polls up to `most` completions. Returns their number, or -1. */
static int poll(struct stream *s, struct ibv_wc *wc, int most)
{
	int n = ibv_poll_cq(s->cq, most, wc);

	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "completion: %s (vendor_err %u)\n",
				ibv_wc_status_str(wc[i].status), wc[i].vendor_err);
			return -1;
		}
	if (n == 0)
		sched_yield();
	return n;
}

/* ---- the receiver ---- */

static int receive_all(struct stream *s)
{
	unsigned got = 0, stop_at = s->stops ? s->messages / 10 : UINT32_MAX;
	double last = peer_now();
	uint64_t number;

	while (got < s->messages) {
		struct ibv_wc wc;
		int n = poll(s, &wc, 1);

		if (n < 0)
			return -1;
		if (n == 0) {
			if (peer_now() < last + PATIENCE)
				continue;
			fprintf(stderr, "received %u of %u messages\n", got, s->messages);
			return -1;
		}
		memcpy(&number, s->peer.buffer + wc.wr_id * (GRH + SIZE) + (s->datagrams ? GRH : 0),
		       sizeof(number));
		if (number != got) {
			fprintf(stderr, "message %llu came where %u was due\n",
				(unsigned long long)number, got);
			return -1;
		}
		if (++got == stop_at)
			kill(getpid(), SIGSTOP);
		last = peer_now();
	}
	printf("received %u messages\n", got);
	return 0;
}

/* ---- the sender ---- */

static int post_send(struct stream *s, unsigned i)
{
	struct ibv_sge sge = {(uintptr_t)s->peer.buffer + i % DEPTH * SIZE, SIZE, s->peer.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	uint64_t number = i;

	memcpy(s->peer.buffer + i % DEPTH * SIZE, &number, sizeof(number));
	if (s->datagrams) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = s->remote.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	errno = ibv_post_send(s->qp, &wr, &bad);
	return errno ? complain("ibv_post_send") : 0;
}

static int send_all(struct stream *s)
{
	unsigned posted = 0, done = 0;
	double start = peer_now();

	while (done < s->messages) {
		struct ibv_wc wc[16];
		int n;

		while (posted < s->messages && posted - done < DEPTH)
			if (post_send(s, posted++))
				return -1;
		n = poll(s, wc, 16);
		if (n < 0)
			return -1;
		done += (unsigned)n;
	}
	printf("sent %u messages in %.3f s\n", done, peer_now() - start);
	return 0;
}

int main(int argc, char **argv)
{
	struct stream s = {.messages = 30000};
	int result = 1, port = 18800, option;
	const char *host;

	while ((option = getopt(argc, argv, "up:n:x")) != -1) {
		if (option == 'u')
			s.datagrams = true;
		else if (option == 'p')
			port = atoi(optarg);
		else if (option == 'n')
			s.messages = (unsigned)atoi(optarg);
		else if (option == 'x')
			s.stops = true;
		else
			return 2;
	}
	host = argv[optind];
	if (!start(&s, host, port) && !(host ? send_all(&s) : receive_all(&s)))
		result = 0;
	/* The sender keeps its device open until the receiver has all messages. */
	if (host && !result)
		(void)peer_hear(&s.peer, &option, 1);
	if (s.ah)
		ibv_destroy_ah(s.ah);
	if (s.qp)
		ibv_destroy_qp(s.qp);
	if (s.cq)
		ibv_destroy_cq(s.cq);
	peer_close(&s.peer);
	return result;
}
