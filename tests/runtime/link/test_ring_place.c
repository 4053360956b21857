/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the writer of a ring puts its records: at the start of the memory if the reader keeps up,
 * and everywhere if it does not. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/link/ring.h"

#define SIZE	(1u << 20)
#define PAYLOAD 1000u
#define RECORD	1024u	   /* bytes of a record of PAYLOAD, without the properties of the way */
#define HOT	(SIZE / 8) /* the writer stays below this offset */
#define UNSHOWN                                                                                    \
	40 /* packets read that the writer does not know of yet, and room that is too short */

static struct adv_ring_memory *memory;
static struct adv_ring_writer writer;
static struct adv_ring_reader reader;
static struct adv_link_counters counters;
static struct adv_path path;
static uint32_t sent, received; /* packets; the PSN counts them */

static bool accept_all(void *user, struct adv_rx_meta *meta)
{
	return true;
}

static int begin(void **state)
{
	memory = aligned_alloc(64, adv_ring_memory_len(SIZE));
	memset(memory, 0, adv_ring_memory_len(SIZE));
	adv_ring_writer_init(&writer, memory, SIZE);
	adv_ring_reader_init(&reader, memory, SIZE, 1, accept_all, NULL);
	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc123);
	sent = received = 0;
	return 0;
}

static int end(void **state)
{
	free(memory);
	return 0;
}

static bool put_packet(void)
{
	static struct adv_tx_batch batch;

	batch.count = batch.iov_used = 0;
	if (!adv_ring_put(&writer, add_packet(&batch, &path, 5, sent, PAYLOAD)))
		return false;
	sent++;
	return true;
}

/* Receives at most `most` packets, in their order. */
static void get_packets(unsigned most)
{
	while (most--) {
		struct store *store = fresh_store();

		if (!adv_ring_get(&reader, 1, keep_packet, store, &counters))
			break;
		check_packet(&store->packet[0], 5, received++, PAYLOAD);
	}
	assert_false(reader.broken);
}

/* Returns the bytes from the start of the memory up to the last one that was written. */
static uint32_t touched(void)
{
	uint32_t n = SIZE;

	while (n && memory->bytes[n - 1] == 0)
		n--;
	return n;
}

/* The reader stays `behind` packets behind the writer. */
static void stream(unsigned packets, unsigned behind)
{
	while (packets--) {
		assert_true(put_packet());
		if (sent - received > behind)
			get_packets(1);
	}
}

static void test_keeps_up(void **state)
{
	for (unsigned behind = 0; behind < 8; behind++)
		stream(3000, behind);
	assert_true(touched() > SIZE / 32 && touched() < HOT);
}

/* The reader falls behind at any time: the ring holds as many packets as if it had been empty. */
static void test_falls_behind(void **state)
{
	for (unsigned i = 0; i < 150; i++) {
		stream(137 + i, i % 50);
		while (put_packet())
			;
		assert_true(sent - received > SIZE / RECORD - UNSHOWN);
		get_packets(sent - received - i % 3);
	}
}

/* A reader that is slow for some time, and reads what the writer has left in the meantime. */
static void test_any_distance(void **state)
{
	srand(1);
	for (unsigned i = 0; i < 5000; i++) {
		for (unsigned n = (unsigned)rand() % 400; n && put_packet(); n--)
			;
		get_packets((unsigned)rand() % (i % 1000 < 500 ? 300 : 500));
	}
	assert_true(received > 250000);
}

static void test_returns(void **state)
{
	while (put_packet())
		;
	get_packets(sent);
	stream(1000, 2);
	memset(memory->bytes + HOT, 0, SIZE - HOT);
	stream(5000, 2);
	assert_true(touched() <= HOT);
}

static void drop_packet(void *user, const struct adv_rx_packet *pkt)
{
}

/* The writer remembers no more than ADV_RING_AWAY packets whose payload is away, although the ring
 * has room. */
static void test_away(void **state)
{
	static const struct adv_pull_peer peer;
	static uint8_t payload[ADV_RING_AWAY_MIN];
	struct iovec iov = {payload, sizeof(payload)};
	struct adv_tx_packet pkt = {.path = &path,
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = sizeof(payload),
				    .more = 3};

	adv_ring_accept(&reader, true);
	adv_ring_set_peer(&reader, &peer);
	for (unsigned i = 0; i < 3; i++) {
		unsigned n = 0;

		while (adv_ring_put(&writer, &pkt))
			n++;
		assert_int_equal(n, ADV_RING_AWAY);
		assert_false(adv_ring_put(&writer, &pkt));
		do
			adv_copy_choice_init(&reader.choice); /* payload stays away */
		while (adv_ring_get(&reader, 8, drop_packet, NULL, &counters));
	}
	assert_false(reader.broken);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_keeps_up), T(test_falls_behind), T(test_any_distance),
		T(test_returns),  T(test_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
