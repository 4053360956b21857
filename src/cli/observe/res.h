/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output of `adverb res`. */
#ifndef ADV_CLI_OBSERVE_RES_H
#define ADV_CLI_OBSERVE_RES_H

#include <stdbool.h>

#include "cli/command/json.h"
#include "cli/observe/objects.h"

/* Prints a table of objects of one kind. details: a second line for each object has its further
 * attributes. */
void adv_res_print_text(const struct adv_objects *o, enum adv_resource_kind kind, bool details);
/* Returns the JSON of an object. The keys are those of `rdma -j resource show`; further attributes
 * have keys of their own. The caller owns the reference. */
struct json_object *adv_res_json(const struct adv_object *r, enum adv_resource_kind kind,
				 bool details);
/* Prints an array with adv_res_json() of each entry. */
void adv_res_print_json(const struct adv_objects *o, enum adv_resource_kind kind, bool details);

#endif
