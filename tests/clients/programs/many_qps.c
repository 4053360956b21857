/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * many_qps [-n count] [-k]
 *
 * Creates `count` RC queue pairs in one process, and connects each with one whose number is far
 * away. Sends a message over each queue pair, compares every byte, and destroys the queue pairs.
 * Prints the memory of a queue pair at each stage, the rates, and the number of blocks of QP
 * numbers. -k: keep the queue pairs until SIGTERM. Exit status: 0 on success; 1 if something was
 * wrong.
 */
#include <infiniband/verbs.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE	    16
#define AT_ONCE	    128 /* connections that exchange at the same time */
#define REQUESTS    16	/* length of each queue */
#define TIMEOUT	    14
#define STUCK_SEC   60.0
#define RD_ATOMIC   16
#define BLOCKS_FROM (1u << 23) /* blocks of 65,536 numbers begin here */

static volatile sig_atomic_t told_to_end;

static void on_term(int signal)
{
	(void)signal;
	told_to_end = 1;
}

struct run {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	struct ibv_qp **qp;
	uint8_t *buffer; /* for each QP: the received message, then the sent one */
	unsigned count;
	long before; /* memory before the first queue pair, KiB */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return -1;
}

static void report(const struct run *r, const char *what, double seconds)
{
	long kib = resident_kib() - r->before;

	printf("%s: %ld bytes a queue pair", what, kib * 1024 / (long)r->count);
	if (seconds > 0)
		printf(", %.0f a second", (double)r->count / seconds);
	printf("\n");
}

static int prepare(struct run *r)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t size = (size_t)r->count * 2 * MESSAGE;
	struct ibv_device_attr attr;

	if (!list || !list[0])
		return failed("no device");
	r->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!r->context || ibv_query_device(r->context, &attr))
		return failed("ibv_open_device");
	printf("max_qp %d\n", attr.max_qp);
	if ((unsigned)attr.max_qp < r->count) {
		fprintf(stderr, "%u queue pairs are more than max_qp\n", r->count);
		return -1;
	}
	r->qp = calloc(r->count, sizeof(struct ibv_qp *));
	r->buffer = malloc(size);
	r->pd = ibv_alloc_pd(r->context);
	r->cq = ibv_create_cq(r->context, 8 * AT_ONCE, NULL, NULL, 0);
	if (!r->qp || !r->buffer || !r->pd || !r->cq)
		return failed("cannot prepare");
	memset(r->buffer, 1, size);
	memset(r->qp, 0, r->count * sizeof(struct ibv_qp *));
	r->mr = ibv_reg_mr(r->pd, r->buffer, size, IBV_ACCESS_LOCAL_WRITE);
	if (!r->mr || ibv_query_gid(r->context, 1, 0, &r->gid))
		return failed("ibv_reg_mr");
	return 0;
}

static int create_all(struct run *r)
{
	struct ibv_qp_init_attr init = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.cap = {.max_send_wr = REQUESTS,
			.max_recv_wr = REQUESTS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	double start;

	r->before = resident_kib();
	start = now();
	for (unsigned i = 0; i < r->count; i++) {
		r->qp[i] = ibv_create_qp(r->pd, &init);
		if (!r->qp[i]) {
			fprintf(stderr, "after %u queue pairs: ", i);
			return failed("ibv_create_qp");
		}
	}
	report(r, "in RESET", now() - start);
	return 0;
}

static unsigned partner(const struct run *r, unsigned i)
{
	unsigned half = r->count / 2;

	return i < half ? i + half : i - half;
}

static int connect_one(const struct run *r, unsigned i)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = r->qp[partner(r, i)]->qp_num,
		.rq_psn = partner(r, i),
		.sq_psn = i,
		.max_rd_atomic = RD_ATOMIC,
		.max_dest_rd_atomic = RD_ATOMIC,
		.min_rnr_timer = 1,
		.timeout = TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = r->gid, .hop_limit = 1}},
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	errno = ibv_modify_qp(r->qp[i], &a, mask);
	a.qp_state = IBV_QPS_RTR;
	mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (!errno)
		errno = ibv_modify_qp(r->qp[i], &a, mask);
	a.qp_state = IBV_QPS_RTS;
	mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC;
	if (!errno)
		errno = ibv_modify_qp(r->qp[i], &a, mask);
	return errno ? failed("ibv_modify_qp") : 0;
}

static int connect_all(struct run *r)
{
	double start = now();

	for (unsigned i = 0; i < r->count; i++)
		if (connect_one(r, i))
			return -1;
	report(r, "in RTS", now() - start);
	return 0;
}

static uint8_t *buffer(const struct run *r, unsigned i, bool sent)
{
	return r->buffer + MESSAGE * (2 * (size_t)i + sent);
}

static int post(struct run *r, unsigned i, bool send)
{
	struct ibv_sge sge = {(uintptr_t)buffer(r, i, send), MESSAGE, r->mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = {.wr_id = i,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	errno = send ? ibv_post_send(r->qp[i], &wr, &bad)
		     : ibv_post_recv(r->qp[i], &recv, &bad_recv);
	return errno ? failed(send ? "ibv_post_send" : "ibv_post_recv") : 0;
}

static void fill(uint8_t *p, unsigned i)
{
	for (unsigned k = 0; k < MESSAGE; k++)
		p[k] = (uint8_t)(i * 2654435761u >> (k % 4 * 8)) + (uint8_t)k;
}

/* Polls two completions for each of `qps` queue pairs: a send and a receive. */
static int await(struct run *r, unsigned qps)
{
	double until = now() + STUCK_SEC;

	for (unsigned got = 0; got < 2 * qps;) {
		struct ibv_wc wc[64];
		uint8_t right[MESSAGE];
		int n = ibv_poll_cq(r->cq, 64, wc);

		if (n < 0 || now() > until) {
			fprintf(stderr, "completions are missing\n");
			return -1;
		}
		for (int k = 0; k < n; k++, got++) {
			unsigned i = (unsigned)wc[k].wr_id;

			fill(right, partner(r, i));
			if (wc[k].status != IBV_WC_SUCCESS || wc[k].qp_num != r->qp[i]->qp_num ||
			    (wc[k].opcode == IBV_WC_RECV &&
			     memcmp(right, buffer(r, i, false), MESSAGE))) {
				fprintf(stderr, "queue pair %u: %s, or not the bytes sent\n", i,
					ibv_wc_status_str(wc[k].status));
				return -1;
			}
		}
	}
	return 0;
}

static int exchange_all(struct run *r)
{
	unsigned half = r->count / 2;
	double start = now();

	for (unsigned first = 0; first < half; first += AT_ONCE) {
		unsigned n = half - first < AT_ONCE ? half - first : AT_ONCE;

		for (unsigned k = 0; k < 2 * n; k++)
			if (post(r, first + k / 2 + (k & 1) * half, false))
				return -1;
		for (unsigned k = 0; k < 2 * n; k++) {
			unsigned i = first + k / 2 + (k & 1) * half;

			fill(buffer(r, i, true), i);
			if (post(r, i, true))
				return -1;
		}
		if (await(r, 2 * n))
			return -1;
	}
	report(r, "after a message each way", now() - start);
	return 0;
}

static unsigned count_blocks(const struct run *r)
{
	bool seen[256] = {false};
	unsigned n = 0;

	for (unsigned i = 0; i < r->count; i++) {
		unsigned block = r->qp[i]->qp_num >> 16;

		n += r->qp[i]->qp_num >= BLOCKS_FROM && !seen[block];
		seen[block] = true;
	}
	return n;
}

static int destroy_all(struct run *r)
{
	double start = now();

	for (unsigned i = 0; i < r->count; i++)
		if (ibv_destroy_qp(r->qp[i]))
			return failed("ibv_destroy_qp");
	printf("destroyed: %.0f a second\n", r->count / (now() - start));
	if (ibv_dereg_mr(r->mr) || ibv_destroy_cq(r->cq) || ibv_dealloc_pd(r->pd) ||
	    ibv_close_device(r->context))
		return failed("cannot clean up");
	free(r->qp);
	free(r->buffer);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction term = {.sa_handler = on_term};
	struct run r = {.count = 100000};
	bool keep = false;
	int o;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &term, NULL);
	while ((o = getopt(argc, argv, "n:k")) >= 0) {
		if (o == 'n')
			r.count = (unsigned)atoi(optarg) & ~1u;
		else if (o == 'k')
			keep = true;
		else
			r.count = 0;
	}
	if (optind != argc || !r.count) {
		fprintf(stderr, "usage: many_qps [-n count] [-k]\n");
		return 1;
	}
	if (prepare(&r) || create_all(&r) || connect_all(&r) || exchange_all(&r))
		return 1;
	printf("%u queue pairs exchanged, of %u blocks of numbers\n", r.count, count_blocks(&r));
	while (keep && !told_to_end)
		pause();
	return destroy_all(&r) ? 1 : 0;
}
