/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a call says that it failed. Whatever programs can call returns its error through one of
 * these, so that errno and the value returned agree, as they do where a system call set errno.
 */
#ifndef ADV_VERBS_REFUSE_H
#define ADV_VERBS_REFUSE_H

/* err: a positive error number, which becomes errno, or 0. Returns err. Any thread. */
int adv_ibv_refuse(int err);

/* The same for calls that return a negative error number; err is positive or 0. */
int adv_ibv_refuse_negative(int err);

/* The same for calls that return -1; 0 where err is 0. */
int adv_ibv_refuse_minus_one(int err);

/* The same for calls that return an object; err is not 0. Returns NULL. */
void *adv_ibv_refuse_object(int err);

#endif
