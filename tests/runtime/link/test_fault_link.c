/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fault wrapper over a link that records its packets, and over real sockets. The tests check
 * the packets that pass, their time and their order, also if the inner link is full.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "nic/fault/environment.h"
#include "runtime/link/fault_link.h"
#include "../../common/netns.h"

#define MS 1000000ull

/* ---- an inner link ---- */

struct sent {
	uint32_t psn;
	uint32_t len;
	uint32_t icrc_flip;
	enum adv_ecn ecn;
};

static struct inner {
	struct adv_link link;
	bool full;
	unsigned count;
	struct sent sent[1024];
	const struct adv_rx_packet *in[64];
	unsigned in_count;
	bool destroyed;
} inner;

static uint64_t now = 1000 * MS;
static struct adv_tx_batch batch;
static struct adv_path path;
static uint8_t payload[4096];
static struct adv_link *link_under_test;

static uint64_t clock_now(void)
{
	return now;
}

static bool inner_send(struct adv_link *l, struct adv_tx_batch *b)
{
	assert_false(inner.full);
	for (unsigned i = 0; i < b->count; i++) {
		const struct adv_tx_packet *p = &b->packet[i];
		uint8_t flat[8192];
		uint32_t len = p->header_len;

		memcpy(flat, p->header, p->header_len);
		for (unsigned k = 0; k < p->iov_count; k++) {
			memcpy(flat + len, p->iov[k].iov_base, p->iov[k].iov_len);
			len += (uint32_t)p->iov[k].iov_len;
		}
		assert_int_equal(len, p->header_len + p->payload_len);
		inner.sent[inner.count++ % 1024] =
			(struct sent){(uint32_t)flat[9] << 16 | (uint32_t)flat[10] << 8 | flat[11],
				      len + p->pad, p->icrc_flip, p->ecn};
	}
	return !inner.full;
}

static bool inner_flush(struct adv_link *l)
{
	return !inner.full;
}

static unsigned inner_receive(struct adv_link *l, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	unsigned n = 0;

	while (n < inner.in_count && !l->enough)
		fn(user, inner.in[n++]);
	inner.in_count -= n;
	memmove(inner.in, inner.in + n, inner.in_count * sizeof(inner.in[0]));
	return n;
}

static void inner_destroy(struct adv_link *l)
{
	inner.destroyed = true;
}

static const struct adv_link_ops inner_ops = {.send = inner_send,
					      .flush = inner_flush,
					      .receive = inner_receive,
					      .destroy = inner_destroy};

static struct adv_fault_plan plan_of(const char *text)
{
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	if (!adv_fault_plan_parse(&plan, text, strlen(text), &error))
		fail_msg("%s: %s", text, error.text);
	return plan;
}

static void open_over(const char *text)
{
	struct adv_fault_plan plan = plan_of(text);

	memset(&inner, 0, sizeof(inner));
	inner.link.ops = &inner_ops;
	inner.link.receive_fd = 5;
	inner.link.send_fd = -1;
	inner.link.rx_window = 77;
	link_under_test = adv_fault_link_create(&inner.link, clock_now, &plan);
	assert_non_null(link_under_test);
	assert_int_equal(link_under_test->receive_fd, 5);
	assert_int_equal(link_under_test->rx_window, 77);
	assert_int_equal(link_under_test->deadline, 0);
}

static void close_over(void)
{
	link_under_test->ops->destroy(link_under_test);
	assert_true(inner.destroyed);
}

/* Sends packets with consecutive PSNs from `first` on, in one batch. */
static bool send_some(uint32_t first, unsigned n)
{
	batch.count = 0;
	batch.iov_used = 0;
	for (unsigned i = 0; i < n; i++) {
		struct adv_tx_packet *pkt = &batch.packet[batch.count++];
		struct adv_headers h = {
			.bth = {.opcode = ADV_OP_SEND_ONLY, .psn = first + i, .pad = 1}};

		*pkt = (struct adv_tx_packet){.path = &path,
					      .iov = &batch.iov[batch.iov_used],
					      .iov_count = 1,
					      .pad = 1,
					      .payload_len = 7,
					      .ecn = ADV_ECN_ECT0};
		batch.iov[batch.iov_used++] = (struct iovec){payload, 7};
		pkt->header_len = (uint8_t)adv_headers_encode(&h, pkt->header);
	}
	return link_under_test->ops->send(link_under_test, &batch);
}

static void expect_psns(unsigned n, const uint32_t *psns)
{
	assert_int_equal(inner.count, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(inner.sent[i].psn, psns[i]);
	inner.count = 0;
}

#define EXPECT(...)                                                                                \
	do {                                                                                       \
		static const uint32_t psns[] = {__VA_ARGS__};                                      \
		expect_psns(ADV_ARRAY_SIZE(psns), psns);                                           \
	} while (0)

static uint32_t got[64];
static unsigned got_count;
static uint8_t got_tclass;

static void record_packet(void *user, const struct adv_rx_packet *pkt)
{
	got_tclass = pkt->meta->tclass;
	got[got_count++] = pkt->data[11];
}

static unsigned receive_packets(void)
{
	return link_under_test->ops->receive(link_under_test, 64, record_packet, NULL);
}

/* ---- outgoing ---- */

static void test_drop_and_duplicate(void **state)
{
	open_over("drop psn=2; duplicate psn=4 copies=2; duplicate psn=5 after=1ms");
	assert_true(send_some(1, 6));
	EXPECT(1, 3, 4, 4, 4, 5, 6);
	assert_int_equal(link_under_test->deadline, now + MS);
	receive_packets();
	assert_int_equal(inner.count, 0);
	now += MS;
	receive_packets();
	EXPECT(5);
	assert_int_equal(link_under_test->deadline, 0);
	assert_int_equal(adv_fault_link_state(link_under_test)->counters.hits[ADV_FAULT_DROP], 1);
	assert_int_equal(adv_fault_link_state(link_under_test)->counters.hits[ADV_FAULT_DUPLICATE],
			 2);
	close_over();
}

static void test_reorder(void **state)
{
	open_over("reorder psn=2 by=2; reorder psn=6 by=3 hold=4ms");
	assert_true(send_some(1, 7));
	EXPECT(1, 3, 4, 2, 5, 7);
	assert_int_equal(link_under_test->deadline, now + 4 * MS);
	now += 4 * MS;
	assert_true(send_some(8, 1));
	EXPECT(6, 8);
	close_over();
}

static void test_delay(void **state)
{
	open_over("delay=3ms psn=2; delay=1ms psn=3");
	assert_true(send_some(1, 4));
	EXPECT(1, 4);
	now += MS;
	assert_true(link_under_test->ops->flush(link_under_test));
	EXPECT(3);
	memset(payload, 0xff, sizeof(payload));
	now += 2 * MS;
	receive_packets();
	EXPECT(2);
	close_over();
}

static void test_corrupt_and_mark(void **state)
{
	open_over("mark psn=1; corrupt bits=3 psn=2; corrupt bits=3 icrc=right nth=1 psn=3-100;"
		  "corrupt length=+8 psn=4; corrupt length=-100 psn=5; mark psn=4");
	assert_true(send_some(1, 5));
	assert_int_equal(inner.count, 5);
	assert_int_equal(inner.sent[0].ecn, ADV_ECN_CE);
	assert_int_equal(inner.sent[0].icrc_flip, 0);
	assert_int_not_equal(inner.sent[1].icrc_flip, 0);
	assert_int_equal(inner.sent[1].ecn, ADV_ECN_ECT0);
	assert_int_equal(inner.sent[2].icrc_flip, 0);
	assert_int_equal(inner.sent[3].len, 12 + 8 + 8);
	assert_int_equal(inner.sent[3].ecn, ADV_ECN_CE);
	assert_int_equal(inner.sent[4].len, 12);
	close_over();
}

/* Due packets are sent before new packets. */
static void test_due_first(void **state)
{
	open_over("delay=1ms psn=2");
	assert_true(send_some(1, 3));
	EXPECT(1, 3);
	now += MS;
	assert_true(send_some(4, 1));
	EXPECT(2, 4);
	close_over();
}

/* Packets beyond the limit of kept packets are lost and counted. */
static void test_too_many_wait(void **state)
{
	struct adv_fault_plan plan = plan_of("delay=1s");

	open_over("delay=1s");
	for (unsigned i = 0; i < 16384 / 64; i++)
		assert_true(send_some(64 * i, 64));
	assert_int_equal(link_under_test->counters.tx_dropped, 0);
	assert_true(send_some(0, 3));
	assert_int_equal(link_under_test->counters.tx_dropped, 3);
	assert_int_equal(adv_fault_link_state(link_under_test)->counters.lost, 3);
	/* The counter of the plan starts again; the counter of the link continues. */
	adv_fault_link_set_plan(link_under_test, &plan);
	assert_true(send_some(0, 2));
	assert_int_equal(adv_fault_link_state(link_under_test)->counters.lost, 2);
	assert_int_equal(link_under_test->counters.tx_dropped, 5);
	assert_ptr_equal(adv_fault_link_unwrap(link_under_test, NULL, NULL), &inner.link);
	assert_int_equal(inner.count, 16384);
	assert_int_equal(inner.link.counters.tx_dropped, 5);
}

/* Accepts a batch; the inner link is then full. */
static bool full_after_one(struct adv_link *l, struct adv_tx_batch *b)
{
	inner_send(l, b);
	inner.full = true;
	return false;
}

static const struct adv_link_ops filling_ops = {.send = full_after_one,
						.flush = inner_flush,
						.receive = inner_receive,
						.destroy = inner_destroy};

static void test_becomes_full(void **state)
{
	open_over("duplicate=100%");
	inner.link.ops = &filling_ops;
	/* 64 packets and 64 copies are two batches: the second does not fit. */
	assert_false(send_some(0, 64));
	assert_int_equal(inner.count, 64);
	assert_int_equal(link_under_test->deadline, now + MS);
	assert_false(link_under_test->ops->flush(link_under_test));
	inner.count = 0;
	inner.full = false;
	inner.link.ops = &inner_ops;
	assert_true(link_under_test->ops->flush(link_under_test));
	assert_int_equal(inner.count, 64);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(inner.sent[i].psn, 32 + i / 2);
	close_over();
}

/* The inner link accepts the kept packets but is then full. The wrapper tries it again until it has
 * room. */
static void test_full_on_release(void **state)
{
	open_over("delay=1ms");
	assert_true(send_some(1, 3));
	now += MS;
	inner.link.ops = &filling_ops;
	receive_packets();
	EXPECT(1, 2, 3);
	assert_int_equal(link_under_test->deadline, now + MS);
	now += MS;
	receive_packets();
	assert_int_equal(link_under_test->deadline, now + MS);
	inner.full = false;
	now += MS;
	receive_packets();
	assert_int_equal(link_under_test->deadline, 0);
	close_over();
}

static void test_set_plan(void **state)
{
	struct adv_fault_plan plan = plan_of("drop");

	open_over("delay=1ms");
	assert_true(send_some(1, 1));
	adv_fault_link_set_plan(link_under_test, &plan);
	assert_true(send_some(2, 2));
	assert_int_equal(inner.count, 0);
	now += MS;
	receive_packets();
	EXPECT(1);
	close_over();
}

/* ---- incoming ---- */

static struct adv_rx_meta meta = {.tclass = ADV_ECN_ECT0};
static uint8_t bytes[8][16];
static struct adv_rx_packet incoming[8];

static void arrive(unsigned n)
{
	memset(bytes, 0, sizeof(bytes));
	for (unsigned i = 0; i < n; i++) {
		bytes[i][0] = ADV_OP_SEND_ONLY;
		bytes[i][11] = (uint8_t)i;
		incoming[i] = (struct adv_rx_packet){.meta = &meta, .data = bytes[i], .len = 16};
		inner.in[i] = &incoming[i];
	}
	inner.in_count = n;
	got_count = 0;
}

static void test_in(void **state)
{
	open_over("rx drop psn=0; rx duplicate psn=1; rx reorder psn=2 by=1; rx delay=1ms psn=4;"
		  "rx corrupt psn=5; rx mark psn=7");
	arrive(8);
	assert_int_equal(receive_packets(), 8);
	assert_int_equal(got_count, 6);
	assert_int_equal(got[0], 1);
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 3);
	assert_int_equal(got[3], 2);
	assert_int_equal(got[4], 6);
	assert_int_equal(got[5], 7);
	assert_int_equal(got_tclass, ADV_ECN_CE);
	assert_int_equal(link_under_test->counters.rx_icrc_errors, 1);
	assert_int_equal(link_under_test->deadline, now + MS);
	memset(bytes, 0xff, sizeof(bytes));
	now += MS;
	assert_int_equal(receive_packets(), 1);
	assert_int_equal(got_count, 7);
	assert_int_equal(got[6], 4);
	close_over();
}

static void test_end(void **state)
{
	open_over("delay=1s");
	arrive(4);
	receive_packets();
	assert_true(send_some(1, 9));
	assert_int_equal(inner.count + got_count, 0);
	close_over();
	EXPECT(1, 2, 3, 4, 5, 6, 7, 8, 9);
	assert_int_equal(got_count, 0);
}

/* adv_fault_link_send_kept() sends kept packets before their time. Later packets follow the plan.
 */
static void test_send_kept(void **state)
{
	open_over("delay=1s");
	arrive(1);
	receive_packets();
	assert_true(send_some(1, 3));
	adv_fault_link_send_kept(link_under_test);
	EXPECT(1, 2, 3);
	assert_int_equal(got_count, 0);
	assert_int_equal(link_under_test->deadline, now + 1000 * MS);
	assert_true(send_some(4, 1));
	assert_int_equal(inner.count, 0);
	close_over();
	EXPECT(4);
}

/* If a full link is wrapped, it gets no packets before it has room. */
static void test_wrap_full(void **state)
{
	struct adv_fault_plan plan = plan_of("mark");

	memset(&inner, 0, sizeof(inner));
	inner.link.ops = &inner_ops;
	inner.full = true;
	link_under_test = adv_fault_link_create(&inner.link, clock_now, &plan);
	assert_false(send_some(1, 3));
	assert_int_equal(inner.count, 0);
	assert_false(link_under_test->ops->flush(link_under_test));
	inner.full = false;
	assert_true(link_under_test->ops->flush(link_under_test));
	EXPECT(1, 2, 3);
	close_over();
}

/* After wrapping, the inner link does not obey an `enough` that the owner set earlier. */
static void test_wrap_enough(void **state)
{
	struct adv_fault_plan plan = plan_of("drop=0%");

	memset(&inner, 0, sizeof(inner));
	inner.link.ops = &inner_ops;
	inner.link.enough = true;
	link_under_test = adv_fault_link_create(&inner.link, clock_now, &plan);
	arrive(3);
	assert_int_equal(receive_packets(), 3);
	inner.link.enough = true;
	assert_ptr_equal(adv_fault_link_unwrap(link_under_test, record_packet, NULL), &inner.link);
	assert_false(inner.link.enough);
}

static void take_two(void *user, const struct adv_rx_packet *pkt)
{
	record_packet(user, pkt);
	link_under_test->enough = got_count >= 2;
}

/* If the owner sets `enough` on the wrapper, the inner link stops. */
static void test_enough(void **state)
{
	open_over("drop psn=0; delay=1ms psn=1");
	arrive(6);
	assert_int_equal(link_under_test->ops->receive(link_under_test, 64, take_two, NULL), 4);
	assert_int_equal(got_count, 2);
	assert_int_equal(got[1], 3);
	link_under_test->enough = false;
	now += MS;
	assert_int_equal(receive_packets(), 3);
	assert_int_equal(got_count, 5);
	assert_int_equal(got[2], 1);
	assert_int_equal(got[4], 5);
	close_over();
}

/* When the link is unwrapped, kept packets of both directions continue. */
static void test_unwrap(void **state)
{
	open_over("delay=1s; corrupt rx psn=3");
	arrive(4);
	receive_packets();
	assert_true(send_some(1, 3));
	assert_int_equal(inner.count + got_count, 0);
	assert_ptr_equal(adv_fault_link_unwrap(link_under_test, record_packet, NULL), &inner.link);
	EXPECT(1, 2, 3);
	assert_int_equal(got_count, 3);
	assert_int_equal(inner.link.counters.rx_icrc_errors, 1);
	assert_false(inner.destroyed);
}

/* When a full link is unwrapped, kept packets for which it has no room are lost. */
static void test_unwrap_full(void **state)
{
	open_over("delay=1s tx");
	assert_true(send_some(0, 64));
	assert_true(send_some(64, 64));
	inner.link.ops = &filling_ops;
	assert_ptr_equal(adv_fault_link_unwrap(link_under_test, record_packet, NULL), &inner.link);
	assert_int_equal(inner.count, 64);
	assert_int_equal(inner.link.counters.tx_dropped, 64);
	assert_false(inner.destroyed);
}

/* The deadline covers changes of the port, also if the owner sends meanwhile. */
static void test_port_deadline(void **state)
{
	struct adv_fault_plan plan = plan_of("port-down=2ms from=3ms");
	uint64_t start = now;

	open_over("mark");
	adv_fault_link_set_plan(link_under_test, &plan);
	assert_int_equal(link_under_test->deadline, start + 3 * MS);
	now = start + 4 * MS;
	assert_true(send_some(1, 2));
	assert_int_equal(inner.count, 0);
	assert_int_equal(link_under_test->deadline, start + 3 * MS);
	receive_packets();
	assert_true(adv_fault_port_is_down(adv_fault_link_state(link_under_test), now));
	assert_int_equal(link_under_test->deadline, start + 5 * MS);
	now = start + 5 * MS;
	receive_packets();
	assert_int_equal(link_under_test->deadline, 0);
	assert_true(send_some(1, 2));
	EXPECT(1, 2);
	close_over();
}

static void test_of_work(void **state)
{
	struct adv_fault_work post = {ADV_FAULT_POST, ADV_FAULT_SEND_QUEUE, ADV_OP_SEND_ONLY, 7};

	open_over("post=EIO from=1ms times=1");
	assert_int_equal(adv_fault_link_decide_work(link_under_test, &post), 0);
	now += MS;
	assert_int_equal(adv_fault_link_decide_work(link_under_test, &post), EIO);
	assert_int_equal(adv_fault_link_decide_work(link_under_test, &post), 0);
	assert_int_equal(adv_fault_link_state(link_under_test)->counters.hits[ADV_FAULT_POST], 1);
	close_over();
}

/* A function decides in place of a plan, and sees whole packets of both directions. */
static bool drop_long(void *user, uint64_t at, const struct adv_fault_packet *p,
		      const struct adv_tx_packet *out, const struct adv_rx_packet *in,
		      struct adv_fault_verdict *v)
{
	memset(v, 0, sizeof(*v));
	assert_ptr_equal(user, &inner);
	assert_int_equal(at, now);
	assert_true(p->tx ? out && !in : in && !out);
	v->drop = p->psn > 2;
	return v->drop;
}

static void test_asking(void **state)
{
	memset(&inner, 0, sizeof(inner));
	inner.link.ops = &inner_ops;
	link_under_test = adv_fault_link_create_with(&inner.link, clock_now, drop_long, &inner);
	assert_int_equal(link_under_test->deadline, 0);
	assert_true(send_some(1, 9));
	EXPECT(1, 2);
	arrive(8);
	assert_int_equal(receive_packets(), 8);
	assert_int_equal(got_count, 3);
	close_over();
}

static void test_environment(void **state)
{
	char why[256] = "";
	struct adv_link *l;

	memset(&inner, 0, sizeof(inner));
	inner.link.ops = &inner_ops;
	unsetenv(ADV_FAULT_VARIABLE);
	l = adv_fault_link_from_environment(&inner.link, clock_now, why, sizeof(why));
	assert_ptr_equal(l, &inner.link);
	setenv(ADV_FAULT_VARIABLE, "", 1);
	l = adv_fault_link_from_environment(&inner.link, clock_now, why, sizeof(why));
	assert_ptr_equal(l, &inner.link);
	setenv(ADV_FAULT_VARIABLE, "drop=1% foo", 1);
	assert_null(adv_fault_link_from_environment(&inner.link, clock_now, why, sizeof(why)));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why, "byte 9: unknown word 'foo'"));
	assert_false(inner.destroyed);
	setenv(ADV_FAULT_VARIABLE, "drop", 1);
	link_under_test = adv_fault_link_from_environment(&inner.link, clock_now, why, sizeof(why));
	assert_non_null(link_under_test);
	assert_true(send_some(1, 3));
	assert_int_equal(inner.count, 0);
	close_over();
	unsetenv(ADV_FAULT_VARIABLE);
}

/* Over sockets: the receiver's ICRC check detects corrupted packets. */
static void test_udp(void **state)
{
	struct adv_fault_plan plan = plan_of("seed=5 corrupt every=2 bits=1 psn=0-9;"
					     "drop psn=10; duplicate psn=11");
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("127.0.0.2"), *f;
	struct store *store = fresh_store();
	struct adv_path p;

	f = adv_fault_link_create(a, clock_now, &plan);
	assert_non_null(f);
	path_between(&p, "127.0.0.1", "127.0.0.2", 0xc123);
	batch.count = 0;
	batch.iov_used = 0;
	for (uint32_t i = 0; i < 13; i++)
		add_packet(&batch, &p, 7, i, 256);
	assert_true(f->ops->send(f, &batch));
	receive_counted(b, store, 13);
	assert_int_equal(store->count, 8);
	assert_int_equal(b->counters.rx_icrc_errors + b->counters.rx_misdelivered, 5);
	for (unsigned i = 0; i < 5; i++)
		check_packet(&store->packet[i], 7, 2 * i, 256);
	check_packet(&store->packet[5], 7, 11, 256);
	check_packet(&store->packet[6], 7, 11, 256);
	check_packet(&store->packet[7], 7, 12, 256);
	close_link(f);
	close_link(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop_and_duplicate),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_corrupt_and_mark),
		cmocka_unit_test(test_due_first),
		cmocka_unit_test(test_too_many_wait),
		cmocka_unit_test(test_becomes_full),
		cmocka_unit_test(test_full_on_release),
		cmocka_unit_test(test_send_kept),
		cmocka_unit_test(test_set_plan),
		cmocka_unit_test(test_in),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_wrap_full),
		cmocka_unit_test(test_wrap_enough),
		cmocka_unit_test(test_enough),
		cmocka_unit_test(test_unwrap),
		cmocka_unit_test(test_unwrap_full),
		cmocka_unit_test(test_port_deadline),
		cmocka_unit_test(test_of_work),
		cmocka_unit_test(test_asking),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_udp),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
