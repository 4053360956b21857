/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_RUNTIME_KEEPER_DESCRIPTORS_H
#define ADV_RUNTIME_KEEPER_DESCRIPTORS_H

/*
 * Closes all descriptors from first to last; last ~0u: no upper limit. It also works if
 * close_range(2) fails: kernels before 5.9 do not have it, and container profiles may refuse it.
 * For a process with one thread.
 */
void adv_close_range(unsigned first, unsigned last);

#endif
