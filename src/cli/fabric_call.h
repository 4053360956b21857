/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of tools to the emulator of a fabric (src/emulator). */
#ifndef ADV_CLI_FABRIC_CALL_H
#define ADV_CLI_FABRIC_CALL_H

#include <stdbool.h>

#include "link/port.h"

#define ADV_FABRIC_CALL_FDS 3

/*
 * Sends a request with a descriptor (-1: none) to the emulator of this network namespace, and waits
 * for the answer, which replaces *m. fd: descriptors of the answer, -1: none, which the caller then
 * owns. On failure prints an error that begins with `who`, and returns false; then there are no
 * descriptors.
 */
bool adv_fabric_call(const char *who, struct adv_port_message *m, int send_fd,
		     int fd[ADV_FABRIC_CALL_FDS]);

/* Moves this process, which must have one thread, to a host of the fabric: its network namespace
 * and its host name. On failure prints an error and returns false. */
bool adv_fabric_enter(const char *who, const char *host);

#endif
