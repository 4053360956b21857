/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The folder with the files that replace those of sysfs: one for each user and network namespace.
 * Its place is one that programs do not find when they search the file system: $XDG_RUNTIME_DIR,
 * /run/user/UID, /run, /dev/shm or, if none of these is writable, /tmp. Uses raw system calls. Any
 * thread. errno is not preserved.
 *
 * A process that uses the folder holds a shared lock, flock(2), on a file in it. adverbd removes
 * the folder when it ends, under an exclusive lock. So the folder exists as long as a process may
 * have its current directory in it.
 */
#ifndef ADV_HOST_SYSFS_ROOT_H
#define ADV_HOST_SYSFS_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define ADV_SYSFS_ROOT_PREFIX "/adverb-sysfs-" /* then the uid, "-" and the namespace's inode */

/* The inode number of the caller's network namespace; 0: /proc is not mounted. */
uint64_t adv_sysfs_network(void);

/*
 * Opens the folder, and makes it if it does not exist. Only the user can write to it. root[] is its
 * path, shorter than half of PATH_MAX. -1: no place is writable.
 */
int adv_sysfs_root_open(char root[PATH_MAX]);

/* True if the path, whose last component is no link, is that folder. */
bool adv_sysfs_root_is(const char *path);

/*
 * Keeps the opened folder from removal as long as the returned descriptor, or a copy of it, is
 * open. Returns -1 if the folder was removed or is being removed, and has to be opened again, or if
 * the process can have no more descriptors. Blocks for 0.2 s at most.
 */
int adv_sysfs_root_hold(int fd, const char *root);

/* Removes the folder with its contents, wherever it is, unless a process uses it. Also removes the
 * user's unused folders of other namespaces that are an hour old: their next user makes them again.
 */
void adv_sysfs_root_remove(void);

#endif
