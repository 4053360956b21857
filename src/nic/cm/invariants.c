/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/invariants.h"

#include "nic/cm/state.h"

/* True in the states that end by themselves: something is sent again, or TIMEWAIT passes. */
static bool needs_timer(enum adv_cm_state state)
{
	return state == ADV_CM_REQ_SENT || state == ADV_CM_REP_SENT || state == ADV_CM_DREQ_SENT ||
	       state == ADV_CM_SIDR_REQ_SENT || state == ADV_CM_TIMEWAIT;
}

static const char *check_id(const struct adv_cm_id *id)
{
	bool runs = id->timer.position != 0;

	if (needs_timer(id->state) && !runs)
		return "an id waits without a timer";
	if ((id->state <= ADV_CM_LISTENING || id->state == ADV_CM_CLOSED) && runs)
		return "the timer of an id that waits for nothing runs";
	if (id->waiting != adv_list_length(&id->requests))
		return "the count of a listener's waiting requests is wrong";
	if (id->waiting && id->state != ADV_CM_LISTENING)
		return "requests wait for an id that does not listen";
	if (!id->owned && id->state <= ADV_CM_LISTENING)
		return "an id without an owner has nothing to finish";
	return NULL;
}

static const char *check_ids(const struct adv_cm *cm)
{
	unsigned owned = 0, ending = 0, busy = 0, closing = 0;

	adv_list_for_each(const struct adv_cm_id, id, &cm->ids, link) {
		const char *broken = check_id(id);

		if (broken)
			return broken;
		owned += id->owned;
		ending += !id->owned;
		busy += id->owned && adv_cm_id_busy(id);
		closing += !id->owned && id->state == ADV_CM_DREQ_SENT;
	}
	if (cm->owned != owned || cm->ending != ending)
		return "the count of ids with or without an owner is wrong";
	return cm->busy != busy || cm->closing != closing
		       ? "the count of ids that are busy or closing is wrong"
		       : NULL;
}

const char *adv_cm_check(const struct adv_cm *cm)
{
	const char *broken = check_ids(cm);

	if (broken)
		return broken;
	if (cm->outgoing_count != adv_list_length(&cm->outgoing))
		return "the count of queued MADs is wrong";
	if (cm->early_count != adv_list_length(&cm->early))
		return "the count of early requests is wrong";
	return NULL;
}
