/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What wakes a process that sleeps until others write into memory that they share: a datagram
 * socket of the Unix domain, with a name that the kernel chooses (unix(7), autobind). Whoever knows
 * the name can ring, in the same network namespace, and no more than that. They share no
 * descriptor: nobody can take another's ring away or make who rings wait, as they could with an
 * eventfd, whose counter and flags belong to all who have it.
 */
#ifndef ADV_LINK_BELL_H
#define ADV_LINK_BELL_H

#include <stdint.h>

/* The name: five characters. What another process says it is may be anything. 0: none. */
typedef uint64_t adv_bell_name;

/* A descriptor, readable when somebody has rung, and its name. -1 with errno. */
int adv_bell_open(adv_bell_name *name);

/* Rings another's, by way of one's own descriptor. Never waits, and does not say whether there is
 * such a bell. Any thread. */
void adv_bell_ring(int own, adv_bell_name name);

/* Forgets that it was rung. Any thread. */
void adv_bell_still(int fd);

#endif
