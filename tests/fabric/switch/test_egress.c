/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"

#define GBPS_100 80 /* ps per byte */

struct fixture {
	struct adv_packet_pool pool;
	struct adv_egress e;
};

static struct fixture *open_with(const uint8_t weight[ADV_PRIORITIES])
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	adv_egress_init(&f->e, GBPS_100, weight);
	return f;
}

static void close_all(struct fixture *f)
{
	adv_packet_pool_free(&f->pool);
	free(f);
}

static void push(struct fixture *f, uint8_t priority, uint32_t bytes)
{
	struct adv_packet *p = adv_packet_take(&f->pool);

	assert_non_null(p);
	p->priority = priority;
	p->bytes = bytes;
	adv_egress_push(&f->e, p);
}

/* Sends a frame. Returns its priority; -1: no frame may be sent. */
static int pop(struct fixture *f)
{
	struct adv_packet *p = adv_egress_pop(&f->e);
	int priority = p ? p->priority : -1;

	if (p)
		adv_packet_give_back(&f->pool, p);
	return priority;
}

static void pause_one(struct fixture *f, uint64_t now, unsigned priority, uint16_t quanta)
{
	struct adv_packet frame = {.kind = ADV_PACKET_PAUSE,
				   .pause_mask = (uint8_t)(1u << priority)};

	frame.quanta[priority] = quanta;
	adv_egress_pause(&f->e, now, &frame);
}

static void test_in_order(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct fixture *f = open_with(weight);

	for (uint32_t i = 1; i <= 100; i++)
		push(f, 3, i);
	assert_int_equal(f->e.queue[3].bytes, 5050);
	for (uint32_t i = 1; i <= 100; i++) {
		struct adv_packet *p = adv_egress_pop(&f->e);

		assert_int_equal(p->bytes, i);
		adv_packet_give_back(&f->pool, p);
	}
	assert_int_equal(pop(f), -1);
	assert_int_equal(f->e.queue[3].bytes, 0);
	assert_int_equal(f->e.queue[3].most, 5050);
	assert_int_equal(f->e.queue[3].sent, 100);
	close_all(f);
}

/* Returns bytes on the wire by priority while all queues have frames of different sizes. */
static void test_shares(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {10, 20, 0, 70, 0, 0, 0, 0};
	static const uint32_t size[ADV_PRIORITIES] = {64, 1078, 0, 4158, 0, 0, 0, 0};
	struct fixture *f = open_with(weight);
	uint64_t bytes[ADV_PRIORITIES] = {0}, all = 0;

	for (unsigned p = 0; p < 4; p++)
		for (unsigned i = 0; weight[p] && i < 200; i++)
			push(f, (uint8_t)p, size[p]);
	while (all < 100000000) {
		int p = pop(f);

		assert_true(p >= 0 && size[p]);
		bytes[p] += size[p] + ADV_WIRE_OVERHEAD;
		all += size[p] + ADV_WIRE_OVERHEAD;
		push(f, (uint8_t)p, size[p]);
	}
	for (unsigned p = 0; p < 4; p++) {
		uint64_t share = bytes[p] * 100000 / all;

		assert_in_range(share, weight[p] * 1000u - 20u * (weight[p] != 0),
				weight[p] * 1000u + 20u * (weight[p] != 0));
	}
	close_all(f);
}

/* A queue that becomes empty loses its deficit. If it gets frames again, it waits for its next
 * turn. */
static void test_empty_saves_nothing(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {100, 100, 0, 0, 0, 0, 0, 0};
	struct fixture *f = open_with(weight);

	/* 12,800 bytes per turn; the small frame leaves nearly all of them. */
	push(f, 0, 64);
	assert_int_equal(pop(f), 0);
	assert_int_equal(f->e.queue[0].deficit, 0);
	push(f, 0, 9000);
	push(f, 1, 9000);
	assert_int_equal(pop(f), 1);
	assert_int_equal(pop(f), 0);
	close_all(f);
}

/* A pause frame does not affect priorities that are not in its mask. */
static void test_pause_mask(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {0};
	struct adv_packet frame = {.kind = ADV_PACKET_PAUSE, .pause_mask = 1 << 4};
	struct fixture *f = open_with(weight);

	pause_one(f, 0, 3, 100);
	frame.quanta[4] = 50;
	frame.quanta[5] = 50;
	adv_egress_pause(&f->e, 1000, &frame);
	assert_int_equal(f->e.paused, 1 << 3 | 1 << 4);
	frame.quanta[4] = 0;
	adv_egress_pause(&f->e, 2000, &frame);
	assert_int_equal(f->e.paused, 1 << 3);
	assert_int_equal(adv_egress_deadline(&f->e), 100 * ADV_QUANTUM_BYTES * GBPS_100);
	close_all(f);
}

static void test_strict_first(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {50, 0, 0, 50, 0, 0, 0, 0};
	struct fixture *f = open_with(weight);

	push(f, 0, 100);
	push(f, 1, 100);
	push(f, 6, 100);
	push(f, 3, 100);
	push(f, 6, 100);
	assert_int_equal(pop(f), 6);
	assert_int_equal(pop(f), 6);
	assert_int_equal(pop(f), 1);
	push(f, 7, 100);
	assert_int_equal(pop(f), 7);
	assert_true(pop(f) != -1 && pop(f) != -1);
	assert_int_equal(pop(f), -1);
	close_all(f);
}

/* A pause stops its priority only, for the stated time. */
static void test_pause(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {50, 0, 0, 50, 0, 0, 0, 0};
	const uint64_t quantum = ADV_QUANTUM_BYTES * GBPS_100;
	struct fixture *f = open_with(weight);

	push(f, 3, 100);
	push(f, 0, 100);
	pause_one(f, 1000, 3, 10);
	assert_int_equal(pop(f), 0);
	assert_false(adv_egress_ready(&f->e));
	assert_int_equal(pop(f), -1);
	assert_int_equal(adv_egress_deadline(&f->e), 1000 + 10 * quantum);
	adv_egress_expire(&f->e, 1000 + 10 * quantum - 1);
	assert_int_equal(pop(f), -1);
	assert_int_equal(adv_egress_paused_for(&f->e, 3, 1500), 500);
	adv_egress_expire(&f->e, 1000 + 10 * quantum + 5);
	assert_int_equal(adv_egress_paused_for(&f->e, 3, UINT64_MAX), 10 * quantum);
	assert_int_equal(adv_egress_deadline(&f->e), ADV_CALENDAR_NEVER);
	assert_int_equal(pop(f), 3);
	/* A PAUSE frame of time 0 ends a pause. A repeated pause counts as one. */
	push(f, 3, 100);
	pause_one(f, 100000, 3, 10);
	pause_one(f, 101000, 3, 10);
	assert_int_equal(adv_egress_deadline(&f->e), 101000 + 10 * quantum);
	pause_one(f, 102000, 3, 0);
	assert_true(adv_egress_ready(&f->e));
	assert_int_equal(f->e.pauses[3].count, 2);
	assert_int_equal(adv_egress_paused_for(&f->e, 3, UINT64_MAX), 10 * quantum + 2000);
	pause_one(f, 103000, 3, 0);
	assert_int_equal(pop(f), 3);
	close_all(f);
}

/* After a pause, a priority has only its usual share and does not make up for the pause. */
static void test_no_credit_for_pauses(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {50, 0, 0, 50, 0, 0, 0, 0};
	struct fixture *f = open_with(weight);
	unsigned count[ADV_PRIORITIES] = {0};

	for (unsigned i = 0; i < 3000; i++) {
		push(f, 0, 1000);
		push(f, 3, 1000);
	}
	pause_one(f, 0, 3, ADV_QUANTA_MAX);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(pop(f), 0);
	pause_one(f, 1000, 3, 0);
	for (unsigned i = 0; i < 1000; i++)
		count[pop(f)]++;
	assert_in_range(count[3], 490, 510);
	assert_int_equal(count[0] + count[3], 1000);
	close_all(f);
}

static void test_ignored_pause(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {0};
	struct fixture *f = open_with(weight);

	push(f, 3, 100);
	pause_one(f, 1, 3, 5);
	assert_false(adv_egress_ready(&f->e));
	f->e.ignores = 1 << 3;
	assert_true(adv_egress_ready(&f->e));
	assert_int_equal(pop(f), 3);
	close_all(f);
}

static void test_flush(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {0};
	struct fixture *f = open_with(weight);
	struct adv_packet *p;

	push(f, 3, 100);
	push(f, 4, 200);
	pause_one(f, 1, 3, 5);
	p = adv_egress_flush(&f->e, 3);
	assert_int_equal(p->bytes, 100);
	adv_packet_give_back(&f->pool, p);
	assert_null(adv_egress_flush(&f->e, 3));
	assert_int_equal(f->e.queue[3].sent, 0);
	assert_int_equal(pop(f), 4);
	assert_int_equal(f->pool.out, 0);
	close_all(f);
}

/* The peak covers the time since the last query, including the frames that were queued at that
 * query. The maximum of the whole run is not changed by a query. */
static void test_peak(void **state)
{
	struct fixture *f = open_with((const uint8_t[ADV_PRIORITIES]){[3] = 1});

	push(f, 3, 1000);
	push(f, 3, 500);
	assert_int_equal(pop(f), 3);
	push(f, 3, 200);
	assert_int_equal(adv_egress_take_peak(&f->e, 3), 1500);
	assert_int_equal(adv_egress_take_peak(&f->e, 3), 700);
	assert_int_equal(pop(f), 3);
	assert_int_equal(pop(f), 3);
	assert_int_equal(adv_egress_take_peak(&f->e, 3), 700);
	assert_int_equal(adv_egress_take_peak(&f->e, 3), 0);
	push(f, 3, 300);
	assert_int_equal(adv_egress_take_peak(&f->e, 3), 300);
	assert_int_equal(f->e.queue[3].most, 1500);
	assert_int_equal(pop(f), 3);
	close_all(f);
}

static void assert_equal_queues(const struct adv_egress *a, const struct adv_egress *b)
{
	assert_int_equal(a->filled, b->filled);
	assert_int_equal(a->paused, b->paused);
	assert_int_equal(a->turn, b->turn);
	assert_int_equal(a->granted, b->granted);
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_egress_queue *x = &a->queue[p], *y = &b->queue[p];

		assert_int_equal(x->bytes, y->bytes);
		assert_int_equal(x->count, y->count);
		assert_int_equal(x->deficit, y->deficit);
		assert_int_equal(x->most, y->most);
		assert_int_equal(x->peak, y->peak);
		assert_int_equal(x->sent, y->sent);
		assert_int_equal(x->sent_bytes, y->sent_bytes);
	}
}

/* A frame that passes leaves the port as if it had been queued and dequeued, whatever was sent,
 * paused and ignored before. */
static void test_pass(void **state)
{
	static const uint8_t weight[ADV_PRIORITIES] = {1, 20, 0, 70, 0, 5, 9, 0};
	struct fixture *queues = open_with(weight), *passes = open_with(weight);
	unsigned passed = 0, by_ignoring = 0;
	struct adv_rng r;

	adv_rng_seed(&r, 1);
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t priority = (uint8_t)adv_rng_below(&r, ADV_PRIORITIES);
		uint32_t bytes = 64 + (uint32_t)adv_rng_below(&r, 4096);
		uint16_t quanta = (uint16_t)adv_rng_below(&r, 2);
		struct adv_packet frame = {.priority = priority, .bytes = bytes};

		switch (adv_rng_below(&r, 6)) {
		case 0:
			pause_one(queues, i, priority, quanta);
			pause_one(passes, i, priority, quanta);
			break;
		case 1:
			queues->e.ignores = passes->e.ignores = (uint8_t)adv_rng_below(&r, 256);
			break;
		case 2:
			adv_egress_take_peak(&queues->e, priority);
			adv_egress_take_peak(&passes->e, priority);
			break;
		case 3:
			assert_int_equal(pop(queues), pop(passes));
			break;
		case 4:
			push(queues, priority, bytes);
			push(passes, priority, bytes);
			break;
		default:
			/* The queues are empty now and then. */
			while (adv_rng_below(&r, 4) && pop(queues) >= 0)
				assert_true(pop(passes) >= 0);
			if (!adv_egress_free(&passes->e, priority)) {
				assert_true(passes->e.filled || passes->e.paused & 1u << priority);
				break;
			}
			adv_egress_pass(&passes->e, &frame);
			push(queues, priority, bytes);
			assert_int_equal(pop(queues), priority);
			passed++;
			by_ignoring += passes->e.paused >> priority & 1;
		}
		assert_equal_queues(&queues->e, &passes->e);
	}
	assert_true(passed > 200 && by_ignoring > 20);
	close_all(queues);
	close_all(passes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_empty_saves_nothing),
		cmocka_unit_test(test_strict_first),
		cmocka_unit_test(test_pause_mask),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_no_credit_for_pauses),
		cmocka_unit_test(test_ignored_pause),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_peak),
		cmocka_unit_test(test_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
