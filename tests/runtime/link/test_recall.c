/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reader of a ring never reads payload that the writer has recalled: ring.c in all
 * interleavings (explore.h), with variables in place of the writer's memory.
 */
#include "explore_atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/link/ring.h"

#define SIZE	ADV_RING_SIZE_MIN
#define PACKETS 2

static struct {
	_Alignas(64) uint8_t ring[sizeof(struct adv_ring_memory) + 1024];
	uint8_t rest[SIZE];
} memory;

static struct {
	_Alignas(8) _Atomic uint32_t reused; /* the program uses the payload's memory again */
	_Atomic uint32_t ended;		     /* the reader has ended */
	_Atomic uint32_t wrong;
} shared;

static struct adv_ring_writer writer;
static struct adv_ring_reader reader;
static struct adv_link_counters counters;
static const struct adv_pull_peer process;
static struct adv_path path[2];
static uint8_t payload[ADV_RING_AWAY_MIN];
static unsigned pulled, refused;

/* In place of runtime/link/pull.c. The copy takes time: the writer may continue meanwhile. */
bool adv_pull_read(const struct adv_pull_peer *peer, const struct adv_pull_piece *from,
		   unsigned pieces, const struct iovec *to, unsigned count)
{
	if (atomic_load_explicit(&shared.reused, memory_order_relaxed))
		shared.wrong = 1;
	if (atomic_load_explicit(&shared.reused, memory_order_relaxed))
		shared.wrong = 1;
	return true;
}

static void put_one(unsigned i)
{
	struct iovec iov = {payload, sizeof(payload)};
	struct adv_tx_packet pkt = {.path = &path[i],
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = sizeof(payload),
				    .more = 3};

	assert_true(adv_ring_put(&writer, &pkt));
}

static void begin_execution(struct explore *e)
{
	memset(&memory, 0, sizeof(memory));
	memset(&shared, 0, sizeof(shared));
	memset(&counters, 0, sizeof(counters));
	pulled = refused = 0;
	adv_ring_writer_init(&writer, &memory, SIZE);
	adv_ring_reader_init(&reader, &memory, SIZE, 1, NULL, NULL);
	/* The properties of the packets are those of the start: none are sent. */
	adv_ring_set_peer(&reader, &process);
	adv_ring_accept(&reader, true);
	for (unsigned i = 0; i < PACKETS; i++)
		put_one(i);
	e->regions = 0;
	e->shared[e->regions++] = (struct explore_region){&memory.ring, sizeof(memory.ring)};
	e->shared[e->regions++] = (struct explore_region){&shared, sizeof(shared)};
}

static bool has_ended(void *user)
{
	return shared.ended;
}

/* Recalls the packets of path 0. If one is being read, waits for the reader. */
static void recall(void *user)
{
	if (!adv_ring_recall(&writer, &path[0], 0, 0)) {
		if (!explore_wait(has_ended, NULL))
			return;
		if (!adv_ring_recall(&writer, &path[0], 0, 0))
			shared.wrong = 2;
	}
	atomic_store_explicit(&shared.reused, 1, memory_order_relaxed);
}

static void take_packet(void *user, const struct adv_rx_packet *pkt)
{
	struct iovec to = {payload, pkt->source->length};

	/* Path 1 is not recalled, and the test does not reuse its memory. */
	if (counters.rx_packets)
		return;
	if (pkt->source->pull(pkt->source, &to, 1))
		pulled++;
	else
		refused++;
}

static void read_packets(void *user)
{
	adv_ring_get(&reader, PACKETS, take_packet, NULL, &counters);
	atomic_store_explicit(&shared.ended, 1, memory_order_release);
}

static unsigned ever_pulled, ever_refused;

static const char *end_execution(struct explore *e)
{
	ever_pulled += pulled;
	ever_refused += refused;
	if (shared.wrong == 1)
		return "recalled payload was read";
	if (shared.wrong == 2)
		return "the reader is finished, and the writer does not see it";
	return pulled + refused == 1 && !reader.broken ? NULL : "a packet was not delivered";
}

static void test_recall(void **state)
{
	struct explore e = {.begin = begin_execution,
			    .end = end_execution,
			    .actor = {recall, read_packets},
			    .actors = 2};
	struct explore_result r = explore_all(&e);

	print_message("%llu states, %llu executions\n", (unsigned long long)r.states,
		      (unsigned long long)r.executions);
	if (r.wrong)
		fail_msg("%s", r.wrong);
	assert_true(r.states > 20);
	assert_true(ever_pulled && ever_refused);
}

/* ---- what one actor can show ---- */

static void test_selection(void **state)
{
	struct explore e = {.begin = begin_execution};

	begin_execution(&e);
	/* By address: nothing there. */
	assert_true(
		adv_ring_recall(&writer, NULL, (uintptr_t)payload + sizeof(payload), UINTPTR_MAX));
	assert_false(writer.away[0].recalled || writer.away[1].recalled);
	/* By path: one packet only. */
	assert_true(adv_ring_recall(&writer, &path[1], 0, 0));
	assert_false(writer.away[0].recalled);
	assert_true(writer.away[1].recalled);
	/* By address: all that overlap. */
	assert_true(adv_ring_recall(&writer, NULL, (uintptr_t)payload + 7, (uintptr_t)payload + 8));
	assert_true(writer.away[0].recalled);
	read_packets(NULL);
	assert_int_equal(refused, 1);
	assert_false(reader.broken);
	assert_int_equal(adv_ring_long_payload(&writer, ADV_RING_AWAY_MIN), ADV_LONG_MAX);
}

/* The writer remembers ADV_RING_AWAY unread packets, and no more fit. */
static void test_most(void **state)
{
	struct explore e = {.begin = begin_execution};
	struct iovec iov = {payload, sizeof(payload)};
	struct adv_tx_packet pkt = {.path = &path[0],
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = sizeof(payload),
				    .more = 3};
	unsigned n = PACKETS;

	begin_execution(&e);
	while (adv_ring_put(&writer, &pkt))
		n++;
	assert_true(n <= ADV_RING_AWAY && n > 64);
	for (unsigned i = 0; i < 3 * ADV_RING_AWAY; i++) {
		do
			adv_copy_choice_init(&reader.choice); /* payload stays away */
		while (adv_ring_get(&reader, 8, take_packet, NULL, &counters));
		assert_true(adv_ring_put(&writer, &pkt));
	}
	assert_false(reader.broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recall),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
