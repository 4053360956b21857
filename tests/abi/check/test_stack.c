/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Call stacks: walked once for each place, and right for each. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

#include <cmocka.h>

#include "abi/check/stack.h"

static unsigned walks;

/* Counts, and calls the one of libgcc. */
_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn visit, void *arg)
{
	_Unwind_Reason_Code (*next)(_Unwind_Trace_Fn, void *) =
		(_Unwind_Reason_Code(*)(_Unwind_Trace_Fn, void *))dlsym(RTLD_NEXT,
									"_Unwind_Backtrace");

	walks++;
	return next(visit, arg);
}

__attribute__((noinline)) static void inner(struct adv_check_stack *s)
{
	adv_check_stack_take(s);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

/* Calls inner() from two places with the same stack pointer. */
__attribute__((noinline)) static void outer(struct adv_check_stack s[2])
{
	inner(&s[0]);
	inner(&s[1]);
	__asm__ volatile("" ::: "memory");
}

static bool same(const struct adv_check_stack *a, const struct adv_check_stack *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->frame[i] != b->frame[i])
			return false;
	return true;
}

/* The stack pointer and the innermost frames are the same in both places. Only one return address
 * differs. */
static void test_places_are_distinguished(void **state)
{
	struct adv_check_stack s[2];

	outer(s);
	assert_true(s[0].count >= 3);
	assert_false(same(&s[0], &s[1]));
	assert_int_equal(s[0].frame[0], s[1].frame[0]);
	assert_int_not_equal(s[0].frame[1], s[1].frame[1]);
	assert_int_equal(s[0].frame[2], s[1].frame[2]);
}

static void test_one_walk_for_each_place(void **state)
{
	struct adv_check_stack s[4][2];

	walks = 0;
	for (volatile int i = 0; i < 4; i++)
		outer(s[i]);
	for (int i = 1; i < 4; i++) {
		assert_true(same(&s[0][0], &s[i][0]));
		assert_true(same(&s[0][1], &s[i][1]));
	}
#ifdef __x86_64__
	assert_int_equal(walks, 2);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_distinguished),
		cmocka_unit_test(test_one_walk_for_each_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
