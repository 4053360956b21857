/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of the nodes IBVERBS_1.15 to 1.18 (rdma-core 59 to 65). Only newer headers declare them,
 * and the library may be built with older ones. So the functions have names of this library, and
 * the linker gives them their exported names.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/identity/identity.h"
#include "abi/verbs/objects.h"
#include "abi/verbs/query.h"

/* Structures of the newer headers. */

struct adv_ibv_dmah {
	struct ibv_context *context;
	atomic_uint regions; /* this member and all later ones are of this library only */
};

struct adv_ibv_dmah_init_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

enum { DMAH_CPU_ID = 1 << 0, DMAH_PH = 1 << 1, DMAH_MEM_TYPE = 1 << 2 };
enum { MAX_PH = 3, MEM_TYPE_VM = 0, MEM_TYPE_PM = 1 };

struct adv_ibv_buf {
	struct ibv_pd *pd;
	uint8_t *addr;
	size_t size;
};

struct adv_ibv_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct adv_ibv_dmah *dmah;
	struct adv_ibv_buf *buf;
};

enum {
	MR_IOVA = 1 << 0,
	MR_ADDR = 1 << 1,
	MR_FD = 1 << 2,
	MR_FD_OFFSET = 1 << 3,
	MR_DMAH = 1 << 4,
	MR_BUF = 1 << 5,
	MR_ALL = (1 << 6) - 1
};

ADV_EXPORT struct adv_ibv_dmah *adv_ibv_alloc_dmah(struct ibv_context *context,
						   const struct adv_ibv_dmah_init_attr *attr);
ADV_EXPORT int adv_ibv_dealloc_dmah(struct adv_ibv_dmah *dmah);
ADV_EXPORT struct ibv_mr *adv_ibv_reg_mr_ex(struct ibv_pd *pd,
					    const struct adv_ibv_mr_init_attr *attr);
ADV_EXPORT void *adv_ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct adv_ibv_buf **out);
ADV_EXPORT void adv_ibv_free_buf(struct adv_ibv_buf *buf);
ADV_EXPORT struct ibv_mr *adv_ibv_reg_buf_mr(struct ibv_pd *pd, struct adv_ibv_buf *buf, void *addr,
					     size_t length, int access);
ADV_EXPORT int adv_ibv_export_buf_dmabuf_fd(struct adv_ibv_buf *buf);
ADV_EXPORT int adv_ibv_query_port_speed(struct ibv_context *context, uint32_t port_num,
					uint64_t *port_speed);
ADV_EXPORT int adv_ibv_newer_error(void);
ADV_EXPORT int adv_ibv_newer_fd(void);
ADV_EXPORT void *adv_ibv_newer_object(void);

/* ---- DMA handles: hints for a PCI bus (TLP processing), checked without effect ---- */

static int check_dmah(const struct adv_ibv_dmah_init_attr *attr)
{
	cpu_set_t mine;

	if (attr->comp_mask & ~(uint32_t)(DMAH_CPU_ID | DMAH_PH | DMAH_MEM_TYPE))
		return adv_reason(EOPNOTSUPP, "comp_mask 0x%x has unknown bits", attr->comp_mask);
	if (attr->comp_mask & DMAH_PH && attr->ph > MAX_PH)
		return adv_reason(EINVAL, "ph %u: 0 to %d are possible", attr->ph, MAX_PH);
	if (attr->comp_mask & DMAH_MEM_TYPE && attr->tph_mem_type != MEM_TYPE_VM &&
	    attr->tph_mem_type != MEM_TYPE_PM)
		return adv_reason(EINVAL, "tph_mem_type %u: 0 and 1 are possible",
				  attr->tph_mem_type);
	if (!(attr->comp_mask & DMAH_CPU_ID))
		return 0;
	if (attr->cpu_id >= CPU_SETSIZE)
		return adv_reason(EINVAL, "cpu_id %u: no such processor", attr->cpu_id);
	/* Like the kernel, accepts only a CPU on which the thread may run. */
	if (sched_getaffinity(0, sizeof(mine), &mine))
		return errno;
	if (CPU_ISSET(attr->cpu_id, &mine))
		return 0;
	return adv_reason(EPERM, "this thread may not run on processor %u", attr->cpu_id);
}

struct adv_ibv_dmah *adv_ibv_alloc_dmah(struct ibv_context *context,
					const struct adv_ibv_dmah_init_attr *attr)
{
	int err = check_dmah(attr);
	struct adv_ibv_dmah *dmah;

	if (err)
		return adv_ibv_refuse_object(err, "ibv_alloc_dmah()");
	dmah = calloc(1, sizeof(*dmah));
	if (dmah)
		dmah->context = context;
	return dmah;
}

int adv_ibv_dealloc_dmah(struct adv_ibv_dmah *dmah)
{
	if (atomic_load(&dmah->regions) > 0)
		return adv_ibv_refuse(adv_reason(EBUSY,
						 "regions that use it: %u; deregister them first",
						 atomic_load(&dmah->regions)),
				      "ibv_dealloc_dmah()");
	free(dmah);
	return 0;
}

/* ---- buffers ---- */

void *adv_ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct adv_ibv_buf **out)
{
	struct adv_ibv_buf *buf;
	void *addr;

	if (size == 0)
		return adv_ibv_refuse_object(
			adv_reason(EINVAL, "size 0: a buffer has at least one byte"),
			"ibv_alloc_buf()");
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return NULL;
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED) {
		free(buf);
		return adv_ibv_refuse_object(ENOMEM, "ibv_alloc_buf(size %zu)", size);
	}
	adv_ibv_pd_hold(pd);
	buf->pd = pd;
	buf->addr = addr;
	buf->size = size;
	*out = buf;
	return addr;
}

void adv_ibv_free_buf(struct adv_ibv_buf *buf)
{
	munmap(buf->addr, buf->size);
	adv_ibv_pd_release(buf->pd);
	free(buf);
}

int adv_ibv_export_buf_dmabuf_fd(struct adv_ibv_buf *buf)
{
	return adv_ibv_refuse_minus_one(
		adv_reason(ENODATA, "memory of a process cannot be exported as a DMA-BUF"),
		"ibv_export_buf_dmabuf_fd()");
}

/* ---- memory regions ---- */

/* Checks that the range lies in the buffer and that the buffer is of this domain. 0 or EINVAL. */
static int check_buf_range(const struct ibv_pd *pd, const struct adv_ibv_mr_init_attr *attr)
{
	const struct adv_ibv_buf *buf = attr->buf;
	uintptr_t offset = (uintptr_t)attr->addr - (uintptr_t)buf->addr;

	if (pd != buf->pd || !(attr->comp_mask & MR_ADDR) || attr->comp_mask & MR_FD_OFFSET)
		return adv_reason(EINVAL,
				  "pd is not the buffer's, addr is missing, or fd_offset is set");
	if (offset > buf->size || attr->length > buf->size - offset)
		return adv_reason(EINVAL, "the range is not inside the %zu bytes of the buffer",
				  buf->size);
	return 0;
}

/* Checks the attributes of a new region. 0 or errno. */
static int check_mr_attr(const struct ibv_pd *pd, const struct adv_ibv_mr_init_attr *attr)
{
	bool has_addr = attr->comp_mask & MR_ADDR, has_fd = attr->comp_mask & MR_FD;

	if (attr->comp_mask & ~(uint64_t)MR_ALL)
		return adv_reason(EOPNOTSUPP, "comp_mask 0x%llx has unknown bits",
				  (unsigned long long)attr->comp_mask);
	if (has_addr == has_fd)
		return adv_reason(EINVAL, "set exactly one of addr and fd");
	if (has_fd)
		return adv_reason(EOPNOTSUPP,
				  "memory of a DMA-BUF (fd %d) has no address in this process: "
				  "register memory of the process",
				  attr->fd);
	if (attr->comp_mask & MR_DMAH &&
	    (attr->dmah->context != pd->context || attr->access & IBV_ACCESS_ON_DEMAND))
		return adv_reason(EINVAL,
				  "dmah is of another context, or access has IBV_ACCESS_ON_DEMAND");
	return attr->comp_mask & MR_BUF ? check_buf_range(pd, attr) : 0;
}

struct ibv_mr *adv_ibv_reg_mr_ex(struct ibv_pd *pd, const struct adv_ibv_mr_init_attr *attr)
{
	uint64_t iova = attr->comp_mask & MR_IOVA ? attr->iova : (uintptr_t)attr->addr;
	int err = check_mr_attr(pd, attr);
	struct ibv_mr *mr;

	if (err)
		return adv_ibv_refuse_object(err, "ibv_reg_mr_ex(pd %u)", pd->handle);
	mr = ibv_reg_mr_iova2(pd, attr->addr, attr->length, iova, (unsigned)attr->access);
	if (mr && attr->comp_mask & MR_DMAH)
		adv_ibv_mr_use(mr, &attr->dmah->regions);
	return mr;
}

struct ibv_mr *adv_ibv_reg_buf_mr(struct ibv_pd *pd, struct adv_ibv_buf *buf, void *addr,
				  size_t length, int access)
{
	const struct adv_ibv_mr_init_attr attr = {.length = length,
						  .access = access,
						  .comp_mask = MR_BUF | MR_ADDR,
						  .addr = addr,
						  .buf = buf};

	return adv_ibv_reg_mr_ex(pd, &attr);
}

/* ---- the port ---- */

/* Returns the port's speed in *port_speed, in units of 100 Mb/s. */
int adv_ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	struct adv_gid_table *table;
	int err = adv_ibv_gids_of_port(context, port_num, "ibv_query_port_speed", &table);

	if (err)
		return err;
	*port_speed = adv_identity_mbps(table->count > 0 ? table->entry[0].speed_mbps : 0) / 100;
	free(table);
	return 0;
}

/* ---- not supported: completion counters, memory of other devices ---- */

#define NOT_HERE "neither completion counters nor memory of other devices exist here"
#define NEWER	 "verbs 1.16 and 1.18"

int adv_ibv_newer_error(void)
{
	return adv_ibv_refuse(adv_reason(EOPNOTSUPP, NOT_HERE), NEWER);
}

int adv_ibv_newer_fd(void)
{
	return adv_ibv_refuse_minus_one(adv_reason(EOPNOTSUPP, NOT_HERE), NEWER);
}

void *adv_ibv_newer_object(void)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NOT_HERE), NEWER);
}

ADV_EXPORT_DEFAULT(adv_ibv_alloc_dmah, ibv_alloc_dmah, "IBVERBS_1.15");
ADV_EXPORT_DEFAULT(adv_ibv_dealloc_dmah, ibv_dealloc_dmah, "IBVERBS_1.15");
ADV_EXPORT_DEFAULT(adv_ibv_reg_mr_ex, ibv_reg_mr_ex, "IBVERBS_1.15");
ADV_EXPORT_DEFAULT(adv_ibv_newer_fd, ibv_dm_export_dmabuf_fd, "IBVERBS_1.16");
ADV_EXPORT_DEFAULT(adv_ibv_query_port_speed, ibv_query_port_speed, "IBVERBS_1.16");
ADV_EXPORT_DEFAULT(adv_ibv_alloc_buf, ibv_alloc_buf, "IBVERBS_1.17");
ADV_EXPORT_DEFAULT(adv_ibv_free_buf, ibv_free_buf, "IBVERBS_1.17");
ADV_EXPORT_DEFAULT(adv_ibv_reg_buf_mr, ibv_reg_buf_mr, "IBVERBS_1.17");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, _ibv_query_comp_cntr_caps, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_object, ibv_create_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_destroy_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_export_buf_dmabuf_fd, ibv_export_buf_dmabuf_fd, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_inc_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_inc_err_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_qp_attach_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_read_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_read_err_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_set_comp_cntr, "IBVERBS_1.18");
ADV_EXPORT_DEFAULT(adv_ibv_newer_error, ibv_set_err_comp_cntr, "IBVERBS_1.18");
