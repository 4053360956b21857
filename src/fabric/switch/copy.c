/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/switch/copy.h"

#include <string.h>

#include "fabric/switch/internal.h"

/* ---- egress ---- */

enum { BYTES, SENT, SENT_BYTES, MOST, PEAK, UNTIL, PAUSED_FOR, PAUSES, VALUES };

static bool is_used(const struct adv_egress *e, unsigned priority)
{
	const struct adv_egress_queue *q = &e->queue[priority];

	return q->most || e->pauses[priority].count || q->sent;
}

void adv_egress_write(struct adv_egress *e, struct adv_switch_copy what, struct adv_mail *m)
{
	uint8_t head[4] = {e->filled, e->paused, e->ignores, 0};

	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		head[3] |= (uint8_t)(is_used(e, p) << p);
	adv_mail_add(m, head, sizeof(head));
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_egress_queue *q = &e->queue[p];
		const struct adv_egress_pauses *pauses = &e->pauses[p];
		uint64_t v[VALUES] = {q->bytes, q->sent,	 q->sent_bytes,	 q->most,
				      q->peak,	q->paused_until, pauses->lasted, pauses->count};

		if (!(head[3] & (1u << p)))
			continue;
		adv_mail_add(m, v, sizeof(v));
		if (what.take_peaks)
			adv_egress_take_peak(e, p);
	}
}

bool adv_egress_read(struct adv_egress *e, struct adv_mail_reader *r)
{
	uint8_t head[4];

	if (!adv_mail_take(r, head, sizeof(head)))
		return false;
	e->filled = head[0];
	e->paused = head[1];
	e->ignores = head[2];
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		struct adv_egress_queue *q = &e->queue[p];
		uint64_t v[VALUES] = {0};

		if (head[3] & (1u << p) && !adv_mail_take(r, v, sizeof(v)))
			return false;
		q->bytes = (uint32_t)v[BYTES];
		q->sent = v[SENT];
		q->sent_bytes = v[SENT_BYTES];
		q->most = (uint32_t)v[MOST];
		q->peak = (uint32_t)v[PEAK];
		q->paused_until = v[UNTIL];
		e->pauses[p].lasted = v[PAUSED_FOR];
		e->pauses[p].count = v[PAUSES];
	}
	return true;
}

/* ---- input ports ---- */

/* An input port and priority, as it is sent. */
struct input {
	uint32_t used;
	uint32_t headroom_used;
	uint32_t most_headroom;
	uint32_t paused;
};

static void write_inputs(const struct adv_switch *s, unsigned port, struct adv_mail *m)
{
	uint8_t mask = 0;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_ingress *in = adv_switch_in(s, port, p);

		if (in->used || in->headroom_used || in->most_headroom || in->paused)
			mask |= (uint8_t)(1u << p);
	}
	adv_mail_add(m, &mask, sizeof(mask));
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_ingress *in = adv_switch_in(s, port, p);
		struct input v = {in->used, in->headroom_used, in->most_headroom, in->paused};

		if (mask & (1u << p))
			adv_mail_add(m, &v, sizeof(v));
	}
}

static bool read_inputs(const struct adv_switch *s, unsigned port, struct adv_mail_reader *r)
{
	uint8_t mask;

	if (!adv_mail_take(r, &mask, sizeof(mask)))
		return false;
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		struct adv_ingress *in = adv_switch_in(s, port, p);
		struct input v = {0};

		if (mask & (1u << p) && !adv_mail_take(r, &v, sizeof(v)))
			return false;
		in->used = v.used;
		in->headroom_used = v.headroom_used;
		in->most_headroom = v.most_headroom;
		in->paused = v.paused != 0;
	}
	return true;
}

/* ---- stuck frames ---- */

/* The frames of one input port in a queue. */
struct stuck {
	uint32_t port;
	uint32_t bytes;
};

/* Returns the queues of a port that wait for the end of a pause. */
static uint8_t waiting_queues(const struct adv_egress *e)
{
	return e->filled & e->paused & (uint8_t)~e->ignores;
}

static void write_stuck(const struct adv_switch *s, const struct adv_egress_queue *q,
			struct adv_mail *m)
{
	uint32_t of[ADV_SWITCH_PORTS] = {0}, ports = 0;

	for (const struct adv_packet *k = q->packets.head; k; k = k->next) {
		ports += of[k->in_port] == 0;
		of[k->in_port] += k->bytes;
	}
	adv_mail_add(m, &ports, sizeof(ports));
	for (uint32_t i = 0; i < s->ports; i++)
		if (of[i])
			adv_mail_add(m, &(struct stuck){i, of[i]}, sizeof(struct stuck));
}

static void drop_stuck(struct adv_switch *s, struct adv_egress_queue *q)
{
	struct adv_packet *p;

	while ((p = adv_packet_list_pop(&q->packets)) != NULL)
		adv_packet_give_back(s->pool, p);
}

/* Queues frames of so many bytes. False: no memory. */
static bool push_stuck(struct adv_switch *s, struct adv_egress_queue *q, uint16_t port,
		       uint32_t bytes)
{
	while (bytes) {
		struct adv_packet *p = adv_packet_take(s->pool);

		if (!p)
			return false;
		p->kind = ADV_PACKET_DATA;
		p->in_port = port;
		p->bytes = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
		adv_packet_list_push(&q->packets, p);
		bytes -= p->bytes;
	}
	return true;
}

/* Reads the stuck frames of a queue, at most *left bytes, and subtracts theirs from *left. */
static bool read_stuck(struct adv_switch *s, struct adv_egress_queue *q, uint64_t *left,
		       struct adv_mail_reader *r)
{
	uint32_t ports;

	if (!adv_mail_take(r, &ports, sizeof(ports)) || ports > s->ports)
		return false;
	for (uint32_t i = 0; i < ports; i++) {
		struct stuck v;

		if (!adv_mail_take(r, &v, sizeof(v)) || v.port >= s->ports || v.bytes > *left ||
		    !push_stuck(s, q, (uint16_t)v.port, v.bytes))
			return false;
		*left -= v.bytes;
	}
	return true;
}

/* ---- the switch ---- */

void adv_switch_write(struct adv_switch *s, struct adv_switch_copy what, struct adv_mail *m)
{
	adv_mail_add(m, &s->counters, sizeof(s->counters));
	adv_mail_add(m, &s->used, sizeof(s->used));
	adv_mail_add(m, &s->shared_used, sizeof(s->shared_used));
	for (unsigned i = 0; i < s->ports; i++) {
		struct adv_egress *e = &s->port[i].egress;

		adv_egress_write(e, what, m);
		write_inputs(s, i, m);
		for (unsigned p = 0; what.stuck && p < ADV_PRIORITIES; p++)
			if (waiting_queues(e) & (1u << p))
				write_stuck(s, &e->queue[p], m);
	}
}

bool adv_switch_read(struct adv_switch *s, struct adv_switch_copy what, struct adv_mail_reader *r)
{
	bool good = adv_mail_take(r, &s->counters, sizeof(s->counters)) &&
		    adv_mail_take(r, &s->used, sizeof(s->used)) &&
		    adv_mail_take(r, &s->shared_used, sizeof(s->shared_used)) &&
		    s->used <= UINT32_MAX;
	uint64_t left = s->used;

	for (unsigned i = 0; good && i < s->ports; i++) {
		struct adv_egress *e = &s->port[i].egress;

		good = adv_egress_read(e, r) && read_inputs(s, i, r);
		for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
			drop_stuck(s, &e->queue[p]);
			if (good && what.stuck && waiting_queues(e) & (1u << p))
				good = read_stuck(s, &e->queue[p], &left, r);
		}
	}
	return good;
}
