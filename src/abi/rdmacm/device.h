/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The devices that librdmacm opens, each with a protection domain and an XRC domain for callers
 * that give none. A device is opened at first use and stays open, as rdma_get_devices(3) promises.
 * After the daemon has exited, and in a child of fork(), the next use opens a new device. Existing
 * objects keep the old device.
 */
#ifndef ADV_ABI_RDMACM_DEVICE_H
#define ADV_ABI_RDMACM_DEVICE_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct adv_rdma_device {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd; /* NULL until needed */
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
	unsigned daemon;	       /* number of the daemon that it was opened with */
	struct adv_rdma_device *older; /* opened before */
};

/* Returns the device that has this address of this machine; opens it if necessary. NULL and errno:
 * ENODEV, ENOMEM. Any thread. */
struct adv_rdma_device *adv_rdma_device(const union ibv_gid *address, uint32_t ifindex);

/* Returns the XRC domain that all ids share. NULL and errno. */
struct ibv_xrcd *adv_rdma_device_xrcd(struct adv_rdma_device *d);

/* Makes later calls of adv_rdma_device() open new devices. Any thread, any lock held. */
void adv_rdma_device_renew(void);

/* As adv_rdma_device_renew(), in a child of fork(), which cannot wait for other threads' locks. */
void adv_rdma_device_after_fork(void);

#endif
