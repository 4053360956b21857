/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intrusive doubly linked circular list. A node that is not on a list points
 * at itself, so removal needs no branch and "is it queued" is one compare.
 * Not thread safe: the caller's lock covers the list.
 */
#ifndef ADV_BASE_LIST_H
#define ADV_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct adv_list {
	struct adv_list *next;
	struct adv_list *prev;
};

/* The structure of `type` whose member `member` is *ptr. */
#define adv_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void adv_list_init(struct adv_list *n)
{
	n->next = n;
	n->prev = n;
}

static inline bool adv_list_empty(const struct adv_list *n)
{
	return n->next == n;
}

static inline void adv_list_add_tail(struct adv_list *head, struct adv_list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void adv_list_add(struct adv_list *head, struct adv_list *n)
{
	n->next = head->next;
	n->prev = head;
	head->next->prev = n;
	head->next = n;
}

/* Moves all of `from`, in order, behind the last of `head`; `from` is empty then. */
static inline void adv_list_move_tail(struct adv_list *head, struct adv_list *from)
{
	if (from->next == from)
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
	adv_list_init(from);
}

/* Unlinks n and leaves it "not on a list"; harmless if it was on none. */
static inline void adv_list_del(struct adv_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	adv_list_init(n);
}

#endif
