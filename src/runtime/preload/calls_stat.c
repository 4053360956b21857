/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* File attributes: stat(2) under all its names, access(2), statfs(2), extended attributes. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/preload/lookup.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure under two names");

/* Called by programs that were built with glibc before 2.33. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);

static int fix_stat(int result, const char *there, const char *path, void *st)
{
	if (result == 0 && there != path)
		adv_lookup_fix_stat(there, path, st);
	return result;
}

static int call_stat(struct adv_next *next, const char *path, void *st)
{
	int (*call)(const char *, void *) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return fix_stat(call(there, st), there, path, st);
}

static int call_xstat(struct adv_next *next, int version, const char *path, void *st)
{
	int (*call)(int, const char *, void *) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return fix_stat(call(version, there, st), there, path, st);
}

static int call_fstatat(struct adv_next *next, int dirfd, const char *path, void *st, int flags)
{
	int (*call)(int, const char *, void *, int) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CACHED);

	return fix_stat(call(dirfd, there, st, flags), there, path, st);
}

static int call_fxstatat(struct adv_next *next, int version, int dirfd, const char *path, void *st,
			 int flags)
{
	int (*call)(int, int, const char *, void *, int) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CACHED);

	return fix_stat(call(version, dirfd, there, st, flags), there, path, st);
}

ADV_INTERPOSE int stat(const char *path, struct stat *st)
{
	return call_stat(ADV_NEXT("stat"), path, st);
}

ADV_INTERPOSE int stat64(const char *path, struct stat64 *st)
{
	return call_stat(ADV_NEXT("stat64"), path, st);
}

ADV_INTERPOSE int lstat(const char *path, struct stat *st)
{
	return call_stat(ADV_NEXT("lstat"), path, st);
}

ADV_INTERPOSE int lstat64(const char *path, struct stat64 *st)
{
	return call_stat(ADV_NEXT("lstat64"), path, st);
}

ADV_INTERPOSE int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return call_fstatat(ADV_NEXT("fstatat"), dirfd, path, st, flags);
}

ADV_INTERPOSE int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	return call_fstatat(ADV_NEXT("fstatat64"), dirfd, path, st, flags);
}

ADV_INTERPOSE int __xstat(int version, const char *path, struct stat *st)
{
	return call_xstat(ADV_NEXT("__xstat"), version, path, st);
}

ADV_INTERPOSE int __xstat64(int version, const char *path, struct stat64 *st)
{
	return call_xstat(ADV_NEXT("__xstat64"), version, path, st);
}

ADV_INTERPOSE int __lxstat(int version, const char *path, struct stat *st)
{
	return call_xstat(ADV_NEXT("__lxstat"), version, path, st);
}

ADV_INTERPOSE int __lxstat64(int version, const char *path, struct stat64 *st)
{
	return call_xstat(ADV_NEXT("__lxstat64"), version, path, st);
}

ADV_INTERPOSE int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags)
{
	return call_fxstatat(ADV_NEXT("__fxstatat"), version, dirfd, path, st, flags);
}

ADV_INTERPOSE int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st,
			       int flags)
{
	return call_fxstatat(ADV_NEXT("__fxstatat64"), version, dirfd, path, st, flags);
}

ADV_INTERPOSE int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *st)
{
	int (*call)(int, const char *, int, unsigned, struct statx *) = adv_next(ADV_NEXT("statx"));
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CACHED);
	unsigned major_number, minor_number;
	int result = call(dirfd, there, flags, mask, st);

	if (result == 0 && S_ISREG(st->stx_mode) && adv_lookup_is_ours(there, path))
		st->stx_mode &= (uint16_t)~0222u;
	if (result == 0 && adv_lookup_node_number(there, &major_number, &minor_number)) {
		st->stx_rdev_major = major_number;
		st->stx_rdev_minor = minor_number;
	}
	return result;
}

/* For write access to a file or a folder of the tree, returns true with errno EACCES: users own no
 * files of sysfs. */
static bool refuse_write(const char *there, const char *path, int mode)
{
	if (!(mode & W_OK) || !adv_lookup_is_ours(there, path))
		return false;
	errno = EACCES;
	return true;
}

static int call_access(struct adv_next *next, const char *path, int mode)
{
	int (*call)(const char *, int) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return refuse_write(there, path, mode) ? -1 : call(there, mode);
}

ADV_INTERPOSE int access(const char *path, int mode)
{
	return call_access(ADV_NEXT("access"), path, mode);
}

ADV_INTERPOSE int euidaccess(const char *path, int mode)
{
	return call_access(ADV_NEXT("euidaccess"), path, mode);
}

ADV_INTERPOSE int eaccess(const char *path, int mode)
{
	return call_access(ADV_NEXT("eaccess"), path, mode);
}

ADV_INTERPOSE int faccessat(int dirfd, const char *path, int mode, int flags)
{
	int (*call)(int, const char *, int, int) = adv_next(ADV_NEXT("faccessat"));
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CACHED);

	return refuse_write(there, path, mode) ? -1 : call(dirfd, there, mode, flags);
}

/* ---- the file system, and extended attributes (ls -l reads access control lists) ---- */

static int call_statfs(struct adv_next *next, const char *path, void *out)
{
	int (*call)(const char *, void *) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return call(there, out);
}

ADV_INTERPOSE int statfs(const char *path, struct statfs *out)
{
	return call_statfs(ADV_NEXT("statfs"), path, out);
}

ADV_INTERPOSE int statfs64(const char *path, struct statfs64 *out)
{
	return call_statfs(ADV_NEXT("statfs64"), path, out);
}

ADV_INTERPOSE int statvfs(const char *path, struct statvfs *out)
{
	return call_statfs(ADV_NEXT("statvfs"), path, out);
}

ADV_INTERPOSE int statvfs64(const char *path, struct statvfs64 *out)
{
	return call_statfs(ADV_NEXT("statvfs64"), path, out);
}

static ssize_t call_getxattr(struct adv_next *next, const char *path, const char *which,
			     void *value, size_t len)
{
	ssize_t (*call)(const char *, const char *, void *, size_t) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return call(there, which, value, len);
}

ADV_INTERPOSE ssize_t getxattr(const char *path, const char *name, void *value, size_t len)
{
	return call_getxattr(ADV_NEXT("getxattr"), path, name, value, len);
}

ADV_INTERPOSE ssize_t lgetxattr(const char *path, const char *name, void *value, size_t len)
{
	return call_getxattr(ADV_NEXT("lgetxattr"), path, name, value, len);
}

static ssize_t call_listxattr(struct adv_next *next, const char *path, char *names, size_t len)
{
	ssize_t (*call)(const char *, char *, size_t) = adv_next(next);
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return call(there, names, len);
}

ADV_INTERPOSE ssize_t listxattr(const char *path, char *names, size_t len)
{
	return call_listxattr(ADV_NEXT("listxattr"), path, names, len);
}

ADV_INTERPOSE ssize_t llistxattr(const char *path, char *names, size_t len)
{
	return call_listxattr(ADV_NEXT("llistxattr"), path, names, len);
}
