/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults on purpose in the connection manager: what happens to packets of QP 1. A process has a
 * plan for those of its ids, adverbd one for all of them; a packet meets the process's first.
 */
#ifndef ADV_DAEMON_CM_FAULT_H
#define ADV_DAEMON_CM_FAULT_H

#include "base/list.h"
#include "daemon/qp1.h"
#include "host/fault_exchange.h"

#define ADV_CM_FAULT_PROCESSES	    256 /* that have a plan; more: ENOSPC */
#define ADV_CM_FAULT_USER_PROCESSES 128 /* of one user, where many are served */

struct adv_ucma;

struct adv_cm_faults {
	struct adv_ucma *ucma;
	struct adv_list processes; /* that have a plan, and a connection */
	unsigned count;
	bool daemon_faulty;
	struct adv_fault_state daemon;
};

void adv_cm_faults_init(struct adv_cm_faults *f, struct adv_ucma *u);
void adv_cm_faults_free(struct adv_cm_faults *f);

/* Answers the request that waits in the socket `fd`, about the plan of this process, not 0, which
 * has a connection. */
void adv_cm_faults_of_process(struct adv_cm_faults *f, pid_t pid, uid_t uid, int fd);
/* ... about that of the daemon. */
void adv_cm_faults_of_daemon(struct adv_cm_faults *f, int fd);

/* A connection of this process has ended: after the last one its plan is forgotten, for its number
 * comes again. */
void adv_cm_faults_process_leaves(struct adv_cm_faults *f, pid_t pid);

#endif
