/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/iwarp/queue_pair.h"
#include "nic/iwarp/stream.h"
#include "nic/queue/connected.h"
#include "nic/engine/names.h"
#include "nic/queue/qp.h"
#include "nic/fast/unusual.h"

bool adv_iwarp_supports(enum ibv_qp_type type, uint32_t *opcodes)
{
	*opcodes = 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_INV | 1u << IBV_WR_RDMA_WRITE |
		   1u << IBV_WR_RDMA_READ | 1u << IBV_WR_BIND_MW | 1u << ADV_WR_BIND_TYPE_1 |
		   1u << IBV_WR_LOCAL_INV;
	return type == IBV_QPT_RC;
}

/* True if the state may follow: RESET, INIT, RTR, RTS, without leaving one out; or the same state
 * again, for other attributes. */
static bool may_follow(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (from == IBV_QPS_RESET)
		return to == IBV_QPS_INIT;
	return from <= IBV_QPS_RTS && to <= IBV_QPS_RTS && (to == from || to == from + 1);
}

static int check_attributes(const struct ibv_qp_attr *a, int mask)
{
	if ((mask & IBV_QP_PORT) && a->port_num != 1)
		return adv_reason(EINVAL, "port_num %u: the device has only port 1", a->port_num);
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > ADV_MAX_RD_ATOMIC)
		return adv_reason(EINVAL, "max_rd_atomic %u is above %u (max_qp_init_rd_atom)",
				  a->max_rd_atomic, ADV_MAX_RD_ATOMIC);
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > ADV_MAX_RD_ATOMIC)
		return adv_reason(EINVAL, "max_dest_rd_atomic %u is above %u (max_qp_rd_atom)",
				  a->max_dest_rd_atomic, ADV_MAX_RD_ATOMIC);
	return 0;
}

static void copy_attributes(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IBV_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
}

int adv_iwarp_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : qp->state;
	int err = check_attributes(attr, mask);

	if (err)
		return err;
	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != qp->state)
		return adv_reason(EINVAL, "cur_qp_state is %s, but the queue pair is in %s",
				  adv_qp_state_name(attr->cur_qp_state),
				  adv_qp_state_name(qp->state));
	if (adv_qp_modify_ended(qp, now, next, mask))
		return 0;
	if (!may_follow(qp->state, next))
		return adv_reason(EINVAL, "there is no such transition: the order is RESET, INIT, "
					  "RTR, RTS, and from any state to RESET or ERR");
	copy_attributes(&qp->attr, attr, mask);
	adv_qp_set_state(qp, next);
	adv_qp_review(qp);
	return 0;
}

void adv_iwarp_turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct iovec *iov = &batch->iov[batch->iov_used];
	struct adv_rdmap_stream *s = qp->connection;
	struct adv_tx_packet *pkt;
	size_t count = 0;

	if (!s || adv_rdmap_offered(s))
		return;
	if (!adv_rdmap_wants_look(s)) {
		count = adv_rdmap_tx(s, now, iov, ADV_TX_BATCH_IOV - batch->iov_used);
		if (!count && adv_rdmap_phase(s) == ADV_RDMAP_OPEN)
			return;
	}
	pkt = &batch->packet[batch->count++];
	*pkt = (struct adv_tx_packet){
		.dest_qpn = adv_qp_num(qp), .iov = iov, .iov_count = (uint16_t)count};
	for (size_t i = 0; i < count; i++)
		pkt->payload_len += (uint32_t)iov[i].iov_len;
	batch->iov_used += (unsigned)count;
}
