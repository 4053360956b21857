/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/preload/contents.h"

#define MARK	    ".adverb-sysfs" /* a file that only trees of this command have */
#define FOLDER_MODE 0755
#define FILE_MODE   0644

/* ---- the text file ---- */

static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return true;
}

/* The new file's name does not end in ".prom": node_exporter does not read it. */
bool adv_exporter_write_text(const char *path, const char *text, size_t len)
{
	char *new_path;
	bool good;
	int fd;

	if (asprintf(&new_path, "%s.XXXXXX", path) < 0)
		return false;
	fd = mkostemp(new_path, O_CLOEXEC);
	good = fd >= 0 && fchmod(fd, FILE_MODE) == 0 && write_all(fd, text, len);
	if (fd >= 0 && close(fd) < 0)
		good = false;
	good = good && rename(new_path, path) == 0;
	if (!good) {
		fprintf(stderr, "adverb exporter: cannot write %s: %s\n", path, strerror(errno));
		if (fd >= 0)
			unlink(new_path);
	}
	free(new_path);
	return good;
}

/* ---- the tree ---- */

static bool is_empty(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool empty = true;

	if (!folder) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while (empty && (entry = readdir(folder)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(folder);
	return empty;
}

/* True if the folder is a tree of this command, or empty: then marks it. */
static bool claim_folder(int fd)
{
	int mark;

	if (faccessat(fd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (!is_empty(fd)) {
		errno = ENOTEMPTY;
		return false;
	}
	mark = openat(fd, MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (mark >= 0)
		close(mark);
	return mark >= 0;
}

int adv_exporter_open_tree(const char *path)
{
	int fd;

	if (mkdir(path, FOLDER_MODE) == 0)
		(void)chmod(path, FOLDER_MODE);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && claim_folder(fd))
		return fd;
	if (errno == ENOTEMPTY)
		fprintf(stderr,
			"adverb exporter: %s has other files: --sysfs needs a new or empty "
			"folder\n",
			path);
	else
		fprintf(stderr, "adverb exporter: cannot use the folder %s: %s\n", path,
			strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

bool adv_exporter_write_tree(int fd, const struct adv_sample *s)
{
	struct adv_files f = {.root = fd};
	struct adv_contents *c = malloc(sizeof(*c));

	if (!c)
		return false;
	c->rails = s->rails;
	c->machine = s->gids;
	memcpy(c->counters, s->rail, sizeof(c->counters));
	c->counted = true;
	adv_contents_write(&f, c);
	free(c);
	if (f.error)
		fprintf(stderr, "adverb exporter: cannot write the tree of --sysfs: %s\n",
			strerror(f.error));
	return !f.error;
}
