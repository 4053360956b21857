/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"

/* Quantum of weight 1, bytes. It is small, so that turns are short. A queue whose quantum is
 * smaller than a frame collects the quanta of several turns. */
#define QUANTUM_BYTES 128

void adv_egress_init(struct adv_egress *e, uint32_t ps_per_byte,
		     const uint8_t weight[ADV_PRIORITIES])
{
	e->ps_per_byte = ps_per_byte;
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		e->quantum[p] = (uint32_t)weight[p] * QUANTUM_BYTES;
		if (weight[p] == 0)
			e->strict |= (uint8_t)(1u << p);
	}
}

uint64_t adv_egress_take_peak(struct adv_egress *e, unsigned priority)
{
	struct adv_egress_queue *q = &e->queue[priority];
	uint32_t peak = q->peak;

	q->peak = q->bytes;
	return peak;
}

unsigned adv_egress_next_by_weight(struct adv_egress *e, unsigned may)
{
	for (;;) {
		struct adv_egress_queue *q = &e->queue[e->turn];

		if (may & (1u << e->turn)) {
			int32_t need = (int32_t)(q->packets.head->bytes + ADV_WIRE_OVERHEAD);

			if (!e->granted)
				q->deficit += (int32_t)e->quantum[e->turn];
			e->granted = true;
			if (q->deficit >= need) {
				q->deficit -= need;
				return e->turn;
			}
		}
		e->turn = (e->turn + 1) % ADV_PRIORITIES;
		e->granted = false;
	}
}

struct adv_packet *adv_egress_flush(struct adv_egress *e, unsigned priority)
{
	return e->queue[priority].packets.head ? adv_egress_dequeue(e, priority) : NULL;
}

/* ---- pauses ---- */

static void resume_priority(struct adv_egress *e, unsigned priority, uint64_t at)
{
	struct adv_egress_queue *q = &e->queue[priority];

	e->pauses[priority].lasted += at;
	q->paused_until = 0;
	e->paused &= (uint8_t) ~(1u << priority);
}

void adv_egress_pause(struct adv_egress *e, uint64_t now, const struct adv_packet *frame)
{
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		uint64_t length = (uint64_t)frame->quanta[p] * ADV_QUANTUM_BYTES * e->ps_per_byte;
		struct adv_egress_queue *q = &e->queue[p];

		if (!(frame->pause_mask & (1u << p)))
			continue;
		if (length == 0) {
			if (q->paused_until)
				resume_priority(e, p, now);
			continue;
		}
		if (!q->paused_until) {
			e->pauses[p].lasted -= now;
			e->pauses[p].count++;
			e->paused |= (uint8_t)(1u << p);
		}
		q->paused_until = now + length;
	}
}

void adv_egress_resume(struct adv_egress *e, uint64_t now)
{
	for (unsigned p = 0; e->paused && p < ADV_PRIORITIES; p++)
		if (e->queue[p].paused_until)
			resume_priority(e, p, now);
}

uint64_t adv_egress_deadline(const struct adv_egress *e)
{
	uint64_t first = ADV_CALENDAR_NEVER;

	for (unsigned p = 0; e->paused && p < ADV_PRIORITIES; p++)
		if (e->queue[p].paused_until && e->queue[p].paused_until < first)
			first = e->queue[p].paused_until;
	return first;
}

void adv_egress_expire(struct adv_egress *e, uint64_t now)
{
	for (unsigned p = 0; e->paused && p < ADV_PRIORITIES; p++)
		if (e->queue[p].paused_until && e->queue[p].paused_until <= now)
			resume_priority(e, p, e->queue[p].paused_until);
}

uint64_t adv_egress_paused_for(const struct adv_egress *e, unsigned priority, uint64_t now)
{
	const struct adv_egress_queue *q = &e->queue[priority];

	return e->pauses[priority].lasted + (q->paused_until ? now : 0);
}
