/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rsockets of this process by their numbers, and their references. */
#ifndef ADV_ABI_RSOCKET_TABLE_H
#define ADV_ABI_RSOCKET_TABLE_H

#include "abi/rsocket/state.h"

/*
 * Returns a new rsocket with one reference, not in the table. Its options are those of `from`; if
 * `from` is NULL, the defaults. NULL and ENOMEM. For adv_rs_stream_new() and adv_rs_dgram_new().
 */
struct adv_rsocket *adv_rs_new(int domain, int type, const struct adv_rs_ops *ops,
			       const struct adv_rs_options *from);

/* Sets errno; returns -1. */
int adv_rs_error(int err);

/* Enters rs under `fd`, with a reference for the table. 0; or -1 and ENOMEM or EMFILE. */
int adv_rs_enter(struct adv_rsocket *rs, int fd);

/* Returns the rsocket with the number `fd`, with a new reference. If there is none, NULL and errno
 * EBADF. */
struct adv_rsocket *adv_rs_get(int fd);

/* As adv_rs_get(), without errno: NULL also for an ordinary descriptor. */
struct adv_rsocket *adv_rs_find(int fd);

/* Removes the rsocket from the table and returns it with the table's reference, which the caller
 * has to release. NULL: none. */
struct adv_rsocket *adv_rs_take(int fd);

void adv_rs_hold(struct adv_rsocket *rs);

/* Releases a reference. Call it with no lock of rs held. */
void adv_rs_put(struct adv_rsocket *rs);

/*
 * True for an rsocket that this process has inherited from its parent. The rsocket still belongs to
 * the parent; this process can only close it. adv_rs_find() and adv_rs_get() do not find it.
 */
bool adv_rs_is_inherited(int fd);

/* Removes an inherited rsocket and closes this process's copy of its descriptor. */
void adv_rs_forget_inherited(int fd);

/* Marks all rsockets as inherited. Call it in a child after fork(). */
void adv_rs_table_forget(void);

#endif
