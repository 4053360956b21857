/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, and XRC domains. */
#include <errno.h>
#include <stdlib.h>

#include "nic/memory/domain.h"
#include "nic/engine/state.h"

struct adv_pd *adv_pd_create(struct adv_engine *e)
{
	struct adv_pd *pd = e->tpt->pd_count < ADV_MAX_PD ? calloc(1, sizeof(*pd)) : NULL;

	if (!pd) {
		return adv_reason_no_object(
			ENOMEM, "no memory, or the device has %d domains (max_pd)", ADV_MAX_PD);
	}
	pd->tpt = e->tpt;
	pd->owner = e->owner;
	pd->number = ++e->numbers;
	adv_list_add_tail(&e->tpt->pds, &pd->node);
	e->tpt->pd_count++;
	return pd;
}

int adv_pd_destroy(struct adv_pd *pd)
{
	if (pd->users)
		return EBUSY;
	adv_list_del(&pd->node);
	pd->tpt->pd_count--;
	free(pd);
	return 0;
}

struct adv_xrcd *adv_xrcd_create(struct adv_engine *e)
{
	struct adv_xrcd *xrcd = e->xrcd_count < ADV_MAX_PD ? calloc(1, sizeof(*xrcd)) : NULL;

	if (!xrcd) {
		errno = ENOMEM;
		return NULL;
	}
	xrcd->engine = e;
	xrcd->owner = e->owner;
	adv_list_add_tail(&e->xrcds, &xrcd->node);
	e->xrcd_count++;
	return xrcd;
}

int adv_xrcd_destroy(struct adv_xrcd *xrcd)
{
	if (xrcd->users)
		return EBUSY;
	adv_list_del(&xrcd->node);
	xrcd->engine->xrcd_count--;
	free(xrcd);
	return 0;
}
