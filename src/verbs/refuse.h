/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Error returns. Every call of the ABI returns its error through one of these functions, so that
 * errno and the returned value agree, as after a failed system call.
 */
#ifndef ADV_VERBS_REFUSE_H
#define ADV_VERBS_REFUSE_H

/* Sets errno to err, a positive error number. If err is 0, leaves errno unchanged. Returns err. Any
 * thread may call it. */
int adv_ibv_refuse(int err);

/* As adv_ibv_refuse(), for calls that return a negative error number: returns -err. */
int adv_ibv_refuse_negative(int err);

/* As adv_ibv_refuse(), for calls that return -1: returns -1, or 0 if err is 0. */
int adv_ibv_refuse_minus_one(int err);

/* As adv_ibv_refuse(), for calls that return an object; err is not 0. Returns NULL. */
void *adv_ibv_refuse_object(int err);

#endif
