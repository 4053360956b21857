/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs what the target reports. One thread uses it. */
#ifndef ADV_STORAGE_NVME_SERVER_REPORT_LOG_H
#define ADV_STORAGE_NVME_SERVER_REPORT_LOG_H

#include "storage/nvme_server/worker.h"

struct adv_nvme_report_log {
	struct adv_nvme_shared *shared;
	uint64_t next; /* adv_clock_ns(): nothing is written before */
};

/* Writes what there is. Hosts choose how much that is: between two times there is a pause, in which
 * the target leaves out what it has no place for. Returns the ms until the next time; INT_MAX: when
 * shared->reports says so. */
int adv_nvme_report_log_run(struct adv_nvme_report_log *log);
/* Writes what there is, without regard to the pause. */
void adv_nvme_report_log_end(struct adv_nvme_report_log *log);

#endif
