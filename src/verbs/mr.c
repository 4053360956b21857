/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/objects.h"

/* Since Linux 5.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define KNOWN_ACCESS                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |                 \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_MW_BIND)
/* Optional hints, which grant nothing. */
#define IGNORED_ACCESS ((unsigned)IBV_ACCESS_OPTIONAL_RANGE)
#define WRITE_ACCESS   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* True where every page of the range is mapped, whatever may be done with it. */
static bool is_mapped(uintptr_t start, size_t length, size_t page)
{
	unsigned char vec[1024];

	while (length > 0) {
		size_t part = length < sizeof(vec) * page ? length : sizeof(vec) * page;

		if (syscall(SYS_mincore, start, part, vec))
			return false;
		start += part;
		length -= part;
	}
	return true;
}

/*
 * Checks that the memory can be used as a NIC's driver does when it pins the pages: they are
 * brought in, for writing where the region will be written. 0 or EFAULT. Raw system calls, as
 * memory hooks of programs stand on madvise().
 */
static int check_memory(void *addr, size_t length, int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)addr & ~(page - 1);
	uintptr_t end;
	int advice = access & WRITE_ACCESS ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (__builtin_add_overflow((uintptr_t)addr, length, &end) ||
	    __builtin_add_overflow(end, page - 1, &end))
		return EINVAL;
	end &= ~(page - 1);
	if (access & IBV_ACCESS_ON_DEMAND)
		return is_mapped(start, end - start, page) ? 0 : EFAULT;
	while (syscall(SYS_madvise, start, end - start, (long)advice)) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		/* EINVAL: the pages may not be used so; or the kernel knows no such advice, for
		 * no memory either, and being mapped must do. */
		if (errno == EINVAL && syscall(SYS_madvise, start, 0L, (long)advice))
			return is_mapped(start, end - start, page) ? 0 : EFAULT;
		return EFAULT;
	}
	return 0;
}

static void take_keys(struct adv_ibv_mr *mr)
{
	mr->ibv.lkey = adv_mr_lkey(mr->mr);
	mr->ibv.rkey = adv_mr_rkey(mr->mr);
}

static struct ibv_mr *fail(struct adv_ibv_mr *mr, int err)
{
	free(mr);
	return adv_refuse_object(err);
}

ADV_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					   uint64_t iova, unsigned int access)
{
	static atomic_uint handles;
	struct adv_ibv_mr *mr;
	struct adv_engine *e;
	int err;

	access &= ~IGNORED_ACCESS;
	if (access & ~(unsigned)KNOWN_ACCESS || length == 0)
		return adv_refuse_object(EINVAL);
	err = check_memory(addr, length, (int)access);
	if (err)
		return adv_refuse_object(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	if (access & IBV_ACCESS_ZERO_BASED)
		iova = 0;
	e = adv_enter(pd->context);
	if (!e)
		return fail(mr, ADV_EFOREIGN);
	mr->mr = adv_mr_register(adv_pd_of(pd)->pd, addr, length, iova, (int)access);
	err = errno;
	if (mr->mr)
		take_keys(mr);
	adv_leave(pd->context);
	if (!mr->mr)
		return fail(mr, err);
	mr->access = (int)access;
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.handle = ++handles;
	return &mr->ibv;
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
	return adv_refuse_object(EOPNOTSUPP);
}

/* What ibv_rereg_mr(3) calls invalid input: the region stays as it was. */
static int rereg_input(int flags, const void *addr, size_t length, int access)
{
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length))
		return EINVAL;
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return EINVAL;
	if (access & ~(KNOWN_ACCESS | (int)IGNORED_ACCESS))
		return EINVAL;
	return 0;
}

ADV_EXPORT int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr,
			    size_t length, int access)
{
	struct adv_ibv_mr *mr = (struct adv_ibv_mr *)ibmr;
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	int new_access =
		flags & IBV_REREG_MR_CHANGE_ACCESS ? access & ~(int)IGNORED_ACCESS : mr->access;
	uint64_t iova = new_access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
	int err = rereg_input(flags, addr, length, access);

	if (!err)
		err = check_memory(moves ? addr : ibmr->addr, moves ? length : ibmr->length,
				   new_access);
	if (!err) {
		if (!adv_enter(ibmr->context)) {
			err = ADV_EFOREIGN;
		} else {
			err = adv_mr_reregister(mr->mr, flags, pd ? adv_pd_of(pd)->pd : NULL, addr,
						length, iova, new_access);
			take_keys(mr);
			adv_leave(ibmr->context);
		}
	}
	if (err) {
		adv_refuse(err);
		return IBV_REREG_MR_ERR_INPUT;
	}
	mr->access = new_access;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		ibmr->pd = pd;
	if (moves) {
		ibmr->addr = addr;
		ibmr->length = length;
	}
	return 0;
}

ADV_EXPORT int ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct adv_ibv_mr *mr = (struct adv_ibv_mr *)ibmr;
	int err = 0;

	if (adv_enter(ibmr->context)) {
		err = adv_mr_deregister(mr->mr);
		adv_leave(ibmr->context);
	}
	if (!err)
		free(mr);
	return adv_refuse(err);
}

ADV_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	return adv_refuse_object(EOPNOTSUPP);
}

/* There are no imported objects. */
ADV_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
}

ADV_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	return adv_refuse_object(EOPNOTSUPP);
}

ADV_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
}
