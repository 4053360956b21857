/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the end of objects: the order of their destruction, leaks, and fork(). All calls need
 * the lock of report.h. */
#ifndef ADV_ABI_RULES_LIFETIME_H
#define ADV_ABI_RULES_LIFETIME_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* The library has refused to destroy an object with EBUSY. */
void adv_check_destroy_refused(struct adv_check_call *call, const struct adv_check_object *o);

/* Reports objects that were not destroyed before `end` ("the program exited") and that no other
 * object needs: those of one context, or all if it is NULL. */
void adv_check_leaks(const char *end, const struct ibv_context *context);

/* The program has called ibv_fork_init(). */
void adv_check_fork_init(void);
/* The program calls fork(). */
void adv_check_forking(struct adv_check_call *call);
/* In a child of fork(), the program uses the parent's object `o`. */
void adv_check_used_in_child(struct adv_check_call *call, const struct adv_check_object *o);

#endif
