/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/nldev_request.h"

#include <string.h>

#include "runtime/identity/identity.h"

bool adv_nldev_u32(const struct adv_nldev_request *r, unsigned type, uint32_t *value)
{
	if (!r->attribute[type] || r->length[type] != sizeof(*value))
		return false;
	memcpy(value, r->attribute[type], sizeof(*value));
	return true;
}

bool adv_nldev_names_device(const struct adv_nldev_request *r)
{
	uint32_t index;

	return adv_nldev_u32(r, RDMA_NLDEV_ATTR_DEV_INDEX, &index) && index == ADV_NLDEV_INDEX;
}

bool adv_nldev_names_port(const struct adv_nldev_request *r)
{
	uint32_t port;

	return adv_nldev_names_device(r) && adv_nldev_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, &port) &&
	       port == ADV_NLDEV_PORT;
}

void adv_nldev_begin(struct adv_nldev_request *r, bool one_of_many)
{
	adv_netlink_begin(r->answer, r->head.nlmsg_type, one_of_many ? NLM_F_MULTI : 0,
			  r->head.nlmsg_seq, r->port);
}

void adv_nldev_put_handle(struct adv_nldev_request *r)
{
	adv_netlink_u32(r->answer, RDMA_NLDEV_ATTR_DEV_INDEX, ADV_NLDEV_INDEX);
	adv_netlink_string(r->answer, RDMA_NLDEV_ATTR_DEV_NAME, ADV_DEVICE_NAME);
}
