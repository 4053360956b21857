/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds a deadlock that exists now. (`adverb plan deadlock` finds the deadlocks that routes make
 * possible.)
 *
 * A paused output queue waits for the next switch. That switch ends the pause when it has sent
 * frames that it received by this cable. The search starts with all queues that wait for another
 * switch. It removes each queue whose pause would end if all queues except the remaining ones
 * drained, and repeats this until no queue is removed. The remaining queues can never send. Each of
 * them waits for another one of them, so they contain a cycle.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/network/internal.h"

int adv_fabric_deadlock_open(struct adv_fabric *f)
{
	const struct adv_topology *t = f->config.topology;
	size_t ports = f->first_port[t->switches];

	f->waits.queues = calloc(ports + 1, sizeof(*f->waits.queues));
	f->waits.stuck = calloc(ports + 1, sizeof(*f->waits.stuck));
	f->waits.shared = calloc(t->switches + 1ul, sizeof(*f->waits.shared));
	f->waits.seen = calloc(ports + 1, sizeof(*f->waits.seen));
	return f->waits.queues && f->waits.stuck && f->waits.shared && f->waits.seen ? 0 : ENOMEM;
}

void adv_fabric_deadlock_close(struct adv_fabric *f)
{
	free(f->waits.queues);
	free(f->waits.stuck);
	free(f->waits.shared);
	free(f->waits.seen);
}

/* Returns the switch at the other end of a port's cable, and sets *in_port to its port.
 * UINT32_MAX: a host is there. */
static uint32_t next_switch(const struct adv_fabric *f, uint32_t port, uint16_t *in_port)
{
	const struct adv_wire *w = &f->wire[f->port_wire[port]];

	*in_port = w->to.port;
	if (w->to.node < f->config.topology->hosts)
		return UINT32_MAX;
	return w->to.node - f->config.topology->hosts;
}

/* Returns the port's queues that the next switch has paused: a bit for each priority. */
static uint8_t held_up(const struct adv_fabric *f, uint32_t s, uint16_t port)
{
	const struct adv_egress *e = adv_switch_egress(f->node[s].sw, port);
	uint8_t waiting = e->filled & e->paused & (uint8_t)~e->ignores;
	uint8_t result = 0;
	uint16_t in_port;
	uint32_t next;

	if (!waiting)
		return 0;
	next = next_switch(f, f->first_port[s] + port, &in_port);
	for (unsigned p = 0; next != UINT32_MAX && p < ADV_PRIORITIES; p++)
		if (waiting & (1u << p) && adv_switch_ingress(f->node[next].sw, in_port, p)->paused)
			result |= (uint8_t)(1u << p);
	return result;
}

/* Fills f->waits.queues. Returns false if no queue waits. */
static bool gather_waiting(const struct adv_fabric *f)
{
	bool any = false;

	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		for (uint32_t i = f->first_port[s]; i < f->first_port[s + 1]; i++) {
			f->waits.queues[i] = held_up(f, s, (uint16_t)(i - f->first_port[s]));
			any |= f->waits.queues[i] != 0;
		}
	return any;
}

/* Returns the priorities of a switch's waiting queues. */
static uint8_t waiting_at(const struct adv_fabric *f, uint32_t s)
{
	uint8_t all = 0;

	for (uint32_t i = f->first_port[s]; i < f->first_port[s + 1]; i++)
		all |= f->waits.queues[i];
	return all;
}

/* Removes queues whose next switch has no waiting queue. This quickly removes most queues that are
 * in no cycle, without reading their frames. */
static bool prune_queues(const struct adv_fabric *f)
{
	bool changed = true, any = true;

	while (changed) {
		changed = any = false;
		for (uint32_t i = 0; i < f->first_port[f->config.topology->switches]; i++) {
			uint8_t had = f->waits.queues[i];
			uint16_t in_port;

			if (!had)
				continue;
			f->waits.queues[i] &= waiting_at(f, next_switch(f, i, &in_port));
			changed |= f->waits.queues[i] != had;
			any |= f->waits.queues[i] != 0;
		}
	}
	return any;
}

/* Adds up, for each input port of a switch, the bytes of frames in its waiting queues, and their
 * part of the shared buffer. */
static void weigh_stuck(const struct adv_fabric *f, uint32_t s)
{
	uint32_t first = f->first_port[s], end = f->first_port[s + 1];

	memset(&f->waits.stuck[first], 0, (end - first) * sizeof(*f->waits.stuck));
	f->waits.shared[s] = 0;
	for (uint32_t i = first; i < end; i++)
		for (unsigned p = 0; f->waits.queues[i] && p < ADV_PRIORITIES; p++) {
			const struct adv_egress *e =
				adv_switch_egress(f->node[s].sw, (uint16_t)(i - first));

			if (!(f->waits.queues[i] & (1u << p)))
				continue;
			for (const struct adv_packet *k = e->queue[p].packets.head; k; k = k->next)
				f->waits.stuck[first + k->in_port][p] += k->bytes;
		}
	for (uint32_t i = first; i < end; i++)
		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			if (f->waits.stuck[i][p] > f->config.class[p].reserved)
				f->waits.shared[s] +=
					f->waits.stuck[i][p] - f->config.class[p].reserved;
}

/* True if the pause of this input port ends when all frames except the stuck ones have been sent.
 */
static bool would_end(const struct adv_fabric *f, uint32_t s, uint16_t port, unsigned priority)
{
	const struct adv_ingress *in = adv_switch_ingress(f->node[s].sw, port, priority);
	uint64_t stuck = f->waits.stuck[f->first_port[s] + port][priority];
	uint64_t all = (uint64_t)in->used + in->headroom_used;
	uint64_t leaves = all > stuck ? all - stuck : 0;

	return leaves >= in->headroom_used &&
	       adv_switch_would_resume(f->node[s].sw, priority, stuck, f->waits.shared[s]);
}

/* Removes queues whose pause would end. False: none is left. */
static bool remove_ending(const struct adv_fabric *f)
{
	const struct adv_topology *t = f->config.topology;
	bool changed = true, any = true;

	while (changed) {
		changed = any = false;
		for (uint32_t s = 0; s < t->switches; s++)
			weigh_stuck(f, s);
		for (uint32_t i = 0; i < f->first_port[t->switches]; i++)
			for (unsigned p = 0; f->waits.queues[i] && p < ADV_PRIORITIES; p++) {
				uint16_t in_port;
				uint32_t next;

				if (!(f->waits.queues[i] & (1u << p)))
					continue;
				next = next_switch(f, i, &in_port);
				if (would_end(f, next, in_port, p)) {
					f->waits.queues[i] &= (uint8_t) ~(1u << p);
					changed = true;
				} else {
					any = true;
				}
			}
	}
	return any;
}

static uint32_t switch_of(const struct adv_fabric *f, uint32_t port)
{
	uint32_t s = 0;

	while (f->first_port[s + 1] <= port)
		s++;
	return s;
}

/* Returns the first stuck queue of the switch behind port i that has frames from port i. */
static uint32_t next_stuck_queue(const struct adv_fabric *f, uint32_t i, unsigned p)
{
	uint16_t in_port;
	uint32_t s = next_switch(f, i, &in_port);

	for (uint32_t k = f->first_port[s]; k < f->first_port[s + 1]; k++) {
		const struct adv_egress *e =
			adv_switch_egress(f->node[s].sw, (uint16_t)(k - f->first_port[s]));

		if (!(f->waits.queues[k] & (1u << p)))
			continue;
		for (const struct adv_packet *q = e->queue[p].packets.head; q; q = q->next)
			if (q->in_port == in_port)
				return k;
	}
	return UINT32_MAX;
}

/* Writes the cycle to which queue p of port i leads. Returns its length; 0: none. */
static unsigned name_cycle(const struct adv_fabric *f, uint32_t i, unsigned p,
			   struct adv_fabric_wait *cycle, unsigned room)
{
	unsigned length = 0;
	uint32_t start;

	memset(f->waits.seen, 0, f->first_port[f->config.topology->switches] * sizeof(bool));
	for (; i != UINT32_MAX && !f->waits.seen[i]; i = next_stuck_queue(f, i, p))
		f->waits.seen[i] = true;
	if (i == UINT32_MAX)
		return 0;
	start = i;
	do {
		uint32_t s = switch_of(f, i);

		if (length < room)
			cycle[length] = (struct adv_fabric_wait){
				s, (uint16_t)(i - f->first_port[s]), (uint8_t)p};
		length++;
		i = next_stuck_queue(f, i, p);
	} while (i != start);
	return length;
}

unsigned adv_fabric_find_deadlock(const struct adv_fabric *f, struct adv_fabric_wait *cycle,
				  unsigned room)
{
	uint32_t ports = f->first_port[f->config.topology->switches];

	if (!gather_waiting(f) || !prune_queues(f) || !remove_ending(f))
		return 0;
	for (uint32_t i = 0; i < ports; i++)
		if (f->waits.queues[i])
			return name_cycle(f, i, (unsigned)__builtin_ctz(f->waits.queues[i]), cycle,
					  room);
	return 0;
}

unsigned adv_fabric_deadlock(const struct adv_fabric *f, struct adv_fabric_wait *cycle,
			     unsigned room)
{
	for (unsigned i = 0; i < f->cycle_length && i < room; i++)
		cycle[i] = f->cycle[i];
	return f->cycle_length;
}
