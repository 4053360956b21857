/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>

#include "base/rng.h"
#include "bench.h"
#include "fabric/switch/frame.h"

static void test_forwards(void **state)
{
	struct bench b;

	bench_open(&b);
	bench_start(&b);
	assert_int_equal(adv_switch_next_ready(b.s), -1);
	bench_in(&b, 0, 0, 2, 0, 1000);
	bench_in(&b, 0, 1, 2, 0, 500);
	bench_in(&b, 0, 1, 3, 0, 400);
	assert_int_equal(adv_switch_next_ready(b.s), 2);
	assert_int_equal(adv_switch_next_ready(b.s), 3);
	assert_int_equal(adv_switch_next_ready(b.s), -1);
	assert_int_equal(adv_switch_used(b.s), 1900);
	assert_int_equal(bench_out(&b, 1, 2, NULL), 1000);
	assert_int_equal(adv_switch_next_ready(b.s), 2);
	assert_int_equal(bench_out(&b, 1, 2, NULL), 500);
	assert_int_equal(bench_out(&b, 1, 2, NULL), 0);
	assert_int_equal(bench_out(&b, 1, 3, NULL), 400);
	assert_int_equal(adv_switch_next_ready(b.s), -1);
	assert_int_equal(adv_switch_counters(b.s)->most_used, 1900);
	bench_close(&b);
}

/* Up to the limit the switch sends no PAUSE. The frame that exceeds the limit pauses the peer and
 * goes to the headroom. A frame that does not fit into the headroom is dropped. */
static void test_pfc_to_the_byte(void **state)
{
	struct adv_packet pause;
	struct bench b;

	bench_open(&b);
	bench_start(&b);
	for (unsigned i = 0; i < 10; i++)
		bench_in(&b, 0, 0, 2, 3, 1000);
	assert_false(adv_switch_ingress(b.s, 0, 3)->paused);
	bench_in(&b, 0, 0, 2, 3, 64);
	assert_true(adv_switch_ingress(b.s, 0, 3)->paused);
	assert_int_equal(bench_out(&b, 0, 0, &pause), -1);
	assert_int_equal(pause.bytes, 64);
	assert_int_equal(pause.pause_mask, 1 << 3);
	assert_int_equal(pause.quanta[3], 65535);
	assert_int_equal(bench_out(&b, 0, 0, &pause), 0);
	/* Other ports and other priorities of this port are not paused. */
	assert_false(adv_switch_ingress(b.s, 1, 3)->paused);
	for (unsigned i = 0; i < 19; i++)
		bench_in(&b, 0, 0, 2, 3, 1000);
	bench_in(&b, 0, 0, 2, 3, 20000 - 64 - 19000);
	assert_int_equal(adv_switch_ingress(b.s, 0, 3)->headroom_used, 20000);
	assert_int_equal(b.events[ADV_SWITCH_DROP], 0);
	bench_in(&b, 0, 0, 2, 3, 64);
	assert_int_equal(adv_switch_counters(b.s)->drops[ADV_DROP_HEADROOM], 1);
	assert_int_equal(b.events[ADV_SWITCH_XOFF], 1);
	bench_close(&b);
}

/* The headroom becomes empty first. The peer is resumed at limit - xon_offset, not before. */
static void test_resume(void **state)
{
	struct adv_packet pause;
	struct bench b;

	bench_open(&b);
	bench_start(&b);
	for (unsigned i = 0; i < 13; i++)
		bench_in(&b, 0, 0, 2, 3, 1000);
	assert_int_equal(bench_out(&b, 0, 0, NULL), -1);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(bench_out(&b, 0, 2, NULL), 1000);
	assert_int_equal(adv_switch_ingress(b.s, 0, 3)->headroom_used, 0);
	assert_int_equal(adv_switch_ingress(b.s, 0, 3)->used, 9000);
	assert_int_equal(bench_out(&b, 0, 0, NULL), 0);
	assert_int_equal(bench_out(&b, 0, 2, NULL), 1000);
	assert_int_equal(bench_out(&b, 0, 0, &pause), -1);
	assert_int_equal(pause.pause_mask, 1 << 3);
	assert_int_equal(pause.quanta[3], 0);
	assert_int_equal(b.events[ADV_SWITCH_XON], 1);
	bench_close(&b);
}

/* limit = reserved + alpha x free part of the shared buffer S. With alpha 1/2, one port gets a
 * third of S, since x = (S - x) / 2. Two ports get a quarter each. */
static void test_dynamic_limit(void **state)
{
	struct bench b;
	unsigned n = 0;

	bench_open(&b);
	b.class[3].xoff = 0;
	b.class[3].alpha_1024 = 512;
	b.class[3].reserved = 5000;
	b.config.buffer = 4 * 25000 + 300000;
	bench_start(&b);
	for (; !adv_switch_ingress(b.s, 0, 3)->paused; n++)
		bench_in(&b, 0, 0, 2, 3, 1000);
	assert_int_equal(n, 106); /* 5 reserved, 100 shared, 1 above the limit */
	bench_close(&b);

	bench_open(&b);
	b.class[3].xoff = 0;
	b.class[3].alpha_1024 = 512;
	b.config.buffer = 4 * 20000 + 400000;
	bench_start(&b);
	for (n = 0; !adv_switch_ingress(b.s, 0, 3)->paused; n++) {
		bench_in(&b, 0, 0, 2, 3, 1000);
		bench_in(&b, 0, 1, 2, 3, 1000);
	}
	assert_in_range(n, 100, 101);
	bench_close(&b);
}

/* If the limit has shrunk below xon_offset, the pause still ends: when no frame is left. */
static void test_always_resumes(void **state)
{
	struct bench b;

	bench_open(&b);
	b.class[3].xoff = 0;
	b.class[3].alpha_1024 = 16;
	b.class[3].xon_offset = 900000;
	bench_start(&b);
	while (!adv_switch_ingress(b.s, 0, 3)->paused)
		bench_in(&b, 0, 0, 2, 3, 1000);
	while (bench_out(&b, 0, 2, NULL) > 0)
		assert_int_equal(adv_switch_ingress(b.s, 0, 3)->paused, adv_switch_used(b.s) > 0);
	assert_false(adv_switch_ingress(b.s, 0, 3)->paused);
	bench_close(&b);
}

/* A lossy frame is dropped if its output queue is longer than alpha x the free part of the buffer,
 * or if the buffer is full. */
static void test_lossy_drops(void **state)
{
	struct bench b;
	const struct adv_switch_counters *c;

	bench_open(&b);
	b.config.buffer = 4 * 20000 + 100000;
	bench_start(&b);
	c = adv_switch_counters(b.s);
	for (unsigned i = 0; i < 60; i++)
		bench_in(&b, 0, i % 2, 2, 0, 1000);
	assert_int_equal(c->drops[ADV_DROP_QUEUE], 10);
	assert_int_equal(adv_switch_egress(b.s, 2)->queue[0].bytes, 50000);
	bench_close(&b);

	/* Exactly the limit: queue 49,000 + frame 2,000 = free 100,000 - 49,000. */
	bench_open(&b);
	b.config.buffer = 4 * 20000 + 100000;
	bench_start(&b);
	c = adv_switch_counters(b.s);
	for (unsigned i = 0; i < 49; i++)
		bench_in(&b, 0, 0, 2, 0, 1000);
	bench_in(&b, 0, 0, 2, 0, 2001);
	assert_int_equal(c->drops[ADV_DROP_QUEUE], 1);
	bench_in(&b, 0, 0, 2, 0, 2000);
	assert_int_equal(c->drops[ADV_DROP_QUEUE], 1);
	bench_close(&b);

	bench_open(&b);
	b.config.buffer = 4 * 20000 + 100000;
	b.class[0].alpha_1024 = 1024 * 1024;
	bench_start(&b);
	c = adv_switch_counters(b.s);
	for (unsigned i = 0; i < 101; i++)
		bench_in(&b, 0, 0, 2, 0, 1000);
	assert_int_equal(c->drops[ADV_DROP_QUEUE], 1);
	bench_in(&b, 0, 0, 3, 0, 64);
	assert_int_equal(c->drops[ADV_DROP_QUEUE], 2);
	assert_int_equal(adv_switch_used(b.s), 100000);
	bench_close(&b);
}

/* If alpha allows a longer queue but the buffer is full, the frame is dropped. The use never
 * exceeds the buffer. */
static void test_buffer_full(void **state)
{
	const struct adv_switch_counters *c;
	struct bench b;

	bench_open(&b);
	b.config.buffer = 4 * 20000 + 100000;
	b.class[0].alpha_1024 = 1024 * 1024;
	bench_start(&b);
	c = adv_switch_counters(b.s);
	for (unsigned i = 0; i < 99; i++)
		bench_in(&b, 0, 0, 2, 0, 1000);
	bench_in(&b, 0, 0, 2, 0, 500);
	bench_in(&b, 0, 1, 3, 0, 501);
	assert_int_equal(c->drops[ADV_DROP_BUFFER], 1);
	assert_int_equal(c->drops[ADV_DROP_QUEUE], 0);
	bench_in(&b, 0, 1, 3, 0, 500);
	assert_int_equal(c->drops[ADV_DROP_BUFFER], 1);
	assert_int_equal(adv_switch_used(b.s), 100000);
	bench_close(&b);
}

/* The limit has risen far above the bytes of a port. The pause lasts as long as the port's headroom
 * has frames. */
static void test_headroom_first(void **state)
{
	struct bench b;

	bench_open(&b);
	b.class[3].xoff = 0;
	b.class[3].alpha_1024 = 256;
	bench_start(&b);
	while (!adv_switch_ingress(b.s, 1, 3)->paused)
		bench_in(&b, 0, 1, 3, 3, 1000);
	while (!adv_switch_ingress(b.s, 0, 3)->paused)
		bench_in(&b, 0, 0, 2, 3, 1000);
	bench_in(&b, 0, 0, 2, 3, 1000);
	while (bench_out(&b, 0, 3, NULL) > 0)
		;
	assert_true(adv_switch_would_resume(b.s, 3, adv_switch_ingress(b.s, 0, 3)->used,
					    adv_switch_used(b.s)));
	assert_int_equal(bench_out(&b, 0, 0, NULL), -1);
	assert_int_equal(bench_out(&b, 0, 2, NULL), 1000);
	assert_int_equal(adv_switch_ingress(b.s, 0, 3)->headroom_used, 1000);
	assert_true(adv_switch_ingress(b.s, 0, 3)->paused);
	assert_int_equal(bench_out(&b, 0, 2, NULL), 1000);
	assert_false(adv_switch_ingress(b.s, 0, 3)->paused);
	bench_close(&b);
}

/* Lossless frames can use their headroom also if lossy frames fill the shared buffer. */
static void test_lossy_takes_no_headroom(void **state)
{
	struct bench b;

	bench_open(&b);
	b.class[0].alpha_1024 = 1024 * 1024;
	bench_start(&b);
	for (unsigned i = 0; i < 2000; i++)
		bench_in(&b, 0, 0, 2, 0, 1000);
	assert_int_equal(adv_switch_used(b.s), 1000000 - 4 * 20000);
	for (unsigned port = 0; port < 4; port++)
		for (unsigned i = 0; i < 20; i++)
			bench_in(&b, 0, port, 3, 3, 1000);
	assert_int_equal(adv_switch_counters(b.s)->drops[ADV_DROP_HEADROOM], 0);
	assert_int_equal(adv_switch_used(b.s), 1000000);
	bench_close(&b);
}

static uint64_t marks_at(uint32_t queue, uint8_t tclass)
{
	struct bench b;
	uint64_t marked;

	bench_open(&b);
	b.class[0].alpha_1024 = 1024 * 1024;
	b.class[0].ecn_min = 40000;
	b.class[0].ecn_max = 200000;
	b.class[0].ecn_ppm = 10000;
	bench_start(&b);
	for (unsigned i = 0; i <= queue / 1000; i++)
		bench_in(&b, 0, 0, 2, 0, 1000);
	for (unsigned i = 0; i < 100000; i++) {
		struct adv_packet *p = adv_switch_tx(b.s, 0, 2);

		adv_switch_sent(b.s, 0, 2, p);
		p->tclass = tclass;
		p->hop_limit = 64;
		adv_switch_rx(b.s, 0, 0, p);
	}
	marked = adv_switch_counters(b.s)->ecn_marked;
	bench_close(&b);
	return marked;
}

/* RED marks no frame up to K_min, all frames above K_max, and between them a frame with probability
 * P_max x (q - K_min) / (K_max - K_min). */
static void test_marks(void **state)
{
	assert_int_equal(marks_at(30000, 2), 0);
	assert_int_equal(marks_at(40000, 2), 0);
	assert_in_range(marks_at(120000, 2), 440, 560); /* 1/2 of 1 % of 100,000 frames; 4 sigma */
	assert_in_range(marks_at(199000, 2), 880, 1110);
	assert_in_range(marks_at(200000, 2), 880, 1120); /* at K_max: still P_max */
	assert_int_equal(marks_at(201000, 2), 100000);
	assert_in_range(marks_at(201000, 0), 0,
			202); /* not ECT, except the frames that first filled the queue */
}

static void test_no_way(void **state)
{
	const struct adv_switch_counters *c;
	struct adv_packet *p;
	struct bench b;

	bench_open(&b);
	assert_int_equal(adv_route_set(&b.routes, 1, NULL, 0), 0);
	bench_start(&b);
	c = adv_switch_counters(b.s);
	bench_in(&b, 0, 0, 1, 3, 1000);
	bench_in(&b, 0, 0, 99, 3, 1000);
	assert_int_equal(c->drops[ADV_DROP_NO_ROUTE], 2);
	p = adv_packet_take(&b.pool);
	*p = (struct adv_packet){.bytes = 64, .to = 2, .hop_limit = 1};
	adv_switch_rx(b.s, 0, 0, p);
	assert_int_equal(c->drops[ADV_DROP_HOPS], 1);
	assert_string_equal(adv_drop_name(ADV_DROP_HOPS), "too many hops");
	bench_close(&b);
}

static void test_impossible_buffer(void **state)
{
	struct bench b;

	bench_open(&b);
	b.config.buffer = 4 * 20000 - 1;
	errno = 0;
	assert_null(adv_switch_create(&b.config));
	assert_int_equal(errno, EINVAL);
	b.config.buffer = 4 * 20000;
	b.config.ports = 0;
	assert_null(adv_switch_create(&b.config));
	b.config.ports = 4;
	bench_start(&b);
	assert_int_equal(adv_switch_set_headroom(b.s, 0, 3, 20001), EINVAL);
	assert_int_equal(adv_switch_set_headroom(b.s, 0, 3, 19000), 0);
	assert_int_equal(adv_switch_set_headroom(b.s, 1, 3, 21000), 0);
	assert_int_equal(adv_switch_set_headroom(b.s, 2, 3, 20001), EINVAL);
	bench_close(&b);
}

/* While a pause lasts, the PAUSE frame is repeated after half of its time. */
static void test_pause_repeated(void **state)
{
	const uint64_t half = 65535ull * 64 * GBPS_100 / 2;
	struct bench b;

	bench_open(&b);
	bench_start(&b);
	for (unsigned i = 0; i < 11; i++)
		bench_in(&b, 0, 0, 2, 3, 1000);
	assert_int_equal(bench_out(&b, 500, 0, NULL), -1);
	assert_int_equal(adv_switch_deadline(b.s), 500 + half);
	adv_switch_expire(b.s, 500 + half - 1);
	assert_int_equal(bench_out(&b, 500 + half - 1, 0, NULL), 0);
	adv_switch_expire(b.s, 500 + half);
	while (adv_switch_next_ready(b.s) >= 0)
		;
	assert_int_equal(bench_out(&b, 500 + half, 0, NULL), -1);
	assert_int_equal(adv_switch_deadline(b.s), 500 + 2 * half);
	while (bench_out(&b, 500 + half, 2, NULL) > 0)
		;
	assert_int_equal(bench_out(&b, 500 + half, 0, NULL), -1);
	adv_switch_expire(b.s, 500 + 2 * half);
	assert_int_equal(bench_out(&b, 500 + 2 * half, 0, NULL), 0);
	assert_int_equal(adv_switch_deadline(b.s), ADV_CALENDAR_NEVER);
	assert_int_equal(adv_switch_counters(b.s)->tx_pause, 3);
	bench_close(&b);
}

/* A paused port reports the time at which its pause expires. */
static void test_paused_port(void **state)
{
	struct bench b;

	bench_open(&b);
	bench_start(&b);
	bench_pause(&b, 1000, 2, 3, 100);
	bench_in(&b, 1000, 0, 2, 3, 1000);
	bench_in(&b, 1000, 0, 2, 4, 64);
	assert_int_equal(bench_out(&b, 1000, 2, NULL), 64);
	assert_int_equal(bench_out(&b, 1000, 2, NULL), 0);
	while (adv_switch_next_ready(b.s) >= 0)
		;
	assert_int_equal(adv_switch_deadline(b.s), 1000 + 100 * 64 * GBPS_100);
	adv_switch_expire(b.s, 1000 + 100 * 64 * GBPS_100);
	assert_int_equal(adv_switch_next_ready(b.s), 2);
	assert_int_equal(bench_out(&b, 1000 + 100 * 64 * GBPS_100, 2, NULL), 1000);
	bench_close(&b);
}

static void dequeue_ready(struct bench *b)
{
	while (adv_switch_next_ready(b->s) >= 0)
		;
}

/* Receives a frame of 100 bytes for a port, and sends it at once if it may pass. Returns whether it
 * was sent. */
static bool passes(struct bench *b, unsigned from, uint16_t out, uint8_t priority)
{
	struct adv_packet *p = adv_packet_take(&b->pool);
	bool passed;

	assert_non_null(p);
	*p = (struct adv_packet){
		.bytes = 100, .to = out, .priority = priority, .hop_limit = 64, .out = ADV_NO_PORT};
	p->out = adv_switch_port_of(b->s, p);
	assert_int_equal(adv_switch_store(b->s, 0, from, p), out);
	passed = adv_switch_pass(b->s, 0, out, p);
	if (!passed) {
		adv_switch_queue(b->s, out, p);
		return false;
	}
	adv_switch_sent(b->s, 0, out, p);
	adv_packet_give_back(&b->pool, p);
	return true;
}

/* A frame passes by the queues only if its port would send it next. */
static void test_pass(void **state)
{
	struct adv_packet *p;
	struct bench b;

	bench_open(&b);
	bench_start(&b);
	assert_true(passes(&b, 0, 2, 0));
	assert_int_equal(adv_switch_egress(b.s, 2)->queue[0].sent, 1);
	/* The port is listed, and sends when its turn comes. */
	bench_in(&b, 0, 0, 2, 0, 1000);
	assert_int_equal(bench_out(&b, 0, 2, NULL), 1000);
	assert_false(adv_switch_egress(b.s, 2)->filled);
	assert_false(passes(&b, 0, 2, 0));
	dequeue_ready(&b);
	/* A frame is queued. */
	assert_false(passes(&b, 0, 2, 3));
	assert_int_equal(bench_out(&b, 0, 2, NULL), 100);
	/* A frame is being sent. */
	p = adv_switch_tx(b.s, 0, 2);
	assert_false(passes(&b, 0, 2, 3));
	adv_switch_sent(b.s, 0, 2, p);
	adv_packet_give_back(&b.pool, p);
	assert_int_equal(bench_out(&b, 0, 2, NULL), 100);
	dequeue_ready(&b);
	/* The priority is paused, and no other one. */
	bench_pause(&b, 0, 2, 3, 1);
	assert_true(passes(&b, 0, 2, 4));
	assert_false(passes(&b, 0, 2, 3));
	bench_pause(&b, 0, 2, 3, 0);
	assert_int_equal(bench_out(&b, 0, 2, NULL), 100);
	dequeue_ready(&b);
	/* The port owes its peer a pause frame. */
	for (unsigned i = 0; i < 11; i++)
		bench_in(&b, 0, 0, 2, 3, 1000);
	dequeue_ready(&b);
	assert_false(passes(&b, 1, 0, 0));
	assert_int_equal(bench_out(&b, 0, 0, NULL), -1);
	bench_close(&b);
}

/* What is reserved for an input port is not shared, also of the frame that crosses the reserve. */
static void test_reserve(void **state)
{
	struct bench b;

	bench_open(&b);
	b.class[3].reserved = 2500;
	bench_start(&b);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t used = 1000ull * (i + 1);

		bench_in(&b, 0, 0, 2, 3, 1000);
		assert_int_equal(b.s->shared_used, used > 2500 ? used - 2500 : 0);
	}
	for (unsigned i = 4; i-- > 0;) {
		uint64_t used = 1000ull * i;

		assert_int_equal(bench_out(&b, 0, 2, NULL), 1000);
		assert_int_equal(b.s->shared_used, used > 2500 ? used - 2500 : 0);
	}
	bench_close(&b);
}

/* In random traffic no byte is lost or added, and lossless frames are dropped only because the
 * headroom is full. */
static void test_conservation(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t now = 0;
		struct adv_rng r;
		struct bench b;

		adv_rng_seed(&r, seed);
		bench_open(&b);
		b.config.buffer = 4 * 20000 + 2000 * 32 + 50000;
		for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
			b.class[p].reserved = (uint32_t)adv_rng_below(&r, 2000);
			b.class[p].weight = (uint8_t)adv_rng_below(&r, 3);
			b.class[p].alpha_1024 = (uint32_t)adv_rng_below(&r, 4096);
			b.class[p].ecn_max = 20000;
			b.class[p].ecn_ppm = 1000000;
		}
		b.class[3].xoff = seed & 1 ? 10000 : 0;
		bench_start(&b);
		for (unsigned i = 0; i < 3000; i++) {
			unsigned port = (unsigned)adv_rng_below(&r, 4);

			now += adv_rng_below(&r, 100000);
			adv_switch_expire(b.s, now);
			bench_in(&b, now, port, (unsigned)adv_rng_below(&r, 4),
				 (uint8_t)adv_rng_below(&r, 8),
				 64 + (uint32_t)adv_rng_below(&r, 4100));
			if (adv_rng_below(&r, 20) == 0)
				bench_pause(&b, now, port, (unsigned)adv_rng_below(&r, 8),
					    (uint16_t)adv_rng_below(&r, 300));
			while (adv_switch_next_ready(b.s) >= 0)
				;
			if (adv_rng_below(&r, 4))
				bench_out(&b, now, (unsigned)adv_rng_below(&r, 4), NULL);
			bench_conserved(&b);
		}
		assert_true(adv_switch_counters(b.s)->drops[ADV_DROP_QUEUE] > 0);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forwards),
		cmocka_unit_test(test_pfc_to_the_byte),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_dynamic_limit),
		cmocka_unit_test(test_always_resumes),
		cmocka_unit_test(test_lossy_drops),
		cmocka_unit_test(test_buffer_full),
		cmocka_unit_test(test_headroom_first),
		cmocka_unit_test(test_lossy_takes_no_headroom),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_no_way),
		cmocka_unit_test(test_impossible_buffer),
		cmocka_unit_test(test_pause_repeated),
		cmocka_unit_test(test_paused_port),
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_conservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
