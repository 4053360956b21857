/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses the kernel's syscall user dispatch, from Linux 5.11: the kernel sends SIGSYS for each system
 * call that is made outside of a range of addresses. */
#include "raw_calls.h"

#include "base/sys.h"

#ifdef ADV_SYS_DIRECT
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON	     1
#endif
#define DISPATCH_BLOCK 1

static raw_call_fn *call_instead;
static char selector = DISPATCH_BLOCK;

/* The addresses of the C library's code. */
struct range {
	uintptr_t first, len;
};

static int find_code(struct dl_phdr_info *info, size_t size, void *user)
{
	struct range *range = user;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!name || strncmp(name, "/libc.so", 8) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			*range = (struct range){info->dlpi_addr + p->p_vaddr, p->p_memsz};
	}
	return 1;
}

/* Makes the call by the test's function, and returns the result to the place of the call. */
static __attribute__((no_sanitize_address)) void handle(int signal, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	int before = errno;
	long result = call_instead(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
				   r[REG_R8], r[REG_R9]);

	(void)signal;
	r[REG_RAX] = result < 0 ? -errno : result;
	errno = before;
}

/* Replaces the C library's function. cmocka would set its own handler of SIGSYS for each test. */
__attribute__((visibility("default"))) __sighandler_t signal(int number, __sighandler_t handler)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;

	if (number == SIGSYS)
		return SIG_DFL;
	return sigaction(number, &action, &before) ? SIG_ERR : before.sa_handler;
}

void raw_calls_go_to(raw_call_fn *fn)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct range range = {0};

	call_instead = fn;
	dl_iterate_phdr(find_code, &range);
	if (!range.len || sigaction(SIGSYS, &action, NULL) ||
	    prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, range.first, range.len,
		  &selector)) {
		perror("syscall user dispatch");
		abort();
	}
}
#else
void raw_calls_go_to(raw_call_fn *fn)
{
	(void)fn;
}
#endif
