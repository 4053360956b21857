/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `adverb explain` says of completion statuses and asynchronous events; causes of errors are
 * in transport/cause.h. */
#ifndef ADV_CLI_ERRORS_H
#define ADV_CLI_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

struct adv_error_text {
	const char *name;   /* of the enumerator */
	const char *string; /* what ibv_wc_status_str() or ibv_event_type_str() calls it */
	const char *text;   /* what it means */
	const char *advice; /* what to do; NULL: Adverb never reports it */
};

/* Of enum ibv_wc_status and enum ibv_event_type; NULL behind the last. */
const struct adv_error_text *adv_status_text(uint32_t status);
const struct adv_error_text *adv_event_text(uint32_t event);

#endif
