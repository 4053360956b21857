/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the request for a short time slice, each in a thread of its own. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/progress/slice.h"

#define SHORT_SLICE 100000 /* ns */

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static struct attributes get(void)
{
	struct attributes a = {.size = sizeof(a)};

	assert_int_equal(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	return a;
}

static void *shorten(void *arg)
{
	struct attributes before = get(), after;

	errno = ENOTTY;
	adv_slice_shorten();
	assert_int_equal(errno, ENOTTY);
	after = get();
	/* Before Linux 6.12 the slice of a thread is 0, and stays so. */
	assert_int_equal(after.runtime, before.runtime ? SHORT_SLICE : 0);
	assert_int_equal(after.policy, before.policy);
	assert_int_equal(after.nice, before.nice);
	return NULL;
}

static void *keep_policy(void *arg)
{
	struct sched_param param = {0};
	struct attributes before, after;

	assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &param), 0);
	before = get();
	adv_slice_shorten();
	after = get();
	assert_int_equal(after.policy, SCHED_BATCH);
	assert_int_equal(after.runtime, before.runtime);
	return NULL;
}

static void run(void *(*body)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_shortens(void **state)
{
	run(shorten);
	run(shorten); /* each thread has a slice of its own */
}

static void test_other_policy(void **state)
{
	run(keep_policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shortens),
		cmocka_unit_test(test_other_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
