/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/identity/sysfs_root.h"
#include "runtime/preload/query.h"

#define NS_PER_MS     1000000ull
#define FRESH_MS      50
#define RETRY_MS      2000 /* interval between tries while adverbd is unreachable */
#define LOCK_TRIES    200
#define LOCK_PAUSE_MS 1
#define ROOT_TRIES    4	      /* adverbd may remove the root while it is opened */
#define HOLD_FD	      300     /* lowest number of the held descriptor: programs rely on low ones */
#define LOCK_FILE     ".lock" /* contains the start time of the last complete update, ns */

static _Atomic uint64_t written_ms;
static _Atomic uint64_t failed_ms;
static _Atomic uint64_t written_for; /* key of the network namespace and the user */

/* Descriptor that prevents the removal of the root; -1: none. Then the key of its file, and the key
 * of the root. */
static _Atomic int held = -1;
static _Atomic uint64_t held_file, held_for;

/* Returns the number of a file, which differs from those of other file systems, too; 0: not open.
 */
static uint64_t file_key(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, fd, &st) == 0 ? st.st_ino ^ (uint64_t)st.st_dev << 40 : 0;
}

/* Closes a held descriptor, unless the program has closed it: the number may then belong to another
 * file. */
static void close_held(int fd, uint64_t file)
{
	if (fd >= 0 && file_key(fd) == file)
		adv_sys_close(fd);
}

static bool hold_root(int fd, const char *root, uint64_t key)
{
	int before = held, mine, moved;
	uint64_t file = held_file;

	if (before >= 0 && held_for == key)
		return true;
	mine = adv_sysfs_root_hold(fd, root);
	if (mine < 0)
		return false;
	moved = adv_sys_fcntl(mine, F_DUPFD_CLOEXEC, HOLD_FD);
	if (moved >= 0) {
		adv_sys_close(mine);
		mine = moved;
	}
	if (!atomic_compare_exchange_strong(&held, &before, mine)) {
		adv_sys_close(mine); /* another thread was faster */
		return true;
	}
	held_for = key;
	held_file = file_key(mine);
	close_held(before, file);
	return true;
}

static int find_root(uint64_t key, char root[PATH_MAX])
{
	for (int i = 0; i < ROOT_TRIES; i++) {
		int fd = adv_sysfs_root_open(root);

		if (fd < 0) {
			adv_warn("no /sys/class/infiniband: cannot write to XDG_RUNTIME_DIR, "
				 "/run, /dev/shm or /tmp; make one of them writable");
			return -1;
		}
		if (hold_root(fd, root, key))
			return fd;
		adv_sys_close(fd);
	}
	return adv_sysfs_root_open(root);
}

enum turn {
	OURS,
	DONE,  /* another update has begun since the wanted time, and has ended */
	STUCK, /* the updating process or thread is stopped, perhaps in a debugger */
};

/* ID of the process whose thread is updating the tree, or 0. A child of fork() must not wait for a
 * thread that only the parent has. */
static _Atomic uint32_t busy;
static _Atomic uint64_t done_began; /* start of this process's last update, ns */

static bool began_since(uint64_t began, uint64_t came)
{
	return began >= came && began <= adv_clock_ns();
}

/* Acquires a lock of fcntl(2), because a child of fork() would share a lock of flock(2). Locks of
 * fcntl(2) do not distinguish threads, and end when any descriptor of the file is closed. So only
 * the thread that has set `busy` may hold the lock. */
static enum turn take_file_lock(int fd, uint64_t *since)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	uint64_t began;

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (syscall(SYS_pread64, fd, &began, sizeof(began), 0L) == sizeof(began) &&
		    began_since(began, *since)) {
			*since = began;
			return DONE;
		}
		if (syscall(SYS_fcntl, fd, F_SETLK, &lock) == 0)
			return OURS;
		adv_sys_poll(NULL, 0, LOCK_PAUSE_MS);
	}
	*since = adv_clock_ns(); /* tries again after FRESH_MS */
	return STUCK;
}

static enum turn take_process_turn(uint64_t *since)
{
	uint32_t me = (uint32_t)syscall(SYS_getpid);

	for (int i = 0; i < LOCK_TRIES; i++) {
		uint32_t who = busy;

		if (who != me && atomic_compare_exchange_strong(&busy, &who, me))
			return OURS;
		adv_sys_poll(NULL, 0, LOCK_PAUSE_MS);
		if (began_since(done_began, *since)) {
			*since = done_began;
			return DONE;
		}
	}
	*since = adv_clock_ns();
	return STUCK;
}

/* Updates the tree. Call it with the lock held, so that older data does not replace newer data.
 * *at: when the update began. */
static bool update_locked(int root, int lock, uint64_t *at)
{
	struct adv_files f = {.root = root};
	struct adv_contents *c = calloc(1, sizeof(*c));
	uint64_t began = adv_clock_ns();
	bool good = c && adv_query_contents(c);

	if (good)
		adv_contents_write(&f, c);
	free(c);
	if (f.error)
		adv_warn("/sys/class/infiniband: %s", strerror(f.error));
	if (!good || f.error)
		return false;
	(void)syscall(SYS_pwrite64, lock, &began, sizeof(began), 0L);
	done_began = *at = began;
	return true;
}

static bool update_under_lock(int root, uint64_t *since)
{
	int lock = (int)syscall(SYS_openat, root, LOCK_FILE,
				O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool good = true;

	if (lock < 0)
		return false;
	if (take_file_lock(lock, since) == OURS)
		good = update_locked(root, lock, since);
	adv_sys_close(lock);
	return good;
}

/* Updates the tree in turn, unless an update of any process began at the time *since or later.
 * Replaces *since by the time at which that update began. If the updating process is stuck, the
 * existing tree is used unchanged. */
static bool write_tree(int root, uint64_t *since)
{
	bool good = true;

	if (take_process_turn(since) == OURS) {
		good = update_under_lock(root, since);
		busy = 0;
	}
	return good;
}

bool adv_tree_ready(bool now, char root[PATH_MAX])
{
	uint64_t key = adv_sysfs_network() << 32 ^ geteuid(), ms = adv_clock_ms();
	uint64_t since = adv_clock_ns() - (now ? 0 : FRESH_MS * NS_PER_MS);
	bool same = atomic_load(&written_for) == key;
	bool good;
	int fd;

	if (same && ms < atomic_load(&failed_ms) + RETRY_MS && atomic_load(&failed_ms))
		return false;
	fd = find_root(key, root);
	if (fd < 0)
		return false;
	good = same && !now && ms < atomic_load(&written_ms) + FRESH_MS;
	if (!good) {
		good = write_tree(fd, &since);
		atomic_store(&written_for, key);
		atomic_store(&written_ms, since / NS_PER_MS);
		atomic_store(&failed_ms, good ? 0 : adv_clock_ms());
	}
	adv_sys_close(fd);
	return good;
}
