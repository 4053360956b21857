/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Injected faults of the connection manager, for packets of QP1. A process can have a fault plan
 * for the packets of its ids. adverbd can have a fault plan for all packets of QP1. The process's
 * plan decides first.
 */
#ifndef ADV_RUNTIME_UCMA_CM_FAULT_H
#define ADV_RUNTIME_UCMA_CM_FAULT_H

#include <sys/types.h>

struct adv_cm_faults;
struct adv_ucma;

/* Returns NULL if there is no memory. */
struct adv_cm_faults *adv_cm_faults_create(struct adv_ucma *u);
void adv_cm_faults_destroy(struct adv_cm_faults *f);

/* Answers the queued request in the socket `fd` about the plan of a connected process. `pid` is not
 * 0. */
void adv_cm_faults_of_process(struct adv_cm_faults *f, pid_t pid, uid_t uid, int fd);
/* Answers the queued request in the socket `fd` about the plan of the daemon. */
void adv_cm_faults_of_daemon(struct adv_cm_faults *f, int fd);

/* Call it when a connection of this process has ended. After the last connection it deletes the
 * process's plan, because another process can get the same process ID. */
void adv_cm_faults_process_leaves(struct adv_cm_faults *f, pid_t pid);

#endif
