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

int adv_control_pairs(struct adv_control *c, unsigned slot, uint8_t paired[ADV_SLOTS / 8],
		      uint8_t ready[ADV_SLOTS / 8])
{
	struct adv_control_message m;
	int error, fd;

	adv_control_message_init(&m, ADV_CONTROL_PAIRS, 0);
	m.body.pair.slot = slot;
	error = adv_control_ask(c, &m, &fd);
	if (fd >= 0)
		adv_sys_close(fd);
	if (error)
		return error;
	memcpy(paired, m.body.pairs.paired, ADV_SLOTS / 8);
	memcpy(ready, m.body.pairs.ready, ADV_SLOTS / 8);
	return 0;
}
