/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/turn.h"

void adv_kit_turn_init(struct adv_kit_turn *t, bool (*take)(struct adv_kit_turn *t))
{
	adv_list_init(&t->link);
	t->take = take;
	t->has_come = t->again = false;
}

bool adv_kit_turn_has_come(const struct adv_list *queue, const struct adv_kit_turn *t)
{
	return adv_list_empty(queue) || t->has_come;
}

void adv_kit_turn_wait(struct adv_list *queue, struct adv_kit_turn *t)
{
	if (adv_list_empty(&t->link))
		adv_list_add_tail(queue, &t->link);
	else
		t->again = true;
}

void adv_kit_turn_end(struct adv_kit_turn *t)
{
	adv_list_del(&t->link);
}

void adv_kit_turn_serve(struct adv_list *queue)
{
	while (!adv_list_empty(queue)) {
		struct adv_kit_turn *t = adv_container_of(queue->next, struct adv_kit_turn, link);
		bool taken;

		t->again = false;
		t->has_come = true;
		taken = t->take(t);
		t->has_come = false;
		if (!taken)
			return;
		adv_list_del(&t->link);
		if (t->again)
			adv_list_add_tail(queue, &t->link);
	}
}
