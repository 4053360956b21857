/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#include <stdlib.h>

#include "runtime/device/pages.h"
#include "abi/verbs/objects.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, which are newer than some headers. */
#define ACCESS_FLUSH (3 << 8)
#define KNOWN_ACCESS                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |                 \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_MW_BIND | ACCESS_FLUSH)
/* Optional flags: they are hints and grant no access. */
#define IGNORED_ACCESS ((unsigned)IBV_ACCESS_OPTIONAL_RANGE)
#define WRITE_ACCESS   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* True if the region is the whole address space (ibv_reg_mr(3), implicit on-demand paging). */
static bool is_implicit(const void *addr, size_t length, int access)
{
	return !addr && length == SIZE_MAX && access & IBV_ACCESS_ON_DEMAND;
}

/*
 * Checks that the memory is usable, like a NIC's driver that pins the pages: populates the pages,
 * writable if the region will be written. With on-demand paging the pages need not be present. 0 or
 * errno.
 */
static int check_mr_memory(const void *addr, size_t length, int access)
{
	uintptr_t end;
	int err;

	if (is_implicit(addr, length, access))
		return access & IBV_ACCESS_HUGETLB
			       ? adv_reason(EINVAL, "IBV_ACCESS_HUGETLB is not possible for a "
						    "region of the whole address space")
			       : 0;
	if (__builtin_add_overflow((uintptr_t)addr, length, &end))
		return adv_reason(EINVAL, "addr %p + length %zu is beyond the address space", addr,
				  length);
	if (access & IBV_ACCESS_ON_DEMAND)
		return 0;
	err = adv_pages_populate(addr, length, access & WRITE_ACCESS);
	if (err)
		return adv_reason(err,
				  "%zu bytes at %p are not all mapped%s: check the address, or use "
				  "IBV_ACCESS_ON_DEMAND",
				  length, addr, access & WRITE_ACCESS ? " and writable" : "");
	return 0;
}

static void copy_mr_keys(struct adv_ibv_mr *mr)
{
	mr->ibv.lkey = adv_mr_lkey(mr->mr);
	mr->ibv.rkey = adv_mr_rkey(mr->mr);
}

static struct ibv_mr *refuse_mr(struct adv_ibv_mr *mr, int err)
{
	free(mr);
	return adv_ibv_refuse_object(err, "ibv_reg_mr()");
}

static void watch_registered(struct adv_ibv_mr *mr, uint64_t iova)
{
	const struct adv_check_mr_attr attr = {.iova = iova, .access = mr->access};

	adv_ibv_watch_created(ADV_CHECK_MR, &mr->ibv, mr->ibv.context, &attr);
}

struct ibv_mr *adv_ibv_reg_checked(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				   int access)
{
	static atomic_uint handles;
	struct adv_ibv_mr *mr = calloc(1, sizeof(*mr));
	struct adv_engine *e;
	int err;

	if (!mr)
		return NULL;
	e = adv_ibv_enter_all(pd->context);
	if (!e)
		return refuse_mr(mr, ADV_EFOREIGN);
	mr->mr = adv_mr_register(adv_ibv_pd_of(pd)->pd, addr, length, iova, access);
	err = errno;
	if (mr->mr)
		copy_mr_keys(mr);
	adv_ibv_leave_all(pd->context);
	if (!mr->mr)
		return refuse_mr(mr, err);
	adv_ibv_pd_hold(pd);
	mr->access = access;
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.handle = ++handles;
	adv_debug("mr 0x%08x: registered, %zu bytes at %p, access 0x%x, pd %u", mr->ibv.lkey,
		  length, addr, (unsigned)access, pd->handle);
	watch_registered(mr, iova);
	return &mr->ibv;
}

void adv_ibv_mr_use(struct ibv_mr *mr, atomic_uint *regions)
{
	((struct adv_ibv_mr *)mr)->uses = regions;
	atomic_fetch_add(regions, 1);
}

ADV_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					   uint64_t iova, unsigned int access)
{
	int err;

	access &= ~IGNORED_ACCESS;
	if (access & ~(unsigned)KNOWN_ACCESS)
		err = adv_reason(EINVAL,
				 "access 0x%x has bits that do not exist: possible are 0x%x",
				 access, (unsigned)KNOWN_ACCESS);
	else if (length == 0)
		err = adv_reason(EINVAL, "length 0: a region has at least one byte");
	else
		err = check_mr_memory(addr, length, (int)access);
	if (err)
		return adv_ibv_refuse_object(err, "ibv_reg_mr(pd %u)", pd->handle);
	return adv_ibv_reg_checked(pd, addr, length, access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
				   (int)access);
}

ADV_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

ADV_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

ADV_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					    uint64_t iova, int fd, int access)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP,
						"memory of a DMA-BUF (fd %d) has no address in "
						"this process: register memory of the process",
						fd),
				     "ibv_reg_dmabuf_mr(pd %u)", pd->handle);
}

/*
 * Checks the input of ibv_rereg_mr(3). If it is invalid, the region stays unchanged. 0 or EINVAL.
 */
static int check_rereg_input(int flags, const void *addr, size_t length, int access)
{
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return adv_reason(EINVAL,
				  "flags 0x%x has bits that do not exist: possible are 0x%x", flags,
				  IBV_REREG_MR_FLAGS_SUPPORTED);
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length))
		return adv_reason(EINVAL, "IBV_REREG_MR_CHANGE_TRANSLATION needs addr and length");
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return adv_reason(EINVAL,
				  "access 0x%x without IBV_REREG_MR_CHANGE_ACCESS: set the flag, "
				  "or access to 0",
				  access);
	if (access & ~(KNOWN_ACCESS | (int)IGNORED_ACCESS))
		return adv_reason(EINVAL,
				  "access 0x%x has bits that do not exist: possible are 0x%x",
				  access, KNOWN_ACCESS);
	return 0;
}

ADV_EXPORT int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr,
			    size_t length, int access)
{
	struct adv_ibv_mr *mr = (struct adv_ibv_mr *)ibmr;
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	struct ibv_pd *old_pd = ibmr->pd;
	int new_access =
		flags & IBV_REREG_MR_CHANGE_ACCESS ? access & ~(int)IGNORED_ACCESS : mr->access;
	uint64_t iova = new_access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
	int err = mr->uses ? adv_reason(EOPNOTSUPP, "a region of device memory or of a DMA handle "
						    "cannot change: register a new one")
			   : check_rereg_input(flags, addr, length, access);

	if (!err)
		err = check_mr_memory(moves ? addr : ibmr->addr, moves ? length : ibmr->length,
				      new_access);
	if (!err) {
		if (!adv_ibv_enter_all(ibmr->context)) {
			err = ADV_EFOREIGN;
		} else {
			err = adv_mr_reregister(mr->mr, flags, pd ? adv_ibv_pd_of(pd)->pd : NULL,
						addr, length, iova, new_access);
			copy_mr_keys(mr);
			adv_ibv_leave_all(ibmr->context);
		}
	}
	if (err) {
		adv_ibv_refuse(err, "ibv_rereg_mr(mr 0x%08x)", ibmr->lkey);
		return IBV_REREG_MR_ERR_INPUT;
	}
	adv_debug("mr 0x%08x: reregistered, flags 0x%x", ibmr->lkey, (unsigned)flags);
	mr->access = new_access;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		adv_ibv_pd_hold(pd);
		ibmr->pd = pd;
		adv_ibv_pd_release(old_pd);
	}
	if (moves) {
		ibmr->addr = addr;
		ibmr->length = length;
	}
	if (adv_ibv_observer)
		adv_ibv_observer->mr_changed(ibmr, flags, new_access);
	return 0;
}

static int deregister_mr(struct ibv_mr *ibmr)
{
	struct adv_ibv_mr *mr = (struct adv_ibv_mr *)ibmr;
	int err = 0;

	if (adv_ibv_enter_all(ibmr->context)) {
		err = adv_mr_deregister(mr->mr);
		adv_ibv_leave_all(ibmr->context);
	}
	if (err)
		return adv_ibv_refuse(err, "ibv_dereg_mr(mr 0x%08x)", ibmr->lkey);
	adv_debug("mr 0x%08x: deregistered", ibmr->lkey);
	adv_ibv_pd_release(ibmr->pd);
	if (mr->uses)
		atomic_fetch_sub(mr->uses, 1);
	free(mr);
	return 0;
}

ADV_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_MR, mr);
	int err = deregister_mr(mr);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

ADV_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	return adv_ibv_refuse_import("ibv_import_mr(handle %u)", mr_handle);
}

/* Does nothing, as nothing can be imported: see ibv_import_mr(). */
ADV_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
}
