/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel answers to requests for RDMA devices by netlink (NETLINK_RDMA, client NLDEV),
 * said of adverb0: attributes as in <rdma/rdma_netlink.h>. What would change a device is not
 * supported. No system call, no lock.
 */
#ifndef ADV_PRELOAD_NLDEV_H
#define ADV_PRELOAD_NLDEV_H

#include "host/resources.h"
#include "preload/contents.h"
#include "preload/netlink_writer.h"

#define ADV_NLDEV_INDEX 1 /* of adverb0 */
#define ADV_NLDEV_PORT	1

/* Where the answers come from. */
struct adv_nldev_source {
	/* The device as it is now. False: there is none. */
	bool (*device)(void *user, struct adv_contents *contents);
	/* As adv_resources_each(). */
	int (*resources)(void *user, enum adv_resource_kind kind, adv_resource_fn *fn,
			 void *fn_user);
	bool keys; /* memory keys may be told */
	void *user;
};

/*
 * Answers the requests of one datagram, any bytes, which came from `port`. Messages of the answer
 * with NLM_F_MULTI may go into one datagram, as many as fit; each other is one of its own. None is
 * longer than ADV_NLDEV_LONGEST.
 */
#define ADV_NLDEV_LONGEST 4096
void adv_nldev_answer(const struct adv_nldev_source *source, const void *request, size_t len,
		      uint32_t port, struct adv_netlink *answer);

#endif
