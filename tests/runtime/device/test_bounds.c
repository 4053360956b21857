/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that no call sends more than a bounded part of the data that a peer requests. The rest must
 * be sent without a further call, and other threads must get the lock meanwhile. The link of these
 * tests is slow: each batch takes longer than a call may take. So the tests count batches, not
 * time.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/device/internal.h"
#include "../../common/netns.h"
#include "node.h"

#define GIB	(1u << 30)
#define READS	16
#define MANY	1000 /* batches: some seconds of sending; one call may send 1 or 2 */
#define SLOW_US 300

static struct adv_link_ops slow;
static bool (*quick_send)(struct adv_link *link, struct adv_tx_batch *batch);
static atomic_uint batches;
static _Thread_local unsigned mine; /* batches that this thread has sent */

static bool slow_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	usleep(SLOW_US);
	mine++;
	atomic_fetch_add(&batches, 1);
	return quick_send(link, batch);
}

struct bed {
	struct node a, b;
	uint8_t *memory;
	struct adv_mr *mr;
};

static void bed_open(struct bed *bed)
{
	struct adv_engine *e;

	node_open(&bed->a);
	node_open(&bed->b);
	node_connect(&bed->a, &bed->b);
	bed->memory =
		mmap(NULL, GIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(bed->memory != MAP_FAILED);
	e = adv_device_lock(bed->a.d);
	assert_non_null(e);
	bed->mr = adv_mr_register(bed->a.pd, bed->memory, GIB, 0, IBV_ACCESS_REMOTE_READ);
	assert_non_null(bed->mr);
	slow = *bed->a.d->link->ops;
	quick_send = slow.send;
	slow.send = slow_send;
	bed->a.d->link->ops = &slow;
	adv_device_unlock(bed->a.d);
	atomic_store(&batches, 0);
}

static void bed_close(struct bed *bed)
{
	adv_device_lock(bed->a.d);
	assert_int_equal(adv_mr_deregister(bed->mr), 0);
	adv_device_unlock(bed->a.d);
	node_close(&bed->a);
	node_close(&bed->b);
	assert_int_equal(munmap(bed->memory, GIB), 0);
}

/* Passes READ requests to a's engine. They seem to come from b, but b's engine has not sent them.
 * Call it with a's lock held. */
static void ask_for_much(struct bed *bed)
{
	const struct adv_gid_table *gids = adv_control_gids(bed->a.d->control);
	const struct adv_senders *senders = adv_control_senders(bed->a.d->control);
	const struct adv_rx_meta meta = {
		.sgid = gids->entry[0].gid,
		.dgid = gids->entry[0].gid,
		.sport = atomic_load(&senders->port[adv_qpn_prefix(adv_qp_num(bed->b.qp))])};

	for (uint32_t i = 0; i < READS; i++) {
		uint8_t data[ADV_HEADERS_MAX];
		struct adv_headers h = {.bth = {.opcode = ADV_OP_READ_REQUEST,
						.pkey = ADV_PKEY_DEFAULT,
						.dest_qpn = adv_qp_num(bed->a.qp),
						.psn = 100 + i * (GIB / 4096)},
					.reth = {.rkey = adv_mr_rkey(bed->mr), .length = GIB}};
		struct adv_rx_packet pkt = {
			.meta = &meta, .data = data, .len = (uint32_t)adv_headers_encode(&h, data)};

		adv_engine_rx(bed->a.d->engine, adv_clock_ns(), &pkt);
	}
	assert_int_equal(adv_engine_counters(bed->a.d->engine)->rx_read_requests, READS);
}

/* Waits until other threads have sent `more` batches. */
static void wait_for_batches(unsigned more)
{
	unsigned from = atomic_load(&batches);

	WAIT_UNTIL(atomic_load(&batches) - from >= more);
}

/* Tests that each call of any kind sends one or two batches. */
static void test_calls(void **state)
{
	struct bed bed;

	bed_open(&bed);
	for (unsigned i = 0; i < 100; i++) {
		mine = 0;
		adv_device_lock(bed.a.d);
		if (i == 0)
			ask_for_much(&bed);
		if (i % 3 == 1)
			adv_device_poll(bed.a.d, bed.a.cq, 1);
		if (i % 3 == 2)
			adv_device_progress(bed.a.d, false);
		adv_device_unlock(bed.a.d);
		assert_in_range(mine, 1, 2);
	}
	mine = 0;
	adv_device_lock(bed.a.d);
	adv_device_send_acks(bed.a.d);
	adv_device_catch_up(bed.a.d);
	adv_device_unlock(bed.a.d);
	assert_in_range(mine, 1, MANY);
	bed_close(&bed);
}

/* Tests that the background thread sends when the program makes no more calls, both without any
 * poll and after many polls. */
static void test_goes_on(void **state)
{
	struct bed bed;

	bed_open(&bed);
	for (unsigned polls = 0; polls <= 3000; polls += 1500) {
		for (unsigned i = 0; i < polls; i++) {
			adv_device_lock(bed.a.d);
			adv_device_poll(bed.a.d, bed.a.cq, 1);
			adv_device_unlock(bed.a.d);
		}
		if (polls == 0) {
			adv_device_lock(bed.a.d);
			ask_for_much(&bed);
			adv_device_unlock(bed.a.d);
		}
		wait_for_batches(100);
	}
	bed_close(&bed);
}

/* Tests that a call soon gets the lock while the background thread sends all the time. */
static void test_gives_way(void **state)
{
	struct bed bed;

	bed_open(&bed);
	adv_device_lock(bed.a.d);
	ask_for_much(&bed);
	adv_device_unlock(bed.a.d);
	wait_for_batches(10);
	for (unsigned i = 0; i < 100; i++) {
		unsigned from = atomic_load(&batches);

		adv_device_lock(bed.a.d);
		assert_true(atomic_load(&batches) - from < MANY);
		adv_lock_release(&bed.a.d->lock);
	}
	bed_close(&bed);
}

static bool never(void *user)
{
	return false;
}

struct waiter {
	struct bed *bed;
	int fd[2];
};

static void *wait_in_call(void *arg)
{
	struct waiter *w = arg;
	struct pollfd fds[1 + ADV_DEVICE_WAIT_ROOM] = {{.fd = w->fd[0], .events = POLLIN}};
	struct adv_device_wait wait = {
		.fds = fds, .count = 1, .event_fd = w->fd[0], .come = never, .until = ADV_NEVER};

	(void)adv_device_wait(w->bed->a.d, &wait);
	return NULL;
}

/* Tests that the program sends while it waits for an event, and that the background thread sends
 * after the wait. */
static void test_waiting(void **state)
{
	struct waiter w;
	struct bed bed;
	pthread_t thread;

	bed_open(&bed);
	w.bed = &bed;
	assert_int_equal(pipe(w.fd), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_call, &w), 0);
	/* Meanwhile the program and the background thread sleep. */
	usleep(50000);
	adv_device_lock(bed.a.d);
	ask_for_much(&bed);
	adv_device_unlock(bed.a.d);
	wait_for_batches(100);
	assert_int_equal(write(w.fd[1], "", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	wait_for_batches(100);
	close(w.fd[0]);
	close(w.fd[1]);
	bed_close(&bed);
}

/* Tests that the program's own requests are also sent in parts, and completely. */
static void test_posted(void **state)
{
	struct bed bed;
	struct ibv_wc wc;

	bed_open(&bed);
	for (unsigned i = 0; i < NODE_BUFFER; i++)
		bed.a.buffer[i] = (uint8_t)(i * 7 + i / 251);
	mine = 0;
	assert_int_equal(node_write(&bed.a, &bed.b, 5, 0, 0, NODE_BUFFER), 0);
	assert_in_range(mine, 1, 2);
	node_wait(&bed.a, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	node_compare(&bed.a, 0, &bed.b, 0, NODE_BUFFER);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	  cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_gives_way), cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_posted),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
