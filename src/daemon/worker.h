/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The worker serves clients, in one thread. */
#ifndef ADV_DAEMON_WORKER_H
#define ADV_DAEMON_WORKER_H

#include "daemon/estate.h"

/* Runs the worker's loop until it ends; `keeper` is its end of the pair and stays open until the
 * process exits. Returns the exit status. */
int adv_worker_run(struct adv_daemon *d, int keeper);

#endif
