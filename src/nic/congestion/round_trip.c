/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/congestion/round_trip.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "nic/wire/headers.h"

#define ACKREQ_AND_PSN 8 /* offset in the BTH */
#define MASK	       (ADV_ROUND_TRIPS - 1)

bool adv_round_trips_start(struct adv_round_trips *r, uint32_t next_psn)
{
	r->next_psn = next_psn;
	r->head = r->tail = 0;
	r->ring = calloc(ADV_ROUND_TRIPS, sizeof(*r->ring));
	return r->ring != NULL;
}

void adv_round_trips_free(struct adv_round_trips *r)
{
	free(r->ring);
	r->ring = NULL;
}

static void note_request(struct adv_round_trips *r, const struct adv_tx_packet *pkt, uint64_t now)
{
	uint32_t word = adv_get_be32(pkt->header + ACKREQ_AND_PSN);
	uint32_t last = adv_psn_add(word & ADV_PSN_MASK, pkt->more);

	if (adv_psn_diff(last, r->next_psn) < 0)
		return;
	r->next_psn = adv_psn_add(last, 1);
	if (!(word & ADV_BTH_ACKREQ) || r->head - r->tail == ADV_ROUND_TRIPS)
		return;
	r->ring[r->head++ & MASK] = (struct adv_round_trip_request){last, (uint32_t)now};
}

void adv_round_trips_sent(struct adv_round_trips *r, const struct adv_tx_batch *batch,
			  unsigned from, uint64_t now)
{
	for (unsigned i = from; i < batch->count; i++)
		if (!(adv_opcode_table[batch->packet[i].header[0]].flags & ADV_PKT_RESPONSE))
			note_request(r, &batch->packet[i], now);
}

uint64_t adv_round_trips_take(struct adv_round_trips *r, uint32_t psn, uint64_t now)
{
	while (r->tail != r->head) {
		const struct adv_round_trip_request *q = &r->ring[r->tail & MASK];
		int32_t ahead = adv_psn_diff(q->psn, psn);
		uint32_t time = (uint32_t)now - q->at;

		if (ahead > 0)
			return 0;
		r->tail++;
		if (ahead == 0)
			return time ? time : 1;
	}
	return 0;
}
