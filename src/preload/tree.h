/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The real files that stand in for those of sysfs, in a folder of the user's for each network
 * namespace. Any process brings them up to date before it looks at them; a lock file keeps
 * them from doing so at once. All by system calls.
 */
#ifndef ADV_PRELOAD_TREE_H
#define ADV_PRELOAD_TREE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Makes the tree, or brings it up to date where it is older than 50 ms (`now`: in any case), with
 * what adverbd says, which is started if need be. root: where it is. False: there is no device,
 * as adverbd cannot be reached, or no folder to write to. Takes a millisecond, at worst as long as
 * adv_control_connect(); allocates; errno is lost.
 */
bool adv_tree_ready(bool now, char root[PATH_MAX]);

#endif
