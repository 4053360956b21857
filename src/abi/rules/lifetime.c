/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/lifetime.h"

#include <rdma/rdma_cma.h>
#include <stdlib.h>

#include "abi/check/fault.h"

/* ---- which object depends on which ---- */

#define MOST_NEEDS 4

struct need {
	enum adv_check_kind kind;
	const void *object; /* or NULL */
};

/* Writes the objects without which `o` cannot exist, besides its context. Returns their number. */
static unsigned needs_of(const struct adv_check_object *o, struct need need[MOST_NEEDS])
{
	const struct ibv_qp *qp = o->object;
	const struct rdma_cm_id *id = o->object;

	switch (o->kind) {
	case ADV_CHECK_MR:
		need[0] = (struct need){ADV_CHECK_PD, ((const struct ibv_mr *)o->object)->pd};
		return 1;
	case ADV_CHECK_MW:
		need[0] = (struct need){ADV_CHECK_PD, ((const struct ibv_mw *)o->object)->pd};
		return 1;
	case ADV_CHECK_AH:
		need[0] = (struct need){ADV_CHECK_PD, ((const struct ibv_ah *)o->object)->pd};
		return 1;
	case ADV_CHECK_SRQ:
		need[0] = (struct need){ADV_CHECK_PD, ((const struct ibv_srq *)o->object)->pd};
		return 1;
	case ADV_CHECK_CQ:
		need[0] = (struct need){ADV_CHECK_CHANNEL,
					((const struct ibv_cq *)o->object)->channel};
		return 1;
	case ADV_CHECK_QP:
		need[0] = (struct need){ADV_CHECK_PD, qp->pd};
		need[1] = (struct need){ADV_CHECK_CQ, qp->send_cq};
		need[2] = (struct need){ADV_CHECK_CQ, qp->recv_cq};
		need[3] = (struct need){ADV_CHECK_SRQ, qp->srq};
		return 4;
	case ADV_CHECK_ID:
		need[0] = (struct need){ADV_CHECK_QP, id->qp};
		need[1] = (struct need){ADV_CHECK_SRQ, id->srq};
		return 2;
	default:
		return 0;
	}
}

/* True if `user` cannot exist without `used`. An object that is being destroyed may be freed
 * already. */
static bool object_uses(const struct adv_check_object *user, const struct adv_check_object *used)
{
	struct need need[MOST_NEEDS];
	unsigned count = user->destroying ? 0 : needs_of(user, need);

	for (unsigned i = 0; i < count; i++)
		if (need[i].object == used->object && need[i].kind == used->kind)
			return true;
	return false;
}

/* Returns the oldest object that depends on `used`, or NULL. */
static const struct adv_check_object *find_user(const struct adv_check_object *used)
{
	for (unsigned kind = 0; kind < ADV_CHECK_KINDS; kind++)
		adv_list_for_each(struct adv_check_object, o, adv_check_objects(kind), link)
			if (object_uses(o, used))
				return o;
	return NULL;
}

void adv_check_destroy_refused(struct adv_check_call *call, const struct adv_check_object *o)
{
	const struct adv_check_object *user = find_user(o);

	if (user)
		adv_check_fault_with(call, ADV_RULE_DESTROY_ORDER, o,
				     "the object that uses it was created here", &user->created,
				     "%s still uses it", user->name);
}

/* ---- leaks ---- */

static void report_leak(const char *end, const struct adv_check_object *o)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_LEAK,
		.more = {{"the object was created here", &o->created}},
		.about = o,
	};

	adv_check_find(&f, "%s was not destroyed before %s", o->name, end);
}

/* True if librdmacm has created the object for itself: its device, which it keeps until the process
 * ends, and the objects of rsockets. A queue pair of rdma_create_qp() belongs to the program. */
static bool is_of_library(const struct adv_check_object *o)
{
	return o->created.by_library && o->kind != ADV_CHECK_QP;
}

/* Marks the objects that others need. */
static void mark_needed(void)
{
	struct need need[MOST_NEEDS];

	for (unsigned kind = 0; kind < ADV_CHECK_KINDS; kind++) {
		adv_list_for_each(struct adv_check_object, o, adv_check_objects(kind), link) {
			unsigned count = o->destroying ? 0 : needs_of(o, need);

			while (count-- > 0) {
				struct adv_check_object *used =
					adv_check_object_find(need[count].kind, need[count].object);

				if (used)
					used->needed = true;
			}
		}
	}
}

void adv_check_leaks(const char *end, const struct ibv_context *context)
{
	mark_needed();
	for (unsigned kind = 0; kind < ADV_CHECK_KINDS; kind++) {
		if (kind == ADV_CHECK_CONTEXT)
			continue;
		adv_list_for_each(struct adv_check_object, o, adv_check_objects(kind), link)
			if ((!context || o->context == context) && !o->destroying && !o->needed &&
			    o->forks == adv_check_forks() && !is_of_library(o))
				report_leak(end, o);
	}
}

/* ---- fork() ---- */

static bool is_prepared; /* for fork(), under the lock */

void adv_check_fork_init(void)
{
	is_prepared = true;
}

void adv_check_forking(struct adv_check_call *call)
{
	const struct adv_list *regions = adv_check_objects(ADV_CHECK_MR);

	if (is_prepared || adv_list_empty(regions) || getenv("RDMAV_FORK_SAFE") ||
	    getenv("IBV_FORK_SAFE"))
		return;
	adv_check_fault(call, ADV_RULE_FORK_WITHOUT_INIT,
			adv_container_of(regions->next, struct adv_check_object, link),
			"memory is registered, and ibv_fork_init() was not called before");
}

void adv_check_used_in_child(struct adv_check_call *call, const struct adv_check_object *o)
{
	adv_check_fault(
		call, ADV_RULE_FORK_CHILD_USES_DEVICE, o,
		"the process that opened the device has created it, and a child of fork() uses it");
}
