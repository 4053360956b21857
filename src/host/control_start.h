/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Starts adverbd from inside an application, which must not notice it: no atfork handler runs, no
 * SIGCHLD arrives, and no child appears in the application's wait().
 */
#ifndef ADV_HOST_CONTROL_START_H
#define ADV_HOST_CONTROL_START_H

#include <stddef.h>

struct adv_control_starter;

/* Finds the path of adverbd: ADVERB_DAEMON, else the adverbd of the build tree or installation that
 * this code was loaded from. `path` has at least PATH_MAX bytes. 0, or errno ENOENT. */
int adv_control_daemon_path(char *path);

/*
 * Starts adverbd in the background and waits, for a bounded time, for what it writes. Returns
 * ADV_START_READY, ADV_START_LOST, or ADV_START_WAIT or ADV_START_FAILED with errno and a line in
 * why[].
 */
int adv_control_start_daemon(char *why, size_t why_len);

/*
 * Saves the path of adverbd and the environment as they are now. A later start may run in any
 * thread, while the application changes its environment. NULL: there is no memory, or no adverbd.
 */
struct adv_control_starter *adv_control_starter_new(void);
void adv_control_starter_free(struct adv_control_starter *s); /* NULL is fine */

/*
 * Starts adverbd from the carrier, whose descriptor stays the caller's, and does not wait for it.
 * *said, the caller's, does not block; adverbd writes ADV_START_* there. 0, or errno with *said -1
 * and a line in why[].
 */
int adv_control_starter_run(struct adv_control_starter *s, int carrier, int *said, char *why,
			    size_t why_len);

#endif
