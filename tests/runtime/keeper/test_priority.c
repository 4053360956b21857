/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each test runs in a child process, because the requested policy stays with the process. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "runtime/keeper/priority.h"

#define NOT_PERMITTED 77
#define PATIENCE_MS   60000 /* a test that takes longer hangs */
#define BURST_MS      ADV_PRIORITY_BURST_MS
#define REST_MS	      ADV_PRIORITY_REST_MS

#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);         \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void run_in_child(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_PERMITTED)
		skip();
	assert_int_equal(status, 0);
}

/* Ends the child if it may not have SCHED_RR. */
static void need_real_time(void)
{
	const struct sched_param rr = {.sched_priority = 1}, other = {0};

	if (sched_setscheduler(0, SCHED_RR, &rr) < 0)
		_exit(NOT_PERMITTED);
	EXPECT(sched_setscheduler(0, SCHED_OTHER, &other) == 0);
}

static bool goes_first(void)
{
	return sched_getscheduler(0) == SCHED_RR;
}

/* Keeps the processor busy until the policy changes. Returns the elapsed time, in ms. */
static uint64_t busy_ms(void)
{
	uint64_t start = adv_clock_ms();

	while (goes_first())
		EXPECT(adv_clock_ms() - start < PATIENCE_MS);
	return adv_clock_ms() - start;
}

static void pause_ms(long ms)
{
	const struct timespec ts = {0, ms * 1000000};

	nanosleep(&ts, NULL);
}

static void check_burst(void)
{
	need_real_time();
	adv_priority_ask(false);
	EXPECT(goes_first() && adv_priority_deadline() == 0);
	for (int i = 0; i < 3; i++) {
		uint64_t start, at;

		pause_ms(20); /* RLIMIT_RTTIME counts from the last sleep */
		EXPECT(goes_first());
		start = adv_clock_ms();
		EXPECT(busy_ms() >= BURST_MS * 3 / 4);
		at = adv_priority_deadline();
		EXPECT(at >= start + REST_MS && at <= adv_clock_ms() + REST_MS);
		adv_priority_renew(at - 1);
		EXPECT(!goes_first() && adv_priority_deadline() == at);
		adv_priority_renew(at);
		EXPECT(goes_first() && adv_priority_deadline() == 0);
	}
}

/* A process that sleeps in between keeps SCHED_RR, even for ten times the length of a burst: each
 * sleep starts a new burst. */
static void check_sleeper(void)
{
	uint64_t end;

	need_real_time();
	adv_priority_ask(false);
	end = adv_clock_ms() + 10 * BURST_MS;
	while (adv_clock_ms() < end) {
		uint64_t pause = adv_clock_ms() + 10;

		while (adv_clock_ms() < pause)
			;
		pause_ms(1);
	}
	EXPECT(goes_first());
}

static void check_forks(void)
{
	int status;
	pid_t pid;

	need_real_time();
	adv_priority_ask(false);
	pid = fork();
	if (pid == 0) {
		EXPECT(goes_first());
		EXPECT(busy_ms() >= BURST_MS * 3 / 4);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(goes_first());
}

static void check_hard_limit(void)
{
	const rlim_t low = BURST_MS * 1000;
	const struct rlimit r = {low, low};

	need_real_time();
	EXPECT(setrlimit(RLIMIT_RTTIME, &r) == 0);
	adv_priority_ask(false);
	EXPECT(!goes_first());
}

static void check_not_permitted(void)
{
	const struct rlimit none = {0, 0};

	EXPECT(setrlimit(RLIMIT_RTPRIO, &none) == 0);
	if (geteuid() == 0 && setuid(65534) < 0)
		_exit(NOT_PERMITTED);
	adv_priority_ask(false);
	EXPECT(sched_getscheduler(0) == SCHED_OTHER && adv_priority_deadline() == 0);
	adv_priority_renew(UINT64_MAX);
	EXPECT(sched_getscheduler(0) == SCHED_OTHER);
}

static void busy_for_long_rests(void **state)
{
	(void)state;
	run_in_child(check_burst);
}

static void who_sleeps_in_between_goes_first(void **state)
{
	(void)state;
	run_in_child(check_sleeper);
}

static void children_go_first(void **state)
{
	(void)state;
	run_in_child(check_forks);
}

static void low_hard_limit(void **state)
{
	(void)state;
	run_in_child(check_hard_limit);
}

static void not_permitted(void **state)
{
	(void)state;
	run_in_child(check_not_permitted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_for_long_rests),
		cmocka_unit_test(who_sleeps_in_between_goes_first),
		cmocka_unit_test(children_go_first),
		cmocka_unit_test(low_hard_limit),
		cmocka_unit_test(not_permitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
