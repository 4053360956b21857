/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests what ends the wait of a thread that receives in place of the background thread. Its events
 * are tested with libibverbs. */
#include "node.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "../../common/netns.h"
#include "base/sys.h"

#define SHORT 20000000ull /* ns */

/* A thread that waits for an eventfd and for a further descriptor. */
struct waiter {
	struct adv_device *device;
	pthread_t thread;
	uint64_t until;
	bool restarts;
	atomic_bool come; /* the event is queued */
	int event_fd, other;
	short revents[2];
	bool mine;
	int error;
	atomic_bool done;
};

static bool has_come(void *user)
{
	const struct waiter *w = user;

	return w->come;
}

static void *wait_main(void *arg)
{
	struct waiter *w = arg;
	struct pollfd fds[2 + ADV_DEVICE_WAIT_ROOM] = {
		{.fd = w->other, .events = POLLIN, .revents = POLLERR},
		{.fd = w->event_fd, .events = POLLIN, .revents = POLLERR},
	};
	struct adv_device_wait wait = {
		.fds = fds,
		.count = 2,
		.event_fd = w->event_fd,
		.come = has_come,
		.user = w,
		.until = w->until,
		.restarts = w->restarts,
		.mine = true,
	};

	w->error = adv_device_wait(w->device, &wait);
	w->revents[0] = fds[0].revents;
	w->revents[1] = fds[1].revents;
	w->mine = wait.mine;
	w->done = true;
	return NULL;
}

static void start(struct waiter *w, struct node *n)
{
	w->device = n->d;
	w->done = false;
	w->come = false;
	w->event_fd = adv_sys_eventfd(0, 0);
	w->other = adv_sys_eventfd(0, 0);
	assert_true(w->event_fd >= 0 && w->other >= 0);
	assert_int_equal(pthread_create(&w->thread, NULL, wait_main, w), 0);
}

static void join(struct waiter *w)
{
	WAIT_UNTIL(w->done);
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	assert_false(w->mine);
	close(w->event_fd);
	close(w->other);
}

static void signal_eventfd(int fd)
{
	const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

static void test_time(void **state)
{
	struct waiter w = {.until = adv_clock_ns() + SHORT};
	struct node n;

	node_open(&n);
	start(&w, &n);
	join(&w);
	assert_true(adv_clock_ns() >= w.until);
	assert_int_equal(w.error, 0);
	assert_int_equal(w.revents[0] | w.revents[1], 0);
	node_close(&n);
}

static void test_descriptors(void **state)
{
	struct waiter w = {.until = ADV_NEVER};
	struct node n;

	node_open(&n);
	start(&w, &n);
	signal_eventfd(w.other);
	join(&w);
	assert_int_equal(w.error, 0);
	assert_int_equal(w.revents[0], POLLIN);
	assert_int_equal(w.revents[1], 0);
	start(&w, &n);
	signal_eventfd(w.event_fd);
	join(&w);
	assert_int_equal(w.revents[0], 0);
	assert_int_equal(w.revents[1], POLLIN);
	node_close(&n);
}

static void handler(int number)
{
}

/* Signals arrive until the wait is over: one that arrives before it sleeps does not end it. */
static void signal_often(struct waiter *w)
{
	for (unsigned i = 0; i < 20 && !w->done; i++) {
		assert_int_equal(pthread_kill(w->thread, SIGUSR1), 0);
		usleep(1000);
	}
}

static void test_signals(void **state)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
	struct waiter w = {.until = ADV_NEVER, .restarts = true};
	struct node n;

	node_open(&n);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	start(&w, &n);
	signal_often(&w);
	assert_false(w.done);
	signal_eventfd(w.event_fd);
	join(&w);
	assert_int_equal(w.error, 0);
	w.restarts = false;
	start(&w, &n);
	WAIT_UNTIL((signal_often(&w), w.done));
	join(&w);
	assert_int_equal(w.error, EINTR);
	assert_int_equal(w.revents[0] | w.revents[1], 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	node_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_signals),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
