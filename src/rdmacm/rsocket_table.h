/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rsockets of this process by their numbers, and their references. */
#ifndef ADV_RDMACM_RSOCKET_TABLE_H
#define ADV_RDMACM_RSOCKET_TABLE_H

#include "rdmacm/rsocket_state.h"

/*
 * Returns a new rsocket with one reference, not in the table: with the options of `from`, or the
 * defaults if that is NULL. NULL and ENOMEM. For adv_rs_stream_new() and adv_rs_dgram_new().
 */
struct adv_rsocket *adv_rs_new(int domain, int type, const struct adv_rs_ops *ops,
			       const struct adv_rs_options *from);

/* Sets errno; -1. */
int adv_rs_error(int err);

/* Enters rs under `fd`, and takes a reference for the table. 0; or -1 and ENOMEM or EMFILE. */
int adv_rs_enter(struct adv_rsocket *rs, int fd);

/* The rsocket of that number with a reference more; NULL and errno EBADF. */
struct adv_rsocket *adv_rs_get(int fd);

/* The same without errno: also NULL for an ordinary descriptor. */
struct adv_rsocket *adv_rs_find(int fd);

/* The rsocket taken out of the table, the table's reference being the caller's now; NULL: none. */
struct adv_rsocket *adv_rs_take(int fd);

void adv_rs_hold(struct adv_rsocket *rs);

/* Gives a reference back. Not with any lock of rs held. */
void adv_rs_put(struct adv_rsocket *rs);

/*
 * True for an rsocket that this process has inherited from its parent: it is the parent's still,
 * and only closing it makes sense here. adv_rs_find() and adv_rs_get() do not find such.
 */
bool adv_rs_is_inherited(int fd);

/* Forgets one and closes this process's copy of its descriptor. */
void adv_rs_forget_inherited(int fd);

/* In a child after fork(): all rsockets are the parent's. */
void adv_rs_table_forget(void);

#endif
