/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time slice that a thread requests from the scheduler. */
#ifndef ADV_RUNTIME_PROGRESS_SLICE_H
#define ADV_RUNTIME_PROGRESS_SLICE_H

#include <stdbool.h>

/*
 * Requests a short time slice for the calling thread, at its first call in that thread. From 6.12
 * on, Linux then lets the thread preempt a thread with a longer slice when it wakes; otherwise it
 * may wait until that thread's slice ends, mostly some ms. The thread's share of the processor
 * stays the same, and the request needs no privilege: sched_setattr(2), sched_runtime of
 * SCHED_OTHER.
 *
 * Earlier kernels ignore the request. If the call is forbidden, the slice stays. Other scheduling
 * policies and a shorter slice stay as they are.
 */
void adv_slice_shorten(void);

/* True if the kernel grants the short time slice to the calling thread, which it requests. */
bool adv_slice_granted(void);

#endif
