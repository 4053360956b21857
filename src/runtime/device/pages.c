/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/device/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Advice values of Linux 5.14, for older headers. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Extends the range to whole pages. False: the range wraps. */
static bool round_to_pages(const void *addr, size_t length, uintptr_t *start, size_t *whole)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t end;

	if (__builtin_add_overflow((uintptr_t)addr, length, &end) ||
	    __builtin_add_overflow(end, page - 1, &end))
		return false;
	*start = (uintptr_t)addr & ~(page - 1);
	*whole = (end & ~(page - 1)) - *start;
	return true;
}

/* True if every one of these whole pages is mapped, with any permission. */
static bool is_mapped(uintptr_t start, size_t length)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char vec[1024];

	while (length > 0) {
		size_t part = length < sizeof(vec) * page ? length : sizeof(vec) * page;

		if (syscall(SYS_mincore, start, part, vec))
			return false;
		start += part;
		length -= part;
	}
	return true;
}

int adv_pages_populate(const void *addr, size_t length, bool to_write)
{
	int advice = to_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uintptr_t start;
	size_t whole;

	if (!round_to_pages(addr, length, &start, &whole))
		return EINVAL;
	while (syscall(SYS_madvise, start, whole, (long)advice)) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		/* EINVAL has two causes: the pages lack the permission, or the kernel does not know
		 * the advice. A kernel that does not know the advice also fails for an empty range.
		 * In that case it is enough that the pages are mapped. */
		if (errno == EINVAL && syscall(SYS_madvise, start, 0L, (long)advice))
			return is_mapped(start, whole) ? 0 : EFAULT;
		return EFAULT;
	}
	return 0;
}

bool adv_pages_in(void *addr, uint64_t length, bool to_write)
{
	return adv_pages_populate(addr, length, to_write) == 0;
}
