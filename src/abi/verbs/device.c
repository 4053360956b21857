/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device list: one device, adverb0. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/identity/identity.h"
#include "abi/verbs/kind.h"
#include "abi/verbs/objects.h"

/* Provider libraries read the pointer after struct ibv_device and compare it with the pointer to
 * their own operations. If both are equal, the device is theirs. */
static struct {
	struct ibv_device ibv;
	const void *driver;
	_Atomic uint64_t guid; /* in network byte order */
} the_device = {
	.ibv =
		{
			.name = ADV_DEVICE_NAME,
			.ibdev_path = "/sys/class/infiniband/" ADV_DEVICE_NAME,
		},
};

_Static_assert(sizeof(struct ibv_device) == 664, "provider libraries read the pointer behind it");

static void fill_device_names(void)
{
	struct ibv_device *d = &the_device.ibv;
	char name[ADV_UVERBS_NAME_LEN];

	d->node_type = adv_ibv_kind()->node_type;
	d->transport_type = adv_ibv_kind()->transport_type;
	adv_uverbs_name(name);
	snprintf(d->dev_name, sizeof(d->dev_name), "%s", name);
	snprintf(d->dev_path, sizeof(d->dev_path), "/sys/class/infiniband_verbs/%s", name);
}

/* Returns the only device. */
static struct ibv_device *only_device(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_device_names);
	return &the_device.ibv;
}

/* Maps err to an error that ibv_get_device_list(3) documents. */
static int errno_of_list(int err)
{
	switch (err) {
	case ENOMEM:
		return ENOMEM;
	case EPERM:
	case EACCES:
		return EPERM;
	default:
		return ENOSYS;
	}
}

ADV_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct adv_gid_table *table = malloc(sizeof(*table));
	struct ibv_device **list = calloc(2, sizeof(*list));
	int err = table && list ? adv_device_probe(table) : ENOMEM;

	if (num_devices)
		*num_devices = err ? 0 : 1;
	if (err) {
		free(list);
		free(table);
		return adv_ibv_refuse_object(errno_of_list(err), "ibv_get_device_list()");
	}
	the_device.guid = table->node_guid;
	free(table);
	list[0] = only_device();
	return list;
}

ADV_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

ADV_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

ADV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return (__be64)the_device.guid;
}

/* Returns the kernel's index of the RDMA device; always -1, because the kernel does not know this
 * device. */
ADV_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return -1;
}

ADV_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	return adv_ibv_refuse_import("ibv_import_device(fd %d)", cmd_fd);
}

/*
 * Succeeds without effect. fork() needs no protection of registered memory: the parent keeps its
 * pages, and the child gets a copy. The transport accesses memory through the parent's address
 * space, not by pinned pages.
 */
ADV_EXPORT int ibv_fork_init(void)
{
	if (adv_ibv_observer)
		adv_ibv_observer->fork_init();
	return 0;
}

ADV_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

ADV_EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	return 0;
}

ADV_EXPORT int ibv_dofork_range(void *base, size_t size)
{
	return 0;
}
