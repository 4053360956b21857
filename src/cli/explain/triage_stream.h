/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The triage of the connection of an iWARP queue pair. */
#ifndef ADV_CLI_EXPLAIN_TRIAGE_STREAM_H
#define ADV_CLI_EXPLAIN_TRIAGE_STREAM_H

#include "cli/explain/triage_findings.h"

/* Adds what is wrong with the connection. */
void adv_triage_add_stream(struct adv_findings *f, const struct adv_triage_facts *t);

#endif
