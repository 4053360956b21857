/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shows system calls that a program makes by itself to a test that replaces syscall(). */
#ifndef TESTS_LINK_RAW_CALLS_H
#define TESTS_LINK_RAW_CALLS_H

/* A function like syscall(), which always gets six arguments. */
typedef long raw_call_fn(long number, ...);

/* From now on, system calls of this thread that are not made in the C library's code call `fn`
 * instead, on platforms where adv_sys_call() makes them. Ends the test if that is impossible. */
void raw_calls_go_to(raw_call_fn *fn);

#endif
