/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * crowd [-n processes] [-d distances]
 *
 * A job of many small processes on one machine. The processes form a ring. Each process opens the
 * device and has two RC queue pairs for each distance 1, 2, 4...: one to the process at this
 * distance ahead of it, and one to the process at this distance behind it. Each process sends its
 * number on every sending queue pair and checks the received numbers. All processes exist at the
 * same time. Prints the elapsed time. Exit status: 0 on success; 1 if something was wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST	    4096
#define DISTANCES   8
#define GIVE_UP_SEC 280

/* Memory that all processes share. One process forks all others. */
struct board {
	pthread_barrier_t all;
	/* Numbers of the sending QPs, then of the receiving QPs. */
	uint32_t qpn[MOST][2 * DISTANCES];
};

struct rank {
	unsigned number;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2 * DISTANCES];
	uint64_t out;
	uint64_t in[DISTANCES];
};

static struct board *board;
static unsigned processes = 600, distances = 3;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const struct rank *r, const char *what)
{
	fprintf(stderr, "process %u: %s: %s\n", r->number, what, strerror(errno));
	_exit(1);
}

static void open_all(struct rank *r)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	r->ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!r->ctx)
		fail(r, "ibv_open_device");
	ibv_free_device_list(list);
	r->pd = ibv_alloc_pd(r->ctx);
	r->cq = ibv_create_cq(r->ctx, 4 * DISTANCES, NULL, NULL, 0);
	r->mr = r->pd ? ibv_reg_mr(r->pd, r, sizeof(*r), IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!r->pd || !r->cq || !r->mr)
		fail(r, "no objects");
}

static void make_qps(struct rank *r)
{
	struct ibv_qp_init_attr init = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	for (unsigned i = 0; i < 2 * distances; i++) {
		r->qp[i] = ibv_create_qp(r->pd, &init);
		if (!r->qp[i])
			fail(r, "ibv_create_qp");
		board->qpn[r->number][i] = r->qp[i]->qp_num;
	}
}

/* Connects to the QP with this number on this machine. */
static void connect_qp(struct rank *r, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}},
	};

	if (ibv_query_gid(r->ctx, 1, 0, &a.ah_attr.grh.dgid))
		fail(r, "ibv_query_gid");
	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		fail(r, "to INIT");
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		fail(r, "to RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		fail(r, "to RTS");
}

static unsigned ahead(const struct rank *r, unsigned d)
{
	return (r->number + (1u << d)) % processes;
}

static unsigned behind(const struct rank *r, unsigned d)
{
	return (r->number + processes - (1u << d) % processes) % processes;
}

static void post(struct rank *r)
{
	for (unsigned d = 0; d < distances; d++) {
		struct ibv_sge in = {(uintptr_t)&r->in[d], sizeof(r->in[d]), r->mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = d, .sg_list = &in, .num_sge = 1}, *bad;

		connect_qp(r, r->qp[d], board->qpn[ahead(r, d)][distances + d]);
		connect_qp(r, r->qp[distances + d], board->qpn[behind(r, d)][d]);
		if (ibv_post_recv(r->qp[distances + d], &wr, &bad))
			fail(r, "ibv_post_recv");
	}
	pthread_barrier_wait(&board->all);
	r->out = 0x1000000 + r->number;
	for (unsigned d = 0; d < distances; d++) {
		struct ibv_sge out = {(uintptr_t)&r->out, sizeof(r->out), r->mr->lkey};
		struct ibv_send_wr wr = {.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND},
				   *bad;

		if (ibv_post_send(r->qp[d], &wr, &bad))
			fail(r, "ibv_post_send");
	}
}

static void finish(struct rank *r)
{
	const struct timespec pause = {0, 1000000};
	struct ibv_wc wc;

	for (unsigned n = 0; n < 2 * distances;) {
		int got = ibv_poll_cq(r->cq, 1, &wc);

		if (got < 0 || (got && wc.status != IBV_WC_SUCCESS)) {
			fprintf(stderr, "process %u: %s\n", r->number,
				ibv_wc_status_str(wc.status));
			_exit(1);
		}
		n += (unsigned)got;
		if (!got)
			nanosleep(&pause, NULL); /* yields to hundreds of processes */
	}
	for (unsigned d = 0; d < distances; d++)
		if (r->in[d] != 0x1000000 + behind(r, d))
			fail(r, "what came is another's");
}

static void live(unsigned number)
{
	struct rank *r = calloc(1, sizeof(*r));

	if (!r)
		_exit(1);
	r->number = number;
	alarm(GIVE_UP_SEC);
	open_all(r);
	make_qps(r);
	pthread_barrier_wait(&board->all);
	post(r);
	finish(r);
	pthread_barrier_wait(&board->all); /* no process exits while others send to it */
	_exit(ibv_close_device(r->ctx) ? 1 : 0);
}

/* Waits for all processes. Returns the number of failed processes. After a failure kills the other
 * processes, which would wait for ever. */
static unsigned wait_for_all(pid_t *pid, unsigned count)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < count; i++) {
		int status = 0;
		pid_t ended = wait(&status);

		if (ended < 0)
			return failed + 1;
		for (unsigned k = 0; k < count; k++)
			if (pid[k] == ended)
				pid[k] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			if (!failed++)
				for (unsigned k = 0; k < count; k++)
					if (pid[k])
						kill(pid[k], SIGTERM);
		}
	}
	return failed;
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t shared;
	static pid_t pid[MOST];
	double begin = seconds();
	unsigned failed;
	int option;

	while ((option = getopt(argc, argv, "n:d:")) != -1) {
		if (option == 'n')
			processes = (unsigned)atoi(optarg);
		else if (option == 'd')
			distances = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (processes < 1 || processes > MOST || distances < 1 || distances > DISTANCES)
		return 2;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return 1;
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&board->all, &shared, processes);
	for (unsigned i = 0; i < processes; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			live(i);
		if (pid[i] < 0) {
			perror("fork");
			failed = wait_for_all(pid, i);
			return 1;
		}
	}
	failed = wait_for_all(pid, processes);
	if (failed)
		printf("%u of %u processes failed\n", failed, processes);
	else
		printf("%u processes in %.1f s\n", processes, seconds() - begin);
	return failed ? 1 : 0;
}
