/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The planners of `adverb plan` and the output of their results. */
#ifndef ADV_CLI_PLAN_PLAN_H
#define ADV_CLI_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "cli/command/command.h"
#include "cli/command/json.h"

int adv_plan_buffer_main(int argc, char **argv);
int adv_plan_dcb_main(int argc, char **argv);
int adv_plan_deadlock_main(int argc, char **argv);
int adv_plan_ecn_main(int argc, char **argv);
int adv_plan_ets_main(int argc, char **argv);
int adv_plan_headroom_main(int argc, char **argv);

#define ADV_PLAN_LENGTH_MAX 1000000000ull /* mm of a cable: 1000 km */

/* Message for speeds that adv_plan_response_bits() does not know. The names of the options to give
 * instead follow it. */
#define ADV_PLAN_NO_LIMITS                                                                         \
	"adverb plan knows no limits of IEEE 802.3 for this speed "                                \
	"(only for 10, 25, 40, 50, 100, 200, 400 Gb/s and faster ones): give "

#define ADV_PLAN_NOTES 16

/* A result on standard output: lines of text, written at once, or one JSON object, written at the
 * end. */
struct adv_plan_out {
	struct json_object *json; /* NULL: output is text */
	bool some;		  /* at least one line was written */
	unsigned notes;
	char *note[ADV_PLAN_NOTES];
};

void adv_planner_begin(struct adv_plan_out *out, const char *planner, bool json);

/* Prints a heading above the next values. JSON has no headings. */
void adv_planner_head(struct adv_plan_out *out, const char *text);

/* Prints a value. Text has `label`. JSON has an object named `key` with value, unit, formula and
 * source. The value is in the base unit: bytes, bit/s, ps, mm, or 1.0 for ADV_RATIO_ONE. `formula`
 * contains the inputs. `source` and `formula` may be NULL. */
__attribute__((format(printf, 7, 8))) void
adv_planner_value(struct adv_plan_out *out, const char *key, const char *label, enum adv_unit unit,
		  uint64_t value, const char *source, const char *formula, ...);

/* Keeps a sentence for the end of the output (JSON: "notes"). If there are more than
 * ADV_PLAN_NOTES, the others are dropped. */
__attribute__((format(printf, 2, 3))) void adv_planner_note(struct adv_plan_out *out,
							    const char *format, ...);

/* Writes the notes and the end of the output, and frees the notes. If writing fails, prints an
 * error. Returns the command's exit status: ADV_EXIT_FAILED if writing failed or the plan is not
 * `good` (does not fit, may deadlock...). */
int adv_planner_end(struct adv_plan_out *out, bool good);

#endif
