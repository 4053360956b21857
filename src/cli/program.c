/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HEADERS_MAX 64

/* Finds the file that execvp() would execute. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && access(path, X_OK) == 0;
	for (const char *p = folders ? folders : "/bin:/usr/bin"; *p;) {
		size_t len = strcspn(p, ":");

		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, p, len ? "/" : "", name) <
			    PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

/* True if the file is a program without a dynamic linker. */
static bool is_static(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr part[HEADERS_MAX];
	ssize_t want;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(part[0]) || head.e_phnum > HEADERS_MAX)
		return false;
	want = (ssize_t)(head.e_phnum * sizeof(part[0]));
	if (pread(fd, part, (size_t)want, (off_t)head.e_phoff) != want)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (part[i].p_type == PT_INTERP)
			return false;
	return true;
}

/* Returns what gives the program a privilege that its caller does not have; NULL: nothing. */
static const char *privilege_of(const char *path, const struct stat *st)
{
	char value[64];

	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return "set-user-ID";
	if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != getegid())
		return "set-group-ID";
	if (geteuid() != 0 && getxattr(path, "security.capability", value, sizeof(value)) > 0)
		return "a program with file capabilities";
	return NULL;
}

void adv_program_warn(const char *name)
{
	char path[PATH_MAX];
	const char *privilege;
	struct stat st;
	int fd;

	if (!find_program(name, path) || stat(path, &st) < 0)
		return;
	privilege = privilege_of(path, &st);
	if (privilege) {
		fprintf(stderr,
			"adverb run: %s is %s, and the dynamic linker gives such a program no "
			"other "
			"libraries: it, and what it starts, will find no device; for sudo and the "
			"like: sudo adverb run -- PROGRAM\n",
			path, privilege);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && is_static(fd))
		fprintf(stderr,
			"adverb run: %s is statically linked: it will find no device, unless it "
			"starts programs that are not\n",
			path);
	if (fd >= 0)
		close(fd);
}
