/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fault/queue.h"

static struct adv_fault_held *held_of(struct adv_list *n)
{
	return adv_container_of(n, struct adv_fault_held, node);
}

void adv_fault_queue_init(struct adv_fault_queue *q)
{
	adv_list_init(&q->held);
	q->count = 0;
	q->behind = 0;
}

void adv_fault_queue_put(struct adv_fault_queue *q, struct adv_fault_held *h)
{
	struct adv_list *n = q->held.prev;

	while (n != &q->held && held_of(n)->due > h->due)
		n = n->prev;
	adv_list_add(n, &h->node);
	q->count++;
	q->behind += h->behind != 0;
}

static void take_out(struct adv_fault_queue *q, struct adv_fault_held *h)
{
	adv_list_del(&h->node);
	q->count--;
	q->behind -= h->behind != 0;
}

void adv_fault_queue_passed(struct adv_fault_queue *q, uint64_t now)
{
	unsigned left = q->behind;

	adv_list_for_each_safe(struct adv_fault_held, h, &q->held, node) {
		if (!left)
			break;
		if (!h->behind)
			continue;
		left--;
		if (--h->behind)
			continue;
		q->behind--;
		if (h->due <= now)
			continue;
		take_out(q, h);
		h->due = now;
		adv_fault_queue_put(q, h);
	}
}

struct adv_fault_held *adv_fault_queue_take(struct adv_fault_queue *q, uint64_t now)
{
	struct adv_fault_held *h;

	if (adv_list_empty(&q->held))
		return NULL;
	h = held_of(q->held.next);
	if (h->due > now)
		return NULL;
	take_out(q, h);
	return h;
}

uint64_t adv_fault_queue_due(const struct adv_fault_queue *q)
{
	return adv_list_empty(&q->held) ? UINT64_MAX : held_of(q->held.next)->due;
}
