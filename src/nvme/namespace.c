/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nvme/namespace.h"

struct adv_nvme_namespace *adv_nvme_namespace_find(struct adv_nvme_subsystem *subsystem,
						   uint32_t nsid)
{
	return nsid <= ADV_NVME_NSID_MAX ? subsystem->namespaces[nsid] : NULL;
}

void adv_nvme_namespace_get(struct adv_nvme_namespace *ns)
{
	ns->users++;
}

void adv_nvme_namespace_put(struct adv_nvme_namespace *ns)
{
	ns->users--;
}
