/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks through a folder and prints the type of each entry, in one of the ways that programs use:
 *   walker fts|ftsnochdir|nftw|openat|dup|statx|chdir FOLDER
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64

static void print(const char *path, mode_t mode, dev_t rdev, off_t size, const char *target)
{
	printf("%s %o %lx %lld %s\n", path, mode, (unsigned long)rdev,
	       S_ISDIR(mode) ? 0 : (long long)size, target);
}

static void print_failed(const char *path, const char *what)
{
	printf("%s: %s: %s\n", path, what, strerror(errno));
}

static void walk_fts(const char *folder, int flags)
{
	char *roots[] = {strdup(folder), NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | flags, NULL);
	FTSENT *e;

	while (tree && (e = fts_read(tree))) {
		char target[PATH_MAX] = "";
		struct stat st;

		if (e->fts_info == FTS_DP)
			continue;
		if (lstat(e->fts_accpath, &st) < 0) {
			print_failed(e->fts_path, "lstat");
			continue;
		}
		if (S_ISLNK(st.st_mode) && readlink(e->fts_accpath, target, sizeof(target) - 1) < 0)
			print_failed(e->fts_path, "readlink");
		print(e->fts_path, st.st_mode, st.st_rdev, st.st_size, target);
	}
	if (tree)
		fts_close(tree);
	free(roots[0]);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	print(path, st->st_mode, st->st_rdev, st->st_size, "");
	return 0;
}

enum how { OPENAT, DUP, STATX, CHDIR };

static int look(int dir, const char *name, enum how how, struct stat *st)
{
	struct statx x;

	if (how == CHDIR)
		return lstat(name, st);
	if (how != STATX)
		return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
	if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &x) < 0)
		return -1;
	memset(st, 0, sizeof(*st));
	st->st_mode = x.stx_mode;
	st->st_size = (off_t)x.stx_size;
	st->st_rdev = (dev_t)x.stx_rdev_major << 8 | x.stx_rdev_minor;
	return 0;
}

static void walk(int dir, const char *path, enum how how, int depth);

static void one(int dir, const char *path, const char *name, enum how how, int depth)
{
	char whole[PATH_MAX], target[PATH_MAX] = "", text[4096];
	struct stat st;
	int fd;

	if (snprintf(whole, sizeof(whole), "%s/%s", path, name) >= (int)sizeof(whole))
		return;
	if (look(dir, name, how, &st) < 0) {
		print_failed(whole, "look");
		return;
	}
	if (S_ISLNK(st.st_mode) &&
	    (how == CHDIR ? readlink(name, target, sizeof(target) - 1)
			  : readlinkat(dir, name, target, sizeof(target) - 1)) < 0)
		print_failed(whole, "readlink");
	print(whole, st.st_mode, st.st_rdev, st.st_size, target);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return;
	fd = how == CHDIR ? open(name, O_RDONLY | O_NOFOLLOW)
			  : openat(dir, name, O_RDONLY | O_NOFOLLOW);
	if (fd < 0)
		print_failed(whole, "open");
	else if (S_ISDIR(st.st_mode))
		walk(fd, whole, how, depth + 1);
	else
		printf("%s holds %zd bytes\n", whole, read(fd, text, sizeof(text)));
	if (fd >= 0)
		close(fd);
}

static void walk(int dir, const char *path, enum how how, int depth)
{
	int mine = how == DUP ? fcntl(dir, F_DUPFD_CLOEXEC, 100) : dup(dir);
	DIR *d = fdopendir(mine);
	struct dirent *e;

	if (!d || depth > DEPTH_MAX || (how == CHDIR && fchdir(dir) < 0)) {
		print_failed(path, "folder");
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			one(how == DUP ? mine : dir, path, e->d_name, how, depth);
			if (how == CHDIR && fchdir(dir) < 0)
				print_failed(path, "fchdir");
		}
	closedir(d);
}

/* Changes into each folder of the path, from the root on, like a walk through all folders. */
static int descend(const char *folder)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY), next;
	char path[PATH_MAX], *rest = path, *name;

	snprintf(path, sizeof(path), "%s", folder);
	while (dir >= 0 && (name = strsep(&rest, "/"))) {
		if (!*name)
			continue;
		next = openat(dir, name, O_RDONLY | O_DIRECTORY);
		close(dir);
		dir = next;
	}
	return dir;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"openat", "dup", "statx", "chdir"};
	int fd;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "fts") == 0)
		walk_fts(argv[2], 0);
	else if (strcmp(argv[1], "ftsnochdir") == 0)
		walk_fts(argv[2], FTS_NOCHDIR);
	else if (strcmp(argv[1], "nftw") == 0)
		return nftw(argv[2], visit, 16, FTW_PHYS);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(argv[1], names[i]) != 0)
			continue;
		fd = descend(argv[2]);
		if (fd < 0)
			return 1;
		walk(fd, argv[2], (enum how)i, 0);
		close(fd);
	}
	return 0;
}
