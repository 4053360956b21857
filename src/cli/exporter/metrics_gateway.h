/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics of the running gateways of storage protocols, as metrics.h. */
#ifndef ADV_CLI_EXPORTER_METRICS_GATEWAY_H
#define ADV_CLI_EXPORTER_METRICS_GATEWAY_H

#include <stdio.h>

/* Reads the gateways of this network namespace that answer this user, and writes their metrics,
 * which begin with "adverb_gateway_". Without a gateway it writes nothing. */
void adv_metrics_write_gateways(FILE *f);

#endif
