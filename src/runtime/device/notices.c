/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handles the notifications of adverbd: changed addresses, changed peers, requests of tools, and
 * the end of adverbd. */
#include "runtime/device/internal.h"

#include <errno.h>

#include "base/log.h"
#include "base/sys.h"

#define CATCH_UP_ROUNDS 64 /* rounds; together they receive more packets than a socket holds */

static void handle_answer(struct adv_device *d)
{
	const struct adv_control_request *r = adv_control_take_answered(d->control);

	if (r == &d->peers.request)
		adv_device_peers_answered(d);
	else if (r == &d->blocks.request)
		adv_device_block_answered(d);
	adv_change_announce(&d->answers);
}

void adv_device_read_notices(struct adv_device *d)
{
	adv_device_captures_look(d);
	while (!d->gone) {
		switch (adv_control_read(d->control)) {
		case ADV_NOTICE_NONE:
			return;
		case ADV_NOTICE_ANSWERED:
			handle_answer(d);
			break;
		case ADV_NOTICE_GIDS_CHANGED:
		case ADV_NOTICE_PORT_CHANGED:
			adv_device_gids_changed(d);
			break;
		case ADV_NOTICE_PAIRS_CHANGED:
			adv_device_pairs_changed(d);
			break;
		case ADV_NOTICE_FAULT:
			adv_device_serve_tool(d);
			break;
		case ADV_NOTICE_GONE:
			d->gone = true;
			(void)adv_device_watch(d, EPOLL_CTL_DEL, adv_control_fd(d->control), 0,
					       DEVICE_SOURCE_CONTROL);
			adv_error("adverbd has ended: addresses and connections are no longer "
				  "updated");
			adv_device_deliver_port_event(d, IBV_EVENT_DEVICE_FATAL);
			break;
		}
	}
}

void adv_device_catch_up(struct adv_device *d)
{
	/* A peer may already have written to shared memory that a queued notification announces. */
	adv_device_read_notices(d);
	adv_device_peers_wait(d);
	for (unsigned i = 0; i < CATCH_UP_ROUNDS && adv_device_progress(d, false) > 0; i++)
		adv_lock_give_way(&d->lock);
}
