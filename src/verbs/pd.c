/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains. */
#include <stdlib.h>

#include "verbs/objects.h"

ADV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	static atomic_uint handles;
	struct adv_ibv_pd *pd = calloc(1, sizeof(*pd));
	struct adv_engine *e;
	int err;

	if (!pd)
		return NULL;
	e = adv_enter(context);
	if (!e) {
		free(pd);
		return adv_refuse_object(ADV_EFOREIGN);
	}
	pd->pd = adv_pd_create(e);
	err = errno;
	adv_leave(context);
	if (!pd->pd) {
		free(pd);
		return adv_refuse_object(err);
	}
	pd->ibv.context = context;
	pd->ibv.handle = ++handles;
	return &pd->ibv;
}

ADV_EXPORT int ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct adv_ibv_pd *pd = adv_pd_of(ibpd);
	int err = 0;

	if (atomic_load(&pd->ahs) > 0)
		return adv_refuse(EBUSY);
	if (adv_enter(ibpd->context)) {
		err = adv_pd_destroy(pd->pd);
		adv_leave(ibpd->context);
	}
	if (!err)
		free(pd);
	return adv_refuse(err);
}

ADV_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	return adv_refuse_object(EOPNOTSUPP);
}

/* There are no imported objects. */
ADV_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
}
