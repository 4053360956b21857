/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What fuzz_daemon.c's daemon is made of besides adverbd's own files: the kernel's side of it.
 * daemon_border.c stands in for daemon/group.h, daemon/qp1.h and daemon/resolve.h, so that nothing
 * of it leaves the process, and for the clock.
 */
#ifndef ADV_FUZZ_DAEMON_H
#define ADV_FUZZ_DAEMON_H

#include "daemon/qp1.h"
#include "fuzz.h"

#define BORDER_MADS 128

/* Management datagrams under way: what QP1 sends comes back to it, as both ends are this machine.
 */
struct border {
	uint64_t now_ns;
	int bell;  /* eventfd: readable while MADs wait */
	int still; /* eventfd: never readable */
	bool full; /* QP1's sockets take no more */
	unsigned mads;
	struct adv_cm_mad mad[BORDER_MADS];
	unsigned memberships; /* of slots' sockets */
};

extern struct border border;

void border_open(void);
void border_close(void);
/* Rings or stills the bell. */
void border_ring(void);

#endif
