/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths and links: readlink(2), realpath(3), chdir(2), getcwd(3). None of them returns a path of
 * the tree. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/preload/lookup.h"

ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);
char *__getcwd_chk(char *buf, size_t len, size_t room);

/* ---- links ---- */

/* Converts the n bytes that readlink(2) returned. If the link is in /proc and leads to a folder of
 * the tree, returns the path for which the folder stands. Reads the link again, because its real
 * target is longer and may have been cut off. */
static ssize_t show_link(int dirfd, const char *path, char *buf, size_t len, ssize_t n)
{
	char text[PATH_MAX];
	int saved = errno;
	long all;

	if (n <= 0 || !path || strncmp(path, "/proc/", 6) != 0)
		return n;
	all = syscall(SYS_readlinkat, dirfd, path, text, sizeof(text) - 1);
	errno = saved;
	if (all <= 0)
		return n;
	text[all] = 0;
	if (!adv_lookup_reverse_link(path, text))
		return n;
	n = (ssize_t)strlen(text);
	if ((size_t)n > len)
		n = (ssize_t)len;
	memcpy(buf, text, (size_t)n);
	return n;
}

ADV_INTERPOSE ssize_t readlink(const char *path, char *buf, size_t len)
{
	ssize_t (*call)(const char *, char *, size_t) = adv_next(ADV_NEXT("readlink"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return show_link(AT_FDCWD, path, buf, len, call(there, buf, len));
}

ADV_INTERPOSE ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	ssize_t (*call)(int, const char *, char *, size_t) = adv_next(ADV_NEXT("readlinkat"));
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CACHED);

	return show_link(dirfd, path, buf, len, call(dirfd, there, buf, len));
}

/* libc's functions abort the program if len exceeds room. */
ADV_INTERPOSE ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room)
{
	ssize_t (*call)(const char *, char *, size_t, size_t) =
		adv_next(ADV_NEXT("__readlink_chk"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return show_link(AT_FDCWD, path, buf, len, call(there, buf, len, room));
}

ADV_INTERPOSE ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len,
				       size_t room)
{
	ssize_t (*call)(int, const char *, char *, size_t, size_t) =
		adv_next(ADV_NEXT("__readlinkat_chk"));
	const char *there = ADV_LOOKUP_PATH(dirfd, path, ADV_LOOKUP_CACHED);

	return show_link(dirfd, path, buf, len, call(dirfd, there, buf, len, room));
}

/* ---- canonical paths ---- */

/* Returns the canonical path of a device node: its own path. */
static char *canonical_node(const char *path, char *resolved)
{
	char *out = resolved ? resolved : malloc(PATH_MAX);
	const char *name = strrchr(path, '/');

	if (!out)
		return NULL;
	strcpy(out, "/dev/infiniband/");
	strcat(out, name ? name + 1 : path);
	return out;
}

static char *show_path(char *resolved, const char *there, const char *path)
{
	if (resolved && there != path)
		adv_lookup_reverse(resolved);
	return resolved;
}

ADV_INTERPOSE char *realpath(const char *path, char *resolved)
{
	char *(*call)(const char *, char *) = adv_next(ADV_NEXT("realpath"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	if (adv_lookup_is_node(there))
		return canonical_node(path, resolved);
	return show_path(call(there, resolved), there, path);
}

ADV_INTERPOSE char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	char *(*call)(const char *, char *, size_t) = adv_next(ADV_NEXT("__realpath_chk"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	if (adv_lookup_is_node(there) && room >= PATH_MAX)
		return canonical_node(path, resolved);
	return show_path(call(there, resolved, room), there, path);
}

ADV_INTERPOSE char *canonicalize_file_name(const char *path)
{
	char *(*call)(const char *) = adv_next(ADV_NEXT("canonicalize_file_name"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	if (adv_lookup_is_node(there))
		return canonical_node(path, NULL);
	return show_path(call(there), there, path);
}

/* ---- the current folder ---- */

ADV_INTERPOSE int chdir(const char *path)
{
	int (*call)(const char *) = adv_next(ADV_NEXT("chdir"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);
	int result = call(there);

	if (result == 0)
		adv_lookup_note_chdir(path, there);
	return result;
}

ADV_INTERPOSE int fchdir(int fd)
{
	int (*call)(int) = adv_next(ADV_NEXT("fchdir"));
	int result = call(fd);

	if (result == 0)
		adv_lookup_note_fchdir(fd);
	return result;
}

/* Copies the path to buf. If buf is NULL, allocates len bytes; if len is 0, as many as needed. */
static char *copy_current(const char *path, char *buf, size_t len)
{
	size_t needed = strlen(path) + 1;

	if (buf ? len == 0 : false) {
		errno = EINVAL;
		return NULL;
	}
	if (len ? len < needed : buf != NULL) {
		errno = ERANGE;
		return NULL;
	}
	if (!buf)
		buf = malloc(len ? len : needed);
	return buf ? memcpy(buf, path, needed) : NULL;
}

ADV_INTERPOSE char *getcwd(char *buf, size_t len)
{
	char *(*call)(char *, size_t) = adv_next(ADV_NEXT("getcwd"));
	char path[PATH_MAX];

	return adv_lookup_getcwd(path) ? copy_current(path, buf, len) : call(buf, len);
}

ADV_INTERPOSE char *__getcwd_chk(char *buf, size_t len, size_t room)
{
	char *(*call)(char *, size_t, size_t) = adv_next(ADV_NEXT("__getcwd_chk"));
	char path[PATH_MAX];

	if (len > room || !adv_lookup_getcwd(path))
		return call(buf, len, room);
	return copy_current(path, buf, len);
}

ADV_INTERPOSE char *get_current_dir_name(void)
{
	char *(*call)(void) = adv_next(ADV_NEXT("get_current_dir_name"));
	char path[PATH_MAX];

	return adv_lookup_getcwd(path) ? copy_current(path, NULL, 0) : call();
}
