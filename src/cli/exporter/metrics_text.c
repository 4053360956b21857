/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/metrics_text.h"

#include <inttypes.h>

void adv_metrics_escape(char out[ADV_METRICS_LABEL], const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*out++ = '\\';
		*out++ = *text;
	}
	*out = 0;
}

void adv_metrics_write_number(FILE *f, uint64_t number, bool seconds)
{
	if (seconds)
		fprintf(f, " %" PRIu64 ".%09" PRIu64 "\n", number / 1000000000,
			number % 1000000000);
	else
		fprintf(f, " %" PRIu64 "\n", number);
}
