/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output of `adverb res`. */
#ifndef ADV_CLI_RES_H
#define ADV_CLI_RES_H

#include <stdbool.h>

#include "cli/objects.h"

/* Prints a table of objects of one kind. details: a second line for each object has its further
 * attributes. */
void adv_res_print_text(const struct adv_objects *o, enum adv_resource_kind kind, bool details);
/* Prints an array with an object for each entry. The keys are those of `rdma -j resource show`;
 * further attributes have keys of their own. */
void adv_res_print_json(const struct adv_objects *o, enum adv_resource_kind kind, bool details);

#endif
