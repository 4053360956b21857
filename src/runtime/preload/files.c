/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"

#define TEXT_MAX     1024
#define NEW_FILE     ".new" /* written under the tree's lock, then renamed */
#define FOLDER_MODE  0755
#define FILE_MODE    0644
#define LISTING_ROOM 4096

static void note_error(struct adv_files *f, long result)
{
	if (result < 0 && !f->error)
		f->error = errno;
}

void adv_files_folder(struct adv_files *f, const char *path)
{
	if (f->error)
		return;
	if (syscall(SYS_mkdirat, f->root, path, FOLDER_MODE) == 0)
		note_error(f, syscall(SYS_fchmodat, f->root, path, FOLDER_MODE));
	else if (errno != EEXIST)
		note_error(f, -1);
}

void adv_files_link(struct adv_files *f, const char *path, const char *target)
{
	char there[PATH_MAX];
	long n;

	if (f->error)
		return;
	n = syscall(SYS_readlinkat, f->root, path, there, sizeof(there));
	if (n == (long)strlen(target) && memcmp(there, target, (size_t)n) == 0)
		return;
	(void)syscall(SYS_unlinkat, f->root, NEW_FILE, 0);
	note_error(f, syscall(SYS_symlinkat, target, f->root, NEW_FILE));
	if (!f->error)
		note_error(f, syscall(SYS_renameat, f->root, NEW_FILE, f->root, path));
}

/* True if the file already has this text, or if the text was written to the file in place. */
static bool overwrite_text(int root, const char *path, const char *text, size_t len)
{
	char there[TEXT_MAX + 1];
	int fd = (int)syscall(SYS_openat, root, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;
	bool done;

	if (fd < 0)
		return false;
	n = adv_sys_read(fd, there, sizeof(there));
	done = n == (ssize_t)len && memcmp(there, text, len) == 0;
	if (!done && n >= 0 && n <= (ssize_t)len)
		done = syscall(SYS_pwrite64, fd, text, len, 0L) == (ssize_t)len;
	adv_sys_close(fd);
	return done;
}

static void write_text(struct adv_files *f, const char *path, const char *text, size_t len)
{
	int fd = (int)syscall(SYS_openat, f->root, NEW_FILE,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);

	note_error(f, fd);
	if (fd < 0)
		return;
	note_error(f, syscall(SYS_fchmod, fd, FILE_MODE));
	if (adv_sys_write(fd, text, len) != (ssize_t)len && !f->error)
		f->error = ENOSPC;
	adv_sys_close(fd);
	if (!f->error)
		note_error(f, syscall(SYS_renameat, f->root, NEW_FILE, f->root, path));
}

void adv_files_text(struct adv_files *f, const char *path, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;
	int n;

	if (f->error)
		return;
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(text)) {
		f->error = E2BIG;
		return;
	}
	if (overwrite_text(f->root, path, text, (size_t)n))
		return;
	(void)syscall(SYS_unlinkat, f->root, NEW_FILE, 0);
	write_text(f, path, text, (size_t)n);
}

void adv_files_list(int at, const char *path, void (*fn)(void *user, const char *name), void *user)
{
	char room[LISTING_ROOM] __attribute__((aligned(8)));
	int fd = (int)syscall(SYS_openat, at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return;
	while ((n = syscall(SYS_getdents64, fd, room, sizeof(room))) > 0) {
		for (long i = 0; i < n;) {
			const struct adv_sys_entry *e = (const void *)(room + i);

			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
				fn(user, e->name);
			i += e->len;
		}
	}
	adv_sys_close(fd);
}

struct sweep {
	int folder;
	bool (*wanted)(const void *user, const char *name);
	const void *user;
};

static void sweep_entry(void *user, const char *name)
{
	const struct sweep *s = user;

	if (!s->wanted(s->user, name))
		(void)syscall(SYS_unlinkat, s->folder, name, 0);
}

void adv_files_sweep(struct adv_files *f, const char *path,
		     bool (*wanted)(const void *user, const char *name), const void *user)
{
	struct sweep s = {-1, wanted, user};

	s.folder = (int)syscall(SYS_openat, f->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.folder < 0)
		return;
	adv_files_list(s.folder, ".", sweep_entry, &s);
	adv_sys_close(s.folder);
}
