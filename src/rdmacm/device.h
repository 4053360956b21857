/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one device as librdmacm has it open, with a protection domain and an XRC domain for those
 * who bring none. It is opened at first use and stays open, as rdma_get_devices(3) promises. After
 * the daemon has gone, and in a child of fork(), the next use opens it anew; what was made with
 * the old one keeps that.
 */
#ifndef ADV_RDMACM_DEVICE_H
#define ADV_RDMACM_DEVICE_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct adv_rdma_device {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd; /* NULL until asked for */
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
	struct adv_rdma_device *older; /* the one before, of a daemon that has gone */
};

/* The device, opened where it is not yet. NULL and errno: ENODEV, ENOMEM. Any thread. */
struct adv_rdma_device *adv_rdma_device(void);

/* The XRC domain that all ids share. NULL and errno. */
struct ibv_xrcd *adv_rdma_device_xrcd(struct adv_rdma_device *d);

/* The next adv_rdma_device() opens a new one. Any thread, any lock held. */
void adv_rdma_device_renew(void);

/* The same in a child of fork(), where other threads' locks are not to be waited for. */
void adv_rdma_device_after_fork(void);

#endif
