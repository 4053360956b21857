/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/memory/tpt_engines.h"

#include <stdlib.h>

#include "nic/memory/domain.h"

void adv_tpt_join(struct adv_engine *e, struct adv_engine *other)
{
	e->tpt = other ? other->tpt : &e->own_tpt;
	if (!other) {
		adv_list_init(&e->tpt->pds);
		adv_list_init(&e->tpt->engines);
		atomic_flag_clear(&e->tpt->windows_lock);
	}
	e->number = adv_list_length(&e->tpt->engines);
	assert(e->number < ADV_ENGINES_SHARING);
	adv_list_add_tail(&e->tpt->engines, &e->tpt_node);
}

static void free_tpt(struct adv_tpt *tpt)
{
	for (uint32_t i = 0; i < tpt->keys.room; i++)
		free(tpt->keys.slot[i]);
	free(tpt->keys.slot);
	while (!adv_list_empty(&tpt->pds)) {
		struct adv_pd *pd = adv_container_of(tpt->pds.next, struct adv_pd, node);

		adv_list_del(&pd->node);
		free(pd);
	}
}

void adv_tpt_leave(struct adv_engine *e)
{
	adv_list_del(&e->tpt_node);
	if (e->tpt != &e->own_tpt)
		return;
	assert(adv_list_empty(&e->tpt->engines));
	free_tpt(e->tpt);
}

struct adv_engine *adv_tpt_first_engine(const struct adv_tpt *tpt)
{
	return adv_container_of(tpt->engines.next, struct adv_engine, tpt_node);
}

void adv_tpt_changed(struct adv_tpt *tpt)
{
	adv_list_for_each(struct adv_engine, e, &tpt->engines, tpt_node)
		e->mr_generation++;
}
