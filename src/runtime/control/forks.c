/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/forks.h"

#include <pthread.h>

/* The threads that delay forks read-lock it. A thread that forks comes before those that begin to.
 */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local unsigned delays;

void adv_forks_delay(void)
{
	if (delays++ == 0)
		pthread_rwlock_rdlock(&gate);
}

void adv_forks_allow(void)
{
	if (--delays == 0)
		pthread_rwlock_unlock(&gate);
}

void adv_forks_before(void)
{
	if (!delays)
		pthread_rwlock_wrlock(&gate);
}

void adv_forks_after_in_parent(void)
{
	if (!delays)
		pthread_rwlock_unlock(&gate);
}

void adv_forks_after_in_child(void)
{
	gate = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	if (delays)
		pthread_rwlock_rdlock(&gate);
}
