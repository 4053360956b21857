/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reads serve port gid-index address
 * reads call port gid-index host seconds
 *
 * serve: a server with two peers. call: its honest peer; the server and this peer send each other
 * messages in turn and compare every byte. The other peer is tests/clients/greedy at `address`,
 * which may READ 1 GiB. For greedy the server prints "greedy may read QPN RKEY".
 *
 * The server polls all the time, and prints at the end the duration of its polls. Exit status: 0 on
 * success; 1 if something was wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define GIB	   (1ul << 30)
#define BYTES	   1000
#define GREEDY_QPN 0x10ffff /* greedy has no such queue pair */
#define GIVE_UP	   60.0	    /* seconds */
#define LONG_POLL  200e-6

struct polls {
	unsigned long count, long_ones;
	double longest, all;
	double longest_run, all_run; /* processor time of these polls */
};

static double run_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t seed_of(int caller, uint32_t round)
{
	return 2 * round + (caller ? 1u : 0u);
}

/* Posts a receive into place 0. Place 1 holds the message to send. */
static int post_receive(struct peer *p)
{
	struct ibv_sge sge = {(uintptr_t)p->buffer, BYTES, p->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(p->qp[0], &wr, &bad) ? -1 : 0;
}

static int post_message(struct peer *p, int caller, uint32_t round)
{
	struct ibv_sge sge = {(uintptr_t)p->buffer + BYTES, BYTES, p->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	peer_fill(p->buffer + BYTES, BYTES, seed_of(caller, round));
	return ibv_post_send(p->qp[0], &wr, &bad) ? -1 : 0;
}

static int check_message(struct peer *p, int caller, uint32_t round)
{
	return peer_compare(p->buffer, BYTES, seed_of(!caller, round));
}

static int poll_once(struct peer *p, struct ibv_wc *wc, struct polls *polls)
{
	double start = peer_now(), start_run = run_time(), took, ran;
	int n = ibv_poll_cq(p->cq, 1, wc);

	ran = run_time() - start_run;
	took = peer_now() - start;
	polls->count++;
	polls->all += took;
	polls->all_run += ran;
	polls->long_ones += ran > LONG_POLL;
	polls->longest = took > polls->longest ? took : polls->longest;
	polls->longest_run = ran > polls->longest_run ? ran : polls->longest_run;
	if (n < 0 || (n == 1 && wc->status != IBV_WC_SUCCESS)) {
		fprintf(stderr, "completion with error %d\n", n < 0 ? n : (int)wc->status);
		return -1;
	}
	return n;
}

/* Creates a queue pair whose peer is at `address`, and memory that the peer may read. */
static int serve_greedy(struct peer *p, const char *address)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = GREEDY_QPN,
		.max_dest_rd_atomic = 16,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = (uint8_t)p->gid_index, .hop_limit = 64}}};
	void *memory =
		mmap(NULL, GIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_qp *qp = ibv_create_qp(p->pd, &init);
	struct ibv_mr *mr;

	attr.ah_attr.grh.dgid.raw[10] = attr.ah_attr.grh.dgid.raw[11] = 0xff;
	if (memory == MAP_FAILED || !qp ||
	    inet_pton(AF_INET, address, attr.ah_attr.grh.dgid.raw + 12) != 1)
		return -1;
	mr = ibv_reg_mr_iova(p->pd, memory, GIB, 0, IBV_ACCESS_REMOTE_READ);
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	if (!errno)
		errno = ibv_modify_qp(qp, &attr,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					      IBV_QP_MIN_RNR_TIMER);
	if (errno || !mr)
		return -1;
	printf("greedy may read %x %x\n", qp->qp_num, mr->rkey);
	fflush(stdout);
	return 0;
}

static int serve(struct peer *p, int port, const char *address)
{
	struct polls polls = {0};
	uint32_t rounds = 0;
	unsigned sending = 0;

	if (peer_meet(p, NULL, port) || post_receive(p) || peer_connect(p) ||
	    serve_greedy(p, address)) {
		fprintf(stderr, "no connection: %s\n", strerror(errno));
		return 1;
	}
	while (polls.count % 1024 || !peer_gone(p)) {
		struct ibv_wc wc;
		int n = poll_once(p, &wc, &polls);

		if (n < 0)
			return 1;
		if (n == 0)
			continue;
		if (wc.opcode != IBV_WC_RECV) {
			sending--;
			continue;
		}
		if (check_message(p, 0, rounds) || post_receive(p) || post_message(p, 0, rounds))
			return 1;
		sending++;
		rounds++;
	}
	printf("ok: %u messages; %lu polls, %.1f us each, longest %.0f us; on a processor %.1f us "
	       "each, longest %.0f us, %lu above 200 us\n",
	       rounds, polls.count, polls.all / (double)polls.count * 1e6, polls.longest * 1e6,
	       polls.all_run / (double)polls.count * 1e6, polls.longest_run * 1e6, polls.long_ones);
	return sending > 1;
}

static int call(struct peer *p, int port, const char *host, double seconds)
{
	struct polls polls = {0};
	uint32_t rounds = 0;
	double end;

	if (peer_meet(p, host, port) || peer_connect(p))
		return 1;
	for (end = peer_now() + seconds; peer_now() < end; rounds++) {
		double give_up = peer_now() + GIVE_UP;

		if (post_receive(p) || post_message(p, 1, rounds))
			return 1;
		for (int got = 0; got < 2;) {
			struct ibv_wc wc;
			int n = poll_once(p, &wc, &polls);

			if (n < 0 || peer_now() > give_up)
				return 1;
			got += n;
		}
		if (check_message(p, 1, rounds))
			return 1;
	}
	printf("ok: %u messages\n", rounds);
	return 0;
}

int main(int argc, char **argv)
{
	struct peer p;
	int status;

	if (argc < 5 || argc > 6 || peer_open(&p, 1, 2 * BYTES, atoi(argv[3])))
		return 1;
	if (strcmp(argv[1], "serve") == 0)
		status = serve(&p, atoi(argv[2]), argv[4]);
	else if (argc == 6)
		status = call(&p, atoi(argv[2]), argv[4], atof(argv[5]));
	else
		return 1;
	if (status)
		fprintf(stderr, "failed\n");
	return status;
}
