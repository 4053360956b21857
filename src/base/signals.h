/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a blocking call ends after a signal: signal(7). */
#ifndef ADV_BASE_SIGNALS_H
#define ADV_BASE_SIGNALS_H

#include <stdbool.h>

/*
 * True if a handler of this process was installed without SA_RESTART, for a signal that the calling
 * thread does not block. ppoll(2), in which threads sleep here, ends after any handler, and does
 * not tell which one ran. So a call that the kernel restarts after handlers with SA_RESTART goes on
 * only if all handlers have it. Costs a system call for each signal number: call it after EINTR
 * only.
 */
bool adv_signals_may_interrupt(void);

#endif
