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
	const char *text;   /* what it means */
	const char *advice; /* what to do; NULL: only a fault plan reports it */
};

/* Return the text of a status (enum ibv_wc_status) or event (enum ibv_event_type), or NULL above
 * the last number. */
const struct adv_error_text *adv_status_text(uint32_t status);
const struct adv_error_text *adv_event_text(uint32_t event);

#endif
