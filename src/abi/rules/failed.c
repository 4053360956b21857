/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/failed.h"

#include <arpa/inet.h>
#include <string.h>

#include "abi/check/fault.h"
#include "nic/engine/names.h"

#define MOST_FAILED 32	/* failed buffers that are remembered */
#define COMPARED    256 /* bytes of each that are compared */

/* Values of undefined fields, which no program computes. */
#define UNDEFINED_LENGTH    0x7badf1e5u
#define UNDEFINED_IMMEDIATE 0xbadf1e1du
#define UNDEFINED_QPN	    0xbadf1eu

struct failed {
	uintptr_t addr;
	uint32_t length; /* 0: unused */
	enum ibv_wc_status status;
	uint64_t wr_id;
	struct adv_check_stack posted;
	uint8_t content[COMPARED]; /* the first bytes after the failure */
};

/* Under the lock. The newest entry is before `next`. */
static struct failed failed[MOST_FAILED];
static unsigned next;
static bool fields_given;

static uint32_t compared_length(uint32_t length)
{
	return length < COMPARED ? length : COMPARED;
}

/* ---- memory ---- */

static bool fills_memory(const struct adv_check_work *w)
{
	return w->is_recv || adv_check_opcode_reads(w->opcode);
}

/* True if the SGE is inside a region, so that its memory can be read. */
static bool is_registered(const struct ibv_sge *sge)
{
	const struct adv_check_mr *mr = adv_check_mr_of_lkey(sge->lkey);

	return mr && mr->iova == mr->addr && sge->addr >= mr->iova && sge->length <= mr->length &&
	       sge->addr - mr->iova <= mr->length - sge->length;
}

void adv_check_failed(const struct adv_check_work *w, const struct ibv_wc *wc)
{
	/* A flushed request has not begun: its buffer is as the program left it. */
	if (wc->status == IBV_WC_WR_FLUSH_ERR || !fills_memory(w))
		return;
	for (int i = 0; i < w->num_sge; i++) {
		struct failed *f = &failed[next % MOST_FAILED];

		if (!w->sge[i].length || !is_registered(&w->sge[i]))
			continue;
		next++;
		f->addr = w->sge[i].addr;
		f->length = w->sge[i].length;
		f->status = wc->status;
		f->wr_id = w->wr_id;
		f->posted = w->posted;
		memcpy(f->content, (const void *)f->addr, compared_length(f->length));
	}
}

static bool is_inside(const struct ibv_sge *sge, const struct failed *f)
{
	return f->length && sge->length && sge->addr == f->addr && sge->length <= f->length;
}

static bool sge_touches(const struct ibv_sge *sge, const struct failed *f)
{
	return f->length && sge->addr < f->addr + f->length && f->addr < sge->addr + sge->length;
}

static bool is_unchanged(const struct ibv_sge *sge, const struct failed *f)
{
	return memcmp((const void *)(uintptr_t)sge->addr, f->content,
		      compared_length(sge->length)) == 0;
}

static void check_sge(struct adv_check_call *call, const struct adv_check_object *queue,
		      const struct adv_check_work *w, const struct ibv_sge *sge, struct failed *f)
{
	if (fills_memory(w)) {
		if (sge_touches(sge, f))
			f->length = 0;
		return;
	}
	if (!is_inside(sge, f) || !is_registered(sge))
		return;
	if (is_unchanged(sge, f))
		adv_check_fault_with(call, ADV_RULE_FAILED_DATA_USED, queue,
				     "the failed request was posted here", &f->posted,
				     "the %u bytes at 0x%llx are as the request with wr_id %llu "
				     "left them, which failed with %s",
				     sge->length, (unsigned long long)sge->addr,
				     (unsigned long long)f->wr_id, adv_wc_status_name(f->status));
	f->length = 0;
}

void adv_check_failed_memory(struct adv_check_call *call, const struct adv_check_object *queue,
			     const struct adv_check_work *w)
{
	if (next == 0)
		return;
	for (int i = 0; i < w->num_sge; i++)
		for (unsigned k = 0; k < MOST_FAILED; k++)
			check_sge(call, queue, w, &w->sge[i], &failed[k]);
}

/* ---- fields ---- */

void adv_check_failed_fields(struct ibv_wc *wc)
{
	wc->byte_len = UNDEFINED_LENGTH;
	wc->imm_data = htonl(UNDEFINED_IMMEDIATE);
	wc->src_qp = UNDEFINED_QPN;
	fields_given = true;
}

/* Returns the name of the field whose value the request uses, or NULL. */
static const char *used_field(const struct adv_check_qp *qp, const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length == UNDEFINED_LENGTH)
			return "byte_len";
	if ((wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) &&
	    wr->imm_data == htonl(UNDEFINED_IMMEDIATE))
		return "imm_data";
	if (qp->qp->qp_type == IBV_QPT_UD && wr->wr.ud.remote_qpn == UNDEFINED_QPN)
		return "src_qp";
	return NULL;
}

bool adv_check_failed_field_used(struct adv_check_call *call, const struct adv_check_qp *qp,
				 const struct ibv_send_wr *wr)
{
	const char *name = fields_given ? used_field(qp, wr) : NULL;

	if (name)
		adv_check_fault(call, ADV_RULE_ERROR_WC_FIELDS, &qp->base,
				"wr_id %llu uses %s of a completion that is an error",
				(unsigned long long)wr->wr_id, name);
	return name != NULL;
}
