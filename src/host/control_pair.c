/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asking adverbd for memory to be shared with other processes. */
#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "host/control_internal.h"
#include "link/shm.h"

int adv_control_pair(struct adv_control *c, unsigned slot, unsigned peer, struct adv_shm_pair *pair)
{
	struct adv_control_message m;
	int error, fd;

	adv_control_message_init(&m, ADV_CONTROL_PAIR, 0);
	m.body.pair.slot = slot;
	m.body.pair.peer = peer;
	error = adv_control_ask(c, &m, &fd);
	if (!error && fd < 0)
		return EPROTO;
	if (error) {
		if (fd >= 0)
			adv_sys_close(fd);
		return error;
	}
	pair->memory_fd = fd;
	pair->size = m.body.pair.size;
	pair->side = m.body.pair.side;
	return 0;
}

static void set_bit(uint8_t *bits, unsigned i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

/* One answer's worth, and where to go on; ADV_SLOTS: nowhere. 0 or errno. */
static int some_pairs(struct adv_control *c, unsigned slot, unsigned *from, uint8_t *paired,
		      uint8_t *ready)
{
	struct adv_control_message m;
	int error, fd;

	adv_control_message_init(&m, ADV_CONTROL_PAIRS, 0);
	m.body.pairs.slot = (uint16_t)slot;
	m.body.pairs.from = (uint16_t)*from;
	error = adv_control_ask(c, &m, &fd);
	if (fd >= 0)
		adv_sys_close(fd);
	if (error)
		return error;
	if (m.body.pairs.count > ADV_PAIRS_A_MESSAGE)
		return EPROTO;
	for (unsigned i = 0; i < m.body.pairs.count; i++) {
		unsigned peer = m.body.pairs.peer[i] & ~ADV_CONTROL_PAIR_READY;

		if (peer < *from || peer >= ADV_SLOTS)
			return EPROTO;
		set_bit(paired, peer);
		if (m.body.pairs.peer[i] & ADV_CONTROL_PAIR_READY)
			set_bit(ready, peer);
		*from = peer + 1;
	}
	if (m.body.pairs.count < ADV_PAIRS_A_MESSAGE)
		*from = ADV_SLOTS;
	return 0;
}

int adv_control_pairs(struct adv_control *c, unsigned slot, uint8_t paired[ADV_SLOTS / 8],
		      uint8_t ready[ADV_SLOTS / 8])
{
	unsigned from = 0;
	int error = 0;

	memset(paired, 0, ADV_SLOTS / 8);
	memset(ready, 0, ADV_SLOTS / 8);
	while (!error && from < ADV_SLOTS)
		error = some_pairs(c, slot, &from, paired, ready);
	return error;
}
