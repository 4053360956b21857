/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which shard of a device a thread gets, in a program whose threads come and go. */
#include "node.h"

#include "../../common/netns.h"
#include "runtime/device/internal.h"

#define THREADS (3 * DEVICE_THREADS_MAX)

struct visit {
	struct adv_device *device;
	struct adv_device *shard;
};

static void *ask_shard(void *user)
{
	struct visit *v = user;

	v->shard = adv_device_of_thread(v->device);
	return NULL;
}

static struct adv_device *shard_of_new_thread(struct adv_device *d)
{
	struct visit v = {.device = d};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, ask_shard, &v), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return v.shard;
}

/* Threads that have ended do not fill the table for good: each new thread gets the shard that it
 * needs, and keeps it. */
static void test_threads_end(void **state)
{
	struct adv_device *mine;
	unsigned before = 0, emptied = 0;
	struct node n;

	node_open(&n);
	atomic_store(&n.d->shards.most, 2);
	mine = adv_device_of_thread(n.d);
	assert_ptr_equal(mine, n.d);
	for (unsigned i = 0; i < THREADS; i++) {
		struct adv_device *shard = shard_of_new_thread(n.d);
		unsigned now = n.d->shards.threads;

		if (i == 0)
			assert_ptr_not_equal(shard, mine);
		assert_in_range(now, 2, DEVICE_THREADS_MAX);
		emptied += now < before;
		before = now;
	}
	assert_in_range(emptied, 2, 3);
	assert_int_equal(atomic_load(&n.d->shards.ready), 2);
	assert_ptr_equal(adv_device_of_thread(n.d), mine);
	node_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_end),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
