/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "nic/cm/proof.h"

/* pkey: 0 stands for the first of the port's table. */
static void queue_mad(struct adv_cm *cm, const struct adv_path *path, uint16_t pkey,
		      const uint8_t *mad)
{
	struct adv_cm_outgoing *o;

	if (cm->outgoing_count >= ADV_CM_OUTGOING_MAX)
		return;
	o = malloc(sizeof(*o));
	if (!o)
		return;
	o->mad.path = *path;
	o->mad.dest_qpn = ADV_GSI_QPN;
	o->mad.pkey = pkey ? pkey : cm->config.pkeys.pkey[0];
	memcpy(o->mad.data, mad, ADV_MAD_LEN);
	adv_list_add_tail(&cm->outgoing, &o->link);
	cm->outgoing_count++;
}

void adv_cm_send(struct adv_cm_id *id, const struct adv_cm_packet *packet)
{
	uint8_t mad[ADV_MAD_LEN];

	if (adv_cm_id_pay(id) && adv_cm_packet_encode(packet, mad))
		queue_mad(id->cm, &id->route.path, id->route.pkey, mad);
}

void adv_cm_send_stateless(struct adv_cm *cm, const struct adv_rx_meta *meta,
			   const struct adv_cm_packet *packet)
{
	const struct adv_path path = {
		.sgid = meta->dgid,
		.dgid = meta->sgid,
		.sport = meta->sport,
		.tclass = meta->tclass & 0xfc,
		.hop_limit = ADV_CM_HOP_LIMIT,
		.v1 = adv_rx_is_v1(meta),
	};
	uint8_t mad[ADV_MAD_LEN];

	if (cm->outgoing_count < ADV_CM_STATELESS_MAX && adv_cm_packet_encode(packet, mad))
		queue_mad(cm, &path, meta->pkey, mad);
}

/*
 * Returns the time to wait for the answer to the last transmission. The time varies at random by an
 * eighth. So requests that collided at a full backlog do not collide again at each retransmission.
 */
static uint64_t response_wait_ns(struct adv_cm_id *id)
{
	const struct adv_cm_config *c = &id->cm->config;
	uint64_t ns = c->retry_first_ns;
	unsigned i;

	for (i = 1; i < id->tries && ns < c->retry_longest_ns; i++)
		ns *= 2;
	if (ns > c->retry_longest_ns)
		ns = c->retry_longest_ns;
	ns += adv_rng_below(&id->cm->rng, ns / 4 + 1) - ns / 8;
	return ns > id->service_ns ? ns : id->service_ns;
}

void adv_cm_send_repeated(struct adv_cm_id *id, uint64_t now, const struct adv_cm_packet *packet)
{
	if (!adv_cm_packet_encode(packet, id->mad))
		return;
	id->tries = 1;
	id->service_ns = 0;
	id->refused = false;
	if (adv_cm_id_pay(id))
		queue_mad(id->cm, &id->route.path, id->route.pkey, id->mad);
	adv_cm_retransmit_timer_set(id, now + response_wait_ns(id));
}

static void repeat_mad(struct adv_cm_id *id, uint64_t now)
{
	if (!adv_cm_id_pay_again(id, now))
		return;
	id->cm->counters.tx_retries++;
	queue_mad(id->cm, &id->route.path, id->route.pkey, id->mad);
}

void adv_cm_retransmit(struct adv_cm_id *id, uint64_t now)
{
	id->tries++;
	repeat_mad(id, now);
	adv_cm_retransmit_timer_set(id, now + response_wait_ns(id));
}

void adv_cm_outgoing_free(struct adv_cm *cm)
{
	while (!adv_list_empty(&cm->outgoing)) {
		struct adv_cm_outgoing *o =
			adv_container_of(cm->outgoing.next, struct adv_cm_outgoing, link);

		adv_list_del(&o->link);
		free(o);
	}
}

bool adv_cm_tx(struct adv_cm *cm, uint64_t now, struct adv_cm_mad *out)
{
	struct adv_cm_outgoing *o;

	if (adv_list_empty(&cm->outgoing))
		return false;
	o = adv_container_of(cm->outgoing.next, struct adv_cm_outgoing, link);
	*out = o->mad;
	adv_list_del(&o->link);
	cm->outgoing_count--;
	free(o);
	cm->counters.tx_mads++;
	return true;
}
