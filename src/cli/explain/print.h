/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output of `adverb explain --pid`. */
#ifndef ADV_CLI_EXPLAIN_PRINT_H
#define ADV_CLI_EXPLAIN_PRINT_H

#include "cli/observe/objects.h"
#include "cli/observe/port_reading.h"
#include "cli/explain/triage.h"

/* Prints the state of a QP. owner: the peer's process, pid 0: not known. now: ns of
 * CLOCK_MONOTONIC. */
void adv_explain_print_qp(const struct adv_triage_facts *f, const struct adv_control_entry *owner,
			  uint64_t now);
/* Prints what to check, in the given order. */
void adv_explain_print_findings(const struct adv_finding *findings, unsigned count);
/* Prints the rates of the port's packets, and the counters of the port that changed between two
 * readings. */
void adv_explain_print_port(const struct adv_port_reading *before,
			    const struct adv_port_reading *now);

#endif
