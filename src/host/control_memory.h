/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that adverbd shares with this process. It is mapped only if nobody can make the file
 * smaller, as that would raise SIGBUS in the application.
 */
#ifndef ADV_HOST_CONTROL_MEMORY_H
#define ADV_HOST_CONTROL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* prot: PROT_*. The descriptor stays the caller's. NULL with errno; EPROTO: the file can shrink, or
 * is too small. */
void *adv_control_memory_map(int fd, size_t len, int prot);

/* Maps the file at `at`, in place of an earlier mapping of the same length, while other threads
 * read or write there. False: the earlier one stays. */
bool adv_control_memory_replace(void *at, int fd, size_t len, int prot);

#endif
