/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's scheduling priority. The daemon has little to do, but programs wait for its answers.
 * It should not wait for a processor while programs exchange messages as fast as they can. A nice
 * value and a share of the group (autogroup, see sched(7)) do not achieve this on all kernels. From
 * Linux 6.13 until "sched/fair: Revert 6d71a9c61604" of February 2026, each change of a group's
 * weight gives too much time to a group that has waited. A group whose processes sleep and wake
 * many thousand times a second then runs for seconds while other groups do not run. So the daemon
 * requests SCHED_RR, which precedes all processes with the default policy.
 *
 * A hostile client or a flood of packets must not occupy a processor by this priority. If the
 * daemon runs without a pause for ADV_PRIORITY_BURST_MS (RLIMIT_RTTIME), it has the default policy
 * for ADV_PRIORITY_REST_MS. For a process with one thread.
 */
#ifndef ADV_RUNTIME_KEEPER_PRIORITY_H
#define ADV_RUNTIME_KEEPER_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PRIORITY_BURST_MS 200
#define ADV_PRIORITY_REST_MS  1000

/*
 * Requests SCHED_RR for this process and its future children. If that is not permitted, requests a
 * better nice value. With `session`, requests it for the session's autogroup too: the session has
 * to be the daemon's own. Without any permission it does nothing. From now on SIGXCPU is handled,
 * and must not be blocked.
 */
void adv_priority_ask(bool session);

/* Returns the time at which adv_priority_renew() is due, in milliseconds of adv_clock_ms(); 0:
 * never. */
uint64_t adv_priority_deadline(void);

/* Sets SCHED_RR again if the deadline has passed. May be called at any time. */
void adv_priority_renew(uint64_t now);

#endif
