/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fake_verbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The header of verbs may make macros of these. */
#undef ibv_reg_mr

enum { QPS = 64, WCS = 4096, RECEIVES = 4096, RESPONSES = 256, FIRST_QP = 100 };

struct fake_wc {
	struct ibv_wc wc;
	bool late;
};

struct fake_qp {
	struct ibv_qp qp;
	bool used, error, broken;
	uint8_t responses[RESPONSES][16];
	unsigned first, count;
};

struct fake_receive {
	uint64_t wr_id;
	struct ibv_sge sge;
};

/* One device, one completion queue, one shared receive queue. */
static struct {
	pthread_mutex_t lock;
	struct ibv_device device;
	struct ibv_context context;
	bool purge;
	struct ibv_pd pd;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	struct ibv_srq srq;
	struct fake_wc wcs[WCS];
	unsigned wc_count;
	struct fake_receive receives[RECEIVES];
	unsigned receive_first, receive_count;
	struct fake_qp qps[QPS];
	uint32_t last_qp, last_lkey;
	struct ibv_sge last_write, last_read;
	enum ibv_mtu mtu;
	bool read_fails; /* the next one */
	size_t read_bytes;
	unsigned failing_posts;
	bool qp_fails; /* the next one */
	void (*accept_meanwhile)(uint32_t qp_num);
	int accept_result;
	bool armed;
	unsigned ids;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct fake_qp *find_qp(uint32_t qp_num)
{
	struct fake_qp *qp =
		qp_num >= FIRST_QP && qp_num < FIRST_QP + QPS ? &fake.qps[qp_num - FIRST_QP] : NULL;

	return qp && qp->used ? qp : NULL;
}

static void notify(void)
{
	uint64_t one = 1;

	if (fake.armed && write(fake.channel.fd, &one, sizeof(one)) < 0)
		abort();
	fake.armed = false;
}

static void complete(const struct ibv_wc *wc, bool late)
{
	if (fake.wc_count == WCS)
		abort();
	fake.wcs[fake.wc_count++] = (struct fake_wc){*wc, late};
	if (!late)
		notify();
}

/* --- operations of the device --- */

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	unsigned kept = 0;
	int n = 0;

	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < fake.wc_count; i++) {
		if (n < count && !fake.wcs[i].late)
			wc[n++] = fake.wcs[i].wc;
		else
			fake.wcs[kept++] = fake.wcs[i];
	}
	fake.wc_count = kept;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	pthread_mutex_lock(&fake.lock);
	fake.armed = true;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	pthread_mutex_lock(&fake.lock);
	for (; wr; wr = wr->next) {
		if (fake.receive_count == RECEIVES)
			abort();
		fake.receives[(fake.receive_first + fake.receive_count++) % RECEIVES] =
			(struct fake_receive){wr->wr_id, wr->sg_list[0]};
	}
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static void execute(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	void *local = (void *)(uintptr_t)wr->sg_list[0].addr;
	void *remote = (void *)(uintptr_t)wr->wr.rdma.remote_addr;
	struct ibv_wc wc = {.wr_id = wr->wr_id, .qp_num = qp->qp.qp_num};

	if (qp->broken || qp->error) {
		wc.status = IBV_WC_WR_FLUSH_ERR;
	} else if (wr->opcode == IBV_WR_RDMA_READ && fake.read_fails) {
		memcpy(local, remote, fake.read_bytes);
		fake.read_fails = false;
		qp->broken = true;
		wc.status = IBV_WC_RETRY_EXC_ERR;
	} else if (wr->opcode == IBV_WR_RDMA_READ) {
		memcpy(local, remote, wr->sg_list[0].length);
		fake.last_read = wr->sg_list[0];
	} else if (wr->opcode == IBV_WR_RDMA_WRITE) {
		memcpy(remote, local, wr->sg_list[0].length);
		fake.last_write = wr->sg_list[0];
	} else {
		if (qp->count == RESPONSES || wr->sg_list[0].length != 16)
			abort();
		memcpy(qp->responses[(qp->first + qp->count++) % RESPONSES], local, 16);
	}
	if ((wr->send_flags & IBV_SEND_SIGNALED) || wc.status != IBV_WC_SUCCESS)
		complete(&wc, false);
}

static int post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	pthread_mutex_lock(&fake.lock);
	*bad = wr;
	if (fake.failing_posts) {
		fake.failing_posts--;
		pthread_mutex_unlock(&fake.lock);
		return ENOMEM;
	}
	for (; wr; wr = wr->next)
		execute((struct fake_qp *)ibqp, wr);
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

/* --- libibverbs --- */

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.max_cqe = WCS, .max_srq_wr = RECEIVES, .max_qp_init_rd_atom = 16};
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	fake.pd.context = context;
	return &fake.pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	fake.channel.context = context;
	fake.channel.fd = eventfd(0, EFD_CLOEXEC);
	return &fake.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return close(channel->fd);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user,
			     struct ibv_comp_channel *channel, int vector)
{
	fake.cq = (struct ibv_cq){.context = context, .channel = channel, .cqe = cqe};
	return &fake.cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	uint64_t count;

	return read(channel->fd, &count, sizeof(count)) < 0 ? -1 : 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	fake.srq = (struct ibv_srq){.context = pd->context, .pd = pd};
	return &fake.srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	pthread_mutex_lock(&fake.lock);
	if (mr)
		*mr = (struct ibv_mr){.context = pd->context,
				      .pd = pd,
				      .addr = addr,
				      .length = length,
				      .lkey = ++fake.last_lkey};
	pthread_mutex_unlock(&fake.lock);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

/* Late completions of the queue pair become visible in the error state. */
static void show_late(uint32_t qp_num)
{
	for (unsigned i = 0; i < fake.wc_count; i++) {
		if (fake.wcs[i].wc.qp_num == qp_num)
			fake.wcs[i].late = false;
	}
	notify();
}

int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	pthread_mutex_lock(&fake.lock);
	if (!ibqp || !find_qp(ibqp->qp_num))
		abort();
	attr->path_mtu = fake.mtu;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = (struct fake_qp *)ibqp;

	pthread_mutex_lock(&fake.lock);
	if (!ibqp)
		abort();
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR) {
		qp->error = true;
		show_late(ibqp->qp_num);
	}
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

/* --- librdmacm --- */

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int err = -1;

	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < QPS && err && !fake.qp_fails; i++) {
		if (fake.qps[i].used)
			continue;
		memset(&fake.qps[i], 0, sizeof(fake.qps[i]));
		fake.qps[i].used = true;
		fake.qps[i].qp =
			(struct ibv_qp){.context = pd->context, .pd = pd, .qp_num = FIRST_QP + i};
		id->qp = &fake.qps[i].qp;
		fake.last_qp = FIRST_QP + i;
		err = 0;
	}
	fake.qp_fails = false;
	pthread_mutex_unlock(&fake.lock);
	return err;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	struct fake_qp *qp = (struct fake_qp *)id->qp;
	unsigned kept = 0;

	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < fake.wc_count; i++) {
		if (!fake.purge || fake.wcs[i].wc.qp_num != qp->qp.qp_num)
			fake.wcs[kept++] = fake.wcs[i];
	}
	fake.wc_count = kept;
	qp->used = false;
	id->qp = NULL;
	pthread_mutex_unlock(&fake.lock);
}

/* Completions of the last queue pair with this number are seen only now: a busy worker. */
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	void (*meanwhile)(uint32_t qp_num);
	uint32_t qp_num = id->qp->qp_num;
	int result;

	pthread_mutex_lock(&fake.lock);
	show_late(qp_num);
	meanwhile = fake.accept_meanwhile;
	result = fake.accept_result;
	fake.accept_meanwhile = NULL;
	fake.accept_result = 0;
	pthread_mutex_unlock(&fake.lock);
	if (meanwhile)
		meanwhile(qp_num);
	return result;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	if (id->qp)
		fake_break(id->qp->qp_num);
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	pthread_mutex_lock(&fake.lock);
	fake.ids--;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

/* --- the test's end --- */

struct ibv_context *fake_open(bool purge)
{
	memset(&fake.context, 0, sizeof(fake.context));
	fake.device.transport_type = IBV_TRANSPORT_IB;
	fake.context.device = &fake.device;
	fake.context.ops.poll_cq = poll_cq;
	fake.context.ops.req_notify_cq = req_notify_cq;
	fake.context.ops.post_send = post_send;
	fake.context.ops.post_srq_recv = post_srq_recv;
	fake.purge = purge;
	fake.mtu = IBV_MTU_4096;
	fake.wc_count = fake.receive_first = fake.receive_count = 0;
	return &fake.context;
}

void fake_close(struct ibv_context *context)
{
	if (fake.ids)
		abort();
}

struct rdma_cm_id *fake_id(struct ibv_context *context)
{
	struct rdma_cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		abort();
	id->verbs = context;
	id->route.addr.src_addr.sa_family = AF_INET;
	id->route.addr.dst_addr.sa_family = AF_INET;
	pthread_mutex_lock(&fake.lock);
	fake.ids++;
	fake.last_qp = 0;
	pthread_mutex_unlock(&fake.lock);
	return id;
}

struct ibv_sge fake_last_write(void)
{
	struct ibv_sge last;

	pthread_mutex_lock(&fake.lock);
	last = fake.last_write;
	pthread_mutex_unlock(&fake.lock);
	return last;
}

uint32_t fake_last_qp(void)
{
	uint32_t last;

	pthread_mutex_lock(&fake.lock);
	last = fake.last_qp;
	pthread_mutex_unlock(&fake.lock);
	return last;
}

bool fake_qp_exists(uint32_t qp_num)
{
	bool exists;

	pthread_mutex_lock(&fake.lock);
	exists = find_qp(qp_num) != NULL;
	pthread_mutex_unlock(&fake.lock);
	return exists;
}

void fake_break(uint32_t qp_num)
{
	struct fake_qp *qp;

	pthread_mutex_lock(&fake.lock);
	qp = find_qp(qp_num);
	if (qp)
		qp->broken = true;
	pthread_mutex_unlock(&fake.lock);
}

void fake_receive(uint32_t qp_num, const void *data, size_t len, bool late)
{
	struct fake_receive receive;
	struct ibv_wc wc = {.qp_num = qp_num, .byte_len = (uint32_t)len, .opcode = IBV_WC_RECV};

	pthread_mutex_lock(&fake.lock);
	if (!fake.receive_count)
		abort();
	receive = fake.receives[fake.receive_first];
	fake.receive_first = (fake.receive_first + 1) % RECEIVES;
	fake.receive_count--;
	if (len > receive.sge.length)
		abort();
	memcpy((void *)(uintptr_t)receive.sge.addr, data, len);
	wc.wr_id = receive.wr_id;
	complete(&wc, late);
	pthread_mutex_unlock(&fake.lock);
}

bool fake_response(uint32_t qp_num, uint8_t out[16])
{
	struct fake_qp *qp;
	bool found;

	pthread_mutex_lock(&fake.lock);
	qp = find_qp(qp_num);
	found = qp && qp->count;
	if (found) {
		memcpy(out, qp->responses[qp->first], 16);
		qp->first = (qp->first + 1) % RESPONSES;
		qp->count--;
	}
	pthread_mutex_unlock(&fake.lock);
	return found;
}

unsigned fake_receives(void)
{
	unsigned count;

	pthread_mutex_lock(&fake.lock);
	count = fake.receive_count;
	pthread_mutex_unlock(&fake.lock);
	return count;
}

struct ibv_sge fake_last_read(void)
{
	struct ibv_sge sge;

	pthread_mutex_lock(&fake.lock);
	sge = fake.last_read;
	pthread_mutex_unlock(&fake.lock);
	return sge;
}

void fake_set_mtu(enum ibv_mtu mtu)
{
	pthread_mutex_lock(&fake.lock);
	fake.mtu = mtu;
	pthread_mutex_unlock(&fake.lock);
}

void fake_fail_read(size_t bytes)
{
	pthread_mutex_lock(&fake.lock);
	fake.read_fails = true;
	fake.read_bytes = bytes;
	pthread_mutex_unlock(&fake.lock);
}

void fake_fail_qp(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.qp_fails = true;
	pthread_mutex_unlock(&fake.lock);
}

void fake_accept(void (*meanwhile)(uint32_t qp_num), int result)
{
	pthread_mutex_lock(&fake.lock);
	fake.accept_meanwhile = meanwhile;
	fake.accept_result = result;
	pthread_mutex_unlock(&fake.lock);
}

void fake_fail_posts(unsigned count)
{
	pthread_mutex_lock(&fake.lock);
	fake.failing_posts = count;
	pthread_mutex_unlock(&fake.lock);
}
