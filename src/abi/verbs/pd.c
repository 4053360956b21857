/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protection domains, thread domains and parent domains. A parent domain behaves like its
 * protection domain. Its other attributes change nothing here:
 * - a thread domain: the thread that creates a CQ determines which lock protects it;
 * - allocators for a provider's buffers: the transport's queues are not mapped to a device;
 * - the flag that allows unprotected memory in a confidential guest: the transport needs no such
 *   memory.
 */
#include <stdlib.h>

#include "abi/verbs/objects.h"

struct adv_ibv_td {
	struct ibv_td ibv;
	atomic_uint users; /* number of parent domains that use it */
};

void adv_ibv_pd_hold(struct ibv_pd *pd)
{
	atomic_fetch_add(&adv_ibv_pd_of(pd)->users, 1);
}

void adv_ibv_pd_release(struct ibv_pd *pd)
{
	atomic_fetch_sub(&adv_ibv_pd_of(pd)->users, 1);
}

static uint32_t next_pd_handle(void)
{
	static atomic_uint handles;

	return ++handles;
}

ADV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct adv_ibv_pd *pd = calloc(1, sizeof(*pd));
	struct adv_engine *e;
	int err;

	if (!pd)
		return NULL;
	e = adv_ibv_enter_all(context);
	if (!e) {
		free(pd);
		return adv_ibv_refuse_object(ADV_EFOREIGN, "ibv_alloc_pd()");
	}
	adv_engine_set_owner(e, adv_ibv_context_of(context));
	pd->pd = adv_pd_create(e);
	err = errno;
	adv_ibv_leave_all(context);
	if (!pd->pd) {
		free(pd);
		return adv_ibv_refuse_object(err, "ibv_alloc_pd()");
	}
	pd->ibv.context = context;
	pd->ibv.handle = next_pd_handle();
	adv_debug("pd %u: allocated", pd->ibv.handle);
	adv_ibv_watch_created(ADV_CHECK_PD, &pd->ibv, context, NULL);
	return &pd->ibv;
}

static int dealloc_pd(struct ibv_pd *ibpd)
{
	struct adv_ibv_pd *pd = adv_ibv_pd_of(ibpd);
	int err = 0;

	if (atomic_load(&pd->users) > 0)
		return adv_ibv_refuse(adv_reason(EBUSY,
						 "%u objects use it: destroy its regions, windows, "
						 "queue pairs, SRQs and address handles first",
						 atomic_load(&pd->users)),
				      "ibv_dealloc_pd(pd %u)", ibpd->handle);
	if (pd->of) {
		adv_ibv_pd_release(&pd->of->ibv);
		if (pd->td)
			atomic_fetch_sub(&pd->td->users, 1);
	} else if (adv_ibv_enter_all(ibpd->context)) {
		err = adv_pd_destroy(pd->pd);
		adv_ibv_leave_all(ibpd->context);
	}
	if (err)
		return adv_ibv_refuse(err, "ibv_dealloc_pd(pd %u)", ibpd->handle);
	adv_debug("pd %u: deallocated", ibpd->handle);
	free(pd);
	return 0;
}

ADV_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_PD, pd);
	int err = dealloc_pd(pd);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

struct ibv_td *adv_ibv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct adv_ibv_td *td;

	if (attr->comp_mask)
		return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP,
							"comp_mask 0x%x: no bit is defined",
							attr->comp_mask),
					     "ibv_alloc_td()");
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv.context = context;
	return &td->ibv;
}

int adv_ibv_dealloc_td(struct ibv_td *ibv)
{
	struct adv_ibv_td *td = (struct adv_ibv_td *)ibv;

	if (atomic_load(&td->users) > 0)
		return adv_ibv_refuse(adv_reason(EBUSY,
						 "%u parent domains use it: deallocate them first",
						 atomic_load(&td->users)),
				      "ibv_dealloc_td()");
	free(td);
	return 0;
}

/* Checks the attributes of a parent domain. 0 or errno. */
static int check_parent_attr(const struct ibv_context *context,
			     const struct ibv_parent_domain_init_attr *attr)
{
	/* Flag of headers that are newer than some supported ones. */
	const uint32_t allow_cc_unprotected_alloc = 1 << 2;
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | allow_cc_unprotected_alloc;

	if (attr->comp_mask & ~known)
		return adv_reason(EOPNOTSUPP, "comp_mask 0x%x has unknown bits: known are 0x%x",
				  attr->comp_mask, known);
	if (!attr->pd || attr->pd->context != context || (attr->td && attr->td->context != context))
		return adv_reason(
			EINVAL,
			"pd or td is missing or of another context: use those of this context");
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS && !attr->alloc != !attr->free)
		return adv_reason(EINVAL, "only one of alloc and free is set: set both, or none");
	return 0;
}

struct ibv_pd *adv_ibv_alloc_parent_domain(struct ibv_context *context,
					   struct ibv_parent_domain_init_attr *attr)
{
	int err = check_parent_attr(context, attr);
	struct adv_ibv_pd *pd;

	if (err)
		return adv_ibv_refuse_object(err, "ibv_alloc_parent_domain()");
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->ibv.context = context;
	pd->ibv.handle = next_pd_handle();
	pd->of = adv_ibv_pd_of(attr->pd);
	pd->pd = pd->of->pd;
	pd->td = (struct adv_ibv_td *)attr->td;
	adv_ibv_pd_hold(attr->pd);
	if (pd->td)
		atomic_fetch_add(&pd->td->users, 1);
	adv_debug("pd %u: allocated as parent domain of pd %u", pd->ibv.handle, attr->pd->handle);
	adv_ibv_watch_created(ADV_CHECK_PD, &pd->ibv, context, NULL);
	return &pd->ibv;
}

ADV_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	return adv_ibv_refuse_import("ibv_import_pd(handle %u)", pd_handle);
}

/* Does nothing, as nothing can be imported: see ibv_import_pd(). */
ADV_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
}
