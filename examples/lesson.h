/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the lessons of docs/learn have in common. Lesson 1 explains check() to complete(), lesson 2
 * connect_qp(), lesson 3 struct pair. A function that fails prints the reason and ends the program.
 */
#ifndef LESSON_H
#define LESSON_H

#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <infiniband/verbs.h>

static inline void check(int succeeded, const char *call)
{
	if (!succeeded)
		err(1, "%s", call);
}

/* Opens the first device. The caller closes it with ibv_close_device(). */
static inline struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	check(list != NULL, "ibv_get_device_list");
	if (!list[0])
		errx(1, "there is no RDMA device");
	context = ibv_open_device(list[0]);
	check(context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	return context;
}

/* Creates a queue pair of a reliable connection. Completions of both queues go to cq. */
static inline struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 64},
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	check(qp != NULL, "ibv_create_qp");
	return qp;
}

/* What the peer of a queue pair has to know. */
struct end {
	union ibv_gid gid;
	uint8_t gid_index; /* of gid, in the table of its own machine */
	uint32_t qpn;
	uint32_t psn; /* of the first packet that this end sends */
	uint32_t rkey;
	uint64_t address;
};

/* Describes qp: its number, a random PSN, and the first GID for RoCE v2. */
static inline struct end describe(const struct ibv_qp *qp)
{
	struct end end = {.qpn = qp->qp_num};
	struct ibv_gid_entry entry;

	do
		check(!ibv_query_gid_ex(qp->context, 1, end.gid_index++, &entry, 0),
		      "ibv_query_gid_ex");
	while (entry.gid_type != IBV_GID_TYPE_ROCE_V2);
	end.gid_index--;
	end.gid = entry.gid;
	check(getrandom(&end.psn, sizeof(end.psn), 0) == sizeof(end.psn), "getrandom");
	end.psn &= 0xffffff;
	return end;
}

static inline void modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state,
			     int mask)
{
	attr->qp_state = state;
	errno = ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
	check(!errno, "ibv_modify_qp");
}

/* The masks of the three steps that connect a queue pair of a reliable connection. */
#define TO_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define TO_RTR                                                                                     \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |                           \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define TO_RTS                                                                                     \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
	 IBV_QP_MAX_QP_RD_ATOMIC)

/* Returns the attributes of a connection between two ends. */
static inline struct ibv_qp_attr attributes(struct ibv_context *context, const struct end *mine,
					    const struct end *peer)
{
	struct ibv_port_attr port;

	check(!ibv_query_port(context, 1, &port), "ibv_query_port");
	return (struct ibv_qp_attr){
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = port.active_mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.sq_psn = mine->psn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12, /* 0.64 ms */
		.timeout = 17,	     /* 0.54 s */
		.retry_cnt = 7,
		.rnr_retry = 7, /* without end */
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = peer->gid,
				    .sgid_index = mine->gid_index,
				    .hop_limit = 64}},
	};
}

/* Brings a queue pair from RESET to RTS. */
static inline void connect_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	modify_qp(qp, attr, IBV_QPS_INIT, TO_INIT);
	modify_qp(qp, attr, IBV_QPS_RTR, TO_RTR);
	modify_qp(qp, attr, IBV_QPS_RTS, TO_RTS);
}

/* Waits for the next completion. */
static inline struct ibv_wc complete(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		continue;
	check(n > 0, "ibv_poll_cq");
	return wc;
}

/* Waits for the next completion, which has to be a success. */
static inline void complete_well(struct ibv_cq *cq, const char *request)
{
	struct ibv_wc wc = complete(cq);

	if (wc.status != IBV_WC_SUCCESS)
		errx(1, "%s: %s", request, ibv_wc_status_str(wc.status));
}

/* Stays for the seconds of the program's argument, so that its objects can be looked at. */
static inline void stay(int argc, char **argv)
{
	if (argc > 1) {
		printf("stays for %s s\n", argv[1]);
		fflush(stdout);
		sleep((unsigned)atoi(argv[1]));
	}
}

#endif
