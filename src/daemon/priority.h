/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the daemon runs. It has little to do, but programs wait for it: where we may, it does not
 * queue behind programs that exchange messages as fast as they can. A nice value and a share of
 * the group (autogroup, see sched(7)) do not see to that on all kernels: from Linux 6.13 on, until
 * "sched/fair: Revert 6d71a9c61604" of February 2026, each change of a group's weight gives a group
 * that has waited more than its due, and where its processes sleep and wake many thousand times a
 * second it runs for seconds while no other group does. So the daemon asks for SCHED_RR, which
 * goes before all of these.
 *
 * That must not be a hostile client's or a flood's way to a processor: whoever keeps the daemon
 * busy without a pause for ADV_PRIORITY_BURST_MS (RLIMIT_RTTIME) finds it an ordinary process for
 * ADV_PRIORITY_REST_MS. For a process with one thread.
 */
#ifndef ADV_DAEMON_PRIORITY_H
#define ADV_DAEMON_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PRIORITY_BURST_MS 200
#define ADV_PRIORITY_REST_MS  1000

/*
 * Asks for SCHED_RR, for this process and those that it forks; where that is not permitted, for a
 * better nice value, and with `session`, which has to be the daemon's own, for that of its group.
 * What is not permitted is done without. SIGXCPU is handled from now on, and must not be blocked.
 */
void adv_priority_ask(bool session);

/* When adv_priority_renew() is due next, in milliseconds of adv_clock_ms(); 0: not at all. */
uint64_t adv_priority_deadline(void);

/* To be called when the deadline has come, or at any time: takes up SCHED_RR again after a rest. */
void adv_priority_renew(uint64_t now);

#endif
