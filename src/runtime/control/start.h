/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Starts adverbd from inside an application. The application must not notice it: no atfork handler
 * runs, no SIGCHLD arrives, and the application's wait() returns no child of this start.
 */
#ifndef ADV_RUNTIME_CONTROL_START_H
#define ADV_RUNTIME_CONTROL_START_H

#include <stddef.h>

struct adv_control_starter;

/* Finds the path of adverbd: ADVERB_DAEMON, else the adverbd of the build tree or installation from
 * which this code was loaded. `path` has at least PATH_MAX bytes. 0, or errno: ENOENT: no adverbd
 * was found; ENAMETOOLONG. */
int adv_control_daemon_path(char *path);

/*
 * Starts adverbd in the background and waits, for a bounded time, for its first message. Returns
 * one of these:
 * - ADV_START_READY
 * - ADV_START_LOST
 * - ADV_START_WAIT or ADV_START_FAILED, with errno and a line in why[].
 */
int adv_control_start_daemon(char *why, size_t why_len);

/*
 * Saves the present path of adverbd and the present environment. A later start may run in any
 * thread, while the application changes its environment. NULL: no memory is left, or no adverbd
 * exists.
 */
struct adv_control_starter *adv_control_starter_new(void);
void adv_control_starter_free(struct adv_control_starter *s); /* s may be NULL */

/*
 * Starts adverbd from the carrier and does not wait for it. The caller keeps the carrier's
 * descriptor. *said is a non-blocking descriptor, owned by the caller, from which adverbd's
 * ADV_START_* message can be read. 0, or errno with *said -1 and a line in why[].
 */
int adv_control_starter_run(struct adv_control_starter *s, int carrier, int *said, char *why,
			    size_t why_len);

#endif
