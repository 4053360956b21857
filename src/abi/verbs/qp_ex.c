/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): wr_start begins a list of requests, the builders add requests to it, and wr_complete
 * posts them together. The thread that called wr_start holds the list's lock until wr_complete or
 * wr_abort.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/verbs/objects.h"
#include "base/grow.h"

#define WITH_FLUSH (1u << 11) /* IBV_QP_EX_WITH_FLUSH of newer headers */

/* A request. Its elements and inline data are given as offsets, because the arrays move while they
 * grow. */
struct pending {
	struct ibv_send_wr wr;
	size_t first_sge;
	size_t first_byte;
	bool is_inline;
};

struct adv_ibv_wr_list {
	pthread_mutex_t lock;
	int error; /* first error since wr_start */
	struct pending *wr;
	size_t wr_count, wr_room;
	struct ibv_sge *sge;
	size_t sge_count, sge_room;
	uint8_t *bytes; /* inline data of all requests */
	size_t byte_count, byte_room;
};

static struct adv_ibv_qp *qp_of_ex(struct ibv_qp_ex *qp)
{
	return adv_ibv_qp_of(&qp->qp_base);
}

/* Makes room for `more` elements. If no memory is left, returns false and sets the list's error. */
static bool reserve_room(struct adv_ibv_wr_list *l, void *array, size_t *room, size_t count,
			 size_t more, size_t size)
{
	size_t want = *room ? *room : 16;

	if (count + more <= *room)
		return true;
	while (want < count + more)
		want *= 2;
	if (!adv_grow_to(array, want, size)) {
		l->error = ENOMEM;
		return false;
	}
	*room = want;
	return true;
}

static void wr_start(struct ibv_qp_ex *qp)
{
	struct adv_ibv_wr_list *l = qp_of_ex(qp)->wr_list;

	pthread_mutex_lock(&l->lock);
	l->error = 0;
	l->wr_count = 0;
	l->sge_count = 0;
	l->byte_count = 0;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	pthread_mutex_unlock(&qp_of_ex(qp)->wr_list->lock);
}

/* Turns offsets into pointers and links the requests. */
static void link_requests(struct adv_ibv_wr_list *l)
{
	for (size_t i = 0; i < l->wr_count; i++) {
		struct pending *p = &l->wr[i];

		p->wr.sg_list = l->sge + p->first_sge;
		if (p->is_inline)
			p->wr.sg_list->addr = (uintptr_t)(l->bytes + p->first_byte);
		p->wr.next = i + 1 < l->wr_count ? &l->wr[i + 1].wr : NULL;
	}
}

/*
 * Posts the list. If a builder or a setter found an error, nothing is posted. If the queue fills up
 * midway, the requests that fitted stay posted, as with ibv_post_send().
 */
static int wr_complete(struct ibv_qp_ex *qp)
{
	struct adv_ibv_wr_list *l = qp_of_ex(qp)->wr_list;
	struct ibv_send_wr *bad;
	int err = l->error;

	if (err) {
		adv_ibv_refuse(err, "ibv_wr_complete(qp 0x%06x)", qp->qp_base.qp_num);
	} else if (l->wr_count > 0) {
		link_requests(l);
		err = qp->qp_base.context->ops.post_send(&qp->qp_base, &l->wr[0].wr, &bad);
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* Begins a request. NULL if the list has an error. */
static struct ibv_send_wr *begin_request(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode)
{
	struct adv_ibv_wr_list *l = qp_of_ex(qp)->wr_list;
	struct pending *p;

	if (l->error || !reserve_room(l, &l->wr, &l->wr_room, l->wr_count, 1, sizeof(*l->wr)))
		return NULL;
	p = &l->wr[l->wr_count++];
	memset(p, 0, sizeof(*p));
	p->first_sge = l->sge_count;
	p->wr.wr_id = qp->wr_id;
	p->wr.opcode = opcode;
	p->wr.send_flags = qp->wr_flags & ~(unsigned)IBV_SEND_INLINE;
	return &p->wr;
}

static void begin_rdma(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t remote_addr, __be32 imm)
{
	struct ibv_send_wr *wr = begin_request(qp, opcode);

	if (wr) {
		wr->wr.rdma.rkey = rkey;
		wr->wr.rdma.remote_addr = remote_addr;
		wr->imm_data = imm;
	}
}

static void begin_atomic(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = begin_request(qp, opcode);

	if (wr) {
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.remote_addr = remote_addr;
		wr->wr.atomic.compare_add = compare_add;
		wr->wr.atomic.swap = swap;
	}
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(qp, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	begin_request(qp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	struct ibv_send_wr *wr = begin_request(qp, IBV_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	struct ibv_send_wr *wr = begin_request(qp, IBV_WR_SEND_WITH_INV);

	if (wr)
		wr->invalidate_rkey = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	struct ibv_send_wr *wr = begin_request(qp, IBV_WR_LOCAL_INV);

	if (wr)
		wr->invalidate_rkey = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct ibv_send_wr *wr = begin_request(qp, IBV_WR_BIND_MW);

	if (wr) {
		wr->bind_mw.mw = mw;
		wr->bind_mw.rkey = rkey;
		wr->bind_mw.bind_info = *bind_info;
	}
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	begin_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	begin_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
			    const void *value)
{
	uint64_t bytes;

	memcpy(&bytes, value, sizeof(bytes));
	begin_atomic(qp, ADV_WR_ATOMIC_WRITE, rkey, remote_addr, bytes, 0);
}

static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	begin_atomic(qp, ADV_WR_FLUSH, rkey, remote_addr, len, type | (uint64_t)level << 32);
}

/* Returns the request to which setters apply. NULL if the list has an error; if it has no request,
 * its error becomes EINVAL. */
static struct pending *current_request(struct ibv_qp_ex *qp)
{
	struct adv_ibv_wr_list *l = qp_of_ex(qp)->wr_list;

	if (!l->error && l->wr_count == 0)
		l->error = adv_reason(EINVAL, "a setter was called before any request: call "
					      "ibv_wr_send() or another builder first");
	return l->error ? NULL : &l->wr[l->wr_count - 1];
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *list)
{
	struct adv_ibv_wr_list *l = qp_of_ex(qp)->wr_list;
	struct pending *p = current_request(qp);

	if (!p)
		return;
	if (num_sge > qp_of_ex(qp)->cap.max_send_sge) {
		l->error = adv_reason(EINVAL,
				      "%zu SGEs are above %u, the max_send_sge of the queue pair",
				      num_sge, qp_of_ex(qp)->cap.max_send_sge);
		return;
	}
	if (!reserve_room(l, &l->sge, &l->sge_room, l->sge_count, num_sge, sizeof(*l->sge)))
		return;
	p->first_sge = l->sge_count;
	p->is_inline = false;
	p->wr.num_sge = (int)num_sge;
	if (num_sge > 0)
		memcpy(l->sge + l->sge_count, list, num_sge * sizeof(*list));
	l->sge_count += num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(qp, 1, &sge);
}

/* Copies the data, so that the application may reuse its buffers at once. */
static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf,
				    const struct ibv_data_buf *list)
{
	struct adv_ibv_wr_list *l = qp_of_ex(qp)->wr_list;
	struct pending *p = current_request(qp);
	size_t length = 0;

	if (!p)
		return;
	for (size_t i = 0; i < num_buf; i++) {
		if (__builtin_add_overflow(length, list[i].length, &length))
			length = SIZE_MAX;
	}
	if (length > qp_of_ex(qp)->cap.max_inline_data) {
		l->error = adv_reason(
			EINVAL,
			"%zu inline bytes are above %u, the max_inline_data of the queue pair",
			length, qp_of_ex(qp)->cap.max_inline_data);
		return;
	}
	if (!reserve_room(l, &l->bytes, &l->byte_room, l->byte_count, length, 1) ||
	    !reserve_room(l, &l->sge, &l->sge_room, l->sge_count, 1, sizeof(*l->sge)))
		return;
	p->first_byte = l->byte_count;
	p->first_sge = l->sge_count;
	p->is_inline = true;
	p->wr.num_sge = 1;
	p->wr.send_flags |= IBV_SEND_INLINE;
	l->sge[l->sge_count++] = (struct ibv_sge){.length = (uint32_t)length};
	for (size_t i = 0; i < num_buf; i++) {
		if (list[i].length > 0)
			memcpy(l->bytes + l->byte_count, list[i].addr, list[i].length);
		l->byte_count += list[i].length;
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(qp, 1, &buf);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct pending *p = current_request(qp);

	if (!p)
		return;
	p->wr.wr.ud.ah = ah;
	p->wr.wr.ud.remote_qpn = remote_qpn;
	p->wr.wr.ud.remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	struct pending *p = current_request(qp);

	if (p)
		p->wr.qp_type.xrc.remote_srqn = remote_srqn;
}

/* Returns the operations of the QP's transport (the table in ibv_wr_post(3)). */
static uint64_t possible_ops(enum ibv_qp_type type)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;

	switch (type) {
	case IBV_QPT_UD:
		return ud;
	case IBV_QPT_UC:
		return uc;
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return uc | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE |
		       IBV_QP_EX_WITH_SEND_WITH_INV | WITH_FLUSH;
	default:
		return 0;
	}
}

/* Fills in the table of builders. Builders that the application did not request stay NULL, as with
 * other providers. */
static void fill_builders(union adv_ibv_qp_ex *ex, uint64_t ops)
{
	struct ibv_qp_ex *b = &ex->base;

	if (ops & IBV_QP_EX_WITH_SEND)
		b->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		b->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		b->wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		b->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		b->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		b->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		b->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		b->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		b->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		b->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		b->wr_atomic_write = wr_atomic_write;
	if (ops & WITH_FLUSH)
		ex->wr_flush = wr_flush;
}

int adv_ibv_qp_ex_init(struct adv_ibv_qp *qp, enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->ex.base;

	if (ops & ~possible_ops(type))
		return EOPNOTSUPP;
	qp->wr_list = calloc(1, sizeof(*qp->wr_list));
	if (!qp->wr_list)
		return ENOMEM;
	pthread_mutex_init(&qp->wr_list->lock, NULL);
	fill_builders(&qp->ex, ops);
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	return 0;
}

void adv_ibv_qp_ex_free(struct adv_ibv_qp *qp)
{
	struct adv_ibv_wr_list *l = qp->wr_list;

	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l->wr);
	free(l->sge);
	free(l->bytes);
	free(l);
}
