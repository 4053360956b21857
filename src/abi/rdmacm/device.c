/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

#include "base/export.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_rdma_device *current;
static atomic_bool stale;

static uint8_t limit_depth(int value)
{
	return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	if (list && list[0])
		verbs = ibv_open_device(list[0]);
	if (list)
		ibv_free_device_list(list);
	if (!verbs && errno != ENOMEM)
		errno = ENODEV;
	return verbs;
}

static struct adv_rdma_device *open_device(void)
{
	struct adv_rdma_device *d = calloc(1, sizeof(*d));
	struct ibv_device_attr attr;
	int err;

	if (!d)
		return NULL;
	d->verbs = open_first();
	if (!d->verbs)
		goto free_device;
	err = ibv_query_device(d->verbs, &attr);
	if (!err) {
		d->pd = ibv_alloc_pd(d->verbs);
		err = d->pd ? 0 : errno;
	}
	if (!err) {
		d->max_responder_resources = limit_depth(attr.max_qp_rd_atom);
		d->max_initiator_depth = limit_depth(attr.max_qp_init_rd_atom);
		return d;
	}
	ibv_close_device(d->verbs);
	errno = err;
free_device:
	err = errno;
	free(d);
	errno = err;
	return NULL;
}

/* Opens a new device in place of the current one. False and errno: the current device stays stale.
 */
static bool renew_device(void)
{
	struct adv_rdma_device *d = open_device();

	if (!d)
		return false;
	d->older = current; /* its users continue with it, so it is never closed */
	current = d;
	return true;
}

struct adv_rdma_device *adv_rdma_device(void)
{
	struct adv_rdma_device *d = NULL;

	pthread_mutex_lock(&lock);
	if (atomic_exchange(&stale, false) || !current) {
		if (renew_device())
			d = current;
		else
			atomic_store(&stale, true);
	} else {
		d = current;
	}
	pthread_mutex_unlock(&lock);
	return d;
}

struct ibv_xrcd *adv_rdma_device_xrcd(struct adv_rdma_device *d)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&lock);
	if (!d->xrcd)
		d->xrcd = ibv_open_xrcd(d->verbs, &attr);
	xrcd = d->xrcd;
	pthread_mutex_unlock(&lock);
	return xrcd;
}

void adv_rdma_device_renew(void)
{
	atomic_store(&stale, true);
}

void adv_rdma_device_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	current = NULL;
}

ADV_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct adv_rdma_device *d = adv_rdma_device();
	struct ibv_context **list = d ? calloc(2, sizeof(*list)) : NULL;

	if (list)
		list[0] = d->verbs;
	if (num_devices)
		*num_devices = list ? 1 : 0;
	return list;
}

ADV_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
