/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device list: one device for each rail of the process. */
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/verbs/device.h"
#include "abi/verbs/kind.h"
#include "abi/verbs/objects.h"
#include "abi/verbs/streams.h"

/* Provider libraries read the pointer after struct ibv_device and compare it with the pointer to
 * their own operations. If both are equal, the device is theirs. */
struct listed_device {
	struct ibv_device ibv; /* must be the first member */
	const void *driver;
	_Atomic uint64_t guid; /* in network byte order */
	const struct adv_rail *rail;
};

_Static_assert(sizeof(struct ibv_device) == 664, "provider libraries read the pointer behind it");

/* Programs keep pointers to devices, so none is ever freed. */
static struct listed_device listed[ADV_RAILS_MAX];
static _Atomic(const struct adv_rail_list *) listed_rails;

static struct listed_device *device_of(struct ibv_device *device)
{
	return (struct listed_device *)(void *)device;
}

const struct adv_rail *adv_ibv_rail(struct ibv_device *device)
{
	return device_of(device)->rail;
}

static void fill_device(struct listed_device *l, const struct adv_rail *rail)
{
	struct ibv_device *d = &l->ibv;
	char node[ADV_UVERBS_NAME_LEN];

	l->rail = rail;
	d->node_type = adv_ibv_kind()->node_type;
	d->transport_type = adv_ibv_kind()->transport_type;
	adv_uverbs_name(rail->index, node);
	snprintf(d->name, sizeof(d->name), "%s", rail->name);
	snprintf(d->dev_name, sizeof(d->dev_name), "%s", node);
	snprintf(d->dev_path, sizeof(d->dev_path), "/sys/class/infiniband_verbs/%s", node);
	snprintf(d->ibdev_path, sizeof(d->ibdev_path), "/sys/class/infiniband/%s", rail->name);
}

static void fill_devices(void)
{
	for (unsigned i = 0; i < listed_rails->count; i++)
		fill_device(&listed[i], &listed_rails->rail[i]);
}

/* Notes the GUIDs that follow from adverbd's table. */
static void note_guids(const struct adv_gid_table *table)
{
	for (unsigned i = 0; i < listed_rails->count; i++)
		listed[i].guid = adv_rail_guid(listed[i].rail, table);
}

/* Finds the rails and fills their devices. 0 or errno. */
static int find_devices(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct adv_gid_table *table = malloc(sizeof(*table));
	const struct adv_rail_list *rails;
	int err = table ? adv_device_probe(table, &rails) : ENOMEM;

	if (!err) {
		listed_rails = rails;
		pthread_once(&once, fill_devices);
		note_guids(table);
	}
	free(table);
	return err;
}

ADV_EXPORT struct ibv_device *adv_ibv_device_with(const union ibv_gid *address, uint32_t ifindex)
{
	struct adv_gid_entry entry = {.ifindex = ifindex};
	int err = listed_rails ? 0 : find_devices();
	unsigned i = 0;

	if (err) {
		errno = err;
		return NULL;
	}
	memcpy(entry.gid.raw, address->raw, sizeof(entry.gid.raw));
	(void)if_indextoname(ifindex, entry.ifname);
	while (i < listed_rails->count && !adv_rail_has(&listed_rails->rail[i], &entry))
		i++;
	return &listed[i < listed_rails->count ? i : 0].ibv;
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
	struct ibv_device **list = calloc(ADV_RAILS_MAX + 1, sizeof(*list));
	int err = list ? find_devices() : ENOMEM;

	if (num_devices)
		*num_devices = err ? 0 : (int)listed_rails->count;
	if (err) {
		free(list);
		return adv_ibv_refuse_object(errno_of_list(err), "ibv_get_device_list()");
	}
	for (unsigned i = 0; i < listed_rails->count; i++)
		list[i] = &listed[i].ibv;
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
	return (__be64)device_of(device)->guid;
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
