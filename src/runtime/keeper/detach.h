/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Detaches the daemon from the program that started it: from that program's descriptors, signals,
 * limits, processors and control group. The daemon serves other programs too. Nothing that ends or
 * limits the starting program may end or limit the daemon. For a process with one thread.
 */
#ifndef ADV_RUNTIME_KEEPER_DETACH_H
#define ADV_RUNTIME_KEEPER_DETACH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns a close-on-exec descriptor. Its reads return 0, and it discards or refuses written data.
 * It is /dev/null, or an empty sealed file in memory if /dev/null is not the device of null(4). -1
 * and errno.
 */
int adv_detach_null(void);

/* Replaces descriptors 0, 1 and 2 by such descriptors as adv_detach_null() returns. */
void adv_detach_standard(void);

/* Resets signals: none blocked, ignored or handled. */
void adv_detach_signals(void);

/*
 * Raises soft resource limits to the hard limits, setrlimit(2). With `beyond` it first raises the
 * hard limits, if permitted. Ignores SIGXFSZ: a write beyond the file size limit then fails.
 */
void adv_detach_limits(bool beyond);

/* Sets the affinity to all processors that the process may use, and sets the default scheduling
 * policy. */
void adv_detach_processors(void);

/*
 * Moves this process and `other` (0: none) out of their control group into a sibling group for the
 * daemons of this user. Works only if permitted, and only in the version 2 hierarchy (cgroups(7)),
 * where a whole group can be killed. The limits of the parent groups still apply.
 */
void adv_detach_group(pid_t other);

#endif
