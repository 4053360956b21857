/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks of QP numbers. A device requests a block from adverbd while it still has numbers, so that
 * threads can create QPs meanwhile. If no number is left, the creating thread waits for the answer,
 * without the device's lock.
 */
#include "runtime/device/lock.h"
#include "runtime/device/port.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/link/raw.h"

#define ANSWER_WAIT 15000000000ull /* ns */

/* 0 or errno, with a line in why. */
static int add_block(struct adv_device *d, uint32_t *first, char *why, size_t why_len)
{
	int err = adv_control_block_answer(&d->blocks.request, first, why, why_len);

	if (err)
		return err;
	err = adv_udp_add_qpns(d->udp, *first, ADV_BLOCK_QPNS);
	if (!err && d->port)
		err = adv_port_claim(d->port, adv_qpn_prefix(*first), ADV_BLOCK_PREFIXES);
	if (!err && d->raw)
		err = adv_raw_add_qpns(d->raw, *first, ADV_BLOCK_QPNS);
	if (!err)
		err = adv_engine_add_qpns(d->engine, *first, ADV_BLOCK_QPNS);
	if (err)
		snprintf(why, why_len, "%s", strerror(err));
	return err;
}

void adv_device_block_answered(struct adv_device *d)
{
	uint32_t first = 0;
	char why[256] = "";

	d->blocks.posted = false;
	d->blocks.refused = add_block(d, &first, why, sizeof(why)) != 0;
	if (d->blocks.refused) {
		adv_warn("no more queue pair numbers: %s", why);
	} else {
		d->blocks.count++;
		adv_info("one more block of queue pair numbers: from 0x%06x", first);
	}
}

/* Requests a block, unless one is pending or cannot be had. left: number of unused QP numbers of
 * the engine. */
static void request_block(struct adv_device *d, uint32_t left)
{
	struct device_blocks *b = &d->blocks;

	if (b->posted || d->gone || b->count == ADV_DEVICE_BLOCKS || (b->refused && left))
		return;
	b->posted = adv_control_post_block(d->control, &b->request, &d->slot) == 0;
}

/* Blocks until the requested block has arrived or ANSWER_WAIT has passed. Call it with the lock
 * held; it releases the lock while it blocks. */
static void wait_for_block(struct adv_device *d)
{
	uint64_t until = adv_clock_ns() + ANSWER_WAIT;

	while (d->blocks.posted && adv_device_wait_for_answer(d, until))
		;
}

void adv_device_reserve_qpn(struct adv_device *d)
{
	uint32_t left = adv_engine_qpns_left(d->engine);

	if (left >= ADV_QPNS_RESTING)
		return;
	request_block(d, left);
	if (left == 0)
		wait_for_block(d);
}

void adv_device_reserve_srqn(struct adv_device *d)
{
	if (adv_engine_srqns_left(d->engine) > 0)
		return;
	request_block(d, 0);
	wait_for_block(d);
}
