/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One end of a connection: the test is the peer, and moves the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "storage/smbdirect/connection.h"

enum { CREDITS = 8, SEND = 512, LONGEST = 200000 };

static const struct adv_smbd_config accepting = {
	.accepts = true,
	.receive_credits = CREDITS,
	.send_credits = 16,
	.send_size = SEND,
	.receive_size = 1024,
	.fragmented_size = LONGEST,
	.read_write_size = 1 << 20,
	.negotiate_ms = 5000,
	.keepalive_ms = 120000,
	.response_ms = 3000,
};

static const struct adv_smbd_request good_request = {
	.min_version = ADV_SMBD_VERSION,
	.max_version = ADV_SMBD_VERSION,
	.credits_requested = 255,
	.send_size = 1364,
	.receive_size = 1364,
	.fragmented_size = 1 << 20,
};

static const struct adv_smbd_response good_response = {
	.min_version = ADV_SMBD_VERSION,
	.max_version = ADV_SMBD_VERSION,
	.version = ADV_SMBD_VERSION,
	.credits_requested = 255,
	.credits_granted = 4,
	.read_write_size = 1 << 16,
	.send_size = 1024,
	.receive_size = 256,
	.fragmented_size = 131072,
};

static struct adv_smbd c;
static struct adv_smbd_send out;
static struct adv_smbd_fragment fragment;

static enum adv_smbd_event request(const struct adv_smbd_request *r)
{
	uint8_t in[ADV_SMBD_REQUEST_LEN];
	enum adv_smbd_event event;

	adv_smbd_request_encode(r, in);
	event = adv_smbd_receive(&c, in, sizeof(in), 0, &fragment);
	adv_smbd_reposted(&c, 0);
	return event;
}

static enum adv_smbd_event response(const struct adv_smbd_response *r)
{
	uint8_t in[ADV_SMBD_RESPONSE_LEN];

	adv_smbd_response_encode(r, in);
	return adv_smbd_receive(&c, in, sizeof(in), 0, &fragment);
}

/* A data transfer message of the peer; its receive is posted again if `repost`. */
static enum adv_smbd_event transfer(struct adv_smbd_transfer t, uint64_t now, bool repost)
{
	uint8_t in[1024] = {0};
	enum adv_smbd_event event;

	if (t.credits_requested == 0)
		t.credits_requested = 255;
	t.offset = t.length ? ADV_SMBD_DATA_OFFSET : 0;
	adv_smbd_transfer_encode(&t, in);
	event = adv_smbd_receive(&c, in, ADV_SMBD_DATA_OFFSET + t.length, now, &fragment);
	if (repost)
		adv_smbd_reposted(&c, now);
	return event;
}

/* Returns the data transfer message that is sent next. */
static struct adv_smbd_transfer sent(void)
{
	struct adv_smbd_transfer t;

	assert_true(adv_smbd_next(&c, &out));
	assert_true(out.head_length + out.length <= c.send_size);
	/* The data follows the head. */
	assert_true(adv_smbd_transfer_decode(out.head, out.head_length + out.length, &t));
	assert_int_equal(t.length, out.length);
	return t;
}

static void silent(void)
{
	assert_false(adv_smbd_next(&c, &out));
}

/* An accepting end after the negotiation. The peer grants `credits` by a message with data, and has
 * all of its own again. */
static void negotiate(uint16_t credits)
{
	adv_smbd_init(&c, &accepting, 0);
	assert_int_equal(request(&good_request), ADV_SMBD_NEGOTIATED);
	assert_true(adv_smbd_next(&c, &out));
	if (credits == 0)
		return;
	transfer((struct adv_smbd_transfer){.credits_granted = credits, .flags = 1}, 0, true);
	assert_int_equal(sent().credits_granted, 1);
}

static void test_accept(void **state)
{
	struct adv_smbd_response r;

	adv_smbd_init(&c, &accepting, 0);
	silent();
	assert_false(adv_smbd_can_begin(&c));
	assert_int_equal(request(&good_request), ADV_SMBD_NEGOTIATED);
	assert_int_equal(c.state, ADV_SMBD_READY);
	assert_true(adv_smbd_next(&c, &out));
	assert_true(adv_smbd_response_decode(out.head, out.head_length, &r));
	assert_int_equal(r.version, ADV_SMBD_VERSION);
	assert_int_equal(r.status, ADV_SMBD_SUCCESS);
	assert_int_equal(r.credits_requested, 16);
	assert_int_equal(r.credits_granted, CREDITS);
	assert_int_equal(r.read_write_size, 1 << 20);
	assert_int_equal(r.send_size, SEND);
	assert_int_equal(r.receive_size, 1024);
	assert_int_equal(r.fragmented_size, LONGEST);
	silent();
	assert_int_equal(c.fragmented_size, 1 << 20);
}

static void test_accept_small(void **state)
{
	struct adv_smbd_request small = good_request;
	struct adv_smbd_response r;

	small.credits_requested = 3;
	small.receive_size = 128;
	small.send_size = 0;
	small.fragmented_size = 131072;
	adv_smbd_init(&c, &accepting, 0);
	assert_int_equal(request(&small), ADV_SMBD_NEGOTIATED);
	assert_true(adv_smbd_next(&c, &out));
	assert_true(adv_smbd_response_decode(out.head, out.head_length, &r));
	assert_int_equal(r.credits_granted, 3);
	assert_int_equal(r.send_size, 128); /* not more than the peer receives */
	assert_int_equal(c.send_size, 128);
}

static void refuse(const struct adv_smbd_request *r)
{
	adv_smbd_init(&c, &accepting, 0);
	assert_int_equal(request(r), ADV_SMBD_BROKEN);
	assert_int_equal(c.state, ADV_SMBD_FAILED);
	assert_non_null(c.reason);
	silent();
}

static void test_wrong_request(void **state)
{
	struct adv_smbd_request r = good_request;
	uint8_t in[ADV_SMBD_REQUEST_LEN] = {0};

	r.credits_requested = 0;
	refuse(&r);
	r = good_request;
	r.receive_size = 127;
	refuse(&r);
	r = good_request;
	r.fragmented_size = 131071;
	refuse(&r);
	adv_smbd_init(&c, &accepting, 0);
	assert_int_equal(adv_smbd_receive(&c, in, 19, 0, &fragment), ADV_SMBD_BROKEN);
	assert_int_equal(adv_smbd_receive(&c, in, 20, 0, &fragment), ADV_SMBD_BROKEN);
}

static void test_version(void **state)
{
	struct adv_smbd_request r = good_request;
	struct adv_smbd_response refusal;

	r.min_version = 0x0101;
	r.max_version = 0x0200;
	adv_smbd_init(&c, &accepting, 0);
	assert_int_equal(request(&r), ADV_SMBD_NOTHING);
	assert_true(adv_smbd_next(&c, &out));
	assert_true(adv_smbd_response_decode(out.head, out.head_length, &refusal));
	assert_int_equal(refusal.status, ADV_SMBD_NOT_SUPPORTED);
	assert_int_equal(c.state, ADV_SMBD_FAILED);
	r.min_version = 0;
	adv_smbd_init(&c, &accepting, 0);
	assert_int_equal(request(&r), ADV_SMBD_NEGOTIATED);
}

static void begin_connect(void)
{
	struct adv_smbd_config config = accepting;

	config.accepts = false;
	adv_smbd_init(&c, &config, 0);
	assert_true(adv_smbd_next(&c, &out));
}

static void test_connect(void **state)
{
	struct adv_smbd_request r;

	begin_connect();
	assert_true(adv_smbd_request_decode(out.head, out.head_length, &r));
	assert_int_equal(r.credits_requested, 16);
	assert_int_equal(r.receive_size, 1024);
	assert_int_equal(r.fragmented_size, LONGEST);
	silent();
	assert_int_equal(response(&good_response), ADV_SMBD_NEGOTIATED);
	adv_smbd_reposted(&c, 0);
	assert_int_equal(c.read_write_size, 1 << 16);
	assert_int_equal(c.send_size, 256);
	silent();
	assert_false(adv_smbd_begin(&c, 131073));
	assert_true(adv_smbd_begin(&c, 100));
	assert_int_equal(sent().credits_granted, CREDITS);
}

static void reject(const struct adv_smbd_response *r)
{
	begin_connect();
	assert_int_equal(response(r), ADV_SMBD_BROKEN);
}

static void test_wrong_response(void **state)
{
	struct adv_smbd_response r = good_response;

	r.status = ADV_SMBD_NOT_SUPPORTED;
	reject(&r);
	r = good_response;
	r.version = 0x0200;
	reject(&r);
	r = good_response;
	r.credits_granted = 0;
	reject(&r);
	r = good_response;
	r.credits_requested = 0;
	reject(&r);
	r = good_response;
	r.receive_size = 127;
	reject(&r);
	r = good_response;
	r.fragmented_size = 131071;
	reject(&r);
	r = good_response;
	r.send_size = 1025; /* more than this end receives */
	reject(&r);
}

static void test_fragments(void **state)
{
	uint32_t length = SEND - ADV_SMBD_DATA_OFFSET, at = 0;

	negotiate(10);
	assert_true(adv_smbd_begin(&c, 2 * length + 1));
	assert_false(adv_smbd_can_begin(&c));
	for (int i = 0; i < 3; i++) {
		struct adv_smbd_transfer t = sent();

		assert_int_equal(out.offset, at);
		at += out.length;
		assert_int_equal(t.remaining, 2 * length + 1 - at);
		assert_int_equal(out.last, i == 2);
	}
	assert_true(adv_smbd_can_begin(&c));
	silent();
}

static void test_last_credit(void **state)
{
	negotiate(0);
	assert_true(adv_smbd_begin(&c, 2000));
	silent(); /* no credit at all */
	transfer((struct adv_smbd_transfer){.credits_granted = 1}, 0, true);
	assert_int_equal(sent().credits_granted, 1); /* the last one grants */
	silent();
	transfer((struct adv_smbd_transfer){.credits_granted = 1}, 0, false);
	silent(); /* nothing can be granted: the receive is not posted */
	adv_smbd_reposted(&c, 0);
	assert_int_equal(sent().credits_granted, 1);
}

static void test_no_credit(void **state)
{
	negotiate(0);
	for (int i = 0; i < CREDITS; i++)
		assert_int_equal(transfer((struct adv_smbd_transfer){.length = 1}, 0, false),
				 ADV_SMBD_FRAGMENT);
	assert_int_equal(transfer((struct adv_smbd_transfer){.length = 1}, 0, false),
			 ADV_SMBD_BROKEN);
}

static void test_reassembly(void **state)
{
	negotiate(10);
	assert_int_equal(
		transfer((struct adv_smbd_transfer){.length = 100, .remaining = 150}, 0, true),
		ADV_SMBD_FRAGMENT);
	assert_int_equal(fragment.total, 250);
	assert_int_equal(fragment.offset, 0);
	/* Messages without data may be between the fragments. */
	assert_int_equal(transfer((struct adv_smbd_transfer){.credits_granted = 1}, 0, true),
			 ADV_SMBD_NOTHING);
	assert_int_equal(transfer((struct adv_smbd_transfer){.length = 150}, 0, true),
			 ADV_SMBD_FRAGMENT);
	assert_int_equal(fragment.total, 250);
	assert_int_equal(fragment.offset, 100);
	assert_int_equal(fragment.length, 150);
	assert_int_equal(transfer((struct adv_smbd_transfer){.length = 7}, 0, true),
			 ADV_SMBD_FRAGMENT);
	assert_int_equal(fragment.total, 7);
}

/* Sends two messages; the second one must end the connection. */
static void wrong_second(struct adv_smbd_transfer first, struct adv_smbd_transfer second)
{
	negotiate(10);
	assert_int_equal(transfer(first, 0, true), ADV_SMBD_FRAGMENT);
	assert_int_equal(transfer(second, 0, true), ADV_SMBD_BROKEN);
}

static void test_wrong_fragments(void **state)
{
	struct adv_smbd_transfer first = {.length = 100, .remaining = 150};

	wrong_second(first, (struct adv_smbd_transfer){.length = 151});
	wrong_second(first, (struct adv_smbd_transfer){.length = 149});
	wrong_second(first, (struct adv_smbd_transfer){.length = 10, .remaining = 150});
	wrong_second(first, (struct adv_smbd_transfer){.remaining = 150});
	wrong_second(first, (struct adv_smbd_transfer){.length = 10, .remaining = 0xffffffff});
	negotiate(10);
	assert_int_equal(
		transfer((struct adv_smbd_transfer){.length = 1, .remaining = LONGEST}, 0, true),
		ADV_SMBD_BROKEN);
	negotiate(10);
	assert_int_equal(transfer((struct adv_smbd_transfer){.length = 1, .remaining = LONGEST - 1},
				  0, true),
			 ADV_SMBD_FRAGMENT);
}

static void test_grants(void **state)
{
	negotiate(10);
	for (int i = 0; i < CREDITS / 2 - 1; i++) {
		transfer((struct adv_smbd_transfer){.length = 1}, 0, true);
		silent(); /* the peer has more than half of its credits */
	}
	transfer((struct adv_smbd_transfer){.length = 1}, 0, true);
	assert_int_equal(sent().credits_granted, CREDITS / 2);
	silent();
}

static void test_no_grant_for_grants(void **state)
{
	negotiate(10);
	for (int i = 0; i < CREDITS - 1; i++) {
		transfer((struct adv_smbd_transfer){.credits_granted = 1}, 100, true);
		silent();
	}
	assert_true(adv_smbd_deadline(&c) > 100 && adv_smbd_deadline(&c) < 1100);
	adv_smbd_expire(&c, adv_smbd_deadline(&c));
	assert_int_equal(sent().credits_granted, CREDITS - 1);
	assert_true(adv_smbd_deadline(&c) > 10000);
}

static void test_respond(void **state)
{
	negotiate(10);
	transfer((struct adv_smbd_transfer){.flags = ADV_SMBD_RESPONSE_REQUESTED}, 0, true);
	assert_int_equal(sent().flags, 0);
	silent();
}

/* A peer whose messages wait for memory here has no credit to respond with: its silence is not its
 * fault. When its receives are posted again, it is. */
static void test_keepalive_without_credit(void **state)
{
	uint64_t now = 0;

	negotiate(10);
	for (unsigned i = 0; i < CREDITS; i++)
		transfer((struct adv_smbd_transfer){.length = 10, .remaining = 1000 - 10 * i}, 0,
			 false);
	assert_int_equal(c.granted, 0);
	for (unsigned i = 0; i < 5; i++) {
		now = adv_smbd_deadline(&c);
		assert_true(now != ADV_SMBD_NEVER);
		adv_smbd_expire(&c, now);
		silent();
		assert_int_equal(c.state, ADV_SMBD_READY);
	}
	for (unsigned i = 0; i < CREDITS; i++)
		adv_smbd_reposted(&c, now);
	assert_int_equal(sent().credits_granted, CREDITS);
	adv_smbd_expire(&c, adv_smbd_deadline(&c));
	assert_int_equal(sent().flags, ADV_SMBD_RESPONSE_REQUESTED);
	adv_smbd_expire(&c, adv_smbd_deadline(&c));
	assert_int_equal(c.state, ADV_SMBD_FAILED);
}

/* A peer that grants nothing gets nothing: that is its fault. */
static void test_keepalive_without_grant(void **state)
{
	negotiate(0);
	for (unsigned i = 0; i < CREDITS; i++)
		transfer((struct adv_smbd_transfer){.length = 1}, 0, true);
	assert_int_equal(c.granted, 0);
	for (unsigned i = 0; i < 3 && c.state == ADV_SMBD_READY; i++) {
		adv_smbd_expire(&c, adv_smbd_deadline(&c));
		silent();
	}
	assert_int_equal(c.state, ADV_SMBD_FAILED);
}

static void test_keepalive(void **state)
{
	negotiate(10);
	transfer((struct adv_smbd_transfer){.length = 1}, 1000, true);
	assert_true(adv_smbd_deadline(&c) == 121000);
	adv_smbd_expire(&c, 120999);
	silent();
	adv_smbd_expire(&c, 121000);
	assert_int_equal(sent().flags, ADV_SMBD_RESPONSE_REQUESTED);
	silent();
	assert_true(adv_smbd_deadline(&c) == 124000);
	transfer((struct adv_smbd_transfer){0}, 123999, true);
	adv_smbd_expire(&c, 124010);
	assert_int_equal(c.state, ADV_SMBD_READY);
	adv_smbd_expire(&c, 123999 + 120000);
	assert_int_equal(sent().flags, ADV_SMBD_RESPONSE_REQUESTED);
	adv_smbd_expire(&c, 123999 + 123000);
	assert_int_equal(c.state, ADV_SMBD_FAILED);
	assert_true(adv_smbd_deadline(&c) == ADV_SMBD_NEVER);
}

static void test_slow_negotiation(void **state)
{
	adv_smbd_init(&c, &accepting, 100);
	assert_true(adv_smbd_deadline(&c) == 5100);
	adv_smbd_expire(&c, 5099);
	assert_int_equal(c.state, ADV_SMBD_NEGOTIATING);
	adv_smbd_expire(&c, 5100);
	assert_int_equal(c.state, ADV_SMBD_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_accept_small),
		cmocka_unit_test(test_wrong_request),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_wrong_response),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_last_credit),
		cmocka_unit_test(test_no_credit),
		cmocka_unit_test(test_reassembly),
		cmocka_unit_test(test_wrong_fragments),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_no_grant_for_grants),
		cmocka_unit_test(test_respond),
		cmocka_unit_test(test_keepalive),
		cmocka_unit_test(test_keepalive_without_credit),
		cmocka_unit_test(test_keepalive_without_grant),
		cmocka_unit_test(test_slow_negotiation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
