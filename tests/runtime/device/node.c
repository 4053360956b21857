/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "node.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "runtime/control/control.h"

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static int completion(void *user, struct adv_cq *cq)
{
	struct node *n = user;

	sem_post(&n->completion);
	return -1;
}

static int async(void *user, const struct adv_event *event)
{
	struct node *n = user;

	atomic_fetch_add(&n->async[event->async], 1);
	return -1;
}

static int port(void *user, enum ibv_event_type type)
{
	struct node *n = user;

	if (type == IBV_EVENT_GID_CHANGE)
		atomic_fetch_add(&n->gid_changes, 1);
	if (type == IBV_EVENT_PORT_ERR)
		atomic_fetch_add(&n->port_downs, 1);
	if (type == IBV_EVENT_PORT_ACTIVE)
		atomic_fetch_add(&n->port_ups, 1);
	if (type == IBV_EVENT_DEVICE_FATAL)
		atomic_fetch_add(&n->fatals, 1);
	return -1;
}

static const struct adv_device_callbacks callbacks = {completion, async, port};

void node_open(struct node *n)
{
	struct adv_qp_config config = {
		.type = IBV_QPT_RC,
		.cap = {.max_send_wr = 256,
			.max_recv_wr = 256,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.user = n,
	};
	struct adv_engine *e;

	memset(n, 0, sizeof(*n));
	sem_init(&n->completion, 0, 0);
	n->buffer = calloc(1, NODE_BUFFER);
	n->d = adv_device_open(&callbacks, n, NULL);
	assert_non_null(n->d);
	e = adv_device_lock(n->d);
	n->pd = adv_pd_create(e);
	n->cq = adv_cq_create(e, 1024, n);
	n->mr = adv_mr_register(n->pd, n->buffer, NODE_BUFFER, (uint64_t)(uintptr_t)n->buffer,
				ACCESS);
	config.pd = n->pd;
	config.send_cq = n->cq;
	config.recv_cq = n->cq;
	n->qp = adv_qp_create(e, &config);
	adv_device_unlock(n->d);
	assert_true(n->pd && n->cq && n->mr && n->qp);
}

void node_close(struct node *n)
{
	adv_device_close(n->d, n);
	sem_destroy(&n->completion);
	free(n->buffer);
}

static void to_rts(struct node *n, uint32_t peer_qpn, const struct adv_gid *dgid)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS,
	};

	assert_int_equal(
		adv_qp_modify(n->qp, adv_clock_ns(), &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_4096;
	a.dest_qp_num = peer_qpn;
	a.rq_psn = 100;
	a.max_dest_rd_atomic = 16;
	a.min_rnr_timer = 1;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.hop_limit = 1;
	memcpy(a.ah_attr.grh.dgid.raw, dgid->raw, 16);
	assert_int_equal(adv_qp_modify(n->qp, adv_clock_ns(), &a,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	adv_device_meet(n->d, dgid, peer_qpn);
	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = 100;
	a.timeout = 14;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 16;
	assert_int_equal(adv_qp_modify(n->qp, adv_clock_ns(), &a,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

void node_connect(struct node *a, struct node *b)
{
	static struct adv_gid_table gids;
	uint32_t qpn_a = adv_qp_num(a->qp), qpn_b = adv_qp_num(b->qp);

	adv_device_gids(a->d, &gids);
	assert_true(gids.count > 0);
	adv_device_lock(a->d);
	to_rts(a, qpn_b, &gids.entry[0].gid);
	adv_device_unlock(a->d);
	if (a == b)
		return;
	adv_device_lock(b->d);
	to_rts(b, qpn_a, &gids.entry[0].gid);
	adv_device_unlock(b->d);
}

struct adv_qp *node_outgrow(struct node *n)
{
	struct adv_qp_config config = {
		.type = IBV_QPT_RC,
		.pd = n->pd,
		.send_cq = n->cq,
		.recv_cq = n->cq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct adv_engine *e = adv_device_lock(n->d);
	struct adv_qp *qp;

	do {
		adv_device_reserve_qpn(n->d);
		qp = adv_qp_create(e, &config);
		assert_non_null(qp);
	} while (adv_qp_num(qp) < ADV_BLOCK_FIRST_QPN);
	adv_device_unlock(n->d);
	return qp;
}

static struct ibv_sge sge_of(struct node *n, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){(uint64_t)(uintptr_t)(n->buffer + offset), length,
				adv_mr_lkey(n->mr)};
}

static int post(struct node *n, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	adv_device_lock(n->d);
	err = adv_qp_post_send(n->qp, adv_clock_ns(), wr, &bad);
	adv_device_unlock(n->d);
	return err;
}

int node_write(struct node *n, struct node *peer, uint64_t wr_id, uint32_t from, uint32_t to,
	       uint32_t length)
{
	struct ibv_sge sge = sge_of(n, from, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uint64_t)(uintptr_t)(peer->buffer + to), adv_mr_rkey(peer->mr)},
	};

	return post(n, &wr);
}

int node_send(struct node *n, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = sge_of(n, offset, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return post(n, &wr);
}

void node_recv(struct node *n, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = sge_of(n, offset, length);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	adv_device_lock(n->d);
	assert_int_equal(adv_qp_post_recv(n->qp, adv_clock_ns(), &wr, &bad), 0);
	adv_device_unlock(n->d);
}

void node_poll(struct node *n, struct ibv_wc *wc)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE;
	int got = 0;

	while (got == 0) {
		adv_device_lock(n->d);
		got = adv_cq_poll(n->cq, 1, wc);
		if (got == 0) {
			adv_device_progress(n->d, true);
			got = adv_cq_poll(n->cq, 1, wc);
		}
		adv_device_unlock(n->d);
		assert_true(adv_clock_ns() < give_up);
	}
	assert_int_equal(got, 1);
}

bool node_look(struct node *n, struct ibv_wc *wc)
{
	int got;

	adv_device_lock(n->d);
	got = adv_cq_poll(n->cq, 1, wc);
	adv_device_unlock(n->d);
	assert_true(got >= 0);
	return got == 1;
}

void node_wait(struct node *n, struct ibv_wc *wc)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE;

	while (!node_look(n, wc)) {
		usleep(20);
		assert_true(adv_clock_ns() < give_up);
	}
}

void node_compare(struct node *a, uint32_t i, struct node *b, uint32_t j, uint32_t length)
{
	/* Acquiring the lock makes the writes of earlier holders visible to this thread. */
	adv_device_lock(a->d);
	if (b->d != a->d)
		adv_device_lock(b->d);
	assert_memory_equal(a->buffer + i, b->buffer + j, length);
	if (b->d != a->d)
		adv_device_unlock(b->d);
	adv_device_unlock(a->d);
}

static unsigned entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

unsigned open_descriptors(void)
{
	return entries("/proc/self/fd");
}

unsigned threads(void)
{
	return entries("/proc/self/task");
}

static pid_t daemon_pid;

int node_start_daemon(void **state)
{
	const char *path = getenv("ADVERB_DAEMON");
	char why[256];

	daemon_pid = fork();
	if (daemon_pid == 0) {
		execl(path, path, "--foreground", "--linger=60", NULL);
		_exit(127);
	}
	for (uint64_t give_up = adv_clock_ns() + PATIENCE; adv_clock_ns() < give_up;
	     usleep(10000)) {
		struct adv_control *c = adv_control_connect(false, why, sizeof(why));

		adv_control_close(c);
		if (c)
			return 0;
	}
	fprintf(stderr, "no daemon: %s\n", why);
	exit(1);
}

int node_stop_daemon(void **state)
{
	kill(daemon_pid, SIGTERM);
	waitpid(daemon_pid, NULL, 0);
	return 0;
}

/* ---- a thread that waits ---- */

static bool nothing_comes(void *user)
{
	return false;
}

static void *wait_for_event(void *arg)
{
	struct node *n = arg;
	int fd = adv_sys_eventfd(0, 0);
	struct pollfd fds[1 + ADV_DEVICE_WAIT_ROOM] = {{.fd = fd, .events = POLLIN}};
	struct adv_device_wait wait = {
		.fds = fds, .count = 1, .event_fd = fd, .come = nothing_comes, .until = ADV_NEVER};

	assert_true(fd >= 0);
	(void)adv_device_wait(n->d, &wait);
	close(fd);
	return NULL;
}

pthread_t node_start_waiting(struct node *n)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wait_for_event, n), 0);
	return thread;
}

void node_stop_waiting(pthread_t thread)
{
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}
