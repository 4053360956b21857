/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/find.h"

#include <errno.h>

struct adv_ucma_id *adv_ucma_id_find(struct adv_ucma_client *c, uint32_t handle, int *error)
{
	struct adv_ucma_id *id = adv_handles_find(&c->ids, handle);

	if (!id)
		*error = ENOENT;
	return id;
}

struct adv_ucma_id *adv_ucma_id_find_bound(struct adv_ucma_client *c, uint32_t handle, int *error)
{
	struct adv_ucma_id *id = adv_ucma_id_find(c, handle, error);

	if (id && !id->ifindex) {
		*error = EINVAL;
		return NULL;
	}
	return id;
}

struct adv_ucma_channel *adv_ucma_channel_find(struct adv_ucma_client *c, uint32_t handle)
{
	return adv_handles_find(&c->channels, handle);
}
