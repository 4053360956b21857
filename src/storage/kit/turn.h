/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose turn it is to get memory that several share: those who wait get it in their order, each as
 * much as it needs to go on, and nobody overtakes them.
 */
#ifndef ADV_STORAGE_KIT_TURN_H
#define ADV_STORAGE_KIT_TURN_H

#include <stdbool.h>

#include "base/list.h"

struct adv_kit_turn {
	struct adv_list link; /* alone: it does not wait */
	/* Takes memory and goes on. False: there is too little. It may wait again, and ends no
	 * turn. */
	bool (*take)(struct adv_kit_turn *t);
	bool has_come;
	bool again; /* it waits again, behind the others */
};

/* A peer has to make progress within a time limit. In so many times that time it has to be finished
 * with what has memory, however it progresses. */
enum { ADV_TURN_LATEST = 4 };

void adv_kit_turn_init(struct adv_kit_turn *t, bool (*take)(struct adv_kit_turn *t));
/* True if it may take memory now: nobody waits, or it is called for its turn. */
bool adv_kit_turn_has_come(const struct adv_list *queue, const struct adv_kit_turn *t);
/* Waits, behind the others. */
void adv_kit_turn_wait(struct adv_list *queue, struct adv_kit_turn *t);
/* Waits no longer. The caller serves the queue later: others may have waited for this one. */
void adv_kit_turn_end(struct adv_kit_turn *t);
/* Memory may be free again: gives it to those who wait, until there is too little for the first. */
void adv_kit_turn_serve(struct adv_list *queue);

#endif
