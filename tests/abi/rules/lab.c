/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "lab.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define LIMIT 30 /* seconds */
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

void lab_need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "lab: %s: %s\n", what, strerror(errno));
	exit(2);
}

void lab_name(const char *name, const char *format, ...)
{
	va_list args;

	printf("%s: ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static void find_gid(struct lab *l)
{
	for (int i = 0; i < l->port.gid_tbl_len; i++) {
		if (!ibv_query_gid(l->context, 1, i, &l->gid) && l->gid.global.interface_id) {
			l->gid_index = (uint8_t)i;
			return;
		}
	}
	errno = ENODEV;
	lab_need(0, "a GID");
}

void lab_device(struct lab *l)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	alarm(LIMIT);
	lab_need(list && list[0], "a device");
	l->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	lab_need(l->context != NULL, "ibv_open_device");
	if (!l->no_queries)
		lab_need(!ibv_query_port(l->context, 1, &l->port), "ibv_query_port");
	if (l->no_queries)
		memcpy(l->gid.raw, (const uint8_t[16]){[10] = 0xff, 0xff, 127, 0, 0, 1}, 16);
	else
		find_gid(l);
	lab_need(getrandom(&l->psn, sizeof(l->psn), 0) == sizeof(l->psn), "getrandom");
	l->pd = ibv_alloc_pd(l->context);
	lab_need(l->pd != NULL, "ibv_alloc_pd");
	l->cq = ibv_create_cq(l->context, LAB_CQES, NULL, NULL, 0);
	lab_need(l->cq != NULL, "ibv_create_cq");
	lab_name("cq", "cq %u", l->cq->handle);
	l->buffer = aligned_alloc(4096, LAB_BUFFER);
	lab_need(l->buffer != NULL, "aligned_alloc");
	memset(l->buffer, 0, LAB_BUFFER);
	l->mr = ibv_reg_mr(l->pd, l->buffer, LAB_BUFFER, ALL_ACCESS);
	lab_need(l->mr != NULL, "ibv_reg_mr");
	lab_name("mr", "mr 0x%08x", l->mr->lkey);
}

struct ibv_qp_init_attr lab_create_attr(const struct lab *l)
{
	return (struct ibv_qp_init_attr){
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = LAB_DEPTH,
			.max_recv_wr = LAB_DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 1},
	};
}

static void create_pair(struct lab *l, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = lab_create_attr(l);

	attr.qp_type = type;
	l->a = ibv_create_qp(l->pd, &attr);
	l->b = ibv_create_qp(l->pd, &attr);
	lab_need(l->a && l->b, "ibv_create_qp");
	lab_name("a", "qp 0x%06x", l->a->qp_num);
	lab_name("b", "qp 0x%06x", l->b->qp_num);
}

void lab_qps(struct lab *l)
{
	create_pair(l, IBV_QPT_RC);
}

void lab_open(struct lab *l)
{
	lab_device(l);
	lab_qps(l);
	lab_connect(l);
}

static void make_ud_ready(const struct lab *l, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qkey = LAB_QKEY,
				   .sq_psn = lab_psn(l, qp)};

	lab_need(!ibv_modify_qp(qp, &attr, LAB_INIT_UD), "UD QP to INIT");
	attr.qp_state = IBV_QPS_RTR;
	lab_need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "UD QP to RTR");
	attr.qp_state = IBV_QPS_RTS;
	lab_need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "UD QP to RTS");
}

void lab_open_ud(struct lab *l)
{
	lab_device(l);
	create_pair(l, IBV_QPT_UD);
	make_ud_ready(l, l->a);
	make_ud_ready(l, l->b);
}

struct ibv_ah *lab_ah(const struct lab *l)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = l->gid, .sgid_index = l->gid_index, .hop_limit = 64},
	};
	struct ibv_ah *ah = ibv_create_ah(l->pd, &attr);

	lab_need(ah != NULL, "ibv_create_ah");
	return ah;
}

void lab_close(struct lab *l)
{
	if (l->a)
		lab_need(!ibv_destroy_qp(l->a), "ibv_destroy_qp");
	if (l->b)
		lab_need(!ibv_destroy_qp(l->b), "ibv_destroy_qp");
	if (l->mr)
		lab_need(!ibv_dereg_mr(l->mr), "ibv_dereg_mr");
	if (l->cq)
		lab_need(!ibv_destroy_cq(l->cq), "ibv_destroy_cq");
	if (l->pd)
		lab_need(!ibv_dealloc_pd(l->pd), "ibv_dealloc_pd");
	lab_need(!ibv_close_device(l->context), "ibv_close_device");
	free(l->buffer);
}

uint32_t lab_psn(const struct lab *l, const struct ibv_qp *qp)
{
	return (l->psn + qp->qp_num * 7919) & 0xffffff;
}

struct ibv_qp_attr lab_init_attr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
}

struct ibv_qp_attr lab_rtr_attr(const struct lab *l, const struct ibv_qp *peer)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.rq_psn = lab_psn(l, peer),
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = l->gid, .sgid_index = l->gid_index, .hop_limit = 64}},
	};
}

struct ibv_qp_attr lab_rts_attr(const struct lab *l, const struct ibv_qp *qp)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = lab_psn(l, qp),
		.max_rd_atomic = 4,
	};
}

void lab_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = lab_init_attr();

	lab_need(!ibv_modify_qp(qp, &attr, LAB_INIT_RC), "QP to INIT");
}

void lab_to_rtr(const struct lab *l, struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = lab_rtr_attr(l, peer);

	lab_need(!ibv_modify_qp(qp, &attr, LAB_RTR_RC), "QP to RTR");
}

void lab_to_rts(const struct lab *l, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = lab_rts_attr(l, qp);

	lab_need(!ibv_modify_qp(qp, &attr, LAB_RTS_RC), "QP to RTS");
}

void lab_connect(const struct lab *l)
{
	lab_to_init(l->a);
	lab_to_init(l->b);
	lab_to_rtr(l, l->a, l->b);
	lab_to_rtr(l, l->b, l->a);
	lab_to_rts(l, l->a);
	lab_to_rts(l, l->b);
}

struct ibv_sge lab_sge(const struct lab *l, size_t at, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)l->buffer + at, .length = length, .lkey = l->mr->lkey};
}

struct ibv_send_wr lab_wr(enum ibv_wr_opcode opcode, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.opcode = opcode,
		.sg_list = sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

void lab_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	lab_need(!ibv_post_send(qp, wr, &bad), "ibv_post_send");
}

void lab_send(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length)
{
	struct ibv_sge sge = lab_sge(l, at, length);
	struct ibv_send_wr wr = lab_wr(IBV_WR_SEND, &sge);

	lab_post(qp, &wr);
}

void lab_recv(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length)
{
	struct ibv_sge sge = lab_sge(l, at, length);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	lab_need(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

void lab_reset(const struct lab *l)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	lab_need(!ibv_modify_qp(l->a, &attr, IBV_QP_STATE), "QP to RESET");
	lab_need(!ibv_modify_qp(l->b, &attr, IBV_QP_STATE), "QP to RESET");
}

static void post_remote(const struct lab *l, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			struct ibv_sge sge, size_t to)
{
	struct ibv_send_wr wr = lab_wr(opcode, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)l->buffer + to;
	wr.wr.rdma.rkey = l->mr->rkey;
	lab_post(qp, &wr);
}

void lab_write(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length, size_t to)
{
	post_remote(l, qp, IBV_WR_RDMA_WRITE, lab_sge(l, at, length), to);
}

void lab_read(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length, size_t to)
{
	post_remote(l, qp, IBV_WR_RDMA_READ, lab_sge(l, at, length), to);
}

void lab_add(const struct lab *l, struct ibv_qp *qp, size_t at, size_t to)
{
	struct ibv_sge sge = lab_sge(l, at, 8);
	struct ibv_send_wr wr = lab_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);

	wr.wr.atomic.remote_addr = (uintptr_t)l->buffer + to;
	wr.wr.atomic.compare_add = 1;
	wr.wr.atomic.rkey = l->mr->rkey;
	lab_post(qp, &wr);
}

struct ibv_wc lab_next(struct ibv_cq *cq)
{
	struct ibv_wc wc = {0};
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		sched_yield();
	lab_need(n == 1, "ibv_poll_cq");
	return wc;
}

void lab_wait(struct ibv_cq *cq, int n)
{
	while (n-- > 0) {
		struct ibv_wc wc = lab_next(cq);

		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "lab: completion of opcode %d: %s\n", (int)wc.opcode,
				ibv_wc_status_str(wc.status));
			exit(2);
		}
	}
}

void lab_drain(struct ibv_cq *cq, int n)
{
	while (n-- > 0)
		lab_next(cq);
}
