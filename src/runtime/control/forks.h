/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fork() in another thread waits while descriptors are in no list: while a thread opens or closes a
 * device, or a connection to adverbd. Otherwise the child would keep its copies, and with them the
 * slot, the ports and the session of its parent. The handlers of fork() are those of the lists.
 */
#ifndef ADV_RUNTIME_CONTROL_FORKS_H
#define ADV_RUNTIME_CONTROL_FORKS_H

/* From now on fork() in other threads waits, until as many calls of adv_forks_allow(). Call it
 * after the handlers below are registered, with no lock that a handler acquires. */
void adv_forks_delay(void);
void adv_forks_allow(void);

/* Handlers for pthread_atfork(3). The first waits for the threads that delay forks; a signal
 * handler that forks does not wait for the thread it interrupts. */
void adv_forks_before(void);
void adv_forks_after_in_parent(void);
void adv_forks_after_in_child(void);

#endif
