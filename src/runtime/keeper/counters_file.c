/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/counters_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/identity/sysfs_root.h"

#define FILE_MAGIC   0x41445650u /* "ADVP" */
#define FILE_VERSION 1
#define RECORDS	     64
#define BOOT_ID_LEN  36
#define LOCK_TRIES   20 /* 1 ms apart */

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14 */
#endif

/* The counters of one network namespace. */
struct record {
	uint64_t cookie; /* SO_NETNS_COOKIE; 0: the kernel has none */
	uint64_t inode;	 /* of the namespace; 0: the record is not used */
	uint64_t saved;	 /* time, seconds since the boot */
	uint64_t value[ADV_COUNTERS];
};

struct contents {
	uint32_t magic;
	uint16_t version;
	uint16_t counters; /* ADV_COUNTERS */
	char boot_id[BOOT_ID_LEN];
	uint32_t protocol; /* ADV_CONTROL_VERSION: the meaning of the counters' positions */
	struct record record[RECORDS];
};

/* ---- what identifies the namespace ---- */

static bool read_boot_id(char id[BOOT_ID_LEN])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && read(fd, id, BOOT_ID_LEN) == BOOT_ID_LEN;

	if (fd >= 0)
		close(fd);
	return good;
}

/* An inode number may be used again after its namespace has ended; a cookie is not. */
static uint64_t cookie_of(int socket)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

static uint64_t seconds_since_boot(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec;
}

/* ---- the file ---- */

static bool is_safe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_nlink == 1 && !(st.st_mode & 077);
}

static bool lock_file(int fd)
{
	const struct timespec pause = {0, 1000000};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Opens and locks the file in the first folder where that is possible. -1: in none. */
static int open_file(int flags)
{
	char room[ADV_SYSFS_PARENT_LEN], path[PATH_MAX];

	for (unsigned i = 0; i < ADV_SYSFS_PARENTS; i++) {
		const char *folder = adv_sysfs_root_parent(i, room);
		int fd;

		if (!folder || snprintf(path, sizeof(path), "%s/adverb-counters-%u", folder,
					(unsigned)geteuid()) >= (int)sizeof(path))
			continue;
		fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
		if (fd >= 0 && is_safe(fd) && lock_file(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* Reads the file. False: it is empty, damaged, of another version or of an earlier boot. */
static bool read_contents(int fd, struct contents *c, const char boot_id[BOOT_ID_LEN])
{
	return pread(fd, c, sizeof(*c), 0) == sizeof(*c) && c->magic == FILE_MAGIC &&
	       c->version == FILE_VERSION && c->counters == ADV_COUNTERS &&
	       c->protocol == ADV_CONTROL_VERSION && memcmp(c->boot_id, boot_id, BOOT_ID_LEN) == 0;
}

/* Returns the namespace's record; NULL: it has none. */
static struct record *find_record(struct contents *c, uint64_t cookie, uint64_t inode)
{
	for (unsigned i = 0; i < RECORDS; i++)
		if (inode && c->record[i].inode == inode && c->record[i].cookie == cookie)
			return &c->record[i];
	return NULL;
}

/* Returns an unused record, or the one that was saved first. */
static struct record *oldest_record(struct contents *c)
{
	struct record *oldest = &c->record[0];

	for (unsigned i = 1; i < RECORDS && oldest->inode; i++)
		if (!c->record[i].inode || c->record[i].saved < oldest->saved)
			oldest = &c->record[i];
	return oldest;
}

void adv_counters_file_load(int socket, uint64_t sum[ADV_COUNTERS])
{
	struct contents *c = calloc(1, sizeof(*c));
	int fd = c ? open_file(O_RDWR) : -1;
	char boot_id[BOOT_ID_LEN];
	struct record *r = NULL;

	if (fd >= 0 && read_boot_id(boot_id) && read_contents(fd, c, boot_id))
		r = find_record(c, cookie_of(socket), adv_sysfs_network());
	for (unsigned i = 0; r && i < ADV_COUNTERS; i++)
		sum[i] += r->value[i];
	if (fd >= 0)
		close(fd);
	free(c);
}

/* Puts the record into the contents, which are new if the file's are not valid. */
static void put_record(int fd, struct contents *c, const char boot_id[BOOT_ID_LEN],
		       const struct record *mine)
{
	struct record *r;

	if (!read_contents(fd, c, boot_id)) {
		memset(c, 0, sizeof(*c));
		c->magic = FILE_MAGIC;
		c->version = FILE_VERSION;
		c->counters = ADV_COUNTERS;
		c->protocol = ADV_CONTROL_VERSION;
		memcpy(c->boot_id, boot_id, BOOT_ID_LEN);
	}
	r = find_record(c, mine->cookie, mine->inode);
	*(r ? r : oldest_record(c)) = *mine;
}

void adv_counters_file_save(int socket, const uint64_t value[ADV_COUNTERS])
{
	struct record mine = {.cookie = cookie_of(socket),
			      .inode = adv_sysfs_network(),
			      .saved = seconds_since_boot()};
	struct contents *c = calloc(1, sizeof(*c));
	char boot_id[BOOT_ID_LEN];
	int fd = -1;

	memcpy(mine.value, value, sizeof(mine.value));
	if (c && mine.inode && read_boot_id(boot_id))
		fd = open_file(O_RDWR | O_CREAT);
	if (fd >= 0)
		put_record(fd, c, boot_id, &mine);
	if (fd < 0 || pwrite(fd, c, sizeof(*c), 0) != sizeof(*c))
		adv_info(
			"the counters are not kept for the next adverbd: no folder for their file");
	if (fd >= 0)
		close(fd);
	free(c);
}
