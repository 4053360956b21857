/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/completed.h"

#include <stdlib.h>
#include <string.h>

void adv_completed_init(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;

	qp->latency = NULL;
	qp->latency_of_all = e->no_latency ? e->unseen.of_all : e->latency;
}

void adv_completed_first(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;

	if (!e->no_latency)
		qp->latency = calloc(ADV_LATENCY_BUCKETS, sizeof(*qp->latency));
	if (!qp->latency)
		qp->latency = e->unseen.of_qp;
}

void adv_completed_free(struct adv_qp *qp)
{
	if (qp->latency != qp->engine->unseen.of_qp)
		free(qp->latency);
}

void adv_engine_set_latency(struct adv_engine *e, uint64_t *bucket)
{
	if (e->no_latency)
		return;
	memcpy(bucket, e->latency, ADV_LATENCY_BUCKETS * sizeof(*bucket));
	e->latency = bucket;
	adv_list_for_each(struct adv_qp, qp, &e->qps, node)
		qp->latency_of_all = bucket;
}
