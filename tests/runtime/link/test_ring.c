/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A ring delivers packets in order and unchanged, and detects invalid memory. */
#include "harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/link/ring.h"

#define SIZE ADV_RING_SIZE_MIN
#define BELL 0x3130306162 /* any name */

struct ends {
	struct adv_ring_memory *memory;
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
	struct adv_link_counters counters;
	struct adv_path path;
};

static struct adv_tx_batch batch;

static bool accept_all(void *user, struct adv_rx_meta *meta)
{
	return true;
}

static int make_ends(void **state)
{
	struct ends *e = calloc(1, sizeof(*e));

	e->memory = aligned_alloc(64, adv_ring_memory_len(SIZE));
	memset(e->memory, 0, adv_ring_memory_len(SIZE));
	adv_ring_writer_init(&e->writer, e->memory, SIZE);
	adv_ring_reader_init(&e->reader, e->memory, SIZE, BELL, accept_all, NULL);
	path_between(&e->path, "127.0.0.1", "127.0.0.2", 0xc123);
	*state = e;
	return 0;
}

static int end(void **state)
{
	struct ends *e = *state;

	free(e->memory);
	free(e);
	return 0;
}

static bool put_packet(struct ends *e, uint32_t psn, uint32_t payload_len)
{
	batch.count = batch.iov_used = 0;
	return adv_ring_put(&e->writer, add_packet(&batch, &e->path, 5, psn, payload_len));
}

/* Fills the batch: a packet as long as an ACK, and behind it one with psn + 1. */
static void add_led(struct ends *e, struct adv_path *path, uint32_t psn, uint32_t payload_len)
{
	struct adv_tx_packet *lead;

	batch.count = batch.iov_used = 0;
	lead = add_packet(&batch, path, 5, psn, 0);
	memset(lead->header + ADV_BTH_LEN, (uint8_t)psn, ADV_RING_LEAD_LEN - ADV_BTH_LEN);
	lead->header_len = ADV_RING_LEAD_LEN;
	add_packet(&batch, path, 5, psn + 1, payload_len);
}

static bool put_led(struct ends *e, struct adv_path *path, uint32_t psn, uint32_t payload_len)
{
	add_led(e, path, psn, payload_len);
	assert_true(adv_ring_may_lead(&batch.packet[0], &batch.packet[1]));
	return adv_ring_put_led(&e->writer, &batch.packet[0], &batch.packet[1]);
}

/* Checks a packet that put_led() wrote first. */
static void check_lead(const struct stored *p, uint32_t psn)
{
	struct adv_headers h;

	assert_int_equal(p->len, ADV_RING_LEAD_LEN);
	assert_int_equal(adv_headers_decode(p->data, p->len, &h), ADV_BTH_LEN);
	assert_int_equal(h.bth.psn, psn);
	for (uint32_t i = ADV_BTH_LEN; i < p->len; i++)
		assert_int_equal(p->data[i], (uint8_t)psn);
}

static unsigned get_packets(struct ends *e, unsigned budget, struct store *store)
{
	return adv_ring_get(&e->reader, budget, keep_packet, store, &e->counters);
}

static void test_every_size(void **state)
{
	struct ends *e = *state;

	for (uint32_t size = 0; size <= 4096; size++) {
		struct store *store = fresh_store();

		assert_false(adv_ring_has(&e->reader));
		assert_true(put_packet(e, size, size));
		assert_true(adv_ring_has(&e->reader));
		assert_int_equal(get_packets(e, 8, store), 1);
		check_packet(&store->packet[0], 5, size, size);
		assert_memory_equal(&store->packet[0].meta.sgid, &e->path.sgid, 16);
		assert_memory_equal(&store->packet[0].meta.dgid, &e->path.dgid, 16);
		assert_int_equal(store->packet[0].meta.sport, 0xc123);
	}
	assert_int_equal(e->counters.rx_packets, 4097);
}

static void test_full(void **state)
{
	struct ends *e = *state;
	struct store *store = fresh_store();
	unsigned n = 0, taken;

	while (put_packet(e, n, 1000))
		n++;
	assert_in_range(n, SIZE / 1088 - 2, SIZE / 1088);
	assert_int_equal(get_packets(e, 1, store), 1);
	assert_true(put_packet(e, n++, 1000));
	assert_false(put_packet(e, n, 1000));
	for (taken = 1; taken < n; taken++)
		assert_int_equal(get_packets(e, 1, store), 1);
	assert_int_equal(get_packets(e, 1, store), 0);
	for (unsigned i = 0; i < n; i++)
		check_packet(&store->packet[i], 5, i, 1000);
}

#define LEAD UINT32_MAX /* in place of a size: a packet that put_led() writes first */

static void check_random(const struct stored *p, uint32_t psn, uint32_t size)
{
	if (size == LEAD)
		check_lead(p, psn);
	else
		check_packet(p, 5, psn, size);
}

/* A ring behaves like a plain queue, with all fill levels and every possible rest at the end of the
 * memory. */
static void test_random(void **state)
{
	static uint32_t sizes[64];
	struct ends *e = *state;
	unsigned put_count = 0, got = 0;

	srand(1);
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t size = (uint32_t)rand() % (rand() % 3 ? 200 : 4097);

		if (put_count - got < 63 && rand() % 8 == 0 &&
		    put_led(e, &e->path, put_count, size)) {
			sizes[put_count++ % 64] = LEAD;
			sizes[put_count++ % 64] = size;
		} else if (put_count - got < 64 && rand() % 2 && put_packet(e, put_count, size)) {
			sizes[put_count++ % 64] = size;
		} else if (rand() % 3) {
			struct store *store = fresh_store();
			unsigned n = get_packets(e, 1 + (unsigned)rand() % 4, store);

			for (unsigned j = 0; j < n; j++, got++)
				check_random(&store->packet[j], got, sizes[got % 64]);
		}
	}
	assert_true(got > 50000 && put_count - got <= 64);
}

static void test_meta(void **state)
{
	struct ends *e = *state;
	struct store *store = fresh_store();
	struct adv_path other;

	path_between(&other, "127.0.0.3", "fd00::1", 0xd000);
	other.tclass = 0xff;
	other.hop_limit = 9;
	for (unsigned i = 0; i < 4; i++) {
		struct adv_tx_packet *pkt;

		batch.count = batch.iov_used = 0;
		pkt = add_packet(&batch, i % 2 ? &other : &e->path, 5, i, 10);
		pkt->ecn = ADV_ECN_ECT0;
		assert_true(adv_ring_put(&e->writer, pkt));
	}
	assert_int_equal(get_packets(e, 8, store), 4);
	for (unsigned i = 0; i < 4; i++) {
		const struct adv_path *path = i % 2 ? &other : &e->path;
		const struct adv_rx_meta *meta = &store->packet[i].meta;

		assert_memory_equal(&meta->sgid, &path->sgid, 16);
		assert_memory_equal(&meta->dgid, &path->dgid, 16);
		assert_int_equal(meta->sport, path->sport);
		assert_int_equal(meta->tclass, (path->tclass & 0xfc) | ADV_ECN_ECT0);
		assert_int_equal(meta->hop_limit, path->hop_limit);
	}
}

/* Two packets of one record, with and without new properties of the way. */
static void test_led(void **state)
{
	struct ends *e = *state;
	struct adv_path other;

	path_between(&other, "127.0.0.3", "fd00::1", 0xd000);
	for (uint32_t size = 0; size <= 4096; size++) {
		struct adv_path *path = size & 2 ? &other : &e->path;
		struct store *store = fresh_store();

		assert_true(put_led(e, path, size, size));
		assert_int_equal(get_packets(e, 1, store), 2);
		assert_int_equal(store->count, 2);
		check_lead(&store->packet[0], size);
		check_packet(&store->packet[1], 5, size + 1, size);
		for (unsigned i = 0; i < 2; i++)
			assert_memory_equal(&store->packet[i].meta.sgid, &path->sgid, 16);
	}
	assert_int_equal(e->counters.rx_packets, 2 * 4097);
	assert_int_equal(e->counters.rx_bytes,
			 4097 * (ADV_RING_LEAD_LEN + ADV_BTH_LEN + 2 * ADV_ICRC_LEN) +
				 4 * (1024 * 1025 / 2 * 4));
}

/* A packet as long as an ACK and a short answer take one cache line. */
static void test_led_line(void **state)
{
	struct ends *e = *state;
	uint64_t head;

	assert_true(put_packet(e, 0, 8)); /* with the properties of the way */
	head = e->writer.head;
	assert_true(put_led(e, &e->path, 1, 8));
	assert_int_equal(e->writer.head - head, 64);
}

static void expect_no_lead(struct ends *e)
{
	assert_false(adv_ring_may_lead(&batch.packet[0], &batch.packet[1]));
	add_led(e, &e->path, 1, 8);
	assert_true(adv_ring_may_lead(&batch.packet[0], &batch.packet[1]));
}

/* Packets that need a record of their own. */
static void test_may_lead(void **state)
{
	struct ends *e = *state;
	struct adv_path same = e->path;
	struct adv_tx_packet *lead = &batch.packet[0], *pkt = &batch.packet[1];

	add_led(e, &e->path, 1, 8);
	lead->header_len = ADV_BTH_LEN;
	expect_no_lead(e);
	lead->payload_len = 4;
	expect_no_lead(e);
	lead->pad = 1;
	expect_no_lead(e);
	lead->path = &same;
	expect_no_lead(e);
	lead->ecn = ADV_ECN_ECT0;
	expect_no_lead(e);
	lead->more = 1;
	expect_no_lead(e);
	pkt->more = 1;
	expect_no_lead(e);
	lead->icrc_flip = 1;
	expect_no_lead(e);
	pkt->icrc_flip = 1;
	expect_no_lead(e);
}

static void test_wrong_icrc(void **state)
{
	struct ends *e = *state;
	struct store *store = fresh_store();

	batch.count = batch.iov_used = 0;
	add_packet(&batch, &e->path, 5, 1, 10)->icrc_flip = 1;
	assert_true(adv_ring_put(&e->writer, &batch.packet[0]));
	assert_true(put_packet(e, 2, 10));
	assert_int_equal(get_packets(e, 8, store), 2);
	assert_int_equal(store->count, 1);
	assert_int_equal(e->counters.rx_icrc_errors, 1);
	check_packet(&store->packet[0], 5, 2, 10);
}

static void test_sleep(void **state)
{
	struct ends *e = *state;
	adv_bell_name bell = 0;

	assert_false(adv_ring_must_wake(&e->writer, &bell));
	adv_ring_sleep(&e->reader, true);
	assert_false(adv_ring_has(&e->reader));
	assert_true(put_packet(e, 1, 1));
	assert_true(adv_ring_must_wake(&e->writer, &bell));
	assert_int_equal(bell, BELL);
	assert_false(adv_ring_must_wake(&e->writer, &bell));
	adv_ring_sleep(&e->reader, true);
	adv_ring_sleep(&e->reader, false);
	assert_false(adv_ring_must_wake(&e->writer, &bell));
}

/* ---- a writer or a reader that violates the format ---- */

static void write_word(struct ends *e, uint32_t at, uint32_t word)
{
	memcpy(e->memory->bytes + at, &word, sizeof(word));
}

static void expect_broken(struct ends *e)
{
	struct store *store = fresh_store();
	unsigned n = get_packets(e, 8, store);

	assert_true(n <= 2);
	assert_int_equal(store->count, 0);
	assert_true(e->reader.broken);
	assert_false(adv_ring_has(&e->reader));
	assert_int_equal(get_packets(e, 8, store), 0);
	assert_int_equal(e->counters.rx_malformed, 1);
}

static void test_word_too_long(void **state)
{
	write_word(*state, 0, 0x80001fffu);
	expect_broken(*state);
}

static void test_word_too_short(void **state)
{
	write_word(*state, 0, 0x80000008u);
	expect_broken(*state);
}

static void test_word_odd(void **state)
{
	write_word(*state, 0, 0x8000000du);
	expect_broken(*state);
}

static void test_beyond_the_end(void **state)
{
	struct ends *e = *state;

	e->reader.tail = SIZE - 64;
	write_word(e, SIZE - 64, 0x80000040u);
	expect_broken(e);
}

/* A record that ends with the memory, if nothing precedes its packet. */
static void test_led_beyond_the_end(void **state)
{
	struct ends *e = *state;

	e->reader.tail = SIZE - 64;
	write_word(e, SIZE - 64, 0x90000030u);
	expect_broken(e);
}

/* No packet precedes one with its payload away, or one with a wrong ICRC. */
static void test_led_away(void **state)
{
	write_word(*state, 0, 0x91000030u);
	expect_broken(*state);
}

static void test_led_wrong_icrc(void **state)
{
	write_word(*state, 0, 0x90020010u);
	expect_broken(*state);
}

static bool accept_none(void *user, struct adv_rx_meta *meta)
{
	return false;
}

static void test_foreign_address(void **state)
{
	struct ends *e = *state;

	e->reader.check = accept_none;
	assert_true(put_packet(e, 1, 1));
	expect_broken(e);
}

/* In a full ring whose records never end, each call ends because of its budget. */
static void test_endless_back_to_zero(void **state)
{
	struct ends *e = *state;
	struct store *store = fresh_store();

	write_word(e, 0, 0xc0000000u);
	assert_int_equal(get_packets(e, 8, store), 0);
	assert_true(e->reader.broken);
}

/* A word that skips follows another one: without an end, the reader would never return. */
static void test_skips_twice(void **state)
{
	write_word(*state, 0, 0xc0000001u);
	write_word(*state, 64, 0xc0000001u);
	expect_broken(*state);
}

static void test_skips_beyond_the_end(void **state)
{
	write_word(*state, 0, 0xc0000001u + SIZE / 64);
	expect_broken(*state);
}

static void test_nonsense_tail(void **state)
{
	struct ends *e = *state;

	while (put_packet(e, 0, 4000))
		;
	e->memory->tail = e->writer.head + 64;
	assert_false(put_packet(e, 0, 4000));
	e->memory->tail = UINT64_MAX;
	assert_false(put_packet(e, 0, 4000));
}

/* ---- two threads ---- */

#define THREAD_PACKETS 200000u

static void *write_all(void *arg)
{
	static struct adv_tx_batch own;
	struct ends *e = arg;

	for (uint32_t i = 0; i < THREAD_PACKETS; i++) {
		own.count = own.iov_used = 0;
		add_packet(&own, &e->path, 5, i, i % 300);
		while (!adv_ring_put(&e->writer, &own.packet[0]))
			sched_yield();
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct ends *e = *state;
	uint32_t next = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_all, e), 0);
	while (next < THREAD_PACKETS) {
		struct store *store = fresh_store();

		if (get_packets(e, 64, store) == 0)
			sched_yield();
		for (unsigned i = 0; i < store->count; i++, next++)
			check_packet(&store->packet[i], 5, next & ADV_PSN_MASK, next % 300);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_ends, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_every_size),
		T(test_full),
		T(test_random),
		T(test_meta),
		T(test_wrong_icrc),
		T(test_sleep),
		T(test_word_too_long),
		T(test_word_too_short),
		T(test_word_odd),
		T(test_beyond_the_end),
		T(test_foreign_address),
		T(test_endless_back_to_zero),
		T(test_skips_twice),
		T(test_skips_beyond_the_end),
		T(test_nonsense_tail),
		T(test_threads),
		T(test_led),
		T(test_led_line),
		T(test_may_lead),
		T(test_led_beyond_the_end),
		T(test_led_away),
		T(test_led_wrong_icrc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
