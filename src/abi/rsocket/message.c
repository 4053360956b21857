/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rsocket/message.h"

#include <byteswap.h>
#include <endian.h>
#include <string.h>

#include "abi/rsocket/memory.h"

void adv_rs_message_choose(struct adv_rsocket *rs)
{
	rs->s.by_send = rs->s.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	if (rs->s.by_send && rs->options.inline_size < sizeof(uint32_t))
		rs->options.inline_size = sizeof(uint32_t);
}

uint32_t adv_rs_message_receives(const struct adv_rsocket *rs)
{
	return rs->options.rq_size + (rs->s.by_send ? ADV_RS_SPARE_RECEIVES : 0);
}

uint32_t adv_rs_message_sends(const struct adv_rsocket *rs, uint32_t size)
{
	return rs->s.by_send ? size / 2 : size;
}

uint16_t adv_rs_message_limit(const struct adv_rsocket *rs, uint16_t limit)
{
	return (uint16_t)(limit - rs->s.send.spared);
}

int adv_rs_message_make(struct adv_rsocket *rs)
{
	if (!rs->s.by_send)
		return 0;
	return adv_rs_memory_make(rs->s.pd, &rs->s.recv.messages,
				  adv_rs_message_receives(rs) * sizeof(uint32_t),
				  IBV_ACCESS_LOCAL_WRITE);
}

int adv_rs_message_post(struct adv_rsocket *rs, uint32_t msg, struct ibv_send_wr *write)
{
	struct ibv_sge sge = {(uintptr_t)&msg, sizeof(msg), 0};
	struct ibv_send_wr *bad, send = {
					 .wr_id = write->wr_id,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_INLINE,
				 };

	if (!rs->s.by_send) {
		write->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		write->imm_data = htobe32(msg);
		return ibv_post_send(rs->s.qp, write, &bad);
	}
	if (!write->num_sge)
		return ibv_post_send(rs->s.qp, &send, &bad);
	write->opcode = IBV_WR_RDMA_WRITE;
	write->wr_id = ADV_RS_WR_PART;
	write->next = &send;
	return ibv_post_send(rs->s.qp, write, &bad);
}

int adv_rs_message_post_receive(struct adv_rsocket *rs)
{
	struct adv_rs_receiving *recv = &rs->s.recv;
	struct ibv_recv_wr wr = {.wr_id = ADV_RS_WR_RECV}, *bad;
	struct ibv_sge sge;
	int err;

	if (rs->s.by_send) {
		wr.wr_id |= recv->message_next;
		sge = (struct ibv_sge){(uintptr_t)recv->messages.p +
					       recv->message_next * sizeof(uint32_t),
				       sizeof(uint32_t), recv->messages.mr->lkey};
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	err = ibv_post_recv(rs->s.qp, &wr, &bad);
	if (!err)
		recv->message_next = (recv->message_next + 1) % adv_rs_message_receives(rs);
	return err;
}

bool adv_rs_message_read(const struct adv_rsocket *rs, const struct ibv_wc *wc, uint32_t *msg,
			 uint32_t *written)
{
	uint32_t index = (uint32_t)wc->wr_id;

	if (!rs->s.by_send) {
		*msg = be32toh(wc->imm_data);
		*written = wc->byte_len;
		return wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM && (wc->wc_flags & IBV_WC_WITH_IMM);
	}
	memcpy(msg, rs->s.recv.messages.p + index * sizeof(*msg), sizeof(*msg));
	if (rs->s.swap)
		*msg = bswap_32(*msg);
	*written = adv_rs_msg_op(*msg) == ADV_RS_OP_DATA ? adv_rs_msg_data(*msg) : 0;
	return wc->opcode == IBV_WC_RECV && wc->byte_len == sizeof(*msg);
}
