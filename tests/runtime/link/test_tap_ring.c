/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring of a capture, with a writer and a reader that do what a program or a tool should not.
 * test_tap.c has the records of real packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "runtime/link/tap_ring.h"

#define SIZE   ADV_TAP_SIZE_MIN
#define ALL    UINT32_MAX
#define HEADER 12 /* bytes of headers of each packet: only a BTH */

static struct adv_tap_memory *memory;
static struct adv_tap_writer writer;
static struct adv_tap_reader reader;
static struct adv_tap_record record;
static uint8_t data[ADV_TAP_DATA_MAX];
static uint8_t payload[4096];

static int open_ring(void **state)
{
	size_t len = (adv_tap_memory_len(SIZE) + 63) & ~(size_t)63;

	memory = aligned_alloc(64, len);
	assert_non_null(memory);
	memset(memory, 0, len);
	adv_tap_writer_init(&writer, memory, SIZE, ALL);
	adv_tap_reader_init(&reader, memory, SIZE);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i / 253 + i);
	return 0;
}

static int close_ring(void **state)
{
	free(memory);
	return 0;
}

/* Writes a packet with this much payload. True: the ring had room for it. */
static bool put(uint32_t len)
{
	static const uint8_t header[HEADER] = {4};
	const struct iovec iov = {payload, len};
	const struct adv_tap_packet p = {
		.record = {.payload_len = len, .header_len = HEADER},
		.header = header,
		.iov = &iov,
		.iov_count = 1,
	};
	uint64_t dropped = memory->dropped;

	adv_tap_put(&writer, &p);
	return memory->dropped == dropped;
}

static bool next(void)
{
	if (!adv_tap_peek(&reader, &record))
		return false;
	adv_tap_take(&reader, &record, data);
	return true;
}

/* ---- the writer ---- */

/* A new record takes exactly the room that the reader has freed, and the unused rest behind the
 * last record is no room. */
static void no_unread_record_is_overwritten(void **state)
{
	unsigned longer = 0, shorter = 0;

	assert_true(put(800));
	while (put(4096))
		longer++;
	while (put(808))
		shorter++;
	assert_true(next());
	assert_int_equal(record.kept, 800);
	assert_false(put(808));
	assert_false(put(808)); /* the writer knows the tail now */
	assert_true(put(800));
	for (unsigned i = 0; i < longer + shorter; i++) {
		assert_true(next());
		assert_int_equal(record.kept, i < longer ? 4096 : 808);
		assert_memory_equal(data + HEADER, payload, record.kept);
	}
	assert_true(next());
	assert_int_equal(record.kept, 800);
	assert_false(next());
	assert_false(reader.broken);
}

static void the_tail_does_not_go_back(void **state)
{
	uint64_t tail;

	while (put(4096))
		;
	while (next())
		;
	while (put(4096))
		;
	tail = reader.tail;
	atomic_store(&memory->tail, tail / 2);
	for (unsigned i = 0; i < 1000; i++)
		assert_false(put(4096));
	assert_true(memory->head - tail <= SIZE);
}

/* ---- the reader ---- */

/* Writes a record whose length fits its other fields, as a hostile program may. */
static void forge(const struct adv_tap_record *wanted)
{
	struct adv_tap_record r = *wanted;

	r.length = (uint32_t)(sizeof(r) + r.header_len + r.kept + 7) & ~7u;
	memcpy(memory->bytes, &r, sizeof(r));
	atomic_store(&memory->head, r.length);
	assert_false(next());
	assert_true(reader.broken);
}

/* Fields that fit each other, but cannot be. */
static void fields_are_checked_together(void **state)
{
	static const struct adv_tap_record wrong[] = {
		{.header_len = HEADER, .payload_len = 8, .piece = 8, .kept = 16},
		{.header_len = HEADER, .payload_len = 8, .piece = ALL, .kept = 2 * ADV_LONG_MAX},
		{.header_len = ADV_HEADERS_MAX + 1},
		{.header_len = HEADER, .payload_len = 100, .more = 4},
		{.header_len = HEADER, .pad = 4},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(wrong); i++) {
		close_ring(NULL);
		open_ring(NULL);
		forge(&wrong[i]);
	}
}

static void a_head_beyond_the_ring(void **state)
{
	assert_true(put(100));
	atomic_fetch_add(&memory->head, SIZE);
	assert_false(next());
	assert_true(reader.broken);
}

/* The whole ring is marked as unused. */
static void a_mark_at_the_start(void **state)
{
	memset(memory->bytes, 0xff, 4);
	atomic_store(&memory->head, SIZE);
	assert_false(next());
	assert_true(reader.broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_unread_record_is_overwritten, open_ring,
						close_ring),
		cmocka_unit_test_setup_teardown(the_tail_does_not_go_back, open_ring, close_ring),
		cmocka_unit_test_setup_teardown(fields_are_checked_together, open_ring, close_ring),
		cmocka_unit_test_setup_teardown(a_head_beyond_the_ring, open_ring, close_ring),
		cmocka_unit_test_setup_teardown(a_mark_at_the_start, open_ring, close_ring),
	};

	return cmocka_run_group_tests_name("tap_ring", tests, NULL, NULL);
}
