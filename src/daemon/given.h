/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptors that clients send along: anything may be behind them. */
#ifndef ADV_DAEMON_GIVEN_H
#define ADV_DAEMON_GIVEN_H

#include <sys/socket.h>

/* The first descriptor of a message, the caller's now, or -1; nobody needs to send us more than
 * one: the others are closed. */
int adv_given_take(struct msghdr *msg);

/* Closes one. -1 is fine. A TCP socket that lingers does not hold us up by that. */
void adv_given_close(int fd);

#endif
