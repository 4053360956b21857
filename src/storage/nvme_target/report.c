/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/report.h"

#include <inttypes.h>
#include <stdio.h>

static void print_end(const struct adv_nvme_report *r, char *text, size_t size)
{
	switch (r->kind) {
	case ADV_NVME_REPORT_REJECTED:
		snprintf(text, size, "connection refused: %s", r->why);
		break;
	case ADV_NVME_REPORT_REFUSED:
		snprintf(text, size, "refused by %s: %s",
			 r->subsystem_nqn[0] ? r->subsystem_nqn : "the target", r->why);
		break;
	case ADV_NVME_REPORT_CONNECTED:
		snprintf(text, size, "connected to %s, controller %u", r->subsystem_nqn, r->cntlid);
		break;
	case ADV_NVME_REPORT_DISCONNECTED:
		snprintf(text, size, "disconnected from %s, controller %u: %s", r->subsystem_nqn,
			 r->cntlid, r->why);
		break;
	case ADV_NVME_REPORT_CLOSED:
		snprintf(text, size, "connection of queue %u closed: %s", r->qid, r->why);
		break;
	case ADV_NVME_REPORT_FAILED:
		snprintf(text, size, "%s failed, namespace %u of %s, block %" PRIu64 ": %s",
			 r->command, r->nsid, r->subsystem_nqn, r->lba, r->why);
		break;
	}
}

void adv_nvme_report_print(const struct adv_nvme_report *r, char *text, size_t size)
{
	int n = r->host_nqn[0] ? snprintf(text, size, "port %s: host %s at %s ", r->port,
					  r->host_nqn, r->peer)
			       : snprintf(text, size, "port %s: host at %s ", r->port, r->peer);

	if (n > 0 && (size_t)n < size)
		print_end(r, text + n, size - (size_t)n);
}
