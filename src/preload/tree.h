/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The real files that stand in for those of sysfs, in a folder for each user and network namespace.
 * A process brings them up to date before it reads them; a lock file keeps two processes from doing
 * so at the same time. Uses system calls only, not libc functions that this library interposes.
 */
#ifndef ADV_PRELOAD_TREE_H
#define ADV_PRELOAD_TREE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Creates the tree, or brings it up to date if it is older than 50 ms (`now`: in any case) with
 * data from adverbd, which is started if it does not run. root: its path. False if adverbd cannot
 * be reached or no folder is writable: there is no device then. Takes a millisecond, at most as
 * long as adv_control_connect(). Allocates memory; changes errno.
 */
bool adv_tree_ready(bool now, char root[PATH_MAX]);

#endif
