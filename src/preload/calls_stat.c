/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asking what a file is: stat(2) with all its names, access(2), statfs(2), attributes. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/look.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure under two names");

/* Of programs built with glibc before 2.33. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);

static int fixed(int result, const char *there, const char *path, void *st)
{
	if (result == 0 && there != path)
		adv_look_fix_stat(there, path, st);
	return result;
}

static int stat_here(adv_next_t *next, const char *name, const char *path, void *st)
{
	int (*call)(const char *, void *) = adv_next(next, name);
	const char *there = ADV_LOOK(AT_FDCWD, path, ADV_LOOK_UP);

	return fixed(call(there, st), there, path, st);
}

static int stat_version(adv_next_t *next, const char *name, int version, const char *path, void *st)
{
	int (*call)(int, const char *, void *) = adv_next(next, name);
	const char *there = ADV_LOOK(AT_FDCWD, path, ADV_LOOK_UP);

	return fixed(call(version, there, st), there, path, st);
}

static int stat_at(adv_next_t *next, const char *name, int dirfd, const char *path, void *st,
		   int flags)
{
	int (*call)(int, const char *, void *, int) = adv_next(next, name);
	const char *there = ADV_LOOK(dirfd, path, ADV_LOOK_UP);

	return fixed(call(dirfd, there, st, flags), there, path, st);
}

static int stat_at_version(adv_next_t *next, const char *name, int version, int dirfd,
			   const char *path, void *st, int flags)
{
	int (*call)(int, int, const char *, void *, int) = adv_next(next, name);
	const char *there = ADV_LOOK(dirfd, path, ADV_LOOK_UP);

	return fixed(call(version, dirfd, there, st, flags), there, path, st);
}

ADV_INTERPOSE int stat(const char *path, struct stat *st)
{
	static adv_next_t next;

	return stat_here(&next, "stat", path, st);
}

ADV_INTERPOSE int stat64(const char *path, struct stat64 *st)
{
	static adv_next_t next;

	return stat_here(&next, "stat64", path, st);
}

ADV_INTERPOSE int lstat(const char *path, struct stat *st)
{
	static adv_next_t next;

	return stat_here(&next, "lstat", path, st);
}

ADV_INTERPOSE int lstat64(const char *path, struct stat64 *st)
{
	static adv_next_t next;

	return stat_here(&next, "lstat64", path, st);
}

ADV_INTERPOSE int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	static adv_next_t next;

	return stat_at(&next, "fstatat", dirfd, path, st, flags);
}

ADV_INTERPOSE int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	static adv_next_t next;

	return stat_at(&next, "fstatat64", dirfd, path, st, flags);
}

ADV_INTERPOSE int __xstat(int version, const char *path, struct stat *st)
{
	static adv_next_t next;

	return stat_version(&next, "__xstat", version, path, st);
}

ADV_INTERPOSE int __xstat64(int version, const char *path, struct stat64 *st)
{
	static adv_next_t next;

	return stat_version(&next, "__xstat64", version, path, st);
}

ADV_INTERPOSE int __lxstat(int version, const char *path, struct stat *st)
{
	static adv_next_t next;

	return stat_version(&next, "__lxstat", version, path, st);
}

ADV_INTERPOSE int __lxstat64(int version, const char *path, struct stat64 *st)
{
	static adv_next_t next;

	return stat_version(&next, "__lxstat64", version, path, st);
}

ADV_INTERPOSE int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags)
{
	static adv_next_t next;

	return stat_at_version(&next, "__fxstatat", version, dirfd, path, st, flags);
}

ADV_INTERPOSE int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st,
			       int flags)
{
	static adv_next_t next;

	return stat_at_version(&next, "__fxstatat64", version, dirfd, path, st, flags);
}

ADV_INTERPOSE int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *st)
{
	static adv_next_t next;
	int (*call)(int, const char *, int, unsigned, struct statx *) = adv_next(&next, "statx");
	const char *there = ADV_LOOK(dirfd, path, ADV_LOOK_UP);
	unsigned major_number, minor_number;
	int result = call(dirfd, there, flags, mask, st);

	if (result == 0 && S_ISREG(st->stx_mode) && adv_look_is_ours(there, path))
		st->stx_mode &= (uint16_t)~0222u;
	if (result == 0 && adv_look_node_number(there, &major_number, &minor_number)) {
		st->stx_rdev_major = major_number;
		st->stx_rdev_minor = minor_number;
	}
	return result;
}

/* Of the tree's files; of its folders too, as nobody makes files in sysfs. */
static bool refused(const char *there, const char *path, int mode)
{
	if (!(mode & W_OK) || !adv_look_is_ours(there, path))
		return false;
	errno = EACCES;
	return true;
}

static int access_here(adv_next_t *next, const char *name, const char *path, int mode)
{
	int (*call)(const char *, int) = adv_next(next, name);
	const char *there = ADV_LOOK(AT_FDCWD, path, ADV_LOOK_UP);

	return refused(there, path, mode) ? -1 : call(there, mode);
}

ADV_INTERPOSE int access(const char *path, int mode)
{
	static adv_next_t next;

	return access_here(&next, "access", path, mode);
}

ADV_INTERPOSE int euidaccess(const char *path, int mode)
{
	static adv_next_t next;

	return access_here(&next, "euidaccess", path, mode);
}

ADV_INTERPOSE int eaccess(const char *path, int mode)
{
	static adv_next_t next;

	return access_here(&next, "eaccess", path, mode);
}

ADV_INTERPOSE int faccessat(int dirfd, const char *path, int mode, int flags)
{
	static adv_next_t next;
	int (*call)(int, const char *, int, int) = adv_next(&next, "faccessat");
	const char *there = ADV_LOOK(dirfd, path, ADV_LOOK_UP);

	return refused(there, path, mode) ? -1 : call(dirfd, there, mode, flags);
}

/* ---- the file system, and attributes (ls -l looks for access control lists) ---- */

static int describe(adv_next_t *next, const char *name, const char *path, void *out)
{
	int (*call)(const char *, void *) = adv_next(next, name);
	const char *there = ADV_LOOK(AT_FDCWD, path, ADV_LOOK_UP);

	return call(there, out);
}

ADV_INTERPOSE int statfs(const char *path, struct statfs *out)
{
	static adv_next_t next;

	return describe(&next, "statfs", path, out);
}

ADV_INTERPOSE int statfs64(const char *path, struct statfs64 *out)
{
	static adv_next_t next;

	return describe(&next, "statfs64", path, out);
}

ADV_INTERPOSE int statvfs(const char *path, struct statvfs *out)
{
	static adv_next_t next;

	return describe(&next, "statvfs", path, out);
}

ADV_INTERPOSE int statvfs64(const char *path, struct statvfs64 *out)
{
	static adv_next_t next;

	return describe(&next, "statvfs64", path, out);
}

static ssize_t attribute(adv_next_t *next, const char *name, const char *path, const char *which,
			 void *value, size_t len)
{
	ssize_t (*call)(const char *, const char *, void *, size_t) = adv_next(next, name);
	const char *there = ADV_LOOK(AT_FDCWD, path, ADV_LOOK_UP);

	return call(there, which, value, len);
}

ADV_INTERPOSE ssize_t getxattr(const char *path, const char *name, void *value, size_t len)
{
	static adv_next_t next;

	return attribute(&next, "getxattr", path, name, value, len);
}

ADV_INTERPOSE ssize_t lgetxattr(const char *path, const char *name, void *value, size_t len)
{
	static adv_next_t next;

	return attribute(&next, "lgetxattr", path, name, value, len);
}

static ssize_t attributes(adv_next_t *next, const char *name, const char *path, char *names,
			  size_t len)
{
	ssize_t (*call)(const char *, char *, size_t) = adv_next(next, name);
	const char *there = ADV_LOOK(AT_FDCWD, path, ADV_LOOK_UP);

	return call(there, names, len);
}

ADV_INTERPOSE ssize_t listxattr(const char *path, char *names, size_t len)
{
	static adv_next_t next;

	return attributes(&next, "listxattr", path, names, len);
}

ADV_INTERPOSE ssize_t llistxattr(const char *path, char *names, size_t len)
{
	static adv_next_t next;

	return attributes(&next, "llistxattr", path, names, len);
}
