/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings: kept while the lock of the sanitizer is held, and sent to `adverb check` after it is
 * released. A finding is sent once for each place: its rule with the call stack of its fault.
 */
#ifndef ADV_ABI_CHECK_REPORT_H
#define ADV_ABI_CHECK_REPORT_H

#include "abi/check/rules.h"
#include "abi/check/stack.h"

struct adv_check_object;

struct adv_check_finding {
	enum adv_check_rule rule;
	const struct adv_check_stack *fault; /* NULL: found when the program exits */
	/* Further stacks, each with its title such as "The region was registered here". A stack of
	 * NULL is left out. */
	struct {
		const char *title;
		const struct adv_check_stack *stack;
	} more[ADV_CHECK_STACKS - 1];
	const struct adv_check_object *about; /* whose history is sent; NULL: none */
};

/* Acquires the lock of all state of the sanitizer. Never call it with the lock held. */
void adv_check_lock(void);
/* As adv_check_lock(), but waits at most a tenth of a second. False: the lock was not acquired. For
 * calls that an allocator of the program may make while it holds a lock of its own: the holder of
 * this lock may wait for that one. */
bool adv_check_lock_soon(void);
/* Releases the lock, and sends the findings that were kept meanwhile. errno becomes what it was at
 * adv_check_lock(). */
void adv_check_unlock(void);
/* Sets the errno that adv_check_unlock() will restore to the present one. */
void adv_check_keep_errno(void);
/* True if the calling thread holds the lock, or sends findings. */
bool adv_check_is_inside(void);

/* Keeps a finding. fmt: what is wrong, as for printf(3): the call, the object, the argument and its
 * value. Call it with the lock held. */
void adv_check_find(const struct adv_check_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* True if adv_check_find() would drop the finding: one of its place was kept before. */
bool adv_check_is_known(const struct adv_check_finding *f);

/* A child of fork() has none of its parent's findings to send. */
void adv_check_forked_report(void);

#endif
