/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The folder with the files that stand in for those of sysfs: one for each user and network
 * namespace, where it is not met by who walks through the file system: in $XDG_RUNTIME_DIR,
 * /run/user/UID, /run, /dev/shm or, where none of these can be written to, /tmp. All by system
 * calls; any thread; errno is lost.
 *
 * Who uses it holds a shared lock of flock(2) on a file in it, and adverbd, which removes it when
 * it ends, takes an exclusive one: it stays as long as a process may have its current folder in
 * there.
 */
#ifndef ADV_HOST_SYSFS_ROOT_H
#define ADV_HOST_SYSFS_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define ADV_SYSFS_ROOT_PREFIX "/adverb-sysfs-" /* its last component: this, a uid, a namespace */

/* The inode number of the caller's network namespace; 0 where /proc is not mounted. */
uint64_t adv_sysfs_network(void);

/*
 * Opens the folder, which is the user's and nobody else can write to, and makes it where it is not
 * there. Its path, less than half of PATH_MAX, is in root[]; -1: there is no place for it.
 */
int adv_sysfs_root_open(char root[PATH_MAX]);

/* True where the path, with no link in its last component, is that folder. */
bool adv_sysfs_root_is(const char *path);

/*
 * Holds the folder that was opened: it stays as long as the descriptor that is returned, or a copy
 * of it, is open. -1: it has been removed, or is being, and is to be opened again; or there are no
 * descriptors left. Waits for a fifth of a second at worst.
 */
int adv_sysfs_root_hold(int fd, const char *root);

/* Removes it with all that is in it, wherever it is, unless somebody uses it; and those of the
 * user's in other namespaces that are an hour old and nobody uses: who looks makes them anew. */
void adv_sysfs_root_remove(void);

#endif
