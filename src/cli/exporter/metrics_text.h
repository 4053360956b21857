/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of metrics in Prometheus's text format. */
#ifndef ADV_CLI_EXPORTER_METRICS_TEXT_H
#define ADV_CLI_EXPORTER_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ADV_METRICS_LABEL = 512 };

/* Writes the value of a label: '"' and '\' are escaped. text: shorter than half of the room. */
void adv_metrics_escape(char out[ADV_METRICS_LABEL], const char *text);
/* Writes a space, the number and the end of the line. seconds: the number counts ns. */
void adv_metrics_write_number(FILE *f, uint64_t number, bool seconds);

#endif
