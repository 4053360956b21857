/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bell wakes a process that sleeps until another process writes into their shared memory. A bell
 * is a Unix datagram socket with a name that the kernel chooses (unix(7), autobind). A process of
 * the same network namespace that knows the name can ring the bell, and can do nothing else with
 * it. The processes share no descriptor. They would share the counter and flags of an eventfd: one
 * process could consume the signal of another, or make it block.
 */
#ifndef ADV_RUNTIME_LINK_BELL_H
#define ADV_RUNTIME_LINK_BELL_H

#include <stdint.h>

/* Five characters; 0: no bell. A name received from another process may be wrong. */
typedef uint64_t adv_bell_name;

/* Returns a descriptor that is readable when the bell was rung, and its name. -1 with errno. */
int adv_bell_open(adv_bell_name *name);

/* Returns the name of a bell that adv_bell_open() made; 0: it cannot be found out. */
adv_bell_name adv_bell_name_of(int fd);

/* Rings the bell of this name through the caller's own descriptor. Never blocks, and does not
 * report whether the bell exists. Any thread. */
void adv_bell_ring(int own, adv_bell_name name);

/* Makes the descriptor unreadable until the next ring. Any thread. */
void adv_bell_still(int fd);

#endif
