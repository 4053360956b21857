/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "preload/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/sys.h"
#include "preload/ask.h"
#include "preload/redirect.h"

#define ROOT_MODE     0755
#define ROOT_FLAGS    (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FRESH_MS      50
#define RETRY_MS      2000 /* after adverbd could not be reached */
#define LOCK_TRIES    200
#define LOCK_PAUSE_MS 1
#define LOCK_FILE     ".lock" /* holds when the last update that is complete began, in ns */

static _Atomic uint64_t written_ms;
static _Atomic uint64_t failed_ms;
static _Atomic uint64_t written_for; /* the network namespace and the user */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

/* The inode number of the caller's network namespace; 0 where /proc is not mounted. */
static uint64_t network(void)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/thread-self/ns/net", &st, 0) == 0
		       ? (uint64_t)st.st_ino
		       : 0;
}

/* A folder of ours that nobody else can write to, or -1. */
static int open_root(const char *above, uid_t uid, uint64_t net, char root[PATH_MAX])
{
	struct stat st;
	int fd;

	if (!above || above[0] != '/' ||
	    snprintf(root, PATH_MAX, "%s" ADV_ROOT_PREFIX "%u-%llu", above, (unsigned)uid,
		     (unsigned long long)net) >= PATH_MAX / 2)
		return -1;
	fd = (int)syscall(SYS_openat, AT_FDCWD, root, ROOT_FLAGS);
	if (fd < 0 && errno == ENOENT &&
	    (syscall(SYS_mkdirat, AT_FDCWD, root, ROOT_MODE) == 0 || errno == EEXIST))
		fd = (int)syscall(SYS_openat, AT_FDCWD, root, ROOT_FLAGS);
	if (fd < 0)
		return -1;
	if (syscall(SYS_fstat, fd, &st) == 0 && st.st_uid == uid &&
	    ((st.st_mode & 07777) == ROOT_MODE || syscall(SYS_fchmod, fd, ROOT_MODE) == 0) &&
	    syscall(SYS_faccessat, AT_FDCWD, root, W_OK) == 0)
		return fd;
	adv_sys_close(fd);
	return -1;
}

static int find_root(uint64_t net, char root[PATH_MAX])
{
	const char *const above[] = {secure_getenv("XDG_RUNTIME_DIR"), "/tmp", "/dev/shm"};
	uid_t uid = geteuid();

	for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		int fd = open_root(above[i], uid, net, root);

		if (fd >= 0)
			return fd;
	}
	adv_warn("no folder to write to in XDG_RUNTIME_DIR, /tmp or /dev/shm: no /sys/class/"
		 "infiniband");
	return -1;
}

enum turn {
	OURS,
	DONE,  /* by somebody else, who began after we came */
	STUCK, /* who is at it is stopped, maybe in a debugger */
};

/* The process of which a thread is at it, or 0. A child of fork() must not wait for a thread that
 * it does not have. */
static _Atomic uint32_t busy;
static _Atomic uint64_t done_began; /* by this process */

static bool is_since(uint64_t began, uint64_t came)
{
	return began >= came && began <= now_ns();
}

/* Locks of fcntl(2), as flock(2)'s would be a child's of fork() too. They do not tell threads
 * apart, and end with any descriptor of the file: only who is `busy` may have one. */
static enum turn take_lock(int fd, uint64_t came)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	uint64_t began;

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (syscall(SYS_fcntl, fd, F_SETLK, &lock) == 0)
			return OURS;
		adv_sys_poll(NULL, 0, LOCK_PAUSE_MS);
		if (syscall(SYS_pread64, fd, &began, sizeof(began), 0L) == sizeof(began) &&
		    is_since(began, came))
			return DONE;
	}
	return STUCK;
}

static enum turn take_turn(uint64_t came)
{
	uint32_t me = (uint32_t)syscall(SYS_getpid);

	for (int i = 0; i < LOCK_TRIES; i++) {
		uint32_t who = busy;

		if (who != me && atomic_compare_exchange_strong(&busy, &who, me))
			return OURS;
		adv_sys_poll(NULL, 0, LOCK_PAUSE_MS);
		if (is_since(done_began, came))
			return DONE;
	}
	return STUCK;
}

/* Under the lock, so that nothing older replaces what is newer. */
static bool update(int root, int lock)
{
	struct adv_files f = {.root = root};
	struct adv_contents *c = calloc(1, sizeof(*c));
	uint64_t began = now_ns();
	bool good = c && adv_ask(c);

	if (good)
		adv_contents_write(&f, c);
	free(c);
	if (f.error)
		adv_warn("/sys/class/infiniband: %s", strerror(f.error));
	if (!good || f.error)
		return false;
	(void)syscall(SYS_pwrite64, lock, &began, sizeof(began), 0L);
	done_began = began;
	return true;
}

static bool update_alone(int root, uint64_t came)
{
	int lock = (int)syscall(SYS_openat, root, LOCK_FILE,
				O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool good = true;

	if (lock < 0)
		return false;
	if (take_lock(lock, came) == OURS)
		good = update(root, lock);
	adv_sys_close(lock);
	return good;
}

/* Where it is STUCK, what is there has to do. */
static bool write_tree(int root)
{
	uint64_t came = now_ns();
	bool good = true;

	if (take_turn(came) == OURS) {
		good = update_alone(root, came);
		busy = 0;
	}
	return good;
}

bool adv_tree_ready(bool now, char root[PATH_MAX])
{
	uint64_t net = network(), key = net << 32 ^ geteuid(), ms = now_ms();
	bool same = atomic_load(&written_for) == key;
	bool good;
	int fd;

	if (same && ms < atomic_load(&failed_ms) + RETRY_MS && atomic_load(&failed_ms))
		return false;
	fd = find_root(net, root);
	if (fd < 0)
		return false;
	good = same && !now && ms < atomic_load(&written_ms) + FRESH_MS;
	if (!good) {
		good = write_tree(fd);
		atomic_store(&written_for, key);
		atomic_store(&written_ms, now_ms());
		atomic_store(&failed_ms, good ? 0 : now_ms());
	}
	adv_sys_close(fd);
	return good;
}
