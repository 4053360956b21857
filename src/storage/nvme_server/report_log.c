/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/report_log.h"

#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { PAUSE_MS = 250 };
#define MS 1000000ull

static enum adv_log_level level_of(const struct adv_nvme_report *r)
{
	switch (r->kind) {
	case ADV_NVME_REPORT_CONNECTED:
	case ADV_NVME_REPORT_DISCONNECTED:
		return r->discovery ? ADV_LOG_DEBUG : ADV_LOG_INFO;
	case ADV_NVME_REPORT_FAILED:
		return ADV_LOG_ERROR;
	default:
		return ADV_LOG_WARN;
	}
}

/* Takes a report. The lock is not held while it is written. */
static bool next_report(struct adv_nvme_shared *s, struct adv_nvme_report *r, uint64_t *lost)
{
	bool found;

	pthread_mutex_lock(&s->lock);
	found = adv_nvme_target_next_report(s->target, r);
	if (!found) {
		*lost = adv_nvme_target_lost_reports(s->target);
		s->told = false;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

int adv_nvme_report_log_run(struct adv_nvme_report_log *log)
{
	char text[ADV_NVME_REPORT_TEXT];
	struct adv_nvme_report r;
	uint64_t count, lost = 0, now = adv_clock_ns();

	while (read(log->shared->reports, &count, sizeof(count)) > 0)
		;
	if (now < log->next)
		return (int)((log->next - now) / MS) + 1;
	while (next_report(log->shared, &r, &lost)) {
		adv_nvme_report_print(&r, text, sizeof(text));
		adv_log(level_of(&r), "%s", text);
		log->next = now + PAUSE_MS * MS;
	}
	if (lost)
		adv_warn("%llu more messages are left out", (unsigned long long)lost);
	return INT_MAX;
}

void adv_nvme_report_log_end(struct adv_nvme_report_log *log)
{
	log->next = 0;
	adv_nvme_report_log_run(log);
}
