/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/event.h"

#include <stdlib.h>
#include <string.h>

bool adv_cm_event_prepare(struct adv_cm_id *id, enum rdma_cm_event_type type,
			  struct adv_cm_event_node **node)
{
	*node = NULL;
	if (!id->owned)
		return true;
	*node = calloc(1, sizeof(**node));
	if (!*node)
		return false;
	adv_list_init(&(*node)->link);
	adv_list_init(&(*node)->of_id);
	(*node)->event.type = type;
	(*node)->event.id = id;
	return true;
}

void adv_cm_event_private(struct adv_cm_event_node *node, const uint8_t *data, uint8_t len)
{
	if (!node)
		return;
	node->event.param.private_data_len = len;
	memcpy(node->event.param.private_data, data, len);
}

void adv_cm_event_post(struct adv_cm_event_node *node)
{
	if (!node)
		return;
	adv_list_add_tail(&node->event.id->cm->events, &node->link);
	adv_list_add_tail(&node->event.id->events, &node->of_id);
}

static void drop_event(struct adv_cm_event_node *node)
{
	if (!node)
		return;
	adv_list_del(&node->link);
	adv_list_del(&node->of_id);
	free(node);
}

void adv_cm_id_drop_events(struct adv_cm_id *id)
{
	while (!adv_list_empty(&id->events))
		drop_event(adv_container_of(id->events.next, struct adv_cm_event_node, of_id));
}

bool adv_cm_next_event(struct adv_cm *cm, struct adv_cm_event *out)
{
	struct adv_cm_event_node *node;

	if (adv_list_empty(&cm->events))
		return false;
	node = adv_container_of(cm->events.next, struct adv_cm_event_node, link);
	*out = node->event;
	drop_event(node);
	return true;
}
