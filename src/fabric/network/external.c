/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "fabric/network/internal.h"
#include "fabric/network/external.h"

/* Frames of programs that the NIC queues of a priority which simulated flows use too: as many as
 * host.c queues of those flows on average, so that the two share the NIC. */
#define SHARED 5
/* Refused frames after which one pull ends. A program that writes nonsense delays only itself. */
#define REFUSED_MAX 64

void adv_fabric_set_external(struct adv_fabric *f, const struct adv_fabric_external_ops *ops,
			     void *user)
{
	f->external = ops;
	f->external_user = user;
}

uint64_t adv_fabric_next(const struct adv_fabric *f)
{
	return adv_calendar_next(f->calendar);
}

uint8_t adv_fabric_priority(const struct adv_fabric *f, uint8_t tclass)
{
	return f->config.priority_of_dscp[tclass >> 2];
}

uint8_t adv_fabric_frame_priority(const struct adv_fabric *f, const struct adv_fabric_frame *frame)
{
	return frame->v1 ? frame->sl % ADV_PRIORITIES : adv_fabric_priority(f, frame->tclass);
}

/* ---- taps ---- */

void adv_fabric_tap(struct adv_fabric *f, uint32_t link, unsigned end, bool on)
{
	/* Wire 2 link leads from end 0 to end 1. */
	f->wire[2 * link + end].seen_leaving = on;
	f->wire[2 * link + 1 - end].seen_arriving = on;
}

void adv_fabric_show(struct adv_fabric *f, uint32_t wire, bool out, const struct adv_packet *p)
{
	f->external->seen(f->external_user, wire / 2, out ? wire % 2 : 1 - wire % 2, out, p);
}

/* ---- send ---- */

static bool is_good(const struct adv_fabric *f, const struct adv_fabric_frame *frame)
{
	return frame->to < f->config.topology->hosts && frame->length >= ADV_BTH_LEN &&
	       frame->length <= ADV_HEADERS_MAX + f->config.mtu;
}

/* Queues a frame in the NIC. False: the frame is refused. */
static bool queue_frame(struct adv_fabric *f, struct adv_fabric_host *h,
			const struct adv_fabric_frame *frame)
{
	struct adv_packet *p;
	uint32_t bytes;

	if (!is_good(f, frame)) {
		h->external.tx_refused++;
		return false;
	}
	p = adv_packet_take(&f->pool);
	if (!p || !adv_packet_take_body(&f->pool, p))
		return true; /* the run ends for lack of memory */
	memcpy(p->body, frame->bytes, frame->length);
	bytes = frame->length + (frame->v1 ? ADV_FRAME_OVERHEAD_V1 : ADV_FRAME_OVERHEAD);
	p->bytes = (uint16_t)(bytes < ADV_FRAME_MIN ? ADV_FRAME_MIN : bytes);
	p->from = h->index;
	p->to = frame->to;
	p->flow = adv_fabric_flow_hash(p->from, p->to, frame->sport);
	p->kind = ADV_PACKET_DATA;
	p->tclass = frame->tclass;
	p->priority = adv_fabric_frame_priority(f, frame);
	p->hop_limit = frame->hop_limit;
	p->pad = 0;
	p->header_len = frame->tag; /* such a frame has no other use for it */
	p->sport = frame->sport;
	p->payload_len = frame->length;
	p->payload = p->body;
	h->external.tx_frames++;
	h->external_queued[p->priority]++;
	adv_egress_push(&h->egress, p);
	return true;
}

/* Returns the priorities of which the NIC wants frames. */
static uint8_t wanted_priorities(const struct adv_fabric_host *h)
{
	uint8_t wanted = 0;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		uint32_t least = h->used & (1u << p) ? SHARED : 1;

		if (h->external_queued[p] < least)
			wanted |= (uint8_t)(1u << p);
	}
	return wanted & (uint8_t)~h->egress.paused;
}

void adv_fabric_external_pull(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_fabric_frame frame;
	unsigned refused = 0;
	uint8_t wanted;

	while (refused < REFUSED_MAX && (wanted = wanted_priorities(h)) && !f->pool.failed) {
		if (!f->external->pull(f->external_user, h->index, wanted, &frame))
			return;
		refused += !queue_frame(f, h, &frame);
	}
}

/* ---- receive ---- */

void adv_fabric_external_rx(struct adv_fabric *f, struct adv_fabric_host *h,
			    const struct adv_packet *p)
{
	struct adv_fabric_frame frame = {.from = p->from,
					 .to = p->to,
					 .sport = p->sport,
					 .tclass = p->tclass,
					 .hop_limit = p->hop_limit,
					 .tag = p->header_len,
					 .length = p->payload_len,
					 .bytes = p->body};

	if (!h->attached) {
		h->external.rx_detached++;
		return;
	}
	h->external.rx_frames++;
	f->external->deliver(f->external_user, h->index, &frame);
}
