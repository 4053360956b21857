/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue behind ibv_get_async_event() and ibv_get_cq_event(): it needs no memory, loses nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "no_memory.h"
#include "verbs/event_queue.h"

#define NODES  8
#define EVENTS 5 /* of each node */

struct bed {
	struct adv_ibv_event_queue queue;
	struct adv_ibv_event_node node[NODES];
};

/* A queue that does not block, and nodes of objects. */
static void bed_open(struct bed *bed)
{
	assert_int_equal(adv_ibv_event_queue_init(&bed->queue), 0);
	assert_int_equal(fcntl(bed->queue.fd, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < NODES; i++)
		adv_ibv_event_node_init(&bed->node[i], &bed->node[i], i);
}

static void push_event(struct bed *bed, struct adv_ibv_event_node *n)
{
	const uint64_t one = 1;
	int fd = adv_ibv_event_push(&bed->queue, n);

	assert_int_equal(fd, bed->queue.fd);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

static void expect_none(struct bed *bed)
{
	assert_true(adv_ibv_event_queue_empty(&bed->queue));
	errno = 0;
	assert_null(adv_ibv_event_pop(&bed->queue));
	assert_int_equal(errno, EAGAIN);
}

/* While each allocation would fail, several events of each object are queued. The application gets
 * all of them; the objects take turns. */
static void test_no_memory(void **state)
{
	struct bed bed;

	bed_open(&bed);
	no_memory_at = 1;
	for (int i = 0; i < EVENTS; i++)
		for (int k = 0; k < NODES; k++)
			push_event(&bed, &bed.node[k]);
	for (int i = 0; i < EVENTS; i++) {
		for (int k = 0; k < NODES; k++) {
			assert_false(adv_ibv_event_queue_empty(&bed.queue));
			assert_ptr_equal(adv_ibv_event_pop(&bed.queue), &bed.node[k]);
		}
	}
	expect_none(&bed);
	assert_int_equal(no_memory_at, 1); /* none was tried */
	no_memory_at = 0;
	for (int k = 0; k < NODES; k++)
		assert_int_equal(adv_ibv_event_forget(&bed.queue, &bed.node[k]), EVENTS);
	adv_ibv_event_queue_destroy(&bed.queue);
}

/* Events of a destroyed object do not arrive, and leave the descriptor unreadable. */
static void test_destroyed(void **state)
{
	unsigned taken = 0;
	struct bed bed;

	bed_open(&bed);
	for (int i = 0; i < EVENTS; i++)
		push_event(&bed, &bed.node[0]);
	push_event(&bed, &bed.node[1]);
	assert_ptr_equal(adv_ibv_event_pop(&bed.queue), &bed.node[0]);
	assert_false(adv_ibv_event_none_waits(&bed.queue, &bed.node[0], &taken));
	assert_int_equal(taken, 1);
	assert_int_equal(adv_ibv_event_forget(&bed.queue, &bed.node[0]), 1);
	assert_ptr_equal(adv_ibv_event_pop(&bed.queue), &bed.node[1]);
	expect_none(&bed);
	adv_ibv_event_queue_destroy(&bed.queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
