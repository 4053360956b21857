/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports calls to the sanitizer (abi/check/observer.h). Without `adverb check` the observer is
 * NULL: calls that create, change and destroy objects test that pointer. Posting and polling test
 * nothing: adv_ibv_watch_context() replaces the context's operations. Call all of these without the
 * device's lock.
 */
#ifndef ADV_ABI_VERBS_WATCH_H
#define ADV_ABI_VERBS_WATCH_H

#include <stddef.h>

#include "abi/check/observer.h"

/* NULL: no call is observed. observed.c sets it before main(). */
extern const struct adv_check_observer *adv_ibv_observer;

/* observed.c: enters the observed operations into a new context, if there is an observer. */
void adv_ibv_watch_context(struct ibv_context *context);

static inline void adv_ibv_watch_created(enum adv_check_kind kind, void *object,
					 struct ibv_context *context, const void *attr)
{
	if (adv_ibv_observer)
		adv_ibv_observer->created(kind, object, context, attr);
}

/* Returns a token for adv_ibv_watch_destroyed(), which must follow. */
static inline void *adv_ibv_watch_destroying(enum adv_check_kind kind, void *object)
{
	return adv_ibv_observer ? adv_ibv_observer->destroying(kind, object) : NULL;
}

/* err: the error of the call that destroys, or 0. */
static inline void adv_ibv_watch_destroyed(void *token, int err)
{
	if (adv_ibv_observer)
		adv_ibv_observer->destroyed(token, err);
}

#endif
