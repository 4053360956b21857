/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers netlink requests for RDMA devices (NETLINK_RDMA, client NLDEV) as the kernel would for
 * adverb0. Attributes are those of <rdma/rdma_netlink.h>. Commands that would change a device are
 * not supported. No system call, no lock.
 */
#ifndef ADV_RUNTIME_PRELOAD_NLDEV_H
#define ADV_RUNTIME_PRELOAD_NLDEV_H

#include "runtime/preload/netlink_writer.h"
#include "runtime/preload/nldev_source.h"

/*
 * Answers the requests in one datagram from `port`. The datagram's bytes may be arbitrary. Each
 * message of the answer is a datagram of its own; messages with NLM_F_MULTI may share a datagram,
 * as many as fit. No message is longer than ADV_NLDEV_LONGEST.
 */
void adv_nldev_answer(const struct adv_nldev_source *source, const void *request, size_t len,
		      uint32_t port, struct adv_netlink *answer);

#endif
