/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Error returns. Every call of the ABI returns its error through one of these functions, so that
 * errno and the returned value agree, as after a failed system call, and the log says why (level
 * warn, see base/reason.h). `call` and the arguments after it, as for printf(3), name the function
 * and its object: "ibv_destroy_cq(cq 7)". Any thread may call these functions.
 */
#ifndef ADV_ABI_VERBS_REFUSE_H
#define ADV_ABI_VERBS_REFUSE_H

/* Sets errno to err, a positive error number. If err is 0, leaves errno unchanged. Returns err. */
int adv_ibv_refuse(int err, const char *call, ...) __attribute__((format(printf, 2, 3)));

/* As adv_ibv_refuse(), for calls that return a negative error number: returns -err. */
int adv_ibv_refuse_negative(int err, const char *call, ...) __attribute__((format(printf, 2, 3)));

/* As adv_ibv_refuse(), for calls that return -1: returns -1, or 0 if err is 0. */
int adv_ibv_refuse_minus_one(int err, const char *call, ...) __attribute__((format(printf, 2, 3)));

/* As adv_ibv_refuse(), for calls that return an object; err is not 0. Returns NULL. */
void *adv_ibv_refuse_object(int err, const char *call, ...) __attribute__((format(printf, 2, 3)));

/* Refuses the import of an object of another process: returns NULL, and sets errno to
 * EOPNOTSUPP. */
void *adv_ibv_refuse_import(const char *call, ...) __attribute__((format(printf, 1, 2)));

#define ADV_EFOREIGN EIO /* errno of a call in a child of fork() */

/* Keeps the reason why a call in a child of fork() fails. Returns NULL, and sets errno to
 * ADV_EFOREIGN. */
struct adv_engine *adv_ibv_refuse_foreign(void);

#endif
