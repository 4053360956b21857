/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles (IBTA 10.2.2). */
#include <stdlib.h>

#include "transport/ah.h"

void adv_ah_destroy(struct adv_ah *ah)
{
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
