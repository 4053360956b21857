/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults on purpose in the connection manager: faults of packets of QP1. A process can have a fault
 * plan for the packets of its ids, and adverbd one for all of them. The process's plan decides
 * first.
 */
#ifndef ADV_DAEMON_CM_FAULT_H
#define ADV_DAEMON_CM_FAULT_H

#include <sys/types.h>

struct adv_cm_faults;
struct adv_ucma;

/* Returns NULL if there is no memory. */
struct adv_cm_faults *adv_cm_faults_create(struct adv_ucma *u);
void adv_cm_faults_destroy(struct adv_cm_faults *f);

/* Answers the request that waits in the socket `fd`, about the plan of a process (not 0) that is
 * connected. */
void adv_cm_faults_of_process(struct adv_cm_faults *f, pid_t pid, uid_t uid, int fd);
/* Answers such a request about the plan of the daemon. */
void adv_cm_faults_of_daemon(struct adv_cm_faults *f, int fd);

/* A connection of this process has ended. After the last one its plan is deleted, because another
 * process can get its number. */
void adv_cm_faults_process_leaves(struct adv_cm_faults *f, pid_t pid);

#endif
