/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts of `adverb explain` for completion statuses and asynchronous events. transport/cause.h has
 * the causes of errors. */
#ifndef ADV_CLI_ERRORS_H
#define ADV_CLI_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

struct adv_error_text {
	const char *name;   /* name of the enumerator */
	const char *string; /* text of ibv_wc_status_str() or ibv_event_type_str() */
	const char *text;   /* meaning */
	const char *advice; /* remedy; NULL: only a fault plan reports this error */
};

/* Returns the text of an enum ibv_wc_status. NULL: the number is above the last status. */
const struct adv_error_text *adv_status_text(uint32_t status);
/* Returns the text of an enum ibv_event_type. NULL: the number is above the last event. */
const struct adv_error_text *adv_event_text(uint32_t event);

#endif
