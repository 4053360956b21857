/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The border between the daemon of fuzz_daemon.c and the kernel. The daemon consists of adverbd's
 * own files and daemon_border.c, which replaces runtime/steering/group.h, runtime/ucma/qp1.h,
 * runtime/ucma/resolve.h and the clock. No packet leaves the process.
 */
#ifndef ADV_FUZZ_DAEMON_H
#define ADV_FUZZ_DAEMON_H

#include "runtime/ucma/qp1.h"
#include "fuzz.h"

#define BORDER_MADS 128

/* The state of the border. MADs that QP1 sends return to it, because both ends are this machine. */
struct border {
	uint64_t now_ns;
	int bell;  /* eventfd: readable while MADs are queued */
	int still; /* eventfd: never readable */
	bool full; /* QP1's sockets accept no more MADs */
	unsigned mads;
	struct adv_cm_mad mad[BORDER_MADS];
	unsigned memberships; /* number of memberships of the slots' sockets */
};

extern struct border border;

void border_open(void);
void border_close(void);
/* Sets or clears the bell, after a change of the queued MADs. */
void border_ring(void);

#endif
