/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device memory. This device has none: the memory is the process's own, and accesses to it are as
 * fast as to any other memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/verbs/objects.h"

#define MAX_ALIGNMENT_LOG 12 /* log2 of a page's size */
#define COPY_ALIGNMENT	  4  /* alignment of offsets and lengths, as hardware requires */
#define ALLOWED_ACCESS                                                                             \
	((unsigned)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |    \
		    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND |        \
		    IBV_ACCESS_OPTIONAL_RANGE))

static struct adv_ibv_dm *dm_of(struct ibv_dm *dm)
{
	return (struct adv_ibv_dm *)dm;
}

static bool is_inside_dm(const struct adv_ibv_dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->length && length <= dm->length - offset;
}

static int check_dm_copy(struct ibv_dm *dm, uint64_t offset, size_t length)
{
	if (!is_inside_dm(dm_of(dm), offset, length))
		return adv_reason(EFAULT, "offset %" PRIu64 " + length %zu is beyond its %zu bytes",
				  offset, length, dm_of(dm)->length);
	if (offset % COPY_ALIGNMENT || length % COPY_ALIGNMENT)
		return adv_reason(EFAULT,
				  "offset %" PRIu64 " or length %zu is not a multiple of %d",
				  offset, length, COPY_ALIGNMENT);
	return 0;
}

static int copy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length)
{
	int err = check_dm_copy(dm, offset, length);

	if (!err)
		memcpy(dm_of(dm)->memory + offset, from, length);
	return adv_ibv_refuse(err, "ibv_memcpy_to_dm(dm %u)", dm->handle);
}

static int copy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	int err = check_dm_copy(dm, offset, length);

	if (!err)
		memcpy(to, dm_of(dm)->memory + offset, length);
	return adv_ibv_refuse(err, "ibv_memcpy_from_dm(dm %u)", dm->handle);
}

/* Counts `length` more bytes of device memory of the context. False if the context would exceed
 * ADV_MAX_DM. */
static bool reserve_dm_bytes(struct adv_ibv_context *c, size_t length)
{
	size_t used = atomic_load(&c->dm_used);

	do {
		if (length > ADV_MAX_DM - used)
			return false;
	} while (!atomic_compare_exchange_weak(&c->dm_used, &used, used + length));
	return true;
}

struct ibv_dm *adv_ibv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	static atomic_uint handles;
	struct adv_ibv_context *c = adv_ibv_context_of(context);
	struct adv_ibv_dm *dm;
	void *memory;

	if (attr->comp_mask)
		return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP,
							"comp_mask 0x%x: no bit is defined",
							attr->comp_mask),
					     "ibv_alloc_dm()");
	if (attr->length == 0 || attr->log_align_req > MAX_ALIGNMENT_LOG)
		return adv_ibv_refuse_object(
			adv_reason(EINVAL,
				   "length %zu or log_align_req %u: the length must not be 0, the "
				   "alignment is at most 2^%d",
				   attr->length, attr->log_align_req, MAX_ALIGNMENT_LOG),
			"ibv_alloc_dm()");
	if (!reserve_dm_bytes(c, attr->length))
		return adv_ibv_refuse_object(
			adv_reason(ENOMEM,
				   "%zu bytes: the context would have more than %u bytes of device "
				   "memory (max_dm_size)",
				   attr->length, ADV_MAX_DM),
			"ibv_alloc_dm()");
	dm = calloc(1, sizeof(*dm));
	if (!dm || posix_memalign(&memory, 1 << MAX_ALIGNMENT_LOG, attr->length)) {
		atomic_fetch_sub(&c->dm_used, attr->length);
		free(dm);
		return adv_ibv_refuse_object(ENOMEM, "ibv_alloc_dm()");
	}
	dm->memory = memset(memory, 0, attr->length);
	dm->length = attr->length;
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = copy_to_dm;
	dm->ibv.memcpy_from_dm = copy_from_dm;
	dm->ibv.handle = ++handles;
	adv_ibv_watch_created(ADV_CHECK_DM, &dm->ibv, context, NULL);
	return &dm->ibv;
}

static int free_dm(struct ibv_dm *ibv)
{
	struct adv_ibv_dm *dm = dm_of(ibv);

	if (atomic_load(&dm->regions) > 0)
		return adv_ibv_refuse(adv_reason(EBUSY, "regions of it: %u; deregister them first",
						 atomic_load(&dm->regions)),
				      "ibv_free_dm(dm %u)", ibv->handle);
	atomic_fetch_sub(&adv_ibv_context_of(ibv->context)->dm_used, dm->length);
	free(dm->memory);
	free(dm);
	return 0;
}

int adv_ibv_free_dm(struct ibv_dm *dm)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_DM, dm);
	int err = free_dm(dm);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

struct ibv_mr *adv_ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
				 size_t length, unsigned int access)
{
	struct adv_ibv_dm *dm = dm_of(ibv);
	struct ibv_mr *mr;

	/* A region of 0 bytes is valid, as on hardware. */
	if (access & ~ALLOWED_ACCESS || !(access & IBV_ACCESS_ZERO_BASED) ||
	    pd->context != ibv->context || !is_inside_dm(dm, offset, length))
		return adv_ibv_refuse_object(
			adv_reason(EINVAL,
				   "access 0x%x, offset %" PRIu64
				   ", length %zu: access must have IBV_ACCESS_ZERO_BASED and no "
				   "bit beyond 0x%x, the range must be inside the %zu bytes, and "
				   "pd of the same context",
				   access, offset, length, ALLOWED_ACCESS, dm->length),
			"ibv_reg_dm_mr(dm %u)", ibv->handle);
	mr = adv_ibv_reg_checked(pd, dm->memory + offset, length, 0,
				 (int)(access & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE));
	if (!mr)
		return NULL;
	/* The region has no address: applications use offsets. Hardware could not give them an
	 * address of this process either. */
	mr->addr = NULL;
	adv_ibv_mr_use(mr, &dm->regions);
	return mr;
}

ADV_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	return adv_ibv_refuse_import("ibv_import_dm(handle %u)", dm_handle);
}

/* Does nothing, as nothing can be imported: see ibv_import_dm(). */
ADV_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
}
