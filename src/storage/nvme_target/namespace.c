/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/namespace.h"

struct adv_nvme_namespace *adv_nvme_namespace_find(struct adv_nvme_subsystem *subsystem,
						   uint32_t nsid)
{
	return nsid <= ADV_NVME_NSID_MAX ? subsystem->namespaces[nsid] : NULL;
}

uint16_t adv_nvme_copy_range_max(const struct adv_nvme_namespace *ns)
{
	/* As the transfer limit. */
	unsigned shift = ns->subsystem->target->config.mdts + ADV_NVME_PAGE_SHIFT;
	uint32_t most = 1u << (shift - ns->block_shift);

	return (uint16_t)(most < UINT16_MAX ? most : UINT16_MAX);
}

void adv_nvme_namespace_get(struct adv_nvme_namespace *ns)
{
	ns->users++;
}

void adv_nvme_namespace_put(struct adv_nvme_namespace *ns)
{
	ns->users--;
}
