/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request of NLDEV while it is being answered, and the helpers that all answers use. */
#ifndef ADV_RUNTIME_PRELOAD_NLDEV_REQUEST_H
#define ADV_RUNTIME_PRELOAD_NLDEV_REQUEST_H

#include <rdma/rdma_netlink.h>

#include "runtime/preload/netlink_writer.h"
#include "runtime/preload/nldev_source.h"

#define ADV_NLDEV_ATTRIBUTES RDMA_NLDEV_ATTR_MAX

struct adv_nldev_request {
	const struct adv_nldev_source *source;
	struct adv_netlink *answer;
	struct nlmsghdr head;
	uint32_t port;					/* netlink port of the sender */
	const uint8_t *attribute[ADV_NLDEV_ATTRIBUTES]; /* by type; NULL: absent */
	uint16_t length[ADV_NLDEV_ATTRIBUTES];
	struct adv_contents contents;
};

/* Reads an attribute of the request. False if it is absent or not a 32-bit number. */
bool adv_nldev_u32(const struct adv_nldev_request *r, unsigned type, uint32_t *value);
/* True if the request names adverb0. */
bool adv_nldev_names_device(const struct adv_nldev_request *r);
/* True if the request names adverb0 and its port. */
bool adv_nldev_names_port(const struct adv_nldev_request *r);

/* Begins a message of the answer. one_of_many: with NLM_F_MULTI. */
void adv_nldev_begin(struct adv_nldev_request *r, bool one_of_many);
/* Adds the device's index and name to the message. */
void adv_nldev_put_handle(struct adv_nldev_request *r);

#endif
