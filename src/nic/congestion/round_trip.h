/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures round-trip times of requests, from the transmission to the ACK. The ACK of a
 * retransmitted request measures nothing, because it may answer an earlier transmission. Times are
 * in ns. */
#ifndef ADV_NIC_CONGESTION_ROUND_TRIP_H
#define ADV_NIC_CONGESTION_ROUND_TRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/wire/packet.h"

/* Requests that are measured at a time, a power of two. Further ones measure nothing. */
#define ADV_ROUND_TRIPS 256

/* A request that was sent once and has requested an ACK. */
struct adv_round_trip_request {
	uint32_t psn;
	uint32_t at; /* time of the transmission, the low 32 bits */
};

struct adv_round_trips {
	uint32_t next_psn;		     /* PSN after the newest request that was sent */
	uint32_t head;			     /* free running */
	uint32_t tail;			     /* free running */
	struct adv_round_trip_request *ring; /* NULL: nothing is measured */
};

/* Starts measuring; next_psn is the PSN of the next request. Returns false if there is no memory.
 */
bool adv_round_trips_start(struct adv_round_trips *r, uint32_t next_psn);
void adv_round_trips_free(struct adv_round_trips *r);
/* Notes the requests of the batch from index `from` on, which are sent now. */
void adv_round_trips_sent(struct adv_round_trips *r, const struct adv_tx_batch *batch,
			  unsigned from, uint64_t now);
/* Returns the round-trip time of the request with this PSN, whose ACK has arrived; 0: unknown.
 * Forgets older requests. */
uint64_t adv_round_trips_take(struct adv_round_trips *r, uint32_t psn, uint64_t now);

#endif
