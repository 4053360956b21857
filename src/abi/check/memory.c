/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nic/wire/isal.h"

#ifdef ADV_HAVE_ISAL
#include <isa-l/crc.h>
#define crc32 crc32_gzip_refl
#else
#include "nic/wire/crc32.h"
#define crc32 adv_crc32
#endif

#define PAGE   4096 /* the smallest page of the supported machines */
#define NO_HOW (-1) /* no operation of rt_sigprocmask(2) */
#define KNOWN  64   /* pages */

/* Pages that were found readable in the present call. Under the lock. */
static struct {
	uintptr_t page;
	uint64_t call;
} known[KNOWN];
static uint64_t call = 1;

void adv_check_memory_forget(void)
{
	call++;
}

/*
 * True if the page can be read. rt_sigprocmask(2) reads the 8 bytes of its second argument before
 * it refuses the first one, and fails with EFAULT if it cannot. It changes nothing.
 */
static bool can_read(uintptr_t page)
{
	return syscall(SYS_rt_sigprocmask, (long)NO_HOW, page, NULL, (long)(_NSIG / 8)) == 0 ||
	       errno != EFAULT;
}

static bool is_readable(uintptr_t page)
{
	unsigned i = page / PAGE % KNOWN;

	if (known[i].page == page && known[i].call == call)
		return true;
	if (!can_read(page))
		return false;
	known[i].page = page;
	known[i].call = call;
	return true;
}

static bool are_readable(uintptr_t addr, size_t length)
{
	uintptr_t end = addr + length;

	for (uintptr_t page = addr & ~(uintptr_t)(PAGE - 1); page < end; page += PAGE)
		if (!is_readable(page))
			return false;
	return end >= addr;
}

bool adv_check_memory_is_unmapped(uintptr_t addr, size_t length)
{
	const uintptr_t end = addr + length;
	unsigned char resident[256];

	for (uintptr_t at = addr & ~(uintptr_t)(PAGE - 1), next; at < end; at = next) {
		next = end - at > sizeof(resident) * PAGE ? at + sizeof(resident) * PAGE : end;
		if (mincore((void *)at, next - at, resident) < 0 && errno == ENOMEM)
			return true;
	}
	return end < addr;
}

bool adv_check_memory_hash(uintptr_t addr, size_t length, uint64_t *hash)
{
	if (!are_readable(addr, length))
		return false;
	*hash = crc32((uint32_t)*hash, (const void *)addr, length);
	adv_isal_end();
	return true;
}
