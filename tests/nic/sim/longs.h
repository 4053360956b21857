/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Long packets between hosts: see longs.c. */
#ifndef ADV_TESTS_NIC_SIM_LONGS_H
#define ADV_TESTS_NIC_SIM_LONGS_H

#include "model.h"

#define SIM_PIECES 4 /* most pieces of a payload that is away */

struct flight;

/* A packet in flight, as far as it is long. */
struct long_flight {
	uint32_t more; /* as in struct adv_rx_packet */
	bool away;     /* the payload is in the memory of the sender */
	bool recalled; /* the sender has recalled it */
	bool pulled;   /* the receiver has read it, or has tried to */
	const struct host *from;
	const struct adv_path *path;
	unsigned pieces;
	struct iovec piece[SIM_PIECES];
	struct adv_rx_source source;
};

void longs_draw(struct sim *s);
void longs_open(struct host *h);
void longs_crash(struct host *h);
void longs_send(struct host *h, const struct adv_tx_packet *pkt, struct flight *f);
bool longs_pull(struct adv_rx_source *source, const struct iovec *to, unsigned count);
void longs_turn(struct sim *s);
void longs_reuse(struct stream *st, uint64_t number);

#endif
