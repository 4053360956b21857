/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The whole: what comes in, what goes out, the clock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/internal.h"
#include "wire/bytes.h"

#define MAX_IDS	   524288u
#define FIRST_NS   UINT64_C(250000000)
#define LONGEST_NS UINT64_C(4000000000)
#define TRIES	   8u
/* Without memory for an event, its timer tries again after this. */
#define AGAIN_NS UINT64_C(100000000)
#define TIMEOUTS 1024u /* at once */
/* Sendings after which a closed port is believed in: it may be about to be opened. */
#define REFUSED_TRIES 3u
#define COMM_ID_AT    ADV_MAD_HEADER_LEN /* of all messages that are repeated */

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
	while (!adv_list_empty(&cm->outgoing)) {
		struct adv_cm_outgoing *o =
			adv_container_of(cm->outgoing.next, struct adv_cm_outgoing, link);

		adv_list_del(&o->link);
		free(o);
	}
	adv_cm_early_forget_all(cm);
	adv_table_free(&cm->by_comm_id);
	adv_table_free(&cm->by_remote);
	adv_table_free(&cm->by_qpn);
	adv_table_free(&cm->ports);
	adv_table_free(&cm->hosts);
	free(cm);
}

/* ---- what goes out ---- */

static void queue(struct adv_cm *cm, const struct adv_path *path, const uint8_t *mad)
{
	struct adv_cm_outgoing *o;

	if (cm->outgoing_count >= ADV_CM_OUTGOING_MAX)
		return;
	o = malloc(sizeof(*o));
	if (!o)
		return;
	o->mad.path = *path;
	o->mad.dest_qpn = ADV_GSI_QPN;
	memcpy(o->mad.data, mad, ADV_MAD_LEN);
	adv_list_add_tail(&cm->outgoing, &o->link);
	cm->outgoing_count++;
}

void adv_cm_send(struct adv_cm_id *id, const struct adv_cm_packet *packet)
{
	uint8_t mad[ADV_MAD_LEN];

	if (adv_cm_id_pay(id) && adv_cm_packet_encode(packet, mad))
		queue(id->cm, &id->route.path, mad);
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
	};
	uint8_t mad[ADV_MAD_LEN];

	if (cm->outgoing_count < ADV_CM_STATELESS_MAX && adv_cm_packet_encode(packet, mad))
		queue(cm, &path, mad);
}

/*
 * How long the sending that has just happened waits for its answer. By chance an eighth more or
 * less, so that those who met at a full backlog do not meet there each time.
 */
static uint64_t wait_ns(struct adv_cm_id *id)
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
		queue(id->cm, &id->route.path, id->mad);
	adv_cm_timer_set(&id->cm->timers, &id->timer, now + wait_ns(id));
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

/* ---- what is told ---- */

bool adv_cm_event_prepare(struct adv_cm_id *id, enum rdma_cm_event_type type,
			  struct adv_cm_event_node **node)
{
	*node = NULL;
	if (!id->owned)
		return true;
	*node = calloc(1, sizeof(**node));
	if (!*node)
		return false;
	adv_list_init(&(*node)->link);
	adv_list_init(&(*node)->of_id);
	(*node)->event.type = type;
	(*node)->event.id = id;
	return true;
}

void adv_cm_event_private(struct adv_cm_event_node *node, const uint8_t *data, uint8_t len)
{
	if (!node)
		return;
	node->event.param.private_data_len = len;
	memcpy(node->event.param.private_data, data, len);
}

void adv_cm_event_post(struct adv_cm_event_node *node)
{
	if (!node)
		return;
	adv_list_add_tail(&node->event.id->cm->events, &node->link);
	adv_list_add_tail(&node->event.id->events, &node->of_id);
}

void adv_cm_event_drop(struct adv_cm_event_node *node)
{
	if (!node)
		return;
	adv_list_del(&node->link);
	adv_list_del(&node->of_id);
	free(node);
}

bool adv_cm_next_event(struct adv_cm *cm, struct adv_cm_event *out)
{
	struct adv_cm_event_node *node;

	if (adv_list_empty(&cm->events))
		return false;
	node = adv_container_of(cm->events.next, struct adv_cm_event_node, link);
	*out = node->event;
	adv_cm_event_drop(node);
	return true;
}

/* ---- the clock ---- */

uint64_t adv_cm_deadline(const struct adv_cm *cm)
{
	const struct adv_cm_timer *first = adv_cm_timers_first(&cm->timers);
	uint64_t early = adv_cm_early_deadline(cm);

	return first && first->when < early ? first->when : early;
}

static void give_up(struct adv_cm_id *id, uint64_t now)
{
	bool release = id->state == ADV_CM_DREQ_SENT;
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(
		    id, release ? RDMA_CM_EVENT_DISCONNECTED : RDMA_CM_EVENT_UNREACHABLE, &event)) {
		adv_cm_timer_set(&id->cm->timers, &id->timer, now + AGAIN_NS);
		return;
	}
	if (event)
		event->event.status = id->refused && !release ? -ECONNREFUSED : -ETIMEDOUT;
	adv_cm_event_post(event);
	if (release) {
		adv_cm_id_timewait(id, now);
		return;
	}
	if (id->state != ADV_CM_SIDR_REQ_SENT)
		adv_cm_send_rej(id, ADV_CM_REJ_TIMEOUT, NULL, 0);
	adv_cm_id_close(id);
}

static void timewait_over(struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, &event)) {
		adv_cm_timer_set(&id->cm->timers, &id->timer, now + AGAIN_NS);
		return;
	}
	adv_cm_event_post(event);
	adv_cm_id_close(id);
}

static void repeat(struct adv_cm_id *id, uint64_t now)
{
	if (!adv_cm_id_pay_again(id, now))
		return;
	id->cm->counters.tx_retries++;
	queue(id->cm, &id->route.path, id->mad);
}

/* Is more of the same in vain? */
static bool is_tried_enough(const struct adv_cm_id *id)
{
	return id->tries >= id->cm->config.max_tries || (id->refused && id->tries >= REFUSED_TRIES);
}

static void timeout(struct adv_cm_id *id, uint64_t now)
{
	if (id->state == ADV_CM_TIMEWAIT) {
		timewait_over(id, now);
	} else if (id->state == ADV_CM_ESTABLISHED && id->tries >= ADV_CM_RTU_TRIES) {
		adv_cm_timer_set(&id->cm->timers, &id->timer, ADV_CM_NEVER);
	} else if (is_tried_enough(id)) {
		give_up(id, now);
	} else {
		id->tries++;
		repeat(id, now);
		adv_cm_timer_set(&id->cm->timers, &id->timer, now + wait_ns(id));
	}
}

static bool waits_for_answer(const struct adv_cm_id *id)
{
	switch (id->state) {
	case ADV_CM_REQ_SENT:
	case ADV_CM_REP_SENT:
	case ADV_CM_DREQ_SENT:
	case ADV_CM_SIDR_REQ_SENT:
		return true;
	default:
		return false;
	}
}

void adv_cm_port_unreachable(struct adv_cm *cm, uint64_t now, const struct adv_gid *sgid,
			     const struct adv_gid *dgid, const void *mad, size_t len)
{
	const struct adv_rx_meta meta = {.sgid = *dgid, .dgid = *sgid};
	struct adv_cm_id *id;

	/* Up to the number that tells whose it is; the transaction id, 64 secret bits, is before.
	 */
	if (len < COMM_ID_AT + 4)
		return;
	id = adv_cm_find(cm, &meta, adv_get_be32((const uint8_t *)mad + COMM_ID_AT));
	if (!id || !waits_for_answer(id) ||
	    memcmp(mad, id->mad, len < ADV_MAD_LEN ? len : ADV_MAD_LEN) != 0)
		return;
	id->refused = true;
	if (is_tried_enough(id))
		give_up(id, now);
}

void adv_cm_expire(struct adv_cm *cm, uint64_t now)
{
	/* Each timer is stopped or set to later than now. */
	for (unsigned i = 0; i < TIMEOUTS; i++) {
		struct adv_cm_timer *first = adv_cm_timers_first(&cm->timers);

		if (!first || first->when > now)
			break;
		timeout(adv_container_of(first, struct adv_cm_id, timer), now);
	}
	adv_cm_early_expire(cm, now);
}

/* ---- what comes in ---- */

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
	/* No LAP is sent, so no APR is awaited. */
	if (handlers[packet.attribute])
		handlers[packet.attribute](cm, now, meta, &packet);
	else
		cm->counters.rx_unmatched++;
}

/* ---- looking at it ---- */

const struct adv_cm_counters *adv_cm_counters(const struct adv_cm *cm)
{
	return &cm->counters;
}

unsigned adv_cm_id_count(const struct adv_cm *cm)
{
	return cm->owned;
}

unsigned adv_cm_ending_count(const struct adv_cm *cm)
{
	return cm->ending;
}

unsigned adv_cm_closing_count(const struct adv_cm *cm)
{
	return cm->closing;
}

unsigned adv_cm_busy_count(const struct adv_cm *cm)
{
	return cm->busy;
}
