/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree: the real files that stand in for those of sysfs. Each user has a tree for each network
 * namespace. A process brings the tree up to date before it reads a file; a lock file prevents two
 * updates at the same time. Uses system calls, not the libc functions that this library interposes.
 */
#ifndef ADV_RUNTIME_PRELOAD_TREE_H
#define ADV_RUNTIME_PRELOAD_TREE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Creates the tree. If the tree exists and is older than 50 ms (with `now`: in any case), brings it
 * up to date with data from adverbd. Starts adverbd if it does not run. root: the path of the tree.
 * False if adverbd cannot be reached or no folder is writable: there is no device then. Takes a
 * millisecond, at most as long as adv_control_connect(). Allocates memory; changes errno.
 */
bool adv_tree_ready(bool now, char root[PATH_MAX]);

#endif
