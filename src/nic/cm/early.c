/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/early.h"

#include <stdlib.h>

#include "nic/cm/port.h"

#define MOST 256u /* held requests; further ones are refused at once */
/* Ns: time after the closing of a listener for which requests are held longer. */
#define LATELY UINT64_C(10000000000)

static struct adv_cm_early *first_of(const struct adv_cm *cm)
{
	return adv_container_of(cm->early.next, struct adv_cm_early, link);
}

static void free_early(struct adv_cm *cm, struct adv_cm_early *e)
{
	adv_list_del(&e->link);
	cm->early_count--;
	free(e);
}

static bool is_repeated(const struct adv_cm_early *e, const struct adv_rx_meta *meta,
			const struct adv_cm_packet *packet)
{
	return e->packet.attribute == packet->attribute && e->packet.tid == packet->tid &&
	       adv_gid_equal(&e->meta.sgid, &meta->sgid) &&
	       adv_gid_equal(&e->meta.dgid, &meta->dgid);
}

static uint64_t service_of(const struct adv_cm_packet *packet)
{
	return packet->attribute == ADV_CM_REQ ? packet->req.service_id
					       : packet->sidr_req.service_id;
}

void adv_cm_expect_relisten(const struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm *cm = id->cm;

	if (id->state != ADV_CM_LISTENING)
		return;
	cm->left[cm->left_next++ % ADV_CM_LEFT] = (struct adv_cm_left){
		.service_id = adv_cm_service_id((uint16_t)id->ps, id->local.port),
		.when = now,
	};
}

/* Returns how long to hold a request for this service, in ns. */
static uint64_t hold_ns(const struct adv_cm *cm, uint64_t now, uint64_t service_id)
{
	for (unsigned i = 0; i < ADV_CM_LEFT; i++)
		if (cm->left[i].service_id == service_id && now - cm->left[i].when < LATELY &&
		    cm->config.again_ns > cm->config.early_ns)
			return cm->config.again_ns;
	return cm->config.early_ns;
}

/* Inserts a request into the list. Searches from the end, because nearly all requests are held for
 * the same time. */
static void insert_early(struct adv_cm *cm, struct adv_cm_early *e)
{
	struct adv_list *after = cm->early.prev;

	while (after != &cm->early &&
	       adv_container_of(after, struct adv_cm_early, link)->until > e->until)
		after = after->prev;
	adv_list_add(after, &e->link);
	cm->early_count++;
}

bool adv_cm_early_hold(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet)
{
	struct adv_cm_early *e;
	uint64_t wait;

	adv_list_for_each(const struct adv_cm_early, kept, &cm->early, link) {
		if (is_repeated(kept, meta, packet)) {
			cm->counters.rx_duplicates++;
			return true;
		}
	}
	wait = hold_ns(cm, now, service_of(packet));
	if (!wait || cm->early_count >= MOST)
		return false;
	e = malloc(sizeof(*e));
	if (!e)
		return false;
	e->since = now;
	e->until = now + wait;
	e->meta = *meta;
	e->packet = *packet;
	insert_early(cm, e);
	return true;
}

static bool has_listener(struct adv_cm *cm, const struct adv_cm_early *e)
{
	const uint8_t *data = e->packet.attribute == ADV_CM_REQ ? e->packet.req.private_data
								: e->packet.sidr_req.private_data;
	struct adv_cm_ip_header header;

	return adv_cm_ip_header_decode(data, ADV_CM_IP_HEADER_LEN, &header) &&
	       adv_cm_listener_find(cm, service_of(&e->packet), &header);
}

uint64_t adv_cm_early_deadline(const struct adv_cm *cm)
{
	return cm->early_count ? first_of(cm)->until : ADV_CM_NEVER;
}

void adv_cm_early_forget_all(struct adv_cm *cm)
{
	while (cm->early_count)
		free_early(cm, first_of(cm));
}

static struct adv_cm_early *remove_early(struct adv_cm *cm, struct adv_cm_early *e)
{
	adv_list_del(&e->link);
	cm->early_count--;
	return e;
}

struct adv_cm_early *adv_cm_early_take_listened(struct adv_cm *cm)
{
	adv_list_for_each(struct adv_cm_early, e, &cm->early, link) {
		if (has_listener(cm, e))
			return remove_early(cm, e);
	}
	return NULL;
}

struct adv_cm_early *adv_cm_early_take_due(struct adv_cm *cm, uint64_t now)
{
	return adv_cm_early_deadline(cm) <= now ? remove_early(cm, first_of(cm)) : NULL;
}
