/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/sysfs_root.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fnv.h"
#include "base/sys.h"
#include "runtime/identity/rails.h"
#include "runtime/identity/roce.h"

#define ROOT_MODE    0755
#define ROOT_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define HOLD_TRIES   200 /* number of tries, 1 ms apart */
#define DEPTH_MAX    16	 /* most levels of nested folders to remove */
#define LISTING_ROOM 4096
#define HOLD_FILE    ".hold"
#define OLD_SUFFIX   ".old"
#define OLD_SECONDS  3600 /* age at which folders of other namespaces are removed */

uint64_t adv_sysfs_network(void)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/thread-self/ns/net", &st, 0) == 0
		       ? (uint64_t)st.st_ino
		       : 0;
}

const char *adv_sysfs_root_parent(unsigned i, char room[ADV_SYSFS_PARENT_LEN])
{
	static const char *const fixed[] = {"/run", "/dev/shm", "/tmp"};
	const char *path = i >= 2 ? fixed[i - 2] : secure_getenv("XDG_RUNTIME_DIR");

	if (i == 1) {
		snprintf(room, ADV_SYSFS_PARENT_LEN, "/run/user/%u", (unsigned)geteuid());
		path = room;
	}
	return path && path[0] == '/' ? path : NULL;
}

#define NET_BITS 48 /* of a number, for the namespace */

/* Returns the first number in the name of this process's folder. Each transport, and each choice of
 * versions of RoCE, has a folder of its own, because the same files have different contents. */
static uint64_t folder_number(void)
{
	return adv_sysfs_network() + ((uint64_t)adv_transport() << NET_BITS) +
	       ((uint64_t)adv_roce() << (NET_BITS + 4));
}

/* Writes the path of the folder in the i-th parent to root. A process with devices of its own has a
 * second number in it. False: the parent is not defined, or the path is too long. */
static bool root_path(unsigned i, char root[PATH_MAX])
{
	char room[ADV_SYSFS_PARENT_LEN], devices[32] = "";
	const char *folder = adv_sysfs_root_parent(i, room);
	const char *rails = getenv(ADV_RAILS_VARIABLE);

	if (rails && *rails)
		snprintf(devices, sizeof(devices), "-%" PRIu64,
			 adv_fnv_add_bytes(ADV_FNV_BASIS, rails, strlen(rails)));
	return folder &&
	       snprintf(root, PATH_MAX, "%s" ADV_SYSFS_ROOT_PREFIX "%u-%" PRIu64 "%s", folder,
			(unsigned)geteuid(), folder_number(), devices) < PATH_MAX / 2;
}

static bool ensure_owner_and_mode(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, fd, &st) == 0 && st.st_uid == geteuid() &&
	       ((st.st_mode & 07777) == ROOT_MODE || syscall(SYS_fchmod, fd, ROOT_MODE) == 0);
}

static int open_root(const char *root, bool make)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, root, ROOT_FLAGS);

	if (make && fd < 0 && errno == ENOENT &&
	    (syscall(SYS_mkdirat, AT_FDCWD, root, ROOT_MODE) == 0 || errno == EEXIST))
		fd = (int)syscall(SYS_openat, AT_FDCWD, root, ROOT_FLAGS);
	if (fd < 0)
		return -1;
	if (ensure_owner_and_mode(fd) && syscall(SYS_faccessat, AT_FDCWD, root, W_OK) == 0)
		return fd;
	adv_sys_close(fd);
	return -1;
}

int adv_sysfs_root_open(char root[PATH_MAX])
{
	for (unsigned i = 0; i < ADV_SYSFS_PARENTS; i++) {
		int fd = root_path(i, root) ? open_root(root, true) : -1;

		if (fd >= 0)
			return fd;
	}
	return -1;
}

bool adv_sysfs_root_is(const char *path)
{
	struct stat mine, other;
	char root[PATH_MAX];

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &other, AT_SYMLINK_NOFOLLOW) != 0 ||
	    other.st_uid != geteuid())
		return false;
	for (unsigned i = 0; i < ADV_SYSFS_PARENTS; i++)
		if (root_path(i, root) &&
		    syscall(SYS_newfstatat, AT_FDCWD, root, &mine, AT_SYMLINK_NOFOLLOW) == 0 &&
		    mine.st_dev == other.st_dev && mine.st_ino == other.st_ino)
			return true;
	return false;
}

static int open_hold_file(int fd)
{
	return (int)syscall(SYS_openat, fd, HOLD_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			    0600);
}

/* True if the path still leads to the opened folder. Another process may have replaced the folder.
 */
static bool is_still_root(int fd, const char *root)
{
	struct stat mine, there;

	return syscall(SYS_fstat, fd, &mine) == 0 &&
	       syscall(SYS_newfstatat, AT_FDCWD, root, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

int adv_sysfs_root_hold(int fd, const char *root)
{
	int hold = open_hold_file(fd);

	for (int i = 0; hold >= 0 && i < HOLD_TRIES; i++) {
		if (syscall(SYS_flock, hold, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		adv_sys_poll(NULL, 0, 1);
	}
	if (hold >= 0 && is_still_root(fd, root))
		return hold;
	if (hold >= 0)
		adv_sys_close(hold);
	return -1;
}

/* ---- removing ---- */

static void remove_entries(int folder, unsigned depth);

static void remove_entry(int folder, const struct adv_sys_entry *e, unsigned depth)
{
	int fd;

	if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0 ||
	    syscall(SYS_unlinkat, folder, e->name, 0) == 0)
		return;
	fd = (int)syscall(SYS_openat, folder, e->name, ROOT_FLAGS);
	if (fd < 0)
		return;
	remove_entries(fd, depth + 1);
	adv_sys_close(fd);
	(void)syscall(SYS_unlinkat, folder, e->name, AT_REMOVEDIR);
}

static void remove_entries(int folder, unsigned depth)
{
	char room[LISTING_ROOM] __attribute__((aligned(8)));
	long n;

	if (depth > DEPTH_MAX)
		return;
	while ((n = syscall(SYS_getdents64, folder, room, sizeof(room))) > 0)
		for (long i = 0; i < n;) {
			const struct adv_sys_entry *e = (const void *)(room + i);

			remove_entry(folder, e, depth);
			i += e->len;
		}
}

/* Removes the folder, which is locked. Renames it first, so that a process that starts now creates
 * a new one. */
static void remove_locked_root(int fd, const char *root)
{
	char old[PATH_MAX];

	snprintf(old, sizeof(old), "%.*s" OLD_SUFFIX, PATH_MAX / 2, root);
	if (syscall(SYS_renameat, AT_FDCWD, root, AT_FDCWD, old) != 0)
		return;
	remove_entries(fd, 0);
	(void)syscall(SYS_unlinkat, AT_FDCWD, old, AT_REMOVEDIR);
}

static void remove_unused_root(const char *root, time_t before)
{
	int fd = open_root(root, false), hold = fd >= 0 ? open_hold_file(fd) : -1;
	struct stat st;

	if (hold >= 0 && syscall(SYS_fstat, fd, &st) == 0 && st.st_mtime <= before &&
	    syscall(SYS_flock, hold, LOCK_EX | LOCK_NB) == 0)
		remove_locked_root(fd, root);
	if (hold >= 0)
		adv_sys_close(hold);
	if (fd >= 0)
		adv_sys_close(fd);
}

/* number: the text behind the user in the name of a folder. */
static bool is_of_network(const char *number, uint64_t net)
{
	return (strtoull(number, NULL, 10) & ((UINT64_C(1) << NET_BITS) - 1)) == net;
}

/* Removes the unused folders of this namespace, and those that killed daemons left in namespaces
 * that no longer exist: they were not changed since `before`. */
static void remove_roots(const char *folder, uint64_t net, time_t before)
{
	int fd = adv_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char room[LISTING_ROOM] __attribute__((aligned(8)));
	char wanted[64], root[PATH_MAX];
	long n;

	snprintf(wanted, sizeof(wanted), "%s%u-", &ADV_SYSFS_ROOT_PREFIX[1], (unsigned)geteuid());
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, room, sizeof(room))) > 0)
		for (long i = 0; i < n;) {
			const struct adv_sys_entry *e = (const void *)(room + i);

			if (strncmp(e->name, wanted, strlen(wanted)) == 0 &&
			    snprintf(root, sizeof(root), "%s/%s", folder, e->name) < PATH_MAX / 2)
				remove_unused_root(root,
						   is_of_network(e->name + strlen(wanted), net)
							   ? INT64_MAX
							   : before);
			i += e->len;
		}
	if (fd >= 0)
		adv_sys_close(fd);
}

void adv_sysfs_root_remove(void)
{
	uint64_t net = adv_sysfs_network();
	char room[ADV_SYSFS_PARENT_LEN];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (unsigned i = 0; i < ADV_SYSFS_PARENTS; i++) {
		const char *folder = adv_sysfs_root_parent(i, room);

		if (folder)
			remove_roots(folder, net, now.tv_sec - OLD_SECONDS);
	}
}
