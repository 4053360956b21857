/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keeper holds the estate and restarts the worker. If no process held a socket of the group any
 * more, the kernel would move other sockets to its place. Packets would then reach the wrong
 * process.
 */
#ifndef ADV_RUNTIME_DAEMON_KEEPER_H
#define ADV_RUNTIME_DAEMON_KEEPER_H

#include "runtime/keeper/estate.h"

/*
 * Forks, so that this process is the keeper and its child the worker, connected by a socket pair.
 * The worker serves clients (d->run_worker). If one of the two dies, the other replaces it. Returns
 * the exit status, in the keeper and in each worker, when that process has to exit.
 */
int adv_keeper_start(struct adv_daemon *d);

/* Forks another keeper; for a worker whose keeper died. Returns the worker's end of the new socket
 * pair, or -1. */
int adv_keeper_replace(struct adv_daemon *d);

#endif
