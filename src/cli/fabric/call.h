/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of tools to the emulator of a fabric (src/fabric/emulator). */
#ifndef ADV_CLI_FABRIC_CALL_H
#define ADV_CLI_FABRIC_CALL_H

#include <stdbool.h>

#include "runtime/link/port.h"

#define ADV_CALL_FDS 3

/*
 * Sends a request with a descriptor (-1: none) to the emulator of this network namespace, and waits
 * for the answer, which replaces *m. fd: descriptors of the answer, -1: none, which the caller then
 * owns. On failure prints an error that begins with `who`, and returns false; then there are no
 * descriptors.
 */
bool adv_call_fabric(const char *who, struct adv_port_message *m, int send_fd,
		     int fd[ADV_CALL_FDS]);

/* As adv_call_fabric(), but returns the connection, which the caller closes; -1 on failure. */
int adv_call_begin(const char *who, struct adv_port_message *m, int send_fd, int fd[ADV_CALL_FDS]);

/* Changes a cable of the fabric: `what` is up, down, or rules: loss=PERCENT%
 * or drop=PERCENT%, corrupt=PERCENT%, delay=TIME. On failure
 * prints an error that begins with `who`, and returns false. */
bool adv_call_change_cable(const char *who, const char *cable, const char *what);

/* Moves this process, which must have one thread, to a host of the fabric: its network namespace
 * and its host name. On failure prints an error and returns false. */
bool adv_call_enter_host(const char *who, const char *host);

#endif
