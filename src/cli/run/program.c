/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/run/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/identity/program_file.h"

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

void adv_run_warn(const char *name)
{
	char path[PATH_MAX];
	const char *privilege;
	struct stat st;
	int fd;

	if (!adv_program_find(name, path) || stat(path, &st) < 0)
		return;
	privilege = privilege_of(path, &st);
	if (privilege) {
		fprintf(stderr,
			"adverb run: %s is %s, and the dynamic linker gives such a program no "
			"other libraries: it, and what it starts, will find no device; for sudo "
			"and the like: sudo adverb run -- PROGRAM\n",
			path, privilege);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && adv_program_is_static(fd))
		fprintf(stderr,
			"adverb run: %s is statically linked: it will find no device, unless it "
			"starts programs that are not\n",
			path);
	if (fd >= 0)
		close(fd);
}
