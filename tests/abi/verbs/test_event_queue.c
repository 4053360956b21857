/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the queue behind ibv_get_async_event() and ibv_get_cq_event(): it needs no memory and loses
 * no event. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "no_memory.h"
#include "abi/verbs/event_queue.h"

#define NODES  8
#define EVENTS 5 /* number of events of each node */

struct fixture {
	struct adv_ibv_event_queue queue;
	struct adv_ibv_event_node node[NODES];
};

/* Creates a queue that does not block, and nodes of objects. */
static void fixture_open(struct fixture *fixture)
{
	assert_int_equal(adv_ibv_event_queue_init(&fixture->queue), 0);
	assert_int_equal(fcntl(fixture->queue.fd, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < NODES; i++)
		adv_ibv_event_node_init(&fixture->node[i], &fixture->node[i], i);
}

static void push_event(struct fixture *fixture, struct adv_ibv_event_node *n)
{
	const uint64_t one = 1;
	int fd = adv_ibv_event_push(&fixture->queue, n);

	assert_int_equal(fd, fixture->queue.fd);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

static void expect_none(struct fixture *fixture)
{
	assert_true(adv_ibv_event_queue_empty(&fixture->queue));
	errno = 0;
	assert_null(adv_ibv_event_wait(&fixture->queue));
	assert_int_equal(errno, EAGAIN);
}

/* Tests that several events of each object are queued while each allocation would fail. The
 * application gets all of them; the objects alternate. */
static void test_no_memory(void **state)
{
	struct fixture fixture;

	fixture_open(&fixture);
	no_memory_at = 1;
	for (int i = 0; i < EVENTS; i++)
		for (int k = 0; k < NODES; k++)
			push_event(&fixture, &fixture.node[k]);
	for (int i = 0; i < EVENTS; i++) {
		for (int k = 0; k < NODES; k++) {
			assert_false(adv_ibv_event_queue_empty(&fixture.queue));
			assert_ptr_equal(adv_ibv_event_wait(&fixture.queue), &fixture.node[k]);
		}
	}
	expect_none(&fixture);
	assert_int_equal(no_memory_at, 1); /* no allocation was tried */
	no_memory_at = 0;
	for (int k = 0; k < NODES; k++)
		assert_int_equal(adv_ibv_event_drop(&fixture.queue, &fixture.node[k]), EVENTS);
	adv_ibv_event_queue_destroy(&fixture.queue);
}

/* Tests that events of a destroyed object do not arrive, and that the descriptor is then not
 * readable. */
static void test_destroyed(void **state)
{
	unsigned dequeued = 0;
	struct fixture fixture;

	fixture_open(&fixture);
	for (int i = 0; i < EVENTS; i++)
		push_event(&fixture, &fixture.node[0]);
	push_event(&fixture, &fixture.node[1]);
	assert_ptr_equal(adv_ibv_event_wait(&fixture.queue), &fixture.node[0]);
	assert_false(adv_ibv_event_none_queued(&fixture.queue, &fixture.node[0], &dequeued));
	assert_int_equal(dequeued, 1);
	assert_int_equal(adv_ibv_event_drop(&fixture.queue, &fixture.node[0]), 1);
	assert_ptr_equal(adv_ibv_event_wait(&fixture.queue), &fixture.node[1]);
	expect_none(&fixture);
	adv_ibv_event_queue_destroy(&fixture.queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
