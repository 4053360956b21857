/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A lab of two processes: each has one end of a connection. Like lab.h. */
#ifndef TESTS_CHECK_LAB_FAR_H
#define TESTS_CHECK_LAB_FAR_H

#include "lab.h"

/* Forks. Each process opens the device and creates l->a, in INIT, and learns the number of the
 * other one's queue pair, peer->qp_num, and the same l->psn. l->b is NULL. In the parent, whose
 * queue pair is named own, the function returns when the child's queue pair is connected with the
 * attributes of lab.h; the child never returns, and ends when the parent calls lab_far_close(). */
void lab_far(struct lab *l, struct ibv_qp *peer);

/* lab_close() in the child, then in this process. */
void lab_far_close(struct lab *l);

#endif
