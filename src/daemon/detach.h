/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the daemon leaves the circumstances of the program that started it. The daemon serves other
 * programs too, and must not end or be limited because of that one. For a process with one thread.
 */
#ifndef ADV_DAEMON_DETACH_H
#define ADV_DAEMON_DETACH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns a close-on-exec descriptor at whose end reads return 0 and which discards or refuses
 * written data: /dev/null, or if that is not the device of null(4), an empty sealed file in memory.
 * -1 and errno.
 */
int adv_detach_null(void);

/* Makes descriptors 0, 1 and 2 such ones. */
void adv_detach_standard(void);

/* Resets signals: none blocked, ignored or handled. */
void adv_detach_signals(void);

/*
 * Sets resource limits, setrlimit(2): raises soft limits to the hard ones; with `beyond` it raises
 * those too, where permitted. SIGXFSZ is ignored, so that the write fails instead.
 */
void adv_detach_limits(bool beyond);

/* Allows all processors that the process may use, and sets the default scheduling policy. */
void adv_detach_processors(void);

/*
 * Moves this process and `other` (0: none) out of their control group into a sibling for the
 * daemons of this user. Only in the version 2 hierarchy (cgroups(7)), where a whole group can be
 * killed, and only where permitted. The limits of the groups above still hold.
 */
void adv_detach_group(pid_t other);

#endif
