/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb explain --pid: the state of the queue pairs of a running program, and what to check. */
#ifndef ADV_CLI_EXPLAIN_LIVE_H
#define ADV_CLI_EXPLAIN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the queue pairs of a process twice, and prints their state and their triage, as text or as
 * a JSON object. qpn: only this one; 0: all, those with trouble first. Returns the exit status. */
int adv_explain_process(uint32_t pid, uint32_t qpn, bool json);

#endif
