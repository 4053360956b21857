/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts of `adverb explain` for completion statuses and asynchronous events. nic/engine/cause.h has
 * the causes of errors. */
#ifndef ADV_CLI_OBSERVE_ERRORS_H
#define ADV_CLI_OBSERVE_ERRORS_H

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

/* Returns the text of an enum rdma_cm_event_type; `string` is empty. NULL: the number is above the
 * last event that adverbd reports. */
const struct adv_error_text *adv_cm_event_text(uint32_t event);
/* Returns the text of a reason of a REJ (the status of RDMA_CM_EVENT_REJECTED); `string` is empty.
 * NULL: no reason has this number. */
const struct adv_error_text *adv_reject_text(uint32_t reason);
/* Returns the largest number of a reason, plus 1. */
uint32_t adv_reject_reasons(void);

/* An errno of a call. */
struct adv_call_error {
	const char *call;
	int error;
	const char *text; /* causes and remedies */
};

/* Returns entry i of the table of calls. Entries of one call are adjacent. NULL: no more. */
const struct adv_call_error *adv_call_error(uint32_t i);
/* Returns the number of an errno's name ("EINVAL"); 0: the table of calls has no such errno. */
int adv_errno_of(const char *name);

#endif
