/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of the C library by which a program gives memory back. Each passes the call on. Memory that
 * an allocator of the program itself reuses is not seen. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "abi/rules/freed.h"

#define INTERPOSE __attribute__((visibility("default")))

static void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* The free() behind this one: that of the C library or of an allocator of the program. */
static void (*next_free)(void *);

/* Not at the first call of free(), which dlsym() itself may make. */
__attribute__((constructor(101))) static void find_next_free(void)
{
	next_free = (void (*)(void *))next_of("free");
}

INTERPOSE void free(void *p)
{
	size_t length;
	bool held;

	/* Before the constructor the owner of the memory is unknown: it stays allocated. */
	if (!next_free)
		return;
	length = p && adv_check_may_be_registered((uintptr_t)p, 1) ? malloc_usable_size(p) : 0;
	held = adv_check_freeing((uintptr_t)p, length);
	next_free(p);
	if (held)
		adv_check_freed("free", (uintptr_t)p, length);
}

INTERPOSE void *realloc(void *p, size_t size)
{
	static void *(*next)(void *, size_t);
	size_t before = 0;
	void *result;
	bool held;

	if (!next)
		next = (void *(*)(void *, size_t))next_of("realloc");
	if (p && adv_check_may_be_registered((uintptr_t)p, 1))
		before = malloc_usable_size(p);
	held = adv_check_freeing((uintptr_t)p, before);
	result = next(p, size);
	if (held)
		adv_check_freed(result != p && (result || !size) ? "realloc" : NULL, (uintptr_t)p,
				before);
	return result;
}

INTERPOSE int munmap(void *addr, size_t length)
{
	static int (*next)(void *, size_t);
	bool held;
	int err;

	if (!next)
		next = (int (*)(void *, size_t))next_of("munmap");
	held = adv_check_freeing((uintptr_t)addr, length);
	err = next(addr, length);
	if (held)
		adv_check_freed(err ? NULL : "munmap", (uintptr_t)addr, length);
	return err;
}

INTERPOSE void *mremap(void *addr, size_t length, size_t new_length, int flags, ...)
{
	static void *(*next)(void *, size_t, size_t, int, ...);
	void *target, *result;
	va_list args;
	bool held;

	if (!next)
		next = (void *(*)(void *, size_t, size_t, int, ...))next_of("mremap");
	va_start(args, flags);
	target = va_arg(args, void *);
	va_end(args);
	held = adv_check_freeing((uintptr_t)addr, length);
	result = next(addr, length, new_length, flags, target);
	if (held)
		adv_check_freed(result != MAP_FAILED && result != addr ? "mremap" : NULL,
				(uintptr_t)addr, length);
	return result;
}

/* These give up the contents: the process gets other pages, and a NIC keeps the old ones. */
INTERPOSE int madvise(void *addr, size_t length, int advice)
{
	static int (*next)(void *, size_t, int);
	const bool gives = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
	bool held;
	int err;

	if (!next)
		next = (int (*)(void *, size_t, int))next_of("madvise");
	held = gives && adv_check_freeing((uintptr_t)addr, length);
	err = next(addr, length, advice);
	if (held)
		adv_check_freed(err ? NULL : "madvise", (uintptr_t)addr, length);
	return err;
}
