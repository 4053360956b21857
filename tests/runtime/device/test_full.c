/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which thread waits for room in a full link, and that no thread does so for too long. */
#include "node.h"

#include <poll.h>

#include "../../common/netns.h"
#include "runtime/device/internal.h"

/* A link that is full until a test makes room. */
static struct {
	struct adv_link link;
	struct adv_link *inner;
	int socket[2]; /* [0] is unwritable while the link is full */
	atomic_bool full;
	atomic_uint flushes;
} shim;

static bool shim_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	return shim.inner->ops->send(shim.inner, batch);
}

static bool shim_flush(struct adv_link *link)
{
	bool full = atomic_load(&shim.full);

	link->send_fd = full ? shim.socket[0] : -1;
	atomic_fetch_add(&shim.flushes, 1);
	return !full;
}

static unsigned shim_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	return shim.inner->ops->receive(shim.inner, budget, fn, user);
}

static bool shim_sleep(struct adv_link *link, bool sleeping)
{
	return shim.inner->ops->sleep(shim.inner, sleeping);
}

static const struct adv_link_ops shim_ops = {
	.send = shim_send,
	.flush = shim_flush,
	.receive = shim_receive,
	.sleep = shim_sleep,
};

static void fill_socket(void)
{
	static const uint8_t bytes[4096];

	while (send(shim.socket[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void make_room(void)
{
	static uint8_t bytes[4096];

	atomic_store(&shim.full, false);
	while (recv(shim.socket[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void put_full_link(struct node *n)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, shim.socket), 0);
	fill_socket();
	adv_device_lock(n->d);
	shim.inner = n->d->link;
	shim.link = *shim.inner;
	shim.link.ops = &shim_ops;
	shim.link.send_fd = shim.socket[0];
	atomic_store(&shim.full, true);
	atomic_store(&shim.flushes, 0);
	n->d->link = &shim.link;
	n->d->link_full = true;
	adv_device_unlock(n->d);
}

static void take_link(struct node *n)
{
	adv_device_lock(n->d);
	n->d->link = shim.inner;
	n->d->link_full = false;
	adv_device_unlock(n->d);
	close(shim.socket[0]);
	close(shim.socket[1]);
}

static bool thread_waits_for_room(struct node *n)
{
	bool yes;

	adv_device_lock(n->d);
	yes = n->d->bg.send_fd == shim.socket[0];
	adv_device_unlock(n->d);
	return yes;
}

static bool is_full(struct node *n)
{
	bool full;

	adv_device_lock(n->d);
	full = n->d->link_full;
	adv_device_unlock(n->d);
	return full;
}

/* True if the background thread's sleep ends at once because of a descriptor. */
static bool thread_is_woken(struct node *n)
{
	struct pollfd p = {.fd = n->d->bg.epoll_fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Opens a node whose link is full, and whose background thread knows that. */
static void begin(struct node *n)
{
	node_open(n);
	put_full_link(n);
	WAIT_UNTIL(thread_waits_for_room(n));
}

static void end(struct node *n)
{
	take_link(n);
	node_close(n);
}

/* The background thread empties the link if no thread of the program receives. */
static void test_thread(void **state)
{
	struct node n;

	begin(&n);
	make_room();
	WAIT_UNTIL(!is_full(&n));
	WAIT_UNTIL(!thread_waits_for_room(&n));
	assert_false(thread_is_woken(&n));
	end(&n);
}

/* ---- a thread of the program that waits for an event ---- */

/* A waiting thread of the program empties the link. The background thread, which waited for room
 * before, sleeps on: the socket that has room now does not wake it again and again. */
static void test_waiter(void **state)
{
	pthread_t thread;
	struct node n;

	begin(&n);
	thread = node_start_waiting(&n);
	WAIT_UNTIL(adv_progress_waiter_receives(&n.d->progress));
	make_room();
	WAIT_UNTIL(!is_full(&n));
	assert_true(adv_progress_waiter_receives(&n.d->progress));
	assert_false(thread_is_woken(&n));
	node_stop_waiting(thread);
	end(&n);
}

/* When no thread of the program waits any more, the background thread waits for room again. */
static void test_waiter_leaves(void **state)
{
	pthread_t thread;
	struct node n;

	begin(&n);
	thread = node_start_waiting(&n);
	WAIT_UNTIL(adv_progress_waiter_receives(&n.d->progress));
	node_stop_waiting(thread);
	WAIT_UNTIL(thread_waits_for_room(&n));
	make_room();
	WAIT_UNTIL(!is_full(&n));
	end(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_waiter),
		cmocka_unit_test(test_waiter_leaves),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
