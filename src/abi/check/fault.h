/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Findings about one object in the present call. */
#ifndef ADV_ABI_CHECK_FAULT_H
#define ADV_ABI_CHECK_FAULT_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* Keeps a finding "CALL(OBJECT): TEXT" with the stack of the call, the stack of the object's
 * creation and its history. fmt: the text, as for printf(3). Needs the lock of report.h. */
void adv_check_fault(struct adv_check_call *call, enum adv_check_rule rule,
		     const struct adv_check_object *o, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* As adv_check_fault(), with another stack instead of that of the creation. */
void adv_check_fault_with(struct adv_check_call *call, enum adv_check_rule rule,
			  const struct adv_check_object *o, const char *title,
			  const struct adv_check_stack *stack, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

#endif
