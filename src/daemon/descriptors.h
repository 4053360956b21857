/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_DAEMON_DESCRIPTORS_H
#define ADV_DAEMON_DESCRIPTORS_H

/*
 * Closes all descriptors from first to last; ~0u: to the end. Also where close_range(2) is refused,
 * by kernels before 5.9 or by a container's profile. For a process with one thread.
 */
void adv_close_range(unsigned first, unsigned last);

#endif
