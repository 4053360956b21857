/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

#include "abi/verbs/streams.h"
#include "base/export.h"

/* The devices that were opened, the newest first. They are never closed: their users continue with
 * them after the daemon has exited. */
static struct adv_rdma_device *opened;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint daemon_number;

static uint8_t limit_depth(int value)
{
	return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Opens a device. NULL and errno. */
static struct adv_rdma_device *open_device(struct ibv_device *device)
{
	struct adv_rdma_device *d = calloc(1, sizeof(*d));
	struct ibv_device_attr attr;
	int err;

	if (!d)
		return NULL;
	d->daemon = atomic_load(&daemon_number);
	d->verbs = ibv_open_device(device);
	if (!d->verbs) {
		err = errno == ENOMEM ? ENOMEM : ENODEV;
		goto free_device;
	}
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
free_device:
	free(d);
	errno = err;
	return NULL;
}

/* Returns the opened device, or opens it. NULL and errno. */
static struct adv_rdma_device *use_device(struct ibv_device *device)
{
	struct adv_rdma_device *d;

	pthread_mutex_lock(&opened_lock);
	d = opened;
	while (d && (d->verbs->device != device || d->daemon != atomic_load(&daemon_number)))
		d = d->older;
	if (!d) {
		d = open_device(device);
		if (d) {
			d->older = opened;
			opened = d;
		}
	}
	pthread_mutex_unlock(&opened_lock);
	return d;
}

struct adv_rdma_device *adv_rdma_device(const union ibv_gid *address, uint32_t ifindex)
{
	struct ibv_device *device = adv_ibv_device_with(address, ifindex);

	if (device)
		return use_device(device);
	if (errno != ENOMEM)
		errno = ENODEV;
	return NULL;
}

struct ibv_xrcd *adv_rdma_device_xrcd(struct adv_rdma_device *d)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&opened_lock);
	if (!d->xrcd)
		d->xrcd = ibv_open_xrcd(d->verbs, &attr);
	xrcd = d->xrcd;
	pthread_mutex_unlock(&opened_lock);
	return xrcd;
}

void adv_rdma_device_renew(void)
{
	atomic_fetch_add(&daemon_number, 1);
}

void adv_rdma_device_after_fork(void)
{
	pthread_mutex_init(&opened_lock, NULL);
	opened = NULL;
}

/* Stores the contexts of the devices that can be opened. Returns their number. */
static int fill_contexts(struct ibv_device **devices, struct ibv_context **contexts)
{
	int count = 0;

	for (unsigned i = 0; devices[i]; i++) {
		struct adv_rdma_device *d = use_device(devices[i]);

		if (d)
			contexts[count++] = d->verbs;
	}
	return count;
}

ADV_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);
	struct ibv_context **list = devices ? calloc((size_t)count + 1, sizeof(*list)) : NULL;

	count = list ? fill_contexts(devices, list) : 0;
	if (devices)
		ibv_free_device_list(devices);
	if (!count) {
		free(list);
		list = NULL;
	}
	if (num_devices)
		*num_devices = count;
	return list;
}

ADV_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
