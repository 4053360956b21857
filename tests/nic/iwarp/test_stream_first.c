/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first FPDU of a stream: the ready-to-receive message, and its repetitions. */
#include "nic/iwarp/fpdu.h"
#include "stream_bed.h"

#define FIRST_LEN (ADV_FPDU_LENGTH_LEN + ADV_DDP_TAGGED_LEN + ADV_FPDU_CRC_LEN)
#define REPEATS	  6

/* Opens a bed whose end 0 is the initiator, with regions. */
static struct bed *open_with(enum adv_rdmap_first first, struct region *r[2])
{
	const struct adv_rdmap_config c[2] = {
		{.ird = 1, .ord = 1, .first = first},
		{.ird = 1,
		 .ord = 1,
		 .first = first == ADV_RDMAP_FIRST_ANY ? ADV_RDMAP_FIRST_HOPED
						       : ADV_RDMAP_FIRST_OF_PEER},
	};
	struct bed *b = bed_open_ends(c, 1);

	for (unsigned i = 0; i < 2; i++)
		r[i] = region_open(&b->net->node[i], 100, ALL_ACCESS);
	return b;
}

/* A responder sends nothing before the first FPDU of the initiator. */
static void first_fpdu(enum adv_rdmap_first first, size_t length)
{
	struct region *r[2];
	struct bed *b = open_with(first, r);

	region_fill(r[1], 6);
	end_op(b->end[1], IBV_WR_RDMA_WRITE, 1, r[1], 0, 10, r[0], 0);
	assert_false(bed_step(b, 1));
	bed_step(b, 0);
	assert_int_equal(b->pipe[0].head, length);
	bed_run(b);
	if (length == 0) {
		assert_int_equal(b->end[1]->send_count, 0);
		end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, r[0], 50, 10, r[1], 50);
		bed_run(b);
	}
	expect_send(b->end[1], 0, 1, IBV_WC_SUCCESS);
	expect_pattern(r[0], 0, 10, 6, 0);
	bed_close(b);
}

static void test_first_fpdu(void **state)
{
	first_fpdu(ADV_RDMAP_FIRST_ANY, 0);
	first_fpdu(ADV_RDMAP_FIRST_WRITE, FIRST_LEN);
	first_fpdu(ADV_RDMAP_FIRST_EMPTY, ADV_FPDU_LENGTH_LEN + 2 + ADV_FPDU_CRC_LEN);
}

/* Lets the timers of end i expire at their time. Returns the time that has passed, ns. */
static uint64_t expire_next(struct bed *b, unsigned i)
{
	uint64_t before = b->net->now, due = adv_engine_deadline(b->net->node[i].e);

	assert_true(due > before && due != ADV_NEVER);
	b->net->now = due - 1;
	adv_engine_expire(b->net->node[i].e, b->net->now);
	assert_false(bed_step(b, i));
	b->net->now = due;
	adv_engine_expire(b->net->node[i].e, due);
	return due - before;
}

/* Linux's siw may overlook the message until more bytes arrive: it is repeated, some times, while
 * the peer sends nothing. Requests of the program in between change nothing. */
static void test_repeated(void **state)
{
	uint64_t wait = 20000000;
	struct region *r[2];
	struct bed *b = open_with(ADV_RDMAP_FIRST_WRITE, r);
	size_t request;

	bed_step(b, 0);
	assert_int_equal(b->pipe[0].head, FIRST_LEN);
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, r[0], 0, 10, r[1], 0);
	bed_step(b, 0);
	request = b->pipe[0].head - FIRST_LEN;
	assert_true(request > FIRST_LEN);
	for (unsigned i = 0; i < REPEATS; i++, wait *= 2) {
		assert_in_range(expire_next(b, 0), wait - 100000, wait);
		bed_step(b, 0);
		assert_int_equal(b->pipe[0].head, request + (2 + i) * FIRST_LEN);
	}
	assert_int_equal(adv_engine_deadline(b->net->node[0].e), ADV_NEVER);
	bed_run(b);
	expect_send(b->end[0], 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(end_state(b->end[1]), IBV_QPS_RTS);
	bed_close(b);
}

/* Anything that the peer sends ends the repetitions. */
static void test_answered(void **state)
{
	struct region *r[2];
	struct bed *b = open_with(ADV_RDMAP_FIRST_WRITE, r);

	bed_step(b, 0);
	expire_next(b, 0);
	bed_step(b, 0);
	end_op(b->end[1], IBV_WR_RDMA_WRITE, 1, r[1], 0, 10, r[0], 0);
	bed_run(b);
	b->net->now += 1000000000;
	adv_engine_expire(b->net->node[0].e, b->net->now);
	assert_false(bed_step(b, 0));
	assert_int_equal(b->pipe[0].head, 2 * FIRST_LEN);
	bed_close(b);
}

/* A connection that has ended meanwhile, and a stream that is freed while its timer runs. */
static void test_ended(void **state)
{
	struct region *r[2];
	struct bed *b = open_with(ADV_RDMAP_FIRST_WRITE, r);

	bed_step(b, 0);
	adv_rdmap_ended(b->stream[0], b->net->now);
	expire_next(b, 0);
	assert_false(bed_step(b, 0));
	assert_int_equal(b->pipe[0].head, FIRST_LEN);
	bed_close(b);

	b = open_with(ADV_RDMAP_FIRST_WRITE, r);
	bed_step(b, 0);
	bed_close(b);
}

/* The initiator has not offered to begin, and both programs wait for the other one: the responder
 * begins. If it has nothing to send, nothing is sent. */
static void test_responder_begins(void **state)
{
	struct region *r[2];
	struct bed *b = open_with(ADV_RDMAP_FIRST_ANY, r);

	region_fill(r[1], 7);
	assert_false(bed_step(b, 1));
	assert_in_range(expire_next(b, 1), 99900000, 100000000);
	assert_false(bed_step(b, 1));
	end_op(b->end[1], IBV_WR_RDMA_WRITE, 1, r[1], 0, 10, r[0], 0);
	bed_run(b);
	expect_send(b->end[1], 0, 1, IBV_WC_SUCCESS);
	expect_pattern(r[0], 0, 10, 7, 0);
	bed_close(b);
}

/* A reply that was lost arrives later: the stream looks again, and begins a whole wait at the first
 * look that finds the reply acknowledged, however long after the last look that is. Later looks
 * change nothing. */
static void test_reply_is_under_way(void **state)
{
	struct region *r[2];
	struct bed *b = open_with(ADV_RDMAP_FIRST_ANY, r);

	end_op(b->end[1], IBV_WR_RDMA_WRITE, 1, r[1], 0, 10, r[0], 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(adv_rdmap_hopes(b->stream[1]));
		adv_rdmap_reply_seen(b->stream[1], b->net->now, false);
		assert_false(bed_step(b, 1));
		assert_in_range(expire_next(b, 1), 19900000, 20000000);
	}
	adv_rdmap_reply_seen(b->stream[1], b->net->now, true);
	assert_false(bed_step(b, 1));
	b->net->now += 50000000; /* the program posts, or receives */
	adv_engine_expire(b->net->node[1].e, b->net->now);
	adv_rdmap_reply_seen(b->stream[1], b->net->now, true);
	assert_false(bed_step(b, 1));
	assert_in_range(expire_next(b, 1), 49900000, 50000000);
	assert_true(adv_rdmap_hopes(b->stream[1]));
	adv_rdmap_reply_seen(b->stream[1], b->net->now, true);
	bed_run(b);
	expect_send(b->end[1], 0, 1, IBV_WC_SUCCESS);
	assert_false(adv_rdmap_hopes(b->stream[1]));
	assert_false(adv_rdmap_hopes(b->stream[0]));
	bed_close(b);
}

/* A reply that is acknowledged at the first look already: the stream waits once. What the peer
 * sends ends each wait. */
static void test_reply_was_acknowledged(void **state)
{
	struct region *r[2];
	struct bed *b = open_with(ADV_RDMAP_FIRST_ANY, r);

	end_op(b->end[1], IBV_WR_RDMA_WRITE, 1, r[1], 0, 10, r[0], 0);
	adv_rdmap_reply_seen(b->stream[1], b->net->now, true);
	assert_false(bed_step(b, 1));
	assert_in_range(expire_next(b, 1), 99900000, 100000000);
	adv_rdmap_reply_seen(b->stream[1], b->net->now, true);
	bed_run(b);
	expect_send(b->end[1], 0, 1, IBV_WC_SUCCESS);
	bed_close(b);

	for (unsigned acknowledged = 0; acknowledged < 2; acknowledged++) {
		b = open_with(ADV_RDMAP_FIRST_ANY, r);
		adv_rdmap_reply_seen(b->stream[1], b->net->now, false);
		if (acknowledged)
			adv_rdmap_reply_seen(b->stream[1], b->net->now, true);
		end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, r[0], 0, 10, r[1], 0);
		bed_run(b);
		assert_false(adv_rdmap_hopes(b->stream[1]));
		end_op(b->end[1], IBV_WR_RDMA_WRITE, 1, r[1], 0, 10, r[0], 0);
		bed_run(b);
		expect_send(b->end[1], 0, 1, IBV_WC_SUCCESS);
		bed_close(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_fpdu),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_answered),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_responder_begins),
		cmocka_unit_test(test_reply_is_under_way),
		cmocka_unit_test(test_reply_was_acknowledged),
	};

	return cmocka_run_group_tests_name("first FPDU", tests, NULL, NULL);
}
