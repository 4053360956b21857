/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects a socket to adverbd and checks which user runs it. */
#ifndef ADV_RUNTIME_CONTROL_DIAL_H
#define ADV_RUNTIME_CONTROL_DIAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Connects *sock to the system's adverbd if `system` is set, else to the user's own. Does not
 * block. 0 with *sock, which is non-blocking. Or errno:
 * - ECONNREFUSED: no process listens.
 * - EAGAIN: adverbd's queue of connections is full; try again.
 * - EPERM with a line in why[]: a process of another user, who is not root, holds the name.
 */
int adv_control_dial(bool system, int *sock, char *why, size_t why_len);

#endif
