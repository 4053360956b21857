/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/freed.h"

#include <stdatomic.h>

#include "abi/check/call.h"

/* The bounds of all regions that were ever registered. */
static atomic_uintptr_t lowest = UINTPTR_MAX, highest;

void adv_check_freed_watch(const struct adv_check_mr *mr)
{
	/* Regions of the whole address space are not memory that anybody frees. */
	if (mr->access & IBV_ACCESS_ON_DEMAND || !mr->length)
		return;
	if (mr->addr < atomic_load(&lowest))
		atomic_store(&lowest, mr->addr);
	if (mr->addr + mr->length > atomic_load(&highest))
		atomic_store(&highest, mr->addr + mr->length);
}

bool adv_check_may_be_registered(uintptr_t addr, size_t length)
{
	return addr < atomic_load_explicit(&highest, memory_order_relaxed) &&
	       addr + length > atomic_load_explicit(&lowest, memory_order_relaxed) &&
	       !adv_check_is_inside();
}

static bool mr_overlaps(const struct adv_check_mr *mr, uintptr_t addr, size_t length)
{
	return !(mr->access & IBV_ACCESS_ON_DEMAND) && mr->addr < addr + length &&
	       addr < mr->addr + mr->length;
}

/* Returns the oldest request of the queue with a buffer in this memory of the region, or NULL. */
static struct adv_check_work *find_user(const struct adv_check_queue *q,
					const struct adv_check_mr *mr, uintptr_t addr,
					size_t length)
{
	adv_list_for_each(struct adv_check_work, w, &q->works, link) {
		for (int i = 0; i < w->num_sge && !w->is_inline; i++) {
			uintptr_t start = mr->addr + (w->sge[i].addr - mr->iova);

			if (w->sge[i].lkey == mr->lkey && start < addr + length &&
			    addr < start + w->sge[i].length)
				return w;
		}
	}
	return NULL;
}

/* As find_user(), in all queues of live queue pairs. *owner: the record of the queue pair. */
static struct adv_check_work *find_user_anywhere(const struct adv_check_mr *mr, uintptr_t addr,
						 size_t length,
						 const struct adv_check_object **owner)
{
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_QP), link) {
		const struct adv_check_qp *qp = (struct adv_check_qp *)o;
		struct adv_check_work *w = find_user(&qp->sends, mr, addr, length);

		*owner = o;
		w = w ? w : find_user(&qp->recvs, mr, addr, length);
		if (w && adv_check_qp_is_live(qp))
			return w;
	}
	return NULL;
}

static void find_freed(struct adv_check_call *call, const struct adv_check_mr *mr, uintptr_t addr,
		       size_t length)
{
	const struct adv_check_object *owner;
	struct adv_check_work *w;
	struct adv_check_finding f;

	/* The libraries may have got this memory from the allocator after the program has freed
	 * it. */
	if (adv_check_call_stack(call)->in_library)
		return;
	w = find_user_anywhere(mr, addr, length, &owner);
	f = (struct adv_check_finding){
		.rule = ADV_RULE_UNMAPPED_WHILE_REGISTERED,
		.fault = adv_check_call_stack(call),
		.more = {{"the request was posted here", w ? &w->posted : NULL},
			 {"the region was registered here", &mr->base.created}},
		.about = w ? owner : &mr->base,
	};

	if (!w) {
		adv_check_find(&f, "%s(0x%llx, %zu bytes): %s is registered for this memory",
			       call->name, (unsigned long long)addr, length, mr->base.name);
		return;
	}
	w->freed = true;
	adv_check_find(&f,
		       "%s(0x%llx, %zu bytes): memory of %s, in the buffer of the %s request with "
		       "wr_id %llu of %s, which has not completed",
		       call->name, (unsigned long long)addr, length, mr->base.name,
		       w->is_recv ? "receive" : "send", (unsigned long long)w->wr_id, owner->name);
}

bool adv_check_freeing(uintptr_t addr, size_t length)
{
	return length && adv_check_may_be_registered(addr, length) && adv_check_lock_soon();
}

void adv_check_freed(const char *name, uintptr_t addr, size_t length)
{
	struct adv_check_call call = {.name = name};

	adv_check_keep_errno();
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_MR), link) {
		const struct adv_check_mr *mr = (struct adv_check_mr *)o;

		if (name && mr_overlaps(mr, addr, length)) {
			find_freed(&call, mr, addr, length);
			break;
		}
	}
	adv_check_unlock();
}
