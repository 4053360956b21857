/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gets further blocks of QP numbers from adverbd when a device runs out of them. */
#include "host/device_internal.h"

#include <stdio.h>

#include "base/log.h"

/* Adds a block of QP numbers to the engine and the link. 0 or errno, with a line in why. */
static int add_block(struct adv_device *d, uint32_t *first, char *why, size_t why_len)
{
	int err = adv_control_open_block(d->control, &d->slot, first, why, why_len);

	if (err)
		return err;
	err = adv_udp_add_qpns(d->udp, *first, ADV_BLOCK_QPNS);
	if (!err)
		err = adv_engine_add_qpns(d->engine, *first, ADV_BLOCK_QPNS);
	if (err)
		snprintf(why, why_len, "%s", strerror(err));
	return err;
}

/* `left`: unused QP numbers of the engine. */
static void reserve_block(struct adv_device *d, uint32_t left)
{
	uint32_t first = 0;
	char why[256] = "";

	if (d->block_count == ADV_DEVICE_BLOCKS || (d->blocks_refused && left))
		return;
	d->blocks_refused = add_block(d, &first, why, sizeof(why)) != 0;
	if (d->blocks_refused) {
		adv_warn("no more queue pair numbers: %s", why);
		return;
	}
	d->block_count++;
	adv_info("one more block of queue pair numbers: from 0x%06x", first);
}

void adv_device_reserve_qpn(struct adv_device *d)
{
	uint32_t left = adv_engine_qpns_left(d->engine);

	if (left < ADV_QPNS_RESTING)
		reserve_block(d, left);
}

void adv_device_reserve_srqn(struct adv_device *d)
{
	if (adv_engine_srqns_left(d->engine) == 0)
		reserve_block(d, 0);
}
