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

struct adv_ucma;

struct adv_cm_faults {
	struct adv_ucma *ucma;
	struct adv_list processes; /* that have a plan */
	unsigned count;
	bool daemon_faulty;
	struct adv_fault_state daemon;
};

void adv_cm_faults_init(struct adv_cm_faults *f, struct adv_ucma *u);
void adv_cm_faults_free(struct adv_cm_faults *f);

/* Answers the request that waits in the socket `fd`, about the plan of this process, not 0. */
void adv_cm_faults_of_process(struct adv_cm_faults *f, pid_t pid, int fd);
/* ... about that of the daemon. */
void adv_cm_faults_of_daemon(struct adv_cm_faults *f, int fd);

/* Forgets the plans of processes that have ended: their numbers come again. */
void adv_cm_faults_prune(struct adv_cm_faults *f);

#endif
