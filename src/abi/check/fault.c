/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/fault.h"

#include <stdarg.h>
#include <stdio.h>

static void keep_finding(struct adv_check_call *call, enum adv_check_rule rule,
			 const struct adv_check_object *o, const char *title,
			 const struct adv_check_stack *stack, const char *fmt, va_list args)
{
	char text[ADV_CHECK_TEXT];
	const struct adv_check_finding f = {
		.rule = rule,
		.fault = adv_check_call_stack(call),
		.more = {{title, stack}},
		.about = o,
	};

	if (adv_check_is_known(&f))
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	adv_check_find(&f, "%s(%s): %s", call->name, o->name, text);
}

void adv_check_fault(struct adv_check_call *call, enum adv_check_rule rule,
		     const struct adv_check_object *o, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep_finding(call, rule, o, "the object was created here", &o->created, fmt, args);
	va_end(args);
}

void adv_check_fault_with(struct adv_check_call *call, enum adv_check_rule rule,
			  const struct adv_check_object *o, const char *title,
			  const struct adv_check_stack *stack, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep_finding(call, rule, o, title, stack, fmt, args);
	va_end(args);
}
