/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two threads on two processors write to each other at about the same time, and sleep until the
 * other one has written, some hundred thousand times. No wake-up may be lost. test_wake.c explores
 * the interleavings; this test has real store buffers and real bells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "runtime/link/ring.h"

#define RING_SIZE ADV_RING_SIZE_MIN
#define ROUNDS	  300000
#define LOOKS_MIN 7 /* polls before a thread sleeps: 2 to the power of this */
#define LOOKS_MAX 13
#define LOST	  60000 /* ms: a longer sleep means a lost wake-up */

struct side {
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
	int bell_fd;
	unsigned received;
	unsigned sleeps;
	int processor; /* number of the processor; -1: any */
	uint32_t random;
	bool lost; /* a wake-up was lost */
};

static _Atomic bool over; /* a wake-up was lost: the other thread ends too */

static bool accept_all(void *user, struct adv_rx_meta *meta)
{
	return true;
}

static void count_packet(void *user, const struct adv_rx_packet *pkt)
{
	++*(unsigned *)user;
}

static void pin(int processor)
{
	cpu_set_t set;

	if (processor < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)processor, &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static uint32_t draw(struct side *s, uint32_t below)
{
	s->random = s->random * 1664525 + 1013904223;
	return (s->random >> 16) % below;
}

static void write_one(struct side *s)
{
	static struct adv_path path;
	const struct adv_tx_packet pkt = {.path = &path, .header_len = ADV_BTH_LEN};
	adv_bell_name bell;

	/* The reader updates its tail rarely; the ring has enough room for that. */
	if (adv_ring_put(&s->writer, &pkt) && adv_ring_must_wake(&s->writer, &bell))
		adv_bell_ring(s->bell_fd, bell);
}

/* Reads packets up to number `count`, and sleeps on the bell while there are none. False: the bell
 * was not rung. */
static bool read_until(struct side *s, unsigned count)
{
	struct adv_link_counters counters = {0};
	/* The delays have all magnitudes, so that on any machine a packet arrives at every point of
	 * going to sleep. */
	uint32_t looks = draw(s, 1u << (LOOKS_MIN + draw(s, LOOKS_MAX - LOOKS_MIN)));

	while (s->received < count && !atomic_load(&over)) {
		struct pollfd bell = {.fd = s->bell_fd, .events = POLLIN};

		if (adv_ring_get(&s->reader, 8, count_packet, &s->received, &counters) ||
		    looks-- > 0)
			continue;
		looks = 0;
		adv_ring_sleep(&s->reader, true);
		if (adv_ring_has(&s->reader))
			continue;
		s->sleeps++;
		if (poll(&bell, 1, LOST) == 0)
			return false;
		adv_bell_still(s->bell_fd);
	}
	adv_ring_sleep(&s->reader, false);
	return true;
}

static void *run(void *arg)
{
	struct side *s = arg;

	pin(s->processor);
	for (unsigned i = 1; i <= ROUNDS && !atomic_load(&over); i++) {
		write_one(s);
		if (!read_until(s, i)) {
			s->lost = true;
			atomic_store(&over, true);
		}
	}
	return NULL;
}

static void *new_ring(void)
{
	static const struct adv_ring_memory start = ADV_RING_START;
	void *memory = aligned_alloc(64, adv_ring_memory_len(RING_SIZE));

	assert_non_null(memory);
	memset(memory, 0, adv_ring_memory_len(RING_SIZE));
	memcpy(memory, &start, sizeof(start));
	return memory;
}

/* Chooses two processors on which this process may run. -1: there are fewer than two. */
static void choose_processors(struct side side[2])
{
	cpu_set_t set;
	int n = 0;

	side[0].processor = side[1].processor = -1;
	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 2)
		return;
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET((unsigned)i, &set))
			side[n++].processor = i;
}

static void test_both_at_once(void **state)
{
	struct side side[2] = {{.random = 1}, {.random = 2}};
	void *memory[2] = {new_ring(), new_ring()};
	pthread_t thread[2];

	choose_processors(side);
	for (int i = 0; i < 2; i++) {
		adv_bell_name bell;

		side[i].bell_fd = adv_bell_open(&bell);
		assert_true(side[i].bell_fd >= 0);
		adv_ring_writer_init(&side[i].writer, memory[i], RING_SIZE);
		adv_ring_reader_init(&side[i].reader, memory[!i], RING_SIZE, bell, accept_all,
				     NULL);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, &side[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	print_message("%u and %u sleeps\n", side[0].sleeps, side[1].sleeps);
	for (int i = 0; i < 2; i++) {
		assert_false(side[i].lost);
		assert_int_equal(side[i].received, ROUNDS);
		assert_true(side[i].sleeps > 0);
		close(side[i].bell_fd);
		free(memory[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
