/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Leaving the circumstances of the program that happened to start the daemon: it serves others too,
 * and is not to end, or to be held short, because that one was. For a process with one thread.
 */
#ifndef ADV_DAEMON_DETACH_H
#define ADV_DAEMON_DETACH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A descriptor, close-on-exec, that is always at its end and swallows or refuses what is written:
 * /dev/null, or where that is not the device that null(4) describes, an empty file in memory that
 * is sealed. -1 and errno.
 */
int adv_detach_null(void);

/* Descriptors 0, 1 and 2 become that, whatever they were. */
void adv_detach_standard(void);

/* Signals: none blocked, none ignored, none handled. */
void adv_detach_signals(void);

/*
 * Resource limits, setrlimit(2): soft ones become as high as the hard ones, and with `beyond`,
 * where that is permitted, those are lifted too. SIGXFSZ is ignored: it is an error like others.
 */
void adv_detach_limits(bool beyond);

/* All processors that the process may have, and the ordinary policy. */
void adv_detach_processors(void);

/*
 * Moves this process and `other` (0: none) out of the control group they are in, into one beside it
 * that is for daemons of this user. Only in the hierarchy of version 2 (cgroups(7)), where a group
 * can be killed as one; only where that is permitted. The limits of the groups above still hold.
 */
void adv_detach_group(pid_t other);

#endif
