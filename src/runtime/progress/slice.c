/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/progress/slice.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_SLICE 100000 /* ns; the shortest that Linux grants */

/* struct sched_attr of sched_setattr(2), which old C libraries and kernel headers do not declare
 * alike. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static __thread bool requested;

static void request_slice(void)
{
	struct attributes a = {.size = sizeof(a)};

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy != SCHED_OTHER ||
	    (a.runtime && a.runtime <= SHORT_SLICE))
		return;
	a.runtime = SHORT_SLICE;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

void adv_slice_shorten(void)
{
	int error = errno;

	if (requested)
		return;
	requested = true;
	request_slice();
	errno = error;
}

bool adv_slice_granted(void)
{
	struct attributes a = {.size = sizeof(a)};

	request_slice();
	return syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 && a.runtime == SHORT_SLICE;
}
