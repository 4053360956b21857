/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/nldev_request.h"

#include <string.h>

bool adv_nldev_u32(const struct adv_nldev_request *r, unsigned type, uint32_t *value)
{
	if (!r->attribute[type] || r->length[type] != sizeof(*value))
		return false;
	memcpy(value, r->attribute[type], sizeof(*value));
	return true;
}

bool adv_nldev_read_devices(struct adv_nldev_request *r)
{
	return r->source->device(r->source->user, &r->contents);
}

void adv_nldev_use_device(struct adv_nldev_request *r, unsigned index)
{
	r->rail = &r->contents.rails->rail[index];
	adv_rail_table(r->rail, &r->contents.machine, &r->gids);
}

bool adv_nldev_find_device(struct adv_nldev_request *r)
{
	uint32_t index;

	if (!adv_nldev_u32(r, RDMA_NLDEV_ATTR_DEV_INDEX, &index) || index < ADV_NLDEV_INDEX ||
	    !adv_nldev_read_devices(r) || index - ADV_NLDEV_INDEX >= r->contents.rails->count)
		return false;
	adv_nldev_use_device(r, index - ADV_NLDEV_INDEX);
	return true;
}

bool adv_nldev_find_port(struct adv_nldev_request *r)
{
	uint32_t port;

	return adv_nldev_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, &port) && port == ADV_NLDEV_PORT &&
	       adv_nldev_find_device(r);
}

int adv_nldev_each(const struct adv_nldev_request *r, enum adv_resource_kind kind,
		   adv_resource_fn *fn, void *user)
{
	return r->source->resources(r->source->user, kind, r->rail->name, fn, user);
}

void adv_nldev_begin(struct adv_nldev_request *r, bool one_of_many)
{
	adv_netlink_begin(r->answer, r->head.nlmsg_type, one_of_many ? NLM_F_MULTI : 0,
			  r->head.nlmsg_seq, r->port);
}

void adv_nldev_put_handle(struct adv_nldev_request *r)
{
	adv_netlink_u32(r->answer, RDMA_NLDEV_ATTR_DEV_INDEX, ADV_NLDEV_INDEX + r->rail->index);
	adv_netlink_string(r->answer, RDMA_NLDEV_ATTR_DEV_NAME, r->rail->name);
}
