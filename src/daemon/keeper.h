/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keeper holds the estate and restarts the worker. If the last holder of the group's sockets
 * died, the kernel would compact the group, and every packet would reach the wrong process.
 */
#ifndef ADV_DAEMON_KEEPER_H
#define ADV_DAEMON_KEEPER_H

#include "daemon/estate.h"

/*
 * Divides this process into keeper and worker, which a socket pair joins. The worker serves
 * (d->run_worker). Each of the two replaces the other if it dies. Returns in every process that
 * comes from this one, at its end: the exit status.
 */
int adv_keeper_start(struct adv_daemon *d);

/* For a worker whose keeper died: forks another keeper. Returns the worker's new end of the pair,
 * or -1. */
int adv_keeper_replace(struct adv_daemon *d);

/* Sends the keeper a copy of the socket by which the group has grown. Returns 0, or errno if the
 * keeper cannot receive it. Without a keeper it does nothing: the next one is a child of the worker
 * and inherits the socket. */
int adv_keeper_send_socket(const struct adv_daemon *d, int fd);

#endif
