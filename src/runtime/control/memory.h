/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps memory that adverbd shares with this process. The memory is mapped only if the file is
 * sealed against shrinking: an access to a part that was cut off would raise SIGBUS in the
 * application.
 */
#ifndef ADV_RUNTIME_CONTROL_MEMORY_H
#define ADV_RUNTIME_CONTROL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Maps the first `len` bytes of the file. prot: PROT_*. The caller keeps the descriptor. NULL with
 * errno; EPROTO: the file can shrink, or is too small. */
void *adv_control_memory_map(int fd, size_t len, int prot);

/* Replaces the mapping at `at` by a mapping of the file of the same length. Other threads may read
 * or write there meanwhile. False: the old mapping remains. */
bool adv_control_memory_replace(void *at, int fd, size_t len, int prot);

#endif
