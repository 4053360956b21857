/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_DAEMON_DESCRIPTORS_H
#define ADV_DAEMON_DESCRIPTORS_H

/*
 * Closes all descriptors from first to last; ~0u: no upper end. It works without close_range(2)
 * too, which kernels before 5.9 lack and container profiles may refuse. For a process with one
 * thread.
 */
void adv_close_range(unsigned first, unsigned last);

#endif
