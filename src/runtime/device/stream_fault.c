/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Injected faults of iWARP connections (nic/fault/flow.h). The bytes of a turn wait in the stream,
 * which has not given them away, and bytes of the peer in the socket.
 */
#include "runtime/device/streams_internal.h"

#include "base/sys.h"

/* Sets the timer for what waits longest. */
static void set_flow_timer(struct device_stream *s)
{
	uint64_t out = s->flow[1].until, in = s->flow[0].until;
	uint64_t next = out && (!in || out < in) ? out : in;

	if (next)
		adv_timer_set(&s->streams->device->engine->timers, &s->flow_timer, next);
}

static void flow_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct device_stream *s = adv_container_of(t, struct device_stream, flow_timer);

	if (s->flow[1].until && s->flow[1].until <= now) {
		s->flow[1].until = 0;
		if (s->qp)
			adv_qp_schedule(s->qp);
	}
	if (s->flow[0].until && s->flow[0].until <= now) {
		s->flow[0].until = 0;
		(void)adv_device_stream_watch(s, EPOLL_CTL_MOD);
	}
	set_flow_timer(s);
}

void adv_device_stream_flow_init(struct device_stream *s)
{
	adv_timer_init(&s->flow_timer, flow_timer_expired);
}

/* Decides about a direction. */
static bool may_pass(struct device_stream *s, bool out, uint64_t now)
{
	struct adv_device *d = s->streams->device;
	struct adv_fault_flow *f = &s->flow[out];
	const struct adv_fault_packet p = {.tx = out,
					   .is_packet = true,
					   .dest_qpn = adv_qp_num(s->qp),
					   .peer = &adv_device_stream_ends(s)->peer};

	if (!d->fault)
		return true;
	switch (adv_fault_link_decide_flow(d->fault, f, now, &p,
					   adv_rdmap_agreement(s->rdmap)->crc)) {
	case ADV_FAULT_FLOW_PASSES:
		return true;
	case ADV_FAULT_FLOW_DAMAGED:
		if (out)
			adv_rdmap_tx_damage(s->rdmap);
		else
			adv_rdmap_rx_damage(s->rdmap);
		return true;
	case ADV_FAULT_FLOW_WAITS:
		break;
	}
	set_flow_timer(s);
	return false;
}

bool adv_device_stream_may_send(struct device_stream *s, uint64_t now)
{
	return may_pass(s, true, now);
}

void adv_device_stream_not_sent(struct device_stream *s)
{
	s->flow[1].decided = s->streams->device->fault != NULL;
}

bool adv_device_stream_may_receive(struct device_stream *s, uint64_t now)
{
	bool waited = s->flow[0].until;
	uint8_t byte;

	if (!s->streams->device->fault)
		return true;
	/* A plan decides about bytes, and not about a look that finds none. */
	if (!waited && adv_sys_recvfrom(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) <= 0)
		return true;
	if (may_pass(s, false, now))
		return true;
	if (!waited)
		(void)adv_device_stream_watch(s, EPOLL_CTL_MOD);
	return false;
}

void adv_device_stream_end_flows(struct device_stream *s)
{
	s->flow[0] = s->flow[1] = (struct adv_fault_flow){.until = 0};
	adv_timer_cancel(&s->flow_timer);
	(void)adv_device_stream_watch(s, EPOLL_CTL_MOD);
	if (s->qp)
		adv_qp_schedule(s->qp);
}
