/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"

#define ATTEMPTS   3
#define LOCK_PAUSE 50000 /* ns */
#define LOCK_TRIES 400	 /* a stopped process may hold the lock */

/* The file's contents, between open_file() and close_file(). */
static struct adv_check_end ends[ADV_CHECK_ENDS_MOST];
static unsigned count;

void adv_check_ends_path(char path[ADV_CHECK_ENDS_PATH])
{
	snprintf(path, ADV_CHECK_ENDS_PATH, "/dev/shm/adverb-check-ends-%u", (unsigned)geteuid());
}

/* ---- the file ---- */

static bool lock_file(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Another user may have made a file of this name. */
static bool is_own_file(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* Opens and locks the file, and reads it. flags: 0 or O_CREAT. Returns its descriptor or -1. */
static int open_file(const char *path, int flags)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
		struct stat st;
		ssize_t length;

		if (fd < 0)
			return -1;
		if (!is_own_file(fd, &st) || !lock_file(fd)) {
			adv_sys_close(fd);
			return -1;
		}
		/* Without a name it was removed before this process has locked it. */
		if (fstat(fd, &st) == 0 && st.st_nlink > 0) {
			length = pread(fd, ends, sizeof(ends), 0);
			count = length > 0 ? (unsigned)((size_t)length / sizeof(ends[0])) : 0;
			return fd;
		}
		adv_sys_close(fd);
	}
	return -1;
}

static void write_end(int fd, unsigned i, const struct adv_check_end *end)
{
	(void)!pwrite(fd, end, sizeof(*end), (off_t)(i * sizeof(*end)));
}

/* ---- processes ---- */

/* Returns when a process started, or 0: there is none. */
static uint64_t start_of(int32_t pid)
{
	char name[32], text[512], *p;
	ssize_t length;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = adv_sys_open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = adv_sys_read(fd, text, sizeof(text) - 1);
	adv_sys_close(fd);
	text[length > 0 ? length : 0] = 0;
	p = strrchr(text, ')'); /* the name may have any characters */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Fills in the process and its namespaces. False: the machine does not say. */
static bool identify_process(struct adv_check_end *end)
{
	static struct adv_check_end self; /* of this process, or of its parent */

	if (self.pid != getpid()) {
		self.pid = getpid();
		self.pids = inode_of("/proc/self/ns/pid");
		self.started = start_of(self.pid);
	}
	end->pid = self.pid;
	end->pids = self.pids;
	end->started = self.started;
	end->net = inode_of("/proc/self/ns/net");
	return end->net && end->pids && end->started;
}

static bool is_of_process(const struct adv_check_end *a, const struct adv_check_end *b)
{
	return a->pid == b->pid && a->pids == b->pids && a->started == b->started;
}

/* True if the process of an entry runs in this PID namespace. */
static bool runs_here(const struct adv_check_end *end, uint64_t pids)
{
	return end->net && end->pids == pids && end->pid > 0 && end->started &&
	       start_of(end->pid) == end->started;
}

/* ---- entries ---- */

/* Returns the index for an entry: its old one, or a free one, or that of a process that has ended.
 * ADV_CHECK_ENDS_MOST: there is no room. */
static unsigned find_place(const struct adv_check_end *own)
{
	unsigned free_one = count;

	for (unsigned i = 0; i < count; i++) {
		if (is_of_process(&ends[i], own) && ends[i].number == own->number)
			return i;
		if (!ends[i].net && free_one == count)
			free_one = i;
	}
	/* The last process that was found to run: mostly it has many entries. */
	for (unsigned i = 0, last = 0; free_one == ADV_CHECK_ENDS_MOST && i < count; i++) {
		if (i > 0 && is_of_process(&ends[i], &ends[last]))
			continue;
		if (!runs_here(&ends[i], own->pids))
			return i;
		last = i;
	}
	return free_one;
}

bool adv_check_ends_meet(const char *path, struct adv_check_end *own, struct adv_check_end *other)
{
	int fd = identify_process(own) ? open_file(path, O_CREAT) : -1;
	bool found = false;
	unsigned place;

	if (fd < 0)
		return false;
	own->at = adv_clock_ns();
	place = find_place(own);
	if (place < ADV_CHECK_ENDS_MOST)
		write_end(fd, place, own);
	for (unsigned i = 0; i < count && !found; i++) {
		const struct adv_check_end *e = &ends[i];

		found = e->net == own->net && e->number == own->peer && e->peer == own->number &&
			e->type == own->type && i != place && runs_here(e, own->pids);
		if (found)
			*other = *e;
	}
	adv_sys_close(fd);
	return found;
}

void adv_check_ends_leave(const char *path, uint32_t number)
{
	const struct adv_check_end none = {0};
	struct adv_check_end own = {.number = number};
	int fd = identify_process(&own) ? open_file(path, 0) : -1;

	if (fd < 0)
		return;
	for (unsigned i = 0; i < count; i++)
		if (is_of_process(&ends[i], &own) && ends[i].number == number)
			write_end(fd, i, &none);
	adv_sys_close(fd);
}

void adv_check_ends_tidy(const char *path)
{
	const uint64_t pids = inode_of("/proc/self/ns/pid");
	int fd = open_file(path, 0);
	bool used = false;

	if (fd < 0)
		return;
	for (unsigned i = 0; i < count && !used; i++)
		used = runs_here(&ends[i], pids);
	if (!used)
		unlink(path);
	adv_sys_close(fd);
}
