/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The triage of a queue pair: which branch to check first, from two readings of its state. The
 * functions only compute: they read no process and send no packet.
 */
#ifndef ADV_CLI_EXPLAIN_TRIAGE_H
#define ADV_CLI_EXPLAIN_TRIAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/explain/triage_facts.h"

/* Returns "fabric", "peer application", "local application", "set-up" or "no trouble". */
const char *adv_branch_name(enum adv_branch branch);

/* True if the peer does not answer outstanding packets, or did not answer those of a request that
 * failed. The way to the peer is worth a probe then. */
bool adv_triage_is_silent(const struct adv_object *before, const struct adv_object *now);

/* Returns how often a counter was incremented between the readings, and in total. offset: of the
 * counter in struct adv_engine_counters. */
uint32_t adv_triage_recent(const struct adv_triage_facts *f, size_t offset);
uint32_t adv_triage_total(const struct adv_triage_facts *f, size_t offset);

/* Writes what to check, the most likely first. Returns the number of findings, at least 1. The
 * texts are constant. */
unsigned adv_triage(const struct adv_triage_facts *f, struct adv_finding out[ADV_FINDINGS]);

#endif
