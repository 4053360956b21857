/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host: the engine, and a NIC that dequeues packets from the engine one by one when the wire is
 * free. Packets of a paused priority stay in the engine. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/network/external.h"
#include "fabric/network/internal.h"
#include "nic/congestion/telemetry.h"

/* If a host uses several priorities, its NIC queues packets of each of them: at most HIGH, and at
 * least LOW, so that no turn of ETS ends early for lack of packets. */
#define LOW  2
#define HIGH 6

/* Room of a new host for completions. Most hosts have few queue pairs, and large networks many
 * hosts; connection.c makes more. */
#define COMPLETIONS 8

/* Returns the host with this address: the inverse of adv_fabric_gid(). */
static uint32_t host_of(const struct adv_gid *g)
{
	return (uint32_t)g->raw[13] << 16 | (uint32_t)g->raw[14] << 8 | g->raw[15];
}

/* Returns a rate in proportion to the line rate, at least 1 Mb/s. `at`: line rate of `mbps`; 0: the
 * rate is the same for all. */
static uint32_t scale_rate(uint32_t mbps, uint32_t line, uint32_t at)
{
	uint64_t scaled = at ? (uint64_t)mbps * line / at : mbps;

	return scaled ? (uint32_t)scaled : 1;
}

/* Returns the congestion control of a host with this line rate, Mb/s. */
static struct adv_cc_config control_of(const struct adv_fabric_config *c, uint32_t line)
{
	struct adv_cc_config cc = c->engine.cc ? *c->engine.cc : adv_cc_default();

	cc.params.rpg_ai_rate = scale_rate(cc.params.rpg_ai_rate, line, c->ai_rate_at);
	cc.params.rpg_hai_rate = scale_rate(cc.params.rpg_hai_rate, line, c->hai_rate_at);
	return cc;
}

int adv_fabric_host_open(struct adv_fabric *f, uint32_t index)
{
	struct adv_fabric_host *h = &f->host[index];
	struct adv_engine_config config = f->config.engine;
	struct adv_cc_config cc;
	struct adv_engine_gid gid = {.gid = adv_fabric_gid(index), .mtu = 4096};
	uint8_t weight[ADV_PRIORITIES];

	h->index = index;
	h->timer_at = ADV_CALENDAR_NEVER;
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		weight[p] = f->config.class[p].weight;
	adv_egress_init(&h->egress, f->wire[h->wire].ps_per_byte, weight);
	for (unsigned i = 0; i < 4; i++)
		config.seed[i] = adv_rng_next(&f->rng);
	if (f->config.bdp_window)
		config.window = adv_fabric_bdp(f, index);
	cc = control_of(&f->config, ADV_PS_MBPS / h->egress.ps_per_byte);
	config.cc = &cc;
	config.acks_not_held = f->config.acks_apart;
	config.qpn_first = ADV_FABRIC_QPNS;
	config.qpn_count = ADV_FABRIC_QPNS;
	config.no_latency = true; /* nobody reads it */
	h->cq_room = COMPLETIONS;
	h->engine = adv_engine_create(&config);
	if (!h->engine)
		return errno;
	adv_engine_set_line_rate(h->engine, ADV_PS_MBPS / h->egress.ps_per_byte);
	if (adv_engine_set_gids(h->engine, &gid, 1))
		return ENOMEM;
	h->pd = adv_pd_create(h->engine);
	h->cq = adv_cq_create(h->engine, h->cq_room, h);
	if (!h->pd || !h->cq)
		return ENOMEM;
	h->mr = adv_mr_register(h->pd, f->memory, ADV_FABRIC_MESSAGE_MAX, 0,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ);
	return h->mr ? 0 : ENOMEM;
}

void adv_fabric_host_close(struct adv_fabric *f, struct adv_fabric_host *h)
{
	if (h->engine)
		adv_engine_destroy(h->engine);
	free(h->input);
}

/* ---- pauses and timers ---- */

/* Lets the engine keep the packets of these priorities (a bit each). */
static void hold_priorities(struct adv_fabric *f, struct adv_fabric_host *h, uint8_t priorities)
{
	uint64_t dscps = 0;

	if (h->held == priorities)
		return;
	h->held = priorities;
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		if (priorities & (1u << p))
			dscps |= f->dscps_of[p];
	adv_engine_hold(h->engine, dscps);
}

/* Lets the engine send the ACKs of queue pairs whose data it keeps. */
static void hold_again(struct adv_fabric *f, struct adv_fabric_host *h)
{
	uint8_t held = h->held;

	h->held = 0;
	hold_priorities(f, h, held);
}

/* Adds the event of the engine's next deadline, or of the end of a pause. */
static inline void set_timer(struct adv_fabric *f, struct adv_fabric_host *h)
{
	/* As adv_engine_deadline(), mostly without a call. */
	uint64_t at = adv_engine_todo(h->engine) & ADV_TODO_ACK ? adv_engine_deadline(h->engine)
								: adv_engine_timers(h->engine);

	at = at == ADV_NEVER ? ADV_CALENDAR_NEVER : at * ADV_PS_PER_NS;
	if (h->egress.paused) {
		uint64_t pause = adv_egress_deadline(&h->egress);

		if (pause < at)
			at = pause;
	}
	if (at >= h->timer_at)
		return;
	h->timer_at = at > f->now ? at : f->now;
	adv_fabric_at(f, h->timer_at, ADV_DUE_HOST, h->index);
}

void adv_fabric_host_timer(struct adv_fabric *f, struct adv_fabric_host *h, uint64_t at)
{
	if (h->timer_at != at)
		return;
	h->timer_at = ADV_CALENDAR_NEVER;
	adv_egress_expire(&h->egress, f->now);
	adv_engine_expire(h->engine, f->now / ADV_PS_PER_NS);
	adv_fabric_host_progress(f, h);
}

/* ---- send ---- */

/* True for an ACK or a NAK of a reliable service. */
static bool is_ack(const struct adv_tx_packet *pkt)
{
	return (pkt->header[0] & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE;
}

/* Adds to a frame the telemetry of an ACK, or room for that of the switches. */
static void add_telemetry(struct adv_fabric *f, const struct adv_fabric_host *h,
			  const struct adv_tx_packet *pkt, struct adv_packet *p)
{
	const struct adv_telemetry *t = adv_flow_telemetry_of_ack(h->engine, pkt);

	if (!t && !p->payload_len)
		return;
	if (!adv_packet_take_telemetry(&f->pool, p, t))
		return;
	p->bytes += ADV_TELEMETRY_BYTES;
}

/* What the frames of a path have in common, as adv_path.link_memo: the flow, the destination and
 * the priority, and a bit that is set. */
#define MEMO_TO(memo)	    ((uint32_t)(memo) >> 8)
#define MEMO_PRIORITY(memo) ((uint8_t)(memo) >> 1)

static uint64_t make_memo(const struct adv_fabric *f, const struct adv_fabric_host *h,
			  struct adv_path *path)
{
	uint32_t to = host_of(&path->dgid);
	uint32_t flow = adv_fabric_flow_hash(h->index, to, path->sport);
	uint8_t priority = f->config.priority_of_dscp[path->tclass >> 2];

	path->link_memo = (uint64_t)flow << 32 | to << 8 | (uint32_t)priority << 1 | 1;
	return path->link_memo;
}

/* Returns a frame with a packet of the engine. NULL: no memory. */
static inline struct adv_packet *make_frame(struct adv_fabric *f, const struct adv_fabric_host *h,
					    const struct adv_tx_packet *pkt)
{
	struct adv_packet *p = adv_packet_take(&f->pool);
	struct adv_path *path = pkt->path;
	uint64_t memo = path->link_memo;
	uint32_t bytes;

	if (!p)
		return NULL;
	if (!memo)
		memo = make_memo(f, h, path);
	bytes = ADV_FRAME_OVERHEAD + pkt->header_len + pkt->payload_len + pkt->pad;
	p->bytes = (uint16_t)(bytes < ADV_FRAME_MIN ? ADV_FRAME_MIN : bytes);
	p->from = h->index;
	p->to = MEMO_TO(memo);
	p->flow = (uint32_t)(memo >> 32);
	p->kind = ADV_PACKET_DATA;
	p->tclass = (uint8_t)(path->tclass | pkt->ecn);
	p->priority = MEMO_PRIORITY(memo);
	p->hop_limit = path->hop_limit;
	p->pad = pkt->pad;
	p->header_len = pkt->header_len;
	p->sport = path->sport;
	p->payload_len = pkt->payload_len;
	if (f->config.acks_apart && is_ack(pkt))
		p->priority = f->config.ack_priority;
	/* All requests use the same memory, which exists as long as the fabric. */
	p->payload = pkt->iov_count ? pkt->iov[0].iov_base : f->memory;
	/* Constant lengths are faster. Most headers are a BTH. */
	if (pkt->header_len <= ADV_BTH_LEN)
		memcpy(p->header, pkt->header, ADV_BTH_LEN);
	else
		memcpy(p->header, pkt->header, sizeof(p->header));
	if (f->telemetry)
		add_telemetry(f, h, pkt, p);
	return p;
}

/* Returns the priorities for which enough packets are queued in the NIC. */
static uint8_t satisfied_priorities(const struct adv_fabric_host *h)
{
	uint8_t result = h->egress.paused;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		uint32_t least = h->held & (1u << p) ? LOW : HIGH;

		if (h->egress.queue[p].count - h->external_queued[p] >= least)
			result |= (uint8_t)(1u << p);
	}
	return result;
}

/* Dequeues one packet from the engine. NULL: none, or no memory. */
static inline struct adv_packet *next_frame(struct adv_fabric *f, const struct adv_fabric_host *h)
{
	uint64_t now = f->now / ADV_PS_PER_NS;

	if (!adv_engine_tx_some(h->engine, now, &f->batch, 1))
		return NULL;
	return make_frame(f, h, &f->batch.packet[0]);
}

/* True if the egress has to select among frames of several priorities. */
static inline bool has_choice(const struct adv_fabric_host *h)
{
	return h->used & (h->used - 1) || (h->attached && h->used);
}

/* Dequeues packets from the engine. If the host's queue pairs use one priority, dequeues one
 * packet. Otherwise dequeues some of each priority; the egress selects among them by priority and
 * weight. */
static void pull_packets(struct adv_fabric *f, struct adv_fabric_host *h)
{
	bool choice = has_choice(h);

	while (choice || !adv_egress_ready(&h->egress)) {
		struct adv_packet *p;

		hold_priorities(f, h, choice ? satisfied_priorities(h) : h->egress.paused);
		p = next_frame(f, h);
		if (!p)
			return;
		adv_egress_push(&h->egress, p);
	}
}

/* Sends a frame from the queues, after it has filled them. */
static void send_queued(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_packet *p = h->to_tell ? adv_fabric_input_pause(f, h) : NULL;

	if (!p) {
		if (h->attached)
			adv_fabric_external_pull(f, h);
		pull_packets(f, h);
		set_timer(f, h);
		p = adv_egress_pop(&h->egress);
		if (p && p->external)
			h->external_queued[p->priority]--;
	}
	if (p)
		adv_fabric_put(f, h->wire, p);
}

/* Sends the next packet of the engine. No frame is queued, and the egress selects nothing. */
static inline void send_next(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_packet *p;

	hold_priorities(f, h, h->egress.paused);
	p = next_frame(f, h);
	if (p && (h->egress.paused & (1u << p->priority))) {
		adv_egress_push(&h->egress, p);
		send_queued(f, h);
		return;
	}
	set_timer(f, h);
	if (!p)
		return;
	adv_egress_pass(&h->egress, p);
	adv_fabric_put(f, h->wire, p);
}

/* True if there is nothing to send, and no pause has begun or ended since that was so. */
static inline bool is_idle(const struct adv_fabric_host *h)
{
	return !(adv_engine_todo(h->engine) & ADV_TODO_TX) && !h->egress.filled &&
	       h->held == h->egress.paused && !h->to_tell && !h->attached;
}

void adv_fabric_host_send(struct adv_fabric *f, struct adv_fabric_host *h)
{
	if (is_idle(h) || f->wire[h->wire].sending)
		return;
	if (h->to_tell || h->attached || h->egress.filled || has_choice(h))
		send_queued(f, h);
	else
		send_next(f, h);
}

void adv_fabric_host_link(struct adv_fabric *f, struct adv_fabric_host *h, bool works)
{
	if (works)
		h->to_tell |= h->told | h->stormy;
	else
		adv_egress_resume(&h->egress, f->now);
	adv_fabric_host_send(f, h);
}

void adv_fabric_host_sent(struct adv_fabric *f, struct adv_fabric_host *h,
			  const struct adv_packet *p)
{
	if (p->kind == ADV_PACKET_PAUSE)
		return;
	h->counters.tx_frames++;
	h->counters.tx_bytes += p->bytes;
}

/* ---- receive ---- */

void adv_fabric_host_pause(struct adv_fabric *f, struct adv_fabric_host *h,
			   const struct adv_packet *frame)
{
	h->counters.rx_pause++;
	adv_egress_pause(&h->egress, f->now, frame);
	for (unsigned p = 0; f->watch && p < ADV_PRIORITIES; p++)
		if (frame->pause_mask & (1u << p))
			adv_fabric_tell(f,
					&(struct adv_fabric_event){.at = f->now,
								   .kind = ADV_FABRIC_HOST_PAUSED,
								   .node = h->index,
								   .priority = (uint8_t)p,
								   .value = frame->quanta[p]});
	set_timer(f, h);
	adv_fabric_host_send(f, h);
}

/* Ends the run if the engine had no memory for what a frame requires. Mostly, data requires none.
 */
static inline void check_memory(struct adv_fabric *f, const struct adv_fabric_host *h,
				const struct adv_packet *p)
{
	if (!p->payload_len || f->telemetry || f->config.engine.selective)
		f->no_memory |= adv_engine_counters(h->engine)->out_of_memory > 0;
}

/* Passes a frame to the engine and returns it to the pool. */
static void take_in(struct adv_fabric *f, struct adv_fabric_host *h, struct adv_packet *p)
{
	struct adv_rx_meta meta = {.sgid = adv_fabric_gid(p->from),
				   .dgid = adv_fabric_gid(p->to),
				   .sport = p->sport,
				   .tclass = p->tclass,
				   .hop_limit = p->hop_limit};
	struct adv_rx_packet pkt = {.meta = &meta,
				    .data = p->header,
				    .len = p->header_len + p->payload_len + p->pad,
				    .body = p->payload - p->header_len};

	h->counters.rx_frames++;
	h->counters.rx_bytes += p->bytes;
	if (p->external) {
		adv_fabric_external_rx(f, h, p);
		adv_packet_give_back(&f->pool, p);
		return;
	}
	if (f->telemetry)
		adv_flow_rx_telemetry(h->engine, &pkt, p->has_telemetry ? &p->telemetry->of : NULL);
	adv_engine_rx(h->engine, f->now / ADV_PS_PER_NS, &pkt);
	if (f->count_received && p->payload_len)
		adv_fabric_count(f, h, p);
	if (f->awaited && p->payload_len)
		adv_fabric_arrive(f, h, p);
	if (f->config.acks_apart && h->held)
		hold_again(f, h);
	check_memory(f, h, p);
	adv_packet_give_back(&f->pool, p);
}

void adv_fabric_host_rx(struct adv_fabric *f, struct adv_fabric_host *h, struct adv_packet *p)
{
	if (h->slow) {
		if (adv_fabric_input_rx(f, h, p))
			adv_fabric_host_send(f, h);
		return;
	}
	take_in(f, h, p);
	adv_fabric_host_progress(f, h);
}

void adv_fabric_host_drain(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_packet *p = adv_fabric_input_pop(f, h);
	uint8_t priority = p->priority;

	take_in(f, h, p);
	if (adv_fabric_input_resume(h, priority))
		adv_fabric_host_send(f, h);
	adv_fabric_host_progress(f, h);
}

void adv_fabric_host_progress(struct adv_fabric *f, struct adv_fabric_host *h)
{
	if (!adv_cq_empty(h->cq))
		adv_fabric_completions(f, h);
	set_timer(f, h);
	adv_fabric_host_send(f, h);
}

/* ---- programs ---- */

void adv_fabric_attach(struct adv_fabric *f, uint32_t host)
{
	assert(f->external && host < f->config.topology->hosts);
	f->host[host].attached = true;
	adv_fabric_ready(f, host);
}

void adv_fabric_detach(struct adv_fabric *f, uint32_t host)
{
	assert(host < f->config.topology->hosts);
	f->host[host].attached = false;
}

void adv_fabric_ready(struct adv_fabric *f, uint32_t host)
{
	adv_fabric_host_send(f, &f->host[host]);
}
