/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a call is refused. The check that fails keeps its reason with adv_reason(); the function that
 * the application called then writes it to the log with adv_reason_tell(). A thread has one reason
 * at a time. If the log does not show warnings, no reason is kept, and a failed check costs a few
 * instructions more than without.
 *
 * A reason names the argument, its value, what is allowed, and what to do, in the form
 * "max_send_wr 70000 is above 32768, the limit of the device: use less, or another queue pair".
 */
#ifndef ADV_BASE_REASON_H
#define ADV_BASE_REASON_H

#include <stdarg.h>

#define ADV_REASON_LENGTH 320 /* bytes; longer reasons are cut */

/* Keeps the reason why the present call fails with err, a positive error number; an earlier reason
 * of this thread is lost. fmt: as for printf(3). Returns err. Does not change errno. */
int adv_reason(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As adv_reason(), for functions that return NULL: sets errno to err and returns NULL. */
void *adv_reason_no_object(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes "CALL: REASON (ERROR)" as a warning, and forgets the reason. call and the arguments after
 * it, as for printf(3), name the function and its object. If no reason for err was kept, the line
 * has the text of err. A line that repeats the thread's previous one is written the 10th, 100th,
 * 1000th... time, with the count, as some programs poll for room by posting. Does not change errno.
 */
void adv_reason_tell(int err, const char *call, ...) __attribute__((format(printf, 2, 3)));

/* As adv_reason_tell(), with the arguments as for vprintf(3). */
void adv_reason_vtell(int err, const char *call, va_list args)
	__attribute__((format(printf, 2, 0)));

#endif
