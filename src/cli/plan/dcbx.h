/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_CLI_PLAN_DCBX_H
#define ADV_CLI_PLAN_DCBX_H

#include <stdbool.h>

#include "fabric/plan/dcb.h"

/* Compares the LLDP frames of a capture ("-": standard input) with the plan, and prints what
 * differs, as text or JSON. Returns the exit status of the command: 0: nothing differs;
 * ADV_EXIT_FAILED: something differs, or the capture has no LLDP frame; ADV_EXIT_USAGE: the file
 * cannot be read. */
int adv_planner_dcbx_compare_capture(const struct adv_plan_dcb *plan, const char *capture,
				     bool json);

/* Writes a capture with the LLDP frame that a port of the plan sends. Returns the exit status; if
 * it fails, prints the error. */
int adv_planner_dcbx_write_capture(const struct adv_plan_dcb *plan, const char *capture);

#endif
