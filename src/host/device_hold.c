/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Small requests that wait for one another. A program that posts many in a row, one by one, pays
 * for a system call each; sent together, a few dozen cost little more than one. So a small request
 * may stay with the device until there are HOLD_MOST, or until the program's next call that is not
 * such a post: a poll, mostly.
 *
 * It must not stay longer than it takes to post the others. So only those are held that are posted
 * while packets are in flight, as who waits for an answer has nothing else out; only where the
 * program polls so steadily that the thread stands by. And where what was held came to be sent more
 * than HOLD_LONGEST later (the program has turned to something else, and its next poll or the
 * thread has sent it), the next HOLD_COST ones are not held, and twice as many each further time.
 * What goes through memory is not held: it costs no system call.
 */
#include "host/device_internal.h"

#define HOLD_MOST     48
#define HOLD_LONGEST  50000 /* ns */
#define HOLD_COST     1024
#define HOLD_COST_MAX (1u << 20)

static bool may_hold(struct adv_device *d, const struct adv_qp *qp)
{
	if (d->hold_off) {
		d->hold_off--;
		return false;
	}
	return d->held + 1 < HOLD_MOST && !d->link_full && !d->cut && device_thread_stands_by(d) &&
	       adv_qp_may_wait(qp);
}

void device_hold_end(struct adv_device *d, uint64_t now)
{
	if (d->held && now - d->held_since > HOLD_LONGEST) {
		d->hold_cost = d->hold_cost ? d->hold_cost : HOLD_COST;
		d->hold_off = d->hold_cost;
		if (d->hold_cost < HOLD_COST_MAX)
			d->hold_cost *= 2;
	}
	d->held = 0;
	device_pump(d, now);
}

void adv_device_unlock_posted(struct adv_device *d, const struct adv_qp *qp, uint64_t now)
{
	if (!may_hold(d, qp)) {
		adv_device_unlock(d);
		return;
	}
	if (d->held++ == 0)
		d->held_since = now;
	device_release(d);
}
