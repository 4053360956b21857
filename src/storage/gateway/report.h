/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log of a gateway: clients that connect, leave and are refused, and what goes wrong, with
 * time, level and the gateway's port. */
#ifndef ADV_STORAGE_GATEWAY_REPORT_H
#define ADV_STORAGE_GATEWAY_REPORT_H

#include <stdint.h>

#include "base/log.h"

struct adv_gateway_log {
	const char *port;	    /* that the gateway listens at */
	uint64_t since;		    /* ms; the beginning of the present second */
	unsigned written, left_out; /* lines, in that second */
};

/* Writes a line. fmt: as for printf(3), without a newline. Clients choose how many lines there are:
 * more than 256 a second are left out, and counted. */
void adv_gateway_report(struct adv_gateway_log *l, enum adv_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
