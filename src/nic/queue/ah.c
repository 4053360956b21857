/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles (IBTA 10.2.2). */
#include <stdlib.h>

#include "nic/queue/ah.h"

static struct adv_ah *copy_ah(const struct adv_ah *ah)
{
	struct adv_ah *copy = calloc(1, sizeof(*copy));

	if (copy) {
		copy->path = ah->path;
		copy->pd = ah->pd;
	}
	return copy;
}

struct adv_ah *adv_ah_of(const struct adv_engine *e, struct adv_ah *ah)
{
	struct adv_ah **copy;

	if (e->number == 0)
		return ah;
	copy = &ah->copy[e->number - 1];
	if (!*copy)
		*copy = copy_ah(ah);
	return *copy;
}

void adv_ah_destroy(struct adv_ah *ah)
{
	for (unsigned i = 0; i < ADV_ENGINES_SHARING - 1; i++)
		if (ah->copy[i])
			adv_ah_destroy(ah->copy[i]);
	ah->destroyed = true;
	if (ah->outstanding == 0)
		free(ah);
}

void adv_ah_release(struct adv_engine *e, struct adv_ah *ah)
{
	if (--ah->outstanding || !ah->destroyed)
		return;
	ah->next = e->dead_ahs;
	e->dead_ahs = ah;
}

void adv_ahs_free(struct adv_engine *e)
{
	while (e->dead_ahs) {
		struct adv_ah *ah = e->dead_ahs;

		e->dead_ahs = ah->next;
		free(ah);
	}
}
