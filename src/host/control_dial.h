/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects a socket to adverbd and checks which user runs it. */
#ifndef ADV_HOST_CONTROL_DIAL_H
#define ADV_HOST_CONTROL_DIAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * system: to the system's adverbd, else to the user's own. Does not block. 0 with *sock, which does
 * not block; ECONNREFUSED: no process listens; EAGAIN: its queue of connections is full, try again;
 * EPERM with a line in why[]: another user, who is not root, has the name.
 */
int adv_control_dial(bool system, int *sock, char *why, size_t why_len);

#endif
