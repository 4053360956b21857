/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The worker serves clients, in one thread. */
#ifndef ADV_RUNTIME_DAEMON_WORKER_H
#define ADV_RUNTIME_DAEMON_WORKER_H

#include "runtime/keeper/estate.h"

/* Runs the worker's loop. Returns the exit status when the worker has to exit. `keeper` is the
 * worker's end of the socket pair with the keeper; it stays open until the process exits. */
int adv_worker_run(struct adv_daemon *d, int keeper);

#endif
