/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/keys.h"

#include <stdio.h>
#include <string.h>

#define REMEMBERED 64 /* deregistered regions */

/* A deregistered region. */
struct former {
	uint32_t lkey, rkey; /* 0: none */
	char name[ADV_CHECK_NAME];
	struct adv_check_stack created, deregistered;
};

/* Under the lock. */
static struct former formers[REMEMBERED];
static unsigned former_count;

static const struct former *find_former(uint32_t key, bool remote)
{
	for (unsigned i = 0; i < REMEMBERED; i++) {
		const struct former *f = &formers[(former_count - 1 - i) % REMEMBERED];

		if (key && key == (remote ? f->rkey : f->lkey))
			return f;
	}
	return NULL;
}

/* True if a region of this process has the rkey. */
static bool is_live_rkey(uint32_t rkey)
{
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_MR), link)
		if (((struct adv_check_mr *)o)->rkey == rkey)
			return true;
	return false;
}

static bool has_remote(const struct adv_check_work *w)
{
	return !w->is_recv && w->rkey && w->opcode != IBV_WR_BIND_MW;
}

static void find_bad_lkey(struct adv_check_call *call, const struct adv_check_object *owner,
			  const struct adv_check_work *w, int i)
{
	const struct former *former = find_former(w->sge[i].lkey, false);
	const struct adv_check_finding f = {
		.rule = ADV_RULE_STALE_LKEY,
		.fault = adv_check_call_stack(call),
		.more = {{"the region was registered here", former ? &former->created : NULL},
			 {"the region was deregistered here",
			  former ? &former->deregistered : NULL}},
	};

	adv_check_find(&f, "%s(%s): wr_id %llu, SGE %d: lkey 0x%08x %s", call->name, owner->name,
		       (unsigned long long)w->wr_id, i, w->sge[i].lkey,
		       former ? "is that of a region that was deregistered"
			      : "belongs to no region");
}

static void find_bad_rkey(struct adv_check_call *call, const struct adv_check_object *owner,
			  struct adv_check_work *w)
{
	const struct former *former = find_former(w->rkey, true);
	const struct adv_check_finding f = {
		.rule = ADV_RULE_STALE_RKEY,
		.fault = adv_check_call_stack(call),
		.more = {{"the region was registered here", former ? &former->created : NULL},
			 {"the region was deregistered here",
			  former ? &former->deregistered : NULL}},
	};

	w->reported = true;
	adv_check_find(&f,
		       "%s(%s): wr_id %llu: rkey 0x%08x is that of a region of this process that "
		       "was deregistered",
		       call->name, owner->name, (unsigned long long)w->wr_id, w->rkey);
}

void adv_check_keys_posted(struct adv_check_call *call, const struct adv_check_object *owner,
			   struct adv_check_work *w)
{
	for (int i = 0; i < w->num_sge && !w->is_inline; i++)
		if (w->sge[i].length > 0 && !adv_check_mr_of_lkey(w->sge[i].lkey))
			find_bad_lkey(call, owner, w, i);
	if (has_remote(w) && find_former(w->rkey, true) && !is_live_rkey(w->rkey))
		find_bad_rkey(call, owner, w);
}

static void find_refused_rkey(struct adv_check_call *call, const struct adv_check_qp *qp,
			      const struct adv_check_work *w)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_STALE_RKEY,
		.fault = &w->posted,
		.more = {{"its completion was polled here", adv_check_call_stack(call)}},
		.about = &qp->base,
	};

	adv_check_find(&f,
		       "the peer of %s refused the request with wr_id %llu: rkey 0x%08x, %llu "
		       "bytes at 0x%llx. The rkey is stale or wrong, the range is not inside its "
		       "region, or the access is not permitted",
		       qp->base.name, (unsigned long long)w->wr_id, w->rkey,
		       (unsigned long long)w->length, (unsigned long long)w->remote_addr);
}

void adv_check_keys_completed(struct adv_check_call *call, const struct adv_check_qp *qp,
			      const struct adv_check_work *w, enum ibv_wc_status status)
{
	if (status == IBV_WC_REM_ACCESS_ERR && !w->reported && has_remote(w))
		find_refused_rkey(call, qp, w);
}

/* Returns the oldest request of a queue that names the region, or NULL. */
static const struct adv_check_work *find_user(const struct adv_check_queue *q,
					      const struct adv_check_mr *mr)
{
	adv_list_for_each(const struct adv_check_work, w, &q->works, link)
		for (int i = 0; i < w->num_sge && !w->is_inline; i++)
			if (w->sge[i].lkey == mr->lkey && w->sge[i].length > 0)
				return w;
	return NULL;
}

static void find_deregistration(struct adv_check_call *call, const struct adv_check_mr *mr,
				const struct adv_check_object *owner,
				const struct adv_check_work *w)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_DEREG_WHILE_POSTED,
		.fault = adv_check_call_stack(call),
		.more = {{"the request was posted here", &w->posted},
			 {"the region was registered here", &mr->base.created}},
		.about = owner,
	};

	adv_check_find(&f, "%s(%s): the %s request with wr_id %llu of %s is posted and uses it",
		       call->name, mr->base.name, w->is_recv ? "receive" : "send",
		       (unsigned long long)w->wr_id, owner->name);
}

/* True if a queue pair that is not in the error state uses the SRQ. */
static bool is_live_srq(const struct adv_check_object *srq)
{
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_QP), link) {
		const struct adv_check_qp *qp = (struct adv_check_qp *)o;

		if (qp->qp->srq == srq->object && adv_check_qp_is_live(qp))
			return true;
	}
	return false;
}

void adv_check_keys_deregistering(struct adv_check_call *call, struct adv_check_mr *mr)
{
	mr->deregistered = *adv_check_call_stack(call);
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_QP), link) {
		const struct adv_check_qp *qp = (struct adv_check_qp *)o;
		const struct adv_check_work *w = find_user(&qp->sends, mr);

		w = w ? w : find_user(&qp->recvs, mr);
		/* In the error state nothing is in flight; the program may omit polling. */
		if (w && adv_check_qp_is_live(qp)) {
			find_deregistration(call, mr, o, w);
			return;
		}
	}
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_SRQ), link) {
		const struct adv_check_work *w = find_user(&((struct adv_check_srq *)o)->recvs, mr);

		if (w && is_live_srq(o)) {
			find_deregistration(call, mr, o, w);
			return;
		}
	}
}

void adv_check_keys_deregistered(const struct adv_check_mr *mr)
{
	struct former *f = &formers[former_count++ % REMEMBERED];

	f->lkey = mr->lkey;
	f->rkey = mr->rkey;
	memcpy(f->name, mr->base.name, sizeof(f->name));
	f->created = mr->base.created;
	f->deregistered = mr->deregistered;
}
