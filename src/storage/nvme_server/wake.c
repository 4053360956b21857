/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How workers wake each other. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/nvme_server/worker_internal.h"

void adv_nvme_worker_wake(struct adv_nvme_worker *w)
{
	uint64_t one = 1;

	atomic_store(&w->woken, true);
	/* EAGAIN: the thread is going to wake up anyway. */
	if (write(w->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
		perror("eventfd");
}

/* Has the thread of events log the reports, once until it has taken them. */
static void tell_of_reports(struct adv_nvme_shared *s)
{
	uint64_t one = 1;

	if (s->told || !s->reports || !adv_nvme_target_has_reports(s->target))
		return;
	s->told = true;
	if (write(s->reports, &one, sizeof(one)) < 0 && errno != EAGAIN)
		perror("eventfd");
}

void adv_nvme_worker_wake_others(struct adv_nvme_worker *w)
{
	tell_of_reports(w->shared);
	for (unsigned i = 0; i < w->shared->worker_count; i++) {
		struct adv_nvme_worker *other = w->shared->workers[i];

		if (other != w && !adv_nvme_outbox_empty(&other->outbox))
			adv_nvme_worker_wake(other);
	}
}
