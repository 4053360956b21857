/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/sizes.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/sys.h"

#define PAGE 4096u

static void find_long_inline(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct adv_check_work *w)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_INLINE_TOO_LONG,
		.fault = adv_check_call_stack(call),
		.more = {{"the queue pair was created here", &qp->base.created}},
		.about = &qp->base,
	};

	adv_check_find(&f,
		       "%s(%s): wr_id %llu: %llu inline bytes, but max_inline_data %u was "
		       "requested; this device granted %u",
		       call->name, qp->base.name, (unsigned long long)w->wr_id,
		       (unsigned long long)w->length, qp->requested.max_inline_data,
		       qp->granted.max_inline_data);
}

void adv_check_inline_posted(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct adv_check_work *w)
{
	/* A program may use more than it requested, if it has read what was granted. */
	if (w->is_inline && w->length > qp->granted.max_inline_data)
		find_long_inline(call, qp, w);
}

/* Reads a short file of /proc. Returns its text, or "". */
static const char *read_proc(const char *path, char *text, size_t size)
{
	int fd = adv_sys_open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : adv_sys_read(fd, text, size - 1);

	if (fd >= 0)
		adv_sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

/* True if the kernel would not limit the process: CAP_IPC_LOCK of the initial user namespace. */
static bool may_lock_all(void)
{
	const unsigned long long ipc_lock = 1ull << 14;
	unsigned long long capabilities = 0, first = 1, second = 1, count = 0;
	char text[4096];
	const char *line = strstr(read_proc("/proc/self/status", text, sizeof(text)), "CapEff:");

	if (!line || sscanf(line, "CapEff: %llx", &capabilities) != 1 || !(capabilities & ipc_lock))
		return false;
	read_proc("/proc/self/uid_map", text, sizeof(text));
	return sscanf(text, "%llu %llu %llu", &first, &second, &count) == 3 && first == 0 &&
	       second == 0 && count == UINT32_MAX;
}

void adv_check_region_registered(struct adv_check_call *call, const struct adv_check_mr *mr)
{
	struct adv_check_finding f = {.rule = ADV_RULE_MEMLOCK_LIMIT};
	const uint64_t locked = adv_check_locked();
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    locked <= limit.rlim_cur || may_lock_all())
		return;
	f.fault = adv_check_call_stack(call);
	adv_check_find(&f,
		       "%s(%llu bytes), %s: with it, the regions of this process have %llu bytes "
		       "of pages, above %llu, its RLIMIT_MEMLOCK",
		       call->name, (unsigned long long)mr->length, mr->base.name,
		       (unsigned long long)locked, (unsigned long long)limit.rlim_cur);
}
