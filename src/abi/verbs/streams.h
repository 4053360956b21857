/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What librdmacm calls in libibverbs beside the public interface. */
#ifndef ADV_ABI_VERBS_STREAMS_H
#define ADV_ABI_VERBS_STREAMS_H

#include <infiniband/verbs.h>

#include "nic/iwarp/agreement.h"

/*
 * Gives a queue pair of an iWARP device its connection, after the start-up frames. A queue pair in
 * INIT or RTR enters RTS. 0: the library owns the descriptor now; EINVAL: the context has no such
 * queue pair, its state is not one of these, or it is connected; ENOMEM.
 */
int adv_ibv_attach_stream(struct ibv_context *context, uint32_t qp_num, int fd,
			  const struct adv_rdmap_config *config);

/* Returns the first device that has this address of this machine, IPv4-mapped or IPv6; the first
 * device if none has. NULL with errno: there is no device. */
struct ibv_device *adv_ibv_device_with(const union ibv_gid *address, uint32_t ifindex);

#endif
