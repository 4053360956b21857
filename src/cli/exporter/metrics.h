/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics in Prometheus's text format, version 0.0.4. */
#ifndef ADV_CLI_EXPORTER_METRICS_H
#define ADV_CLI_EXPORTER_METRICS_H

#include <stdio.h>

#include "cli/observe/sample.h"
#include "nic/engine/resources.h"

struct adv_metrics {
	struct adv_sample sample;
	uint64_t objects[ADV_RESOURCE_KINDS]; /* number of objects of each kind */
};

/* Writes the metrics of the port under the names of node_exporter's infiniband collector. Each
 * metric has # HELP and # TYPE. */
void adv_metrics_write_node(FILE *f, const struct adv_sample *s);

/* Writes Adverb's own metrics, which begin with "adverb_". */
void adv_metrics_write_own(FILE *f, const struct adv_metrics *m);

#endif
