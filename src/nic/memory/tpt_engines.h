/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engines that share a translation and protection table. */
#ifndef ADV_NIC_MEMORY_TPT_ENGINES_H
#define ADV_NIC_MEMORY_TPT_ENGINES_H

#include "nic/engine/state.h"

/* Makes the engine use the table of `other`, or a table of its own if `other` is NULL. */
void adv_tpt_join(struct adv_engine *e, struct adv_engine *other);
/* Ends the use. The engine that created the table leaves last, and then frees all domains, regions
 * and windows. */
void adv_tpt_leave(struct adv_engine *e);

/* Returns the engine that created the table. */
struct adv_engine *adv_tpt_first_engine(const struct adv_tpt *tpt);

/* Call it after a region has changed or disappeared: the engines forget the regions that their
 * queue pairs used last (mr_memo.h). */
void adv_tpt_changed(struct adv_tpt *tpt);

#endif
