/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The causes of errors (enum adv_vendor_err), for people. */
#ifndef ADV_TRANSPORT_CAUSE_H
#define ADV_TRANSPORT_CAUSE_H

#include "transport/engine.h"

/* Every status from the first error to GENERAL_ERR; tag matching has those behind. */
#define ADV_CAUSE_ANY_ERROR ((2u << IBV_WC_GENERAL_ERR) - 2)

struct adv_cause {
	const char *name; /* of the enumerator */
	/* With what an application sees it: a bit for each enum ibv_wc_status, ibv_event_type. */
	uint32_t statuses;
	uint32_t events;
	const char *text;   /* what has happened */
	const char *advice; /* what to do */
};

/* The cause of this number; NULL: there is none. Numbers are without gaps, from 0. */
const struct adv_cause *adv_cause(uint32_t number);

#endif
