/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of node IBVERBS_1.0 whose structures changed in 1.1 (2007), and the driver registration
 * of 1.1. The calls fail, and the registration does nothing: a program of that age finds no
 * device. */
#include <errno.h>
#include <stddef.h>

#include "base/export.h"
#include "base/reason.h"
#include "abi/verbs/refuse.h"

ADV_EXPORT int adv_ibv_compat_error(void);
ADV_EXPORT void *adv_ibv_compat_null(void);
ADV_EXPORT void adv_ibv_compat_void(void);

#define OLD_NODE "the program uses the ABI of 2006 (IBVERBS_1.0): build it with current headers"

int adv_ibv_compat_error(void)
{
	return adv_ibv_refuse(adv_reason(ENOSYS, OLD_NODE), "verbs 1.0");
}

void *adv_ibv_compat_null(void)
{
	return adv_ibv_refuse_object(adv_reason(ENOSYS, OLD_NODE), "verbs 1.0");
}

void adv_ibv_compat_void(void)
{
}

#define OLD(target, name) ADV_EXPORT_OLD(adv_ibv_compat_##target, name, "IBVERBS_1.0")

OLD(void, ibv_ack_async_event);
OLD(void, ibv_ack_cq_events);
OLD(null, ibv_alloc_pd);
OLD(error, ibv_attach_mcast);
OLD(error, ibv_close_device);
OLD(null, ibv_create_ah);
OLD(null, ibv_create_cq);
OLD(null, ibv_create_qp);
OLD(null, ibv_create_srq);
OLD(error, ibv_dealloc_pd);
OLD(error, ibv_dereg_mr);
OLD(error, ibv_destroy_ah);
OLD(error, ibv_destroy_cq);
OLD(error, ibv_destroy_qp);
OLD(error, ibv_destroy_srq);
OLD(error, ibv_detach_mcast);
OLD(void, ibv_free_device_list);
OLD(error, ibv_get_async_event);
OLD(error, ibv_get_cq_event);
OLD(null, ibv_get_device_guid);
OLD(null, ibv_get_device_list);
OLD(null, ibv_get_device_name);
OLD(error, ibv_modify_qp);
OLD(error, ibv_modify_srq);
OLD(null, ibv_open_device);
OLD(error, ibv_query_device);
OLD(error, ibv_query_gid);
OLD(error, ibv_query_pkey);
OLD(error, ibv_query_port);
OLD(error, ibv_query_qp);
OLD(error, ibv_query_srq);
OLD(null, ibv_reg_mr);
OLD(error, ibv_resize_cq);

ADV_EXPORT_OLD(adv_ibv_compat_void, ibv_register_driver, "IBVERBS_1.1");
