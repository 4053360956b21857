/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "bench.h"

#include "fabric/switch/frame.h"

static void note(void *user, uint64_t now, enum adv_switch_event what, unsigned port,
		 unsigned priority, const struct adv_packet *packet, uint64_t value)
{
	((struct bench *)user)->events[what]++;
}

void bench_open(struct bench *b)
{
	*b = (struct bench){.config = {.ports = BENCH_PORTS, .buffer = 1000000, .seed = 1}};
	assert_int_equal(adv_route_table_init(&b->routes, BENCH_PORTS), 0);
	for (uint16_t i = 0; i < BENCH_PORTS; i++) {
		b->ps_per_byte[i] = GBPS_100;
		assert_int_equal(adv_route_set(&b->routes, i, &i, 1), 0);
	}
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		b->class[p].alpha_1024 = 1024;
	b->class[3].lossless = true;
	b->class[3].xoff = 10000;
	b->class[3].headroom = 20000;
	b->class[3].xon_offset = 2000;
	b->config.class = b->class;
	b->config.routes = &b->routes;
	b->config.pool = &b->pool;
	b->config.ps_per_byte = b->ps_per_byte;
}

void bench_start(struct bench *b)
{
	b->s = adv_switch_create(&b->config);
	assert_non_null(b->s);
	adv_switch_watch(b->s, note, b);
}

void bench_close(struct bench *b)
{
	bench_conserved(b);
	adv_switch_destroy(b->s);
	assert_int_equal(b->pool.out, 0);
	adv_packet_pool_free(&b->pool);
	adv_route_table_free(&b->routes);
}

void bench_in(struct bench *b, uint64_t now, unsigned port, unsigned to, uint8_t priority,
	      uint32_t bytes)
{
	struct adv_packet *p = adv_packet_take(&b->pool);

	assert_non_null(p);
	*p = (struct adv_packet){
		.bytes = bytes, .to = to, .priority = priority, .tclass = 2, .hop_limit = 64};
	adv_switch_fetch_port(b->s, port);
	adv_switch_fetch_rx(b->s, port, p);
	adv_switch_rx(b->s, now, port, p);
}

int64_t bench_out(struct bench *b, uint64_t now, unsigned port, struct adv_packet *pause)
{
	struct adv_packet *p = adv_switch_tx(b->s, now, port);
	int64_t bytes;

	if (!p)
		return 0;
	bytes = p->kind == ADV_PACKET_DATA ? (int64_t)p->bytes : -1;
	if (bytes < 0 && pause)
		*pause = *p;
	adv_switch_fetch_sent(b->s, port, p->in_port, p->priority);
	adv_switch_sent(b->s, now, port, p);
	adv_packet_give_back(&b->pool, p);
	return bytes;
}

void bench_pause(struct bench *b, uint64_t now, unsigned port, unsigned priority, uint16_t quanta)
{
	struct adv_packet frame = {.kind = ADV_PACKET_PAUSE,
				   .pause_mask = (uint8_t)(1u << priority)};

	frame.quanta[priority] = quanta;
	adv_switch_pause(b->s, now, port, &frame);
}

void bench_conserved(const struct bench *b)
{
	const struct adv_switch_counters *c = adv_switch_counters(b->s);
	uint64_t queued = 0, held = 0, drops = 0;

	for (unsigned i = 0; i < BENCH_PORTS; i++)
		for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
			const struct adv_ingress *in = adv_switch_ingress(b->s, i, p);

			queued += adv_switch_egress(b->s, i)->queue[p].bytes;
			held += in->used + in->headroom_used;
		}
	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		drops += c->drops[i];
	assert_int_equal(queued, held);
	assert_int_equal(held, adv_switch_used(b->s));
	assert_int_equal(c->rx_bytes, c->tx_bytes + c->dropped_bytes + held);
	assert_int_equal(b->events[ADV_SWITCH_DROP], drops);
	assert_int_equal(b->events[ADV_SWITCH_MARK], c->ecn_marked);
}
