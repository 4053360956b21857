/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states of ids, and the numbers of ids by state. */
#include "nic/cm/state.h"

bool adv_cm_id_disconnected(const struct adv_cm_id *id)
{
	return id->disconnected;
}

bool adv_cm_id_busy(const struct adv_cm_id *id)
{
	switch (id->state) {
	case ADV_CM_REQ_SENT:
	case ADV_CM_REP_RCVD:
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_SENT:
	case ADV_CM_ESTABLISHED:
	case ADV_CM_DREQ_SENT:
	case ADV_CM_SIDR_REQ_SENT:
	case ADV_CM_SIDR_REQ_RCVD:
		return true;
	default:
		return false;
	}
}

/* Adds `by` (1 or -1) to the counters for the id's state. */
static void count_by_state(const struct adv_cm_id *id, int by)
{
	struct adv_cm *cm = id->cm;

	if (id->owned && adv_cm_id_busy(id))
		cm->busy += (unsigned)by;
	else if (!id->owned && id->state == ADV_CM_DREQ_SENT)
		cm->closing += (unsigned)by;
}

void adv_cm_id_charge(struct adv_cm_id *id, unsigned *charged)
{
	if (id->charged)
		--*id->charged;
	if (charged)
		++*charged;
	id->charged = charged;
}

void adv_cm_id_set_state(struct adv_cm_id *id, enum adv_cm_state state)
{
	count_by_state(id, -1);
	id->state = state;
	count_by_state(id, 1);
}

void adv_cm_id_set_ending(struct adv_cm_id *id)
{
	count_by_state(id, -1);
	id->owned = false;
	count_by_state(id, 1);
	id->cm->owned--;
	id->cm->ending++;
}

void adv_cm_id_uncount(struct adv_cm_id *id)
{
	count_by_state(id, -1);
	adv_cm_id_charge(id, NULL);
	if (id->owned)
		id->cm->owned--;
	else
		id->cm->ending--;
}

const struct adv_cm_counters *adv_cm_counters(const struct adv_cm *cm)
{
	return &cm->counters;
}

unsigned adv_cm_id_count(const struct adv_cm *cm)
{
	return cm->owned;
}

unsigned adv_cm_ending_count(const struct adv_cm *cm)
{
	return cm->ending;
}

unsigned adv_cm_closing_count(const struct adv_cm *cm)
{
	return cm->closing;
}

unsigned adv_cm_busy_count(const struct adv_cm *cm)
{
	return cm->busy;
}
