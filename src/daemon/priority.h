/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's scheduling priority. The daemon has little to do, but programs wait for it, so it
 * should not queue behind programs that exchange messages as fast as they can. A nice value and a
 * share of the group (autogroup, see sched(7)) do not achieve this on all kernels. From Linux 6.13
 * on, until "sched/fair: Revert 6d71a9c61604" of February 2026, each change of a group's weight
 * gives too much to a group that has waited. A group whose processes sleep and wake many thousand
 * times a second then runs for seconds while no other group does. So the daemon requests SCHED_RR,
 * which precedes all of these.
 *
 * A hostile client or a flood of packets must not get a processor in this way. If the daemon is
 * busy without a pause for ADV_PRIORITY_BURST_MS (RLIMIT_RTTIME), it becomes an ordinary process
 * for ADV_PRIORITY_REST_MS. For a process with one thread.
 */
#ifndef ADV_DAEMON_PRIORITY_H
#define ADV_DAEMON_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PRIORITY_BURST_MS 200
#define ADV_PRIORITY_REST_MS  1000

/*
 * Requests SCHED_RR for this process and its future children. If that is not permitted, requests a
 * better nice value; with `session`, which has to be the daemon's own, for its group too. Without
 * any permission it does nothing. From now on SIGXCPU is handled, and must not be blocked.
 */
void adv_priority_ask(bool session);

/* Returns when adv_priority_renew() is due next, in milliseconds of adv_clock_ms(); 0: never. */
uint64_t adv_priority_deadline(void);

/* Returns to SCHED_RR after a rest. Call it at the deadline, or at any time. */
void adv_priority_renew(uint64_t now);

#endif
