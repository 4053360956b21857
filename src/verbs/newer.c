/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of the nodes IBVERBS_1.15 to 1.18 (rdma-core 59 to 65), so that programs built there load.
 * What they are for (DMA handles, completion counters, allocated buffers) is not supported.
 */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#include "verbs/export.h"
#include "verbs/refuse.h"

struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* Prototypes as in the newer headers; the functions that take objects which cannot exist follow. */
struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access);
int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size);
struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr);

static void *no_object(void)
{
	return adv_refuse_object(EOPNOTSUPP);
}

ADV_EXPORT struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
					   struct ibv_dmah_init_attr *attr)
{
	return no_object();
}

ADV_EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	return no_object();
}

ADV_EXPORT int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	return adv_refuse_minus_one(EOPNOTSUPP);
}

ADV_EXPORT int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num,
				    uint64_t *port_speed)
{
	return adv_refuse(EOPNOTSUPP);
}

ADV_EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	return no_object();
}

ADV_EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
					 size_t length, int access)
{
	return no_object();
}

ADV_EXPORT int _ibv_query_comp_cntr_caps(struct ibv_context *context,
					 struct ibv_comp_cntr_caps *caps, size_t size)
{
	return adv_refuse(EOPNOTSUPP);
}

ADV_EXPORT struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
						      struct ibv_comp_cntr_init_attr *attr)
{
	return no_object();
}

ADV_EXPORT int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
				       struct ibv_qp_attach_comp_cntr_attr *attr)
{
	return adv_refuse(EOPNOTSUPP);
}

/* Calls on objects that cannot be had: one answer for all. */
ADV_EXPORT int adv_newer_error(void);
ADV_EXPORT int adv_newer_fd(void);
ADV_EXPORT void adv_newer_void(void);

int adv_newer_error(void)
{
	return adv_refuse(EOPNOTSUPP);
}

int adv_newer_fd(void)
{
	return adv_refuse_minus_one(EOPNOTSUPP);
}

void adv_newer_void(void)
{
}

ADV_EXPORT_DEFAULT(adv_newer_error, ibv_dealloc_dmah, "IBVERBS_1.15");
ADV_EXPORT_DEFAULT(adv_newer_void, ibv_free_buf, "IBVERBS_1.17");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_destroy_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_fd, ibv_export_buf_dmabuf_fd, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_inc_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_inc_err_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_read_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_read_err_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_set_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_newer_error, ibv_set_err_comp_cntr, "IBVERBS_1.18");
