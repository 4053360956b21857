/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

#define NICE	       (-10)
#define AUTOGROUP_NICE "-10"

/* The time to set SCHED_RR again; 0: the process has SCHED_RR, or is not permitted to have it. The
 * signal handler writes the variable too. */
static _Atomic uint64_t renew_at;

static bool set_policy(int policy)
{
	struct sched_param p = {.sched_priority =
					policy == SCHED_OTHER ? 0 : sched_get_priority_min(policy)};

	return sched_setscheduler(0, policy, &p) == 0;
}

/* Handles SIGXCPU (the process was busy for too long): sets the default policy for a time. Calls
 * only async-signal-safe functions. */
static void rest_on_signal(int signal)
{
	int saved = errno;

	(void)signal;
	if (set_policy(SCHED_OTHER))
		atomic_store(&renew_at, adv_clock_ms() + ADV_PRIORITY_REST_MS);
	errno = saved;
}

/* Sets SCHED_RR and RLIMIT_RTTIME. The soft limit has to be set each time, because the kernel
 * raises it when it sends SIGXCPU. At the hard limit the kernel would kill the process. */
static void go_first(void)
{
	const rlim_t burst = ADV_PRIORITY_BURST_MS * 1000;
	struct rlimit r;

	if (getrlimit(RLIMIT_RTTIME, &r) < 0 || r.rlim_max < 2 * burst)
		return;
	r.rlim_cur = burst;
	if (setrlimit(RLIMIT_RTTIME, &r) == 0)
		(void)set_policy(SCHED_RR);
}

/* Requests a better weight for the session's autogroup. */
static void ask_for_session(void)
{
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, AUTOGROUP_NICE, sizeof(AUTOGROUP_NICE) - 1);
	close(fd);
}

void adv_priority_ask(bool session)
{
	const struct sigaction action = {.sa_handler = rest_on_signal, .sa_flags = SA_RESTART};

	(void)setpriority(PRIO_PROCESS, 0, NICE);
	if (session)
		ask_for_session();
	if (sigaction(SIGXCPU, &action, NULL) == 0)
		go_first();
}

uint64_t adv_priority_deadline(void)
{
	return atomic_load(&renew_at);
}

void adv_priority_renew(uint64_t now)
{
	uint64_t at = atomic_load(&renew_at);

	if (!at || now < at)
		return;
	atomic_store(&renew_at, 0);
	go_first();
}
