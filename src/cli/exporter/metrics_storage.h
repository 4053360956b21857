/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics of the running NVMe over Fabrics targets and gateways, as metrics.h. */
#ifndef ADV_CLI_EXPORTER_METRICS_STORAGE_H
#define ADV_CLI_EXPORTER_METRICS_STORAGE_H

#include <stdio.h>

/* Reads the targets and gateways of this network namespace that answer this user, and writes their
 * metrics, which begin with "adverb_nvme_" and "adverb_gateway_". Without any it writes nothing. */
void adv_metrics_write_storage(FILE *f);

#endif
