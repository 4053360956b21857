/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that a thread that is about to sleep receives instead if the link reports a packet. The
 * link of these tests reports a packet that does not exist, at a time when no other event would
 * soon wake the thread.
 */
#include "node.h"

#include <unistd.h>

#include "../../common/netns.h"
#include "runtime/device/internal.h"

static struct {
	struct adv_link link;
	struct adv_link *inner;
	struct adv_progress *progress;
	atomic_bool pretends; /* report a packet at the next sleep() */
	atomic_uint pretended;
	atomic_uint received_since;
	unsigned wakeups;  /* wake-ups of waiting threads at that time */
	atomic_bool slept; /* a thread slept before it received */
} shim;

static bool shim_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	return shim.inner->ops->send(shim.inner, batch);
}

static bool shim_flush(struct adv_link *link)
{
	return shim.inner->ops->flush(shim.inner);
}

static unsigned shim_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	if (atomic_load(&shim.pretended) && atomic_fetch_add(&shim.received_since, 1) == 0)
		atomic_store(&shim.slept, atomic_load(&shim.progress->wakeups) != shim.wakeups);
	return shim.inner->ops->receive(shim.inner, budget, fn, user);
}

static bool shim_sleep(struct adv_link *link, bool sleeping)
{
	bool nothing = shim.inner->ops->sleep(shim.inner, sleeping);

	if (sleeping && atomic_exchange(&shim.pretends, false)) {
		shim.wakeups = atomic_load(&shim.progress->wakeups);
		atomic_fetch_add(&shim.pretended, 1);
		return false;
	}
	return nothing;
}

static const struct adv_link_ops shim_ops = {
	.send = shim_send,
	.flush = shim_flush,
	.receive = shim_receive,
	.sleep = shim_sleep,
};

static void put_shim(struct node *n, bool pretends)
{
	adv_device_lock(n->d);
	assert_non_null(n->d->link->ops->sleep);
	shim.inner = n->d->link;
	shim.progress = &n->d->progress;
	shim.link = *shim.inner;
	shim.link.ops = &shim_ops;
	atomic_store(&shim.pretends, pretends);
	atomic_store(&shim.pretended, 0);
	atomic_store(&shim.received_since, 0);
	n->d->link = &shim.link;
	adv_device_unlock(n->d);
}

static void take_shim(struct node *n)
{
	adv_device_lock(n->d);
	n->d->link = shim.inner;
	adv_device_unlock(n->d);
}

/* True if the thread receives at once. It plans its sleep under the same lock under which the link
 * reports the packet. */
static bool thread_receives_at_once(struct node *n)
{
	bool yes;

	WAIT_UNTIL(atomic_load(&shim.pretended) == 1);
	adv_device_lock(n->d);
	yes = atomic_load(&shim.received_since) > 0 || n->d->progress.wake_at == 0;
	adv_device_unlock(n->d);
	return yes;
}

static bool thread_sleeps_for_ever(struct node *n)
{
	bool yes;

	adv_device_lock(n->d);
	yes = n->d->progress.wake_at == ADV_PROGRESS_NEVER;
	adv_device_unlock(n->d);
	return yes;
}

/* Tests the background thread. */
static void test_thread(void **state)
{
	uint64_t one = 1;
	struct node n;

	node_open(&n);
	WAIT_UNTIL(thread_sleeps_for_ever(&n));
	put_shim(&n, true);
	assert_int_equal(write(n.d->bg.kick_fd, &one, sizeof(one)), sizeof(one));
	assert_true(thread_receives_at_once(&n));
	WAIT_UNTIL(atomic_load(&shim.received_since) > 0);
	take_shim(&n);
	node_close(&n);
}

/* ---- a thread of the program that waits for an event ---- */

static void test_waiter(void **state)
{
	pthread_t thread;
	struct node n;

	node_open(&n);
	put_shim(&n, true);
	thread = node_start_waiting(&n);
	WAIT_UNTIL(atomic_load(&shim.received_since) > 0);
	assert_false(atomic_load(&shim.slept));
	assert_int_equal(atomic_load(&shim.pretended), 1);
	node_stop_waiting(thread);
	take_shim(&n);
	node_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_waiter),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
