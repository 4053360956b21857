/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics of the running NVMe over Fabrics targets, as metrics.h. */
#ifndef ADV_CLI_EXPORTER_METRICS_NVME_H
#define ADV_CLI_EXPORTER_METRICS_NVME_H

#include <stdio.h>

#include "storage/nvme_server/stat_client.h"

/* Reads the targets of this network namespace that answer this user, and writes their metrics,
 * which begin with "adverb_nvme_". Without a target it writes nothing. */
void adv_metrics_write_nvme(FILE *f);

/* The same of given targets. */
void adv_metrics_write_targets(FILE *f, const struct adv_nvme_stat *targets, size_t count);

#endif
