/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests for memory that is shared with other processes. */
#include <errno.h>

#include "runtime/control/internal.h"
#include "runtime/link/shm.h"

int adv_control_post_pair(struct adv_control *c, struct adv_control_request *r, unsigned slot,
			  unsigned peer)
{
	adv_control_message_init(&r->message, ADV_CONTROL_PAIR, 0);
	r->message.body.pair.slot = slot;
	r->message.body.pair.peer = peer;
	return adv_control_post(c, r);
}

int adv_control_pair_answer(struct adv_control_request *r, struct adv_shm_pair *pair)
{
	if (r->error) {
		adv_control_close_fd(&r->fd);
		return r->error;
	}
	if (r->fd < 0)
		return EPROTO;
	pair->memory_fd = r->fd;
	pair->size = r->message.body.pair.size;
	pair->side = r->message.body.pair.side;
	pair->peer = (pid_t)r->message.body.pair.process;
	return 0;
}

static void set_bit(uint8_t *bits, unsigned i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

int adv_control_post_pairs(struct adv_control *c, struct adv_control_request *r, unsigned slot,
			   unsigned from)
{
	adv_control_message_init(&r->message, ADV_CONTROL_PAIRS, 0);
	r->message.body.pairs.slot = (uint16_t)slot;
	r->message.body.pairs.from = (uint16_t)from;
	return adv_control_post(c, r);
}

int adv_control_pairs_answer(struct adv_control_request *r, unsigned *from,
			     uint8_t paired[ADV_SLOTS / 8], uint8_t ready[ADV_SLOTS / 8])
{
	const struct adv_control_message *m = &r->message;

	adv_control_close_fd(&r->fd);
	if (r->error)
		return r->error;
	if (m->body.pairs.count > ADV_PAIRS_A_MESSAGE)
		return EPROTO;
	for (unsigned i = 0; i < m->body.pairs.count; i++) {
		unsigned peer = m->body.pairs.peer[i] & ~ADV_CONTROL_PAIR_READY;

		if (peer < *from || peer >= ADV_SLOTS)
			return EPROTO;
		set_bit(paired, peer);
		if (m->body.pairs.peer[i] & ADV_CONTROL_PAIR_READY)
			set_bit(ready, peer);
		*from = peer + 1;
	}
	if (m->body.pairs.count < ADV_PAIRS_A_MESSAGE)
		*from = ADV_SLOTS;
	return 0;
}
