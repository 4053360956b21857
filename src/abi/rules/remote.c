/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/remote.h"

#define BUCKETS	    64
#define MOST_TESTED 256 /* requests with which a new one is compared */

/* Requests in flight that change remote memory, newest first, by a hash of their rkey. Under the
 * lock. */
static struct adv_list buckets[BUCKETS];

static bool is_write(const struct adv_check_work *w)
{
	return w->opcode == IBV_WR_RDMA_WRITE || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(const struct adv_check_work *w)
{
	return w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static uint64_t remote_length(const struct adv_check_work *w)
{
	return is_atomic(w) ? sizeof(uint64_t) : w->length;
}

/* True if the result depends on which of the two requests is executed first. Two atomics are
 * ordered by the device. */
static bool works_conflict(const struct adv_check_work *a, const struct adv_check_work *b)
{
	return a->rkey == b->rkey && a->owner != b->owner && !(is_atomic(a) && is_atomic(b)) &&
	       a->remote_addr < b->remote_addr + remote_length(b) &&
	       b->remote_addr < a->remote_addr + remote_length(a);
}

static void find_conflict(struct adv_check_call *call, const struct adv_check_qp *qp,
			  const struct adv_check_work *w, const struct adv_check_work *other)
{
	const struct adv_check_object *o = other->owner;
	const struct adv_check_finding f = {
		.rule = is_atomic(w) || is_atomic(other) ? ADV_RULE_ATOMIC_AND_WRITE
							 : ADV_RULE_OVERLAPPING_WRITES,
		.fault = adv_check_call_stack(call),
		.more = {{"the other request was posted here", &other->posted}},
		.about = &qp->base,
	};

	adv_check_find(
		&f,
		"%s(%s): wr_id %llu, %llu bytes at 0x%llx with rkey 0x%08x, meets the %s with "
		"wr_id %llu of %s: %llu bytes at 0x%llx, not yet completed",
		call->name, qp->base.name, (unsigned long long)w->wr_id,
		(unsigned long long)remote_length(w), (unsigned long long)w->remote_addr, w->rkey,
		is_atomic(other) ? "atomic" : "WRITE", (unsigned long long)other->wr_id, o->name,
		(unsigned long long)remote_length(other), (unsigned long long)other->remote_addr);
}

void adv_check_remote_posted(struct adv_check_call *call, const struct adv_check_qp *qp,
			     struct adv_check_work *w)
{
	struct adv_list *bucket = &buckets[(w->rkey ^ w->rkey >> 8) % BUCKETS];
	unsigned tested = 0;

	if ((!is_write(w) && !is_atomic(w)) || !remote_length(w))
		return;
	if (!bucket->next)
		adv_list_init(bucket);
	adv_list_for_each(const struct adv_check_work, other, bucket, by_rkey) {
		if (works_conflict(w, other)) {
			find_conflict(call, qp, w, other);
			break;
		}
		if (++tested == MOST_TESTED)
			break;
	}
	adv_list_add(bucket, &w->by_rkey);
}
