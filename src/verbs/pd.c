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
		errno = ADV_EFOREIGN;
		return NULL;
	}
	pd->pd = adv_pd_create(e);
	err = errno;
	adv_leave(context);
	if (!pd->pd) {
		free(pd);
		errno = err;
		return NULL;
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
		return EBUSY;
	if (adv_enter(ibpd->context)) {
		err = adv_pd_destroy(pd->pd);
		adv_leave(ibpd->context);
	}
	if (!err)
		free(pd);
	return err;
}

ADV_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* There are no imported objects. */
ADV_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
}
