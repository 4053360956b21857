/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intrusive doubly linked circular list. A node that is on no list points to itself, so removal
 * needs no branch, and one comparison shows whether a node is on a list. Not thread safe: the
 * caller's lock covers the list.
 */
#ifndef ADV_BASE_LIST_H
#define ADV_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* True if the list is empty; for a node: if it is on no list. */
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

/* Moves all nodes of `from`, in order, to the end of `head`, and leaves `from` empty. */
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

/* Removes n from its list, if it is on one. */
static inline void adv_list_del(struct adv_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	adv_list_init(n);
}

/* Returns the number of nodes; walks the list. */
static inline uint32_t adv_list_length(const struct adv_list *head)
{
	uint32_t count = 0;

	for (const struct adv_list *n = head->next; n != head; n = n->next)
		count++;
	return count;
}

/* For the loops below: returns the entry that contains n at this offset. NULL: n is the end of the
 * list. */
static inline void *adv_list_entry(struct adv_list *n, const struct adv_list *head, size_t offset)
{
	return n == head ? NULL : (char *)n - offset;
}

/*
 * A loop over the entries of a list, in order. It declares `entry`, a pointer to `type`, which may
 * be const. The body must not remove the entry.
 */
#define adv_list_for_each(type, entry, head, member)                                               \
	for (type *entry = adv_list_entry((head)->next, head, offsetof(type, member)); entry;      \
	     entry = adv_list_entry(entry->member.next, head, offsetof(type, member)))

/* Like adv_list_for_each(), but the body may remove and free the current entry, and no other. */
#define adv_list_for_each_safe(type, entry, head, member)                                          \
	for (type *entry = adv_list_entry((head)->next, head, offsetof(type, member)),             \
		  *entry##_next = NULL;                                                            \
	     entry &&                                                                              \
	     ((entry##_next = adv_list_entry(entry->member.next, head, offsetof(type, member))),   \
	      true);                                                                               \
	     entry = entry##_next)

#endif
