/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The call of the application that is being observed: the place of the faults that rules find. */
#ifndef ADV_ABI_CHECK_CALL_H
#define ADV_ABI_CHECK_CALL_H

#include "abi/check/memory.h"
#include "abi/check/report.h"

struct adv_check_call {
	const char *name; /* "ibv_post_send" */
	bool has_stack;
	struct adv_check_stack stack;
};

/* Begins to observe a call: acquires the lock. adv_check_unlock() ends it. */
static inline void adv_check_call_begin(struct adv_check_call *c, const char *name)
{
	c->name = name;
	c->has_stack = false;
	adv_check_lock();
	adv_check_memory_forget();
}

/* Returns the stack of the call, which lives as long as the call. Taken when it is first wanted. */
static inline const struct adv_check_stack *adv_check_call_stack(struct adv_check_call *c)
{
	if (!c->has_stack)
		adv_check_stack_take(&c->stack);
	c->has_stack = true;
	return &c->stack;
}

#endif
