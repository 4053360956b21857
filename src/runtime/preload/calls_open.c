/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening files: open(2), openat(2), fopen(3). Redirected files are read-only (EACCES). Redirected
 * device nodes have no driver (ENXIO). */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/preload/lookup.h"

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

#define FLAGS_WRITE (O_WRONLY | O_RDWR | O_TRUNC)

static bool takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static int note_open(int fd, int dirfd, const char *resolved, const char *path, int flags)
{
	adv_lookup_note_open(fd, dirfd, path, resolved, flags & (O_DIRECTORY | O_PATH));
	return fd;
}

/* Returns 0, or the errno with which the call fails. */
static int open_refusal(const char *resolved, const char *path, bool writes, bool only_a_name)
{
	if (adv_lookup_is_node(resolved))
		return only_a_name ? 0 : ENXIO;
	return writes && adv_lookup_is_ours(resolved, path) ? EACCES : 0;
}

static int call_openat(struct adv_next *next, int dirfd, const char *path, int flags, mode_t mode)
{
	int (*call)(int, const char *, int, ...) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CURRENT);
	int error = open_refusal(there, path, flags & FLAGS_WRITE, flags & O_PATH);

	if (!error)
		return note_open(call(dirfd, there, flags, mode), dirfd, there, path, flags);
	errno = error;
	return -1;
}

static int call_open(struct adv_next *next, const char *path, int flags, mode_t mode)
{
	int (*call)(const char *, int, ...) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CURRENT);
	int error = open_refusal(there, path, flags & FLAGS_WRITE, flags & O_PATH);

	if (!error)
		return note_open(call(there, flags, mode), AT_FDCWD, there, path, flags);
	errno = error;
	return -1;
}

static mode_t mode_argument(int flags, va_list args)
{
	return takes_mode(flags) ? va_arg(args, mode_t) : 0;
}

ADV_INTERPOSE int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_argument(flags, args);
	va_end(args);
	return call_open(ADV_NEXT("open"), path, flags, mode);
}

ADV_INTERPOSE int open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_argument(flags, args);
	va_end(args);
	return call_open(ADV_NEXT("open64"), path, flags, mode);
}

/* <fcntl.h> calls these for open() with _FORTIFY_SOURCE. */
ADV_INTERPOSE int __open_2(const char *path, int flags)
{
	return call_open(ADV_NEXT("__open_2"), path, flags, 0);
}

ADV_INTERPOSE int __open64_2(const char *path, int flags)
{
	return call_open(ADV_NEXT("__open64_2"), path, flags, 0);
}

ADV_INTERPOSE int openat(int dirfd, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_argument(flags, args);
	va_end(args);
	return call_openat(ADV_NEXT("openat"), dirfd, path, flags, mode);
}

ADV_INTERPOSE int openat64(int dirfd, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_argument(flags, args);
	va_end(args);
	return call_openat(ADV_NEXT("openat64"), dirfd, path, flags, mode);
}

ADV_INTERPOSE int __openat_2(int dirfd, const char *path, int flags)
{
	return call_openat(ADV_NEXT("__openat_2"), dirfd, path, flags, 0);
}

ADV_INTERPOSE int __openat64_2(int dirfd, const char *path, int flags)
{
	return call_openat(ADV_NEXT("__openat64_2"), dirfd, path, flags, 0);
}

static FILE *call_fopen(struct adv_next *next, const char *path, const char *mode)
{
	FILE *(*call)(const char *, const char *) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CURRENT);
	int error = open_refusal(there, path, strpbrk(mode, "wa+"), false);

	if (!error)
		return call(there, mode);
	errno = error;
	return NULL;
}

ADV_INTERPOSE FILE *fopen(const char *path, const char *mode)
{
	return call_fopen(ADV_NEXT("fopen"), path, mode);
}

ADV_INTERPOSE FILE *fopen64(const char *path, const char *mode)
{
	return call_fopen(ADV_NEXT("fopen64"), path, mode);
}
