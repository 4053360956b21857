/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output of `adverb explain --json`: the members of its object. */
#ifndef ADV_CLI_EXPLAIN_JSON_H
#define ADV_CLI_EXPLAIN_JSON_H

#include "cli/observe/errors.h"
#include "cli/command/json.h"
#include "cli/observe/port_reading.h"
#include "cli/observe/objects.h"
#include "cli/explain/triage.h"
#include "runtime/control/counters.h"

/* ---- errors: each appends to an array of the object, which it adds if it is missing ---- */

/* key: "statuses", "events", "cm-events" or "rejects". */
void adv_explain_json_error(struct json_object *to, const char *key, uint32_t number,
			    const struct adv_error_text *text);
/* To "causes". number: of an existing cause. */
void adv_explain_json_cause(struct json_object *to, uint32_t number);
/* To "calls". */
void adv_explain_json_call(struct json_object *to, const struct adv_call_error *e);

/* ---- --pid ---- */

/* Appends a QP to "queue-pairs": its state, the peer, the counters and the findings of the triage.
 * owner: the peer's process, pid 0: not known. now: ns of CLOCK_MONOTONIC. */
void adv_explain_json_qp(struct json_object *to, const struct adv_triage_facts *f,
			 const struct adv_control_entry *owner, uint64_t now,
			 const struct adv_finding *findings, unsigned count);
/* Adds "findings". */
void adv_explain_json_findings(struct json_object *to, const struct adv_finding *findings,
			       unsigned count);
/* Adds "port": the time between two readings, what was sent and received in it, and the counters
 * that changed. */
void adv_explain_json_port(struct json_object *to, const struct adv_port_reading *before,
			   const struct adv_port_reading *now);

#endif
