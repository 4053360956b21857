/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dispatches received MADs to their handlers, and expired timers to their ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/cm/connect.h"
#include "nic/cm/early.h"
#include "nic/cm/id.h"
#include "nic/cm/outgoing.h"
#include "nic/cm/proof.h"
#include "nic/cm/reject.h"
#include "nic/cm/release.h"
#include "nic/cm/request.h"
#include "nic/cm/sidr.h"
#include "nic/cm/timeout.h"

#define MAX_IDS	   524288u
#define FIRST_NS   UINT64_C(250000000)
#define LONGEST_NS UINT64_C(4000000000)
#define TRIES	   8u
#define TIMEOUTS   1024u /* most expired timers that one call handles */

static void set_defaults(struct adv_cm_config *c)
{
	if (!c->max_ids)
		c->max_ids = MAX_IDS;
	if (!c->retry_first_ns)
		c->retry_first_ns = FIRST_NS;
	if (!c->retry_longest_ns)
		c->retry_longest_ns = LONGEST_NS;
	if (!c->max_tries)
		c->max_tries = TRIES;
	if (!c->pkeys.count)
		adv_pkey_table_default(&c->pkeys);
}

struct adv_cm *adv_cm_create(const struct adv_cm_config *config)
{
	struct adv_cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return NULL;
	cm->config = *config;
	set_defaults(&cm->config);
	adv_rng_seed(&cm->rng, config->seed);
	cm->hash_key[0] = adv_rng_next(&cm->rng);
	cm->hash_key[1] = adv_rng_next(&cm->rng);
	cm->secret_key[0] = adv_siphash(cm->hash_key, 0);
	cm->secret_key[1] = adv_siphash(cm->hash_key, 1);
	adv_list_init(&cm->ids);
	adv_list_init(&cm->events);
	adv_list_init(&cm->outgoing);
	adv_list_init(&cm->early);
	if (adv_table_init(&cm->by_comm_id) || adv_table_init(&cm->by_remote) ||
	    adv_table_init(&cm->by_qpn) || adv_table_init(&cm->ports) ||
	    adv_table_init(&cm->hosts)) {
		adv_cm_destroy(cm);
		errno = ENOMEM;
		return NULL;
	}
	return cm;
}

void adv_cm_destroy(struct adv_cm *cm)
{
	while (!adv_list_empty(&cm->ids))
		adv_cm_id_free(adv_container_of(cm->ids.next, struct adv_cm_id, link));
	adv_cm_outgoing_free(cm);
	adv_cm_early_forget_all(cm);
	adv_table_free(&cm->by_comm_id);
	adv_table_free(&cm->by_remote);
	adv_table_free(&cm->by_qpn);
	adv_table_free(&cm->ports);
	adv_table_free(&cm->hosts);
	free(cm);
}

/* ---- timers ---- */

uint64_t adv_cm_deadline(const struct adv_cm *cm)
{
	const struct adv_cm_timer *first = adv_cm_timers_first(&cm->timers);
	uint64_t early = adv_cm_early_deadline(cm);

	return first && first->when < early ? first->when : early;
}

/* Refuses held requests whose time is over. */
static void refuse_early(struct adv_cm *cm, uint64_t now)
{
	struct adv_cm_early *e;

	while ((e = adv_cm_early_take_due(cm, now))) {
		if (e->packet.attribute == ADV_CM_REQ)
			adv_cm_reject_stateless(cm, &e->meta, &e->packet,
						ADV_CM_REJ_INVALID_SERVICE_ID);
		else
			adv_cm_refuse_sidr(cm, &e->meta, &e->packet);
		free(e);
	}
}

void adv_cm_expire(struct adv_cm *cm, uint64_t now)
{
	/* Each timer is stopped or set to later than now. */
	for (unsigned i = 0; i < TIMEOUTS; i++) {
		struct adv_cm_timer *first = adv_cm_timers_first(&cm->timers);

		if (!first || first->when > now)
			break;
		adv_cm_id_timeout(adv_container_of(first, struct adv_cm_id, timer), now);
	}
	refuse_early(cm, now);
}

/* ---- received MADs ---- */

void adv_cm_rx(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta, const void *mad,
	       size_t len)
{
	static adv_cm_rx_fn *const handlers[] = {
		[ADV_CM_REQ] = adv_cm_rx_req,
		[ADV_CM_MRA] = adv_cm_rx_mra,
		[ADV_CM_REJ] = adv_cm_rx_rej,
		[ADV_CM_REP] = adv_cm_rx_rep,
		[ADV_CM_RTU] = adv_cm_rx_rtu,
		[ADV_CM_DREQ] = adv_cm_rx_dreq,
		[ADV_CM_DREP] = adv_cm_rx_drep,
		[ADV_CM_SIDR_REQ] = adv_cm_rx_sidr_req,
		[ADV_CM_LAP] = adv_cm_rx_lap,
		[ADV_CM_SIDR_REP] = adv_cm_rx_sidr_rep,
		[ADV_CM_APR] = NULL,
	};
	struct adv_cm_packet packet;

	cm->counters.rx_mads++;
	if (!adv_cm_packet_decode(mad, len, &packet) || adv_gid_is_multicast(&meta->sgid) ||
	    adv_gid_is_multicast(&meta->dgid)) {
		cm->counters.rx_malformed++;
		return;
	}
	adv_cm_proof_take(cm, now, meta, &packet);
	/* APR has no handler, because this CM sends no LAP. */
	if (handlers[packet.attribute])
		handlers[packet.attribute](cm, now, meta, &packet);
	else
		cm->counters.rx_unmatched++;
}
