/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The library after the daemon exits or sends invalid answers, and in a child of fork(). */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id[3];

static int setup(void **state)
{
	fake_start(NULL);
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rdma_create_id(channel, &id[i], NULL, RDMA_PS_TCP), 0);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rdma_destroy_id(id[i]), 0);
	rdma_destroy_event_channel(channel);
	fake_die();
	return 0;
}

static void expect_removal(unsigned ids)
{
	struct rdma_cm_event *event;
	unsigned seen = 0;

	for (unsigned i = 0; i < ids; i++) {
		assert_int_equal(rdma_get_cm_event(channel, &event), 0);
		assert_int_equal(event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
		for (unsigned j = 0; j < 3; j++)
			seen |= event->id == id[j] ? 1u << j : 0;
		rdma_ack_cm_event(event);
	}
	assert_int_equal(seen, 7);
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, ENODEV);
}

static void expect_dead(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_id *more;

	assert_int_equal(rdma_bind_addr(id[0], (struct sockaddr *)&any), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(rdma_create_id(channel, &more, NULL, RDMA_PS_TCP), -1);
	assert_int_equal(errno, ENODEV);
}

static void each_id_learns_it_once(void **state)
{
	fake_die();
	expect_removal(3);
	expect_dead();
}

static void a_new_channel_finds_a_new_daemon(void **state)
{
	struct rdma_event_channel *fresh;
	struct rdma_cm_id *other;

	fake_die();
	fake_start(NULL);
	fresh = rdma_create_event_channel();
	assert_non_null(fresh);
	assert_int_equal(fake_connections(), 1);
	assert_int_equal(rdma_create_id(fresh, &other, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_migrate_id(id[0], fresh), -1);
	assert_int_equal(errno, ENODEV);
	expect_removal(3);
	assert_int_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(fresh);
}

static void *wait_for_event(void *arg)
{
	struct rdma_cm_event *event = NULL;

	if (rdma_get_cm_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		arg = event->id;
	rdma_ack_cm_event(event);
	return arg;
}

/* An answer that is too short ends the connection, and wakes threads that wait for events. */
static void nonsense_ends_it(void **state)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_event *event;
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, wait_for_event, NULL);
	usleep(50000);
	fake_break_next(100);
	assert_int_equal(rdma_bind_addr(id[1], (struct sockaddr *)&any), -1);
	assert_int_equal(errno, ENODEV);
	pthread_join(thread, &result);
	assert_non_null(result);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rdma_get_cm_event(channel, &event), 0);
		assert_int_equal(event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
		rdma_ack_cm_event(event);
	}
	expect_dead();
}

static void no_answer_ends_it(void **state)
{
	struct sockaddr_in any = {.sin_family = AF_INET};

	fake_break_next(-1);
	assert_int_equal(rdma_bind_addr(id[1], (struct sockaddr *)&any), -1);
	assert_int_equal(errno, ENODEV);
	expect_removal(3);
}

/* A waiting synchronous call fails when the device is removed. It must not accept DEVICE_REMOVAL as
 * the event for which it waits. */
static void a_waiting_call_fails(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rdma_cm_id *sync;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP), 0);
	fake_break_next(-1);
	assert_int_equal(rdma_resolve_addr(sync, NULL, (struct sockaddr *)&to, 1000), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

/* In a child of fork() the parent's ids are useless, but the child can make its own ids. */
static int in_child(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_event_channel *own;
	struct rdma_cm_event *event;
	struct rdma_cm_id *made;

	if (rdma_bind_addr(id[0], (struct sockaddr *)&any) != -1 || errno != ENODEV)
		return 1;
	if (rdma_get_cm_event(channel, &event) != -1 || errno != ENODEV)
		return 2;
	own = rdma_create_event_channel();
	if (!own || rdma_create_id(own, &made, NULL, RDMA_PS_TCP))
		return 3;
	if (rdma_bind_addr(made, (struct sockaddr *)&any) || rdma_destroy_id(made))
		return 4;
	rdma_destroy_event_channel(own);
	for (unsigned i = 0; i < 3; i++)
		if (rdma_destroy_id(id[i]))
			return 5;
	rdma_destroy_event_channel(channel);
	return 0;
}

static void a_child_has_its_own(void **state)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_event *event;
	struct adv_ucma_message m = fake_event(fake_last_id(), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	int status;
	pid_t child;

	/* An event that another thread of the parent has not acknowledged must not block the
	 * child. */
	fake_push(0, &m);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	child = fork();
	if (child == 0) {
		alarm(60); /* ends a child that hangs */
		_exit(in_child());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rdma_bind_addr(id[2], (struct sockaddr *)&any), 0);
	rdma_ack_cm_event(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_id_learns_it_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_channel_finds_a_new_daemon, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(no_answer_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_waiting_call_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_has_its_own, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
