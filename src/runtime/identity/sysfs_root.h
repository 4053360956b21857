/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The folder with the files that replace those of sysfs. Each user has one folder in each network
 * namespace. It is in a place that programs do not reach when they search the file system:
 * $XDG_RUNTIME_DIR, /run/user/UID, /run, /dev/shm or, if none of these is writable, /tmp. The
 * functions use raw system calls and may be called by any thread. errno is not preserved.
 *
 * A process that uses the folder holds a shared lock, flock(2), on a file in it. When adverbd ends,
 * it removes the folder under an exclusive lock. So the folder exists as long as a process may have
 * its current directory in it.
 */
#ifndef ADV_RUNTIME_IDENTITY_SYSFS_ROOT_H
#define ADV_RUNTIME_IDENTITY_SYSFS_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define ADV_SYSFS_ROOT_PREFIX                                                                      \
	"/adverb-sysfs-" /* uid, "-" and a number follow: the namespace, and the transport; then,  \
			    if the process has devices of its own, "-" and a number for them */

/* Returns the inode number of the caller's network namespace; 0: /proc is not mounted. */
uint64_t adv_sysfs_network(void);

/*
 * Opens the folder, and creates it if it does not exist. Only the user can write to it. root[] is
 * its path, shorter than half of PATH_MAX. -1: none of the places is writable.
 */
int adv_sysfs_root_open(char root[PATH_MAX]);

#define ADV_SYSFS_PARENTS    5
#define ADV_SYSFS_PARENT_LEN 64

/* Returns the i-th of the places above, of ADV_SYSFS_PARENTS; NULL: it is not defined. The path may
 * be in room[]. */
const char *adv_sysfs_root_parent(unsigned i, char room[ADV_SYSFS_PARENT_LEN]);

/* True if the path leads to that folder. False if the last component of the path is a symbolic
 * link. */
bool adv_sysfs_root_is(const char *path);

/*
 * Prevents the removal of the opened folder as long as the returned descriptor, or a copy of it, is
 * open. Blocks for 0.2 s at most. Returns -1 in two cases: the folder was removed or is being
 * removed, and has to be opened again; or the process can open no more descriptors.
 */
int adv_sysfs_root_hold(int fd, const char *root);

/* Removes the folder with its contents in each of the places, unless a process uses it. Also
 * removes the user's unused folders of other namespaces that are an hour old: the next process that
 * needs one creates it again. */
void adv_sysfs_root_remove(void);

#endif
