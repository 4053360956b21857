/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two ends with limits and messages at random. Each SEND must find a posted receive of its size,
 * all messages must arrive, and an end that has nothing to say must become silent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "storage/smbdirect/connection.h"

enum {
	QUEUE = 600,
	MESSAGES = 40,
	LONGEST = 131072,
	SEEDS = 300,
	STEPS = 4000000,
	IN_USE_MAX = 256
};

struct packet {
	uint8_t bytes[2048];
	uint32_t length;
};

struct end {
	struct adv_smbd c;
	struct packet queue[QUEUE]; /* to this end */
	unsigned first, count;
	unsigned posted;	  /* receives */
	unsigned unposted;	  /* received, and not posted again yet */
	unsigned sent, received;  /* messages of the upper layer */
	uint32_t length, arrived; /* of the present ones */
	uint64_t empties;	  /* sent */
};

static struct end ends[2];
static struct adv_rng rng;
static uint64_t now;

static uint32_t between(uint32_t low, uint32_t high)
{
	return low + (uint32_t)adv_rng_below(&rng, high - low + 1);
}

/* The bytes of a message: they depend on its number and the end. */
static uint8_t byte_of(unsigned end, unsigned message, uint32_t at)
{
	return (uint8_t)(end * 101 + message * 31 + at * 7 + (at >> 8));
}

static uint32_t length_of(unsigned end, unsigned message)
{
	static const uint32_t some[] = {1, 7, 104, 105, 1000, 4096, 20000, LONGEST};

	return some[(message * 5 + end * 3 + message / 8) % 8];
}

static void start(void)
{
	for (int i = 0; i < 2; i++) {
		struct adv_smbd_config config = {
			.accepts = i == 1,
			.receive_credits = (uint16_t)between(1, between(1, 255)),
			.send_credits = (uint16_t)between(1, between(1, 255)),
			.send_size = between(128, 2048),
			.receive_size = between(128, 2048),
			.fragmented_size = LONGEST,
			.read_write_size = 1 << 20,
			.negotiate_ms = 5000,
			.keepalive_ms = 120000,
			.response_ms = 5000,
		};

		memset(&ends[i], 0, sizeof(ends[i]));
		adv_smbd_init(&ends[i].c, &config, now);
		ends[i].posted = config.receive_credits + 1u;
	}
}

static void deliver(struct end *to, const struct adv_smbd_send *s, unsigned from)
{
	struct packet *p = &to->queue[(to->first + to->count) % QUEUE];

	/* Without RNR NAK: the receive has to be there when the SEND arrives. */
	assert_true(to->count < to->posted);
	assert_true(to->count < QUEUE);
	p->length = s->head_length + s->length;
	assert_true(p->length <= to->c.config.receive_size);
	memcpy(p->bytes, s->head, s->head_length);
	for (uint32_t i = 0; i < s->length; i++)
		p->bytes[s->head_length + i] = byte_of(from, ends[from].sent, s->offset + i);
	to->count++;
}

/* Returns whether the end has sent something. */
static bool send_one(unsigned i)
{
	struct end *e = &ends[i];
	struct adv_smbd_send s;

	if (adv_smbd_can_begin(&e->c) && e->length == 0 && e->sent < MESSAGES) {
		e->length = length_of(i, e->sent);
		assert_true(adv_smbd_begin(&e->c, e->length));
	}
	if (!adv_smbd_next(&e->c, &s))
		return false;
	deliver(&ends[!i], &s, i);
	e->empties += s.length == 0;
	if (s.last) {
		e->sent++;
		e->length = 0;
	}
	return true;
}

static bool receive_one(unsigned i)
{
	struct end *e = &ends[i];
	struct packet *p = &e->queue[e->first];
	struct adv_smbd_fragment f;
	enum adv_smbd_event event;

	if (e->count == 0)
		return false;
	event = adv_smbd_receive(&e->c, p->bytes, p->length, now, &f);
	e->first = (e->first + 1) % QUEUE;
	e->count--;
	e->posted--;
	e->unposted++;
	assert_int_not_equal(event, ADV_SMBD_BROKEN);
	if (event != ADV_SMBD_FRAGMENT)
		return true;
	assert_int_equal(f.offset, e->arrived);
	assert_int_equal(f.total, length_of(!i, e->received));
	for (uint32_t k = 0; k < f.length; k++)
		assert_int_equal(f.data[k], byte_of(!i, e->received, f.offset + k));
	e->arrived += f.length;
	if (e->arrived == f.total) {
		e->arrived = 0;
		e->received++;
	}
	return true;
}

static bool repost_one(unsigned i)
{
	struct end *e = &ends[i];

	if (e->unposted == 0)
		return false;
	e->unposted--;
	e->posted++;
	adv_smbd_reposted(&e->c, now);
	return true;
}

static bool finished(void)
{
	return ends[0].received == MESSAGES && ends[1].received == MESSAGES;
}

/* Nothing can happen: the next timer. */
static void wait_for_timer(void)
{
	uint64_t a = adv_smbd_deadline(&ends[0].c), b = adv_smbd_deadline(&ends[1].c);

	now = a < b ? a : b;
	adv_smbd_expire(&ends[0].c, now);
	adv_smbd_expire(&ends[1].c, now);
	assert_int_not_equal(ends[0].c.state, ADV_SMBD_FAILED);
	assert_int_not_equal(ends[1].c.state, ADV_SMBD_FAILED);
}

/* One step at random. False: nothing can happen before a timer. */
static bool step(void)
{
	static bool (*const steps[])(unsigned) = {send_one, receive_one, repost_one};
	uint32_t from = between(0, 5);

	for (uint32_t k = 0; k < 6; k++) {
		uint32_t which = (from + k) % 6;

		if (steps[which / 2](which % 2))
			return true;
	}
	return false;
}

static void run_seed(uint64_t seed)
{
	uint64_t end, empties;

	adv_rng_seed(&rng, seed);
	now = seed;
	start();
	for (int i = 0; !finished(); i++) {
		assert_true(i < STEPS);
		if (!step())
			wait_for_timer();
	}
	/* The keep-alive of a minute, with few messages. */
	end = now + 60000;
	empties = ends[0].empties + ends[1].empties;
	while (now < end) {
		if (!step())
			wait_for_timer();
	}
	assert_true(ends[0].empties + ends[1].empties - empties <= 60000 / 10 + IN_USE_MAX);
}

static void test_seeds(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
