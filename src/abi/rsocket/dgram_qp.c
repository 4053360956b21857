/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UD queue pairs of a datagram rsocket. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"

#define GRH_LEN 40
#define HOPS	64

/* Converts an IP address to its GID. */
static union ibv_gid gid_of(const union adv_rs_addr *addr)
{
	union ibv_gid gid = {0};

	if (addr->sa.sa_family == AF_INET) {
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, &addr->sin.sin_addr, 4);
	} else {
		memcpy(gid.raw, &addr->sin6.sin6_addr, sizeof(gid.raw));
	}
	return gid;
}

/* Returns the index of the GID of a local address, of RoCE v2 if it has both versions: those come
 * first. -1 and EADDRNOTAVAIL if it has none. */
static int find_gid(struct ibv_context *context, uint8_t port, const union adv_rs_addr *local,
		    uint32_t *mtu)
{
	union ibv_gid wanted = gid_of(local);
	struct ibv_port_attr attr;
	struct ibv_gid_entry entry;
	int err = ibv_query_port(context, port, &attr);

	if (err)
		return adv_rs_error(err);
	*mtu = 128u << attr.active_mtu;
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(context, port, (uint32_t)i, &entry, 0) == 0 &&
		    memcmp(&entry.gid, &wanted, sizeof(wanted)) == 0)
			return i;
	}
	return adv_rs_error(EADDRNOTAVAIL);
}

static void qp_free(struct adv_rs_dgram_qp *qp)
{
	if (qp->id && qp->id->qp)
		rdma_destroy_qp(qp->id);
	if (qp->send_mr)
		ibv_dereg_mr(qp->send_mr);
	if (qp->recv_mr)
		ibv_dereg_mr(qp->recv_mr);
	free(qp->send_slots);
	free(qp->recv_slots);
	free(qp->free_slots);
	if (qp->cq)
		ibv_destroy_cq(qp->cq);
	if (qp->id)
		rdma_destroy_id(qp->id);
	free(qp);
}

void adv_rs_dgram_qps_free(struct adv_rsocket *rs)
{
	while (!adv_list_empty(&rs->d.qps)) {
		struct adv_list *n = rs->d.qps.next;

		adv_list_del(n);
		qp_free(adv_container_of(n, struct adv_rs_dgram_qp, link));
	}
	if (rs->channel)
		ibv_destroy_comp_channel(rs->channel);
	if (rs->d.events)
		rdma_destroy_event_channel(rs->d.events);
}

void adv_rs_dgram_post_recv(struct adv_rs_dgram_qp *qp, uint32_t slot)
{
	struct ibv_sge sge[2] = {
		{(uintptr_t)qp->recv_slots, GRH_LEN, qp->recv_mr->lkey},
		{(uintptr_t)qp->recv_slots + (slot + (size_t)1) * ADV_RS_DGRAM_SLOT,
		 ADV_RS_DGRAM_SLOT, qp->recv_mr->lkey},
	};
	struct ibv_recv_wr *bad,
		wr = {.wr_id = ADV_RS_WR_RECV | slot, .sg_list = sge, .num_sge = 2};

	(void)ibv_post_recv(qp->id->qp, &wr, &bad);
}

/* Makes an id at the local address. No peer connects to the id, so its port does not matter. */
static int bind_id(struct adv_rsocket *rs, struct adv_rs_dgram_qp *qp)
{
	union adv_rs_addr local = qp->local;

	adv_rs_addr_unmap(&local);
	*adv_rs_addr_port(&local) = 0;
	if (!rs->d.events)
		rs->d.events = rdma_create_event_channel();
	if (!rs->d.events || rdma_create_id(rs->d.events, &qp->id, qp, RDMA_PS_UDP) ||
	    rdma_bind_addr(qp->id, &local.sa))
		return -1;
	if (!qp->id->verbs)
		return adv_rs_error(ENODEV);
	if (!rs->channel) {
		rs->channel = ibv_create_comp_channel(qp->id->verbs);
		if (rs->channel)
			(void)adv_sys_fcntl(rs->channel->fd, F_SETFL, O_NONBLOCK);
	}
	return rs->channel ? 0 : -1;
}

static int make_qp(struct adv_rsocket *rs, struct adv_rs_dgram_qp *qp)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = rs->options.sq_size,
			.max_recv_wr = rs->options.rq_size,
			.max_send_sge = 1,
			.max_recv_sge = 2},
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};

	qp->cq = ibv_create_cq(qp->id->verbs, (int)(rs->options.sq_size + rs->options.rq_size), qp,
			       rs->channel, 0);
	if (!qp->cq)
		return -1;
	attr.send_cq = attr.recv_cq = qp->cq;
	return rdma_create_qp(qp->id, NULL, &attr);
}

static int make_slots(struct adv_rsocket *rs, struct adv_rs_dgram_qp *qp)
{
	size_t send_len = (size_t)rs->options.sq_size * ADV_RS_DGRAM_SLOT;
	size_t recv_len = ((size_t)rs->options.rq_size + 1) * ADV_RS_DGRAM_SLOT;

	qp->send_slots = calloc(1, send_len);
	qp->recv_slots = calloc(1, recv_len);
	qp->free_slots = calloc(rs->options.sq_size, sizeof(*qp->free_slots));
	if (!qp->send_slots || !qp->recv_slots || !qp->free_slots)
		return -1;
	qp->send_mr = ibv_reg_mr(qp->id->pd, qp->send_slots, send_len, IBV_ACCESS_LOCAL_WRITE);
	qp->recv_mr = ibv_reg_mr(qp->id->pd, qp->recv_slots, recv_len, IBV_ACCESS_LOCAL_WRITE);
	if (!qp->send_mr || !qp->recv_mr)
		return -1;
	for (uint32_t i = 0; i < rs->options.sq_size; i++)
		qp->free_slots[qp->free_count++] = i;
	for (uint32_t i = 0; i < rs->options.rq_size; i++)
		adv_rs_dgram_post_recv(qp, i);
	return 0;
}

struct adv_rs_dgram_qp *adv_rs_dgram_qp_get(struct adv_rsocket *rs, const union adv_rs_addr *local)
{
	struct adv_rs_dgram_qp *qp;

	adv_list_for_each(struct adv_rs_dgram_qp, known, &rs->d.qps, link) {
		if (adv_rs_addr_equal(&known->local, local))
			return known;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	adv_list_init(&qp->link);
	qp->local = *local;
	if (bind_id(rs, qp) == 0) {
		qp->gid_index = find_gid(qp->id->verbs, qp->id->port_num, local, &qp->mtu);
		if (qp->gid_index >= 0 && make_qp(rs, qp) == 0 && make_slots(rs, qp) == 0) {
			adv_list_add_tail(&rs->d.qps, &qp->link);
			ibv_req_notify_cq(qp->cq, 0);
			return qp;
		}
	}
	qp_free(qp);
	return NULL;
}

struct ibv_ah *adv_rs_dgram_ah(struct adv_rs_dgram_qp *qp, const union adv_rs_addr *addr)
{
	struct ibv_ah_attr attr = {
		.grh = {.dgid = gid_of(addr),
			.sgid_index = (uint8_t)qp->gid_index,
			.hop_limit = HOPS},
		.is_global = 1,
		.port_num = qp->id->port_num,
	};

	return ibv_create_ah(qp->id->pd, &attr);
}
