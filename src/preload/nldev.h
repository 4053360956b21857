/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel answers to requests for RDMA devices by netlink (NETLINK_RDMA, client NLDEV),
 * said of adverb0: attributes as in <rdma/rdma_netlink.h>. What would change a device is not
 * supported. No system call, no lock.
 */
#ifndef ADV_PRELOAD_NLDEV_H
#define ADV_PRELOAD_NLDEV_H

#include "preload/netlink_writer.h"
#include "preload/nldev_source.h"

/*
 * Answers the requests of one datagram, any bytes, which came from `port`. Messages of the answer
 * with NLM_F_MULTI may go into one datagram, as many as fit; each other is one of its own. None is
 * longer than ADV_NLDEV_LONGEST.
 */
void adv_nldev_answer(const struct adv_nldev_source *source, const void *request, size_t len,
		      uint32_t port, struct adv_netlink *answer);

#endif
