/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls that are not supported: each fails in the way its manual page gives for failing.
 * Programs that use the connection manager as one choice of several go on with another.
 */
#include <errno.h>
#include <stddef.h>

#include "rdmacm/export.h"

ADV_EXPORT long adv_rdmacm_error(void);
ADV_EXPORT void *adv_rdmacm_null(void);
ADV_EXPORT void adv_rdmacm_void(void);

/* For calls that return int, ssize_t or off_t. */
long adv_rdmacm_error(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

void *adv_rdmacm_null(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* Destroys what cannot have been created. */
void adv_rdmacm_void(void)
{
}

#define ERROR(name, node) ADV_EXPORT_DEFAULT(adv_rdmacm_error, name, node)
#define NO_OBJECT(name)	  ADV_EXPORT_DEFAULT(adv_rdmacm_null, name, "RDMACM_1.0")
#define DESTROY(name)	  ADV_EXPORT_DEFAULT(adv_rdmacm_void, name, "RDMACM_1.0")

NO_OBJECT(rdma_create_event_channel);
NO_OBJECT(rdma_get_devices);
DESTROY(rdma_destroy_event_channel);
DESTROY(rdma_destroy_ep);
DESTROY(rdma_destroy_qp);
DESTROY(rdma_destroy_srq);
DESTROY(rdma_free_devices);

ERROR(rdma_accept, "RDMACM_1.0");
ERROR(rdma_ack_cm_event, "RDMACM_1.0");
ERROR(rdma_bind_addr, "RDMACM_1.0");
ERROR(rdma_connect, "RDMACM_1.0");
ERROR(rdma_create_ep, "RDMACM_1.0");
ERROR(rdma_create_id, "RDMACM_1.0");
ERROR(rdma_create_qp, "RDMACM_1.0");
ERROR(rdma_create_qp_ex, "RDMACM_1.0");
ERROR(rdma_create_srq, "RDMACM_1.0");
ERROR(rdma_create_srq_ex, "RDMACM_1.0");
ERROR(rdma_destroy_id, "RDMACM_1.0");
ERROR(rdma_disconnect, "RDMACM_1.0");
ERROR(rdma_get_cm_event, "RDMACM_1.0");
ERROR(rdma_get_request, "RDMACM_1.0");
ERROR(rdma_join_multicast, "RDMACM_1.0");
ERROR(rdma_leave_multicast, "RDMACM_1.0");
ERROR(rdma_listen, "RDMACM_1.0");
ERROR(rdma_migrate_id, "RDMACM_1.0");
ERROR(rdma_notify, "RDMACM_1.0");
ERROR(rdma_reject, "RDMACM_1.0");
ERROR(rdma_resolve_addr, "RDMACM_1.0");
ERROR(rdma_resolve_route, "RDMACM_1.0");
ERROR(rdma_set_option, "RDMACM_1.0");
ERROR(rdma_join_multicast_ex, "RDMACM_1.1");
ERROR(rdma_establish, "RDMACM_1.2");
ERROR(rdma_init_qp_attr, "RDMACM_1.2");
ERROR(rdma_get_remote_ece, "RDMACM_1.3");
ERROR(rdma_reject_ece, "RDMACM_1.3");
ERROR(rdma_set_local_ece, "RDMACM_1.3");
ERROR(rdma_query_addrinfo, "RDMACM_1.4");
ERROR(rdma_resolve_addrinfo, "RDMACM_1.4");
ERROR(rdma_write_cm_event, "RDMACM_1.4");

ERROR(raccept, "RDMACM_1.0");
ERROR(rbind, "RDMACM_1.0");
ERROR(rclose, "RDMACM_1.0");
ERROR(rconnect, "RDMACM_1.0");
ERROR(rfcntl, "RDMACM_1.0");
ERROR(rgetpeername, "RDMACM_1.0");
ERROR(rgetsockname, "RDMACM_1.0");
ERROR(rgetsockopt, "RDMACM_1.0");
ERROR(riomap, "RDMACM_1.0");
ERROR(riounmap, "RDMACM_1.0");
ERROR(riowrite, "RDMACM_1.0");
ERROR(rlisten, "RDMACM_1.0");
ERROR(rpoll, "RDMACM_1.0");
ERROR(rread, "RDMACM_1.0");
ERROR(rreadv, "RDMACM_1.0");
ERROR(rrecv, "RDMACM_1.0");
ERROR(rrecvfrom, "RDMACM_1.0");
ERROR(rrecvmsg, "RDMACM_1.0");
ERROR(rselect, "RDMACM_1.0");
ERROR(rsend, "RDMACM_1.0");
ERROR(rsendmsg, "RDMACM_1.0");
ERROR(rsendto, "RDMACM_1.0");
ERROR(rsetsockopt, "RDMACM_1.0");
ERROR(rshutdown, "RDMACM_1.0");
ERROR(rsocket, "RDMACM_1.0");
ERROR(rwrite, "RDMACM_1.0");
ERROR(rwritev, "RDMACM_1.0");
ERROR(repoll_create, "RDMACM_1.5");
ERROR(repoll_ctl, "RDMACM_1.5");
ERROR(repoll_wait, "RDMACM_1.5");
