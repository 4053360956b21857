/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"

enum { LINES_MAX = 256, SECOND_MS = 1000, TEXT = 512 };

/* True if another line may be written in this second. */
static bool has_room(struct adv_gateway_log *l)
{
	uint64_t now = adv_clock_ms();

	if (now - l->since >= SECOND_MS) {
		if (l->left_out > 0)
			adv_warn("port %s: %u more messages are left out", l->port, l->left_out);
		l->since = now;
		l->written = l->left_out = 0;
	}
	if (l->written == LINES_MAX)
		l->left_out++;
	else
		l->written++;
	return l->left_out == 0;
}

void adv_gateway_report(struct adv_gateway_log *l, enum adv_log_level level, const char *fmt, ...)
{
	char text[TEXT];
	va_list ap;

	if (!has_room(l))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	adv_log(level, "port %s: %s", l->port, text);
}
