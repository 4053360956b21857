/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event channels and events of ids, with a daemon that the test controls. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fake.h"
#include "log_file.h"
#include "abi/rdmacm/channel.h"
#include "abi/rdmacm/newer.h"

#define FIRST_CHANNEL 0
#define PATIENCE_MS   60000 /* a test that takes longer hangs */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static uint32_t handle_of_last(void)
{
	return fake_last(ADV_UCMA_CMD_DESTROY_ID).id;
}

static int setup(void **state)
{
	fake_start(NULL);
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(rdma_create_id(channel, &id, &id, RDMA_PS_TCP), 0);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	fake_die();
	return 0;
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static struct rdma_cm_event *expect(enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, type);
	assert_int_equal(event->status, status);
	return event;
}

static void an_event_is_what_the_daemon_says(void **state)
{
	struct adv_ucma_message m = fake_event(fake_last_id(), RDMA_CM_EVENT_REJECTED, 28);
	struct rdma_cm_event *event;

	m.body.event.conn.private_data_len = 3;
	memcpy(m.body.event.conn.private_data, "no", 3);
	assert_false(readable(channel->fd));
	fake_push(FIRST_CHANNEL, &m);
	assert_true(readable(channel->fd));
	event = expect(RDMA_CM_EVENT_REJECTED, 28);
	assert_ptr_equal(event->id, id);
	assert_null(event->listen_id);
	assert_int_equal(event->param.conn.private_data_len, 3);
	assert_string_equal(event->param.conn.private_data, "no");
	assert_false(readable(channel->fd));
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

static void nothing_to_read(void **state)
{
	struct rdma_cm_event *event;
	int flags = fcntl(channel->fd, F_GETFL);

	assert_int_equal(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

/* If a byte has no event, or the event's id is unknown, the call returns the next event. */
static void events_of_nobody(void **state)
{
	struct adv_ucma_message stranger = fake_event(4711, RDMA_CM_EVENT_DISCONNECTED, 0);
	struct adv_ucma_message m = fake_event(fake_last_id(), RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);

	fake_push(FIRST_CHANNEL, &stranger);
	fake_push(FIRST_CHANNEL, &m);
	rdma_ack_cm_event(expect(RDMA_CM_EVENT_TIMEWAIT_EXIT, 0));
}

static void on_alarm(int signal)
{
}

static void interrupted(void **state)
{
	struct sigaction action = {.sa_handler = on_alarm}, old;
	struct rdma_cm_event *event;

	sigaction(SIGALRM, &action, &old);
	ualarm(50000, 50000); /* repeated: the first signal may arrive too early */
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EINTR);
	ualarm(0, 0);
	sigaction(SIGALRM, &old, NULL);
}

static void *wait_for_event(void *arg)
{
	struct rdma_cm_event *event;

	rdma_get_cm_event(channel, &event);
	return arg;
}

/* A thread that waits for events can be cancelled, as rping does. */
static void cancelled(void **state)
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, wait_for_event, NULL);
	usleep(50000);
	pthread_cancel(thread);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

static volatile bool destroyed;

static void *destroy(void *arg)
{
	rdma_destroy_id(arg);
	destroyed = true;
	return NULL;
}

static void destroying_waits_for_acks(void **state)
{
	struct rdma_cm_event *event;
	struct adv_ucma_message m;
	struct rdma_cm_id *other;
	pthread_t thread;
	unsigned before;

	assert_int_equal(rdma_create_id(channel, &other, NULL, RDMA_PS_UDP), 0);
	m = fake_event(fake_last_id(), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	fake_push(FIRST_CHANNEL, &m);
	event = expect(RDMA_CM_EVENT_ADDR_CHANGE, 0);
	destroyed = false;
	before = fake_count(ADV_UCMA_CMD_DESTROY_ID);
	pthread_create(&thread, NULL, destroy, other);
	for (unsigned ms = 0; ms < PATIENCE_MS && fake_count(ADV_UCMA_CMD_DESTROY_ID) == before;
	     ms++)
		usleep(1000);
	assert_int_equal(handle_of_last(), fake_last_id());
	usleep(100000);
	assert_false(destroyed);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	pthread_join(thread, NULL);
	assert_true(destroyed);
}

static void a_request_makes_an_id(void **state)
{
	struct adv_ucma_message request = fake_event(1000, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	struct adv_ucma_message gone = fake_event(1000, RDMA_CM_EVENT_REJECTED, 28);
	struct adv_ucma_message last = fake_event(fake_last_id(), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	struct rdma_cm_event *event;
	struct rdma_cm_id *made;

	request.body.event.listen = fake_last_id();
	request.body.event.conn.responder_resources = 3;
	request.body.event.conn.qp_num = 0x123456;
	request.body.event.route.remote.in =
		(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(77)};
	fake_push(FIRST_CHANNEL, &request);
	event = expect(RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	made = event->id;
	assert_ptr_not_equal(made, id);
	assert_ptr_equal(event->listen_id, id);
	assert_ptr_equal(made->context, &id);
	assert_ptr_equal(made->channel, channel);
	assert_int_equal(rdma_get_dst_port(made), htons(77));
	assert_int_equal(event->param.conn.responder_resources, 3);
	assert_int_equal(event->param.conn.qp_num, 0x123456);
	rdma_ack_cm_event(event);
	/* The peer ends the connection before the request is accepted: rdma_accept() fails. */
	fake_push(FIRST_CHANNEL, &gone);
	fake_push(FIRST_CHANNEL, &last);
	rdma_ack_cm_event(expect(RDMA_CM_EVENT_ADDR_CHANGE, 0));
	assert_int_equal(rdma_destroy_id(made), 0);
	assert_int_equal(handle_of_last(), 1000);
}

static void events_of_ones_own(void **state)
{
	struct rdma_cm_event *event;
	struct adv_ucma_message m;
	uint64_t arg;

	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_write_cm_event(id, ADV_EVENT_USER, -5, 0x1122334455667788), 0);
	m = fake_last(ADV_UCMA_CMD_WRITE_EVENT);
	assert_int_equal(m.body.event.type, ADV_EVENT_USER);
	fake_push(FIRST_CHANNEL, &m);
	event = expect(ADV_EVENT_USER, -5);
	memcpy(&arg, &event->param, sizeof(arg));
	assert_true(arg == 0x1122334455667788);
	rdma_ack_cm_event(event);
}

static void the_channel_goes_first(void **state)
{
	struct rdma_event_channel *early = rdma_create_event_channel();
	struct rdma_cm_id *left;

	assert_non_null(early);
	assert_int_equal(rdma_create_id(early, &left, NULL, RDMA_PS_TCP), 0);
	rdma_destroy_event_channel(early);
	assert_int_equal(handle_of_last(), fake_last_id());
	assert_int_equal(rdma_listen(left, 1), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 0);
	assert_int_equal(rdma_destroy_id(left), 0);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_ID), 1);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 1);
}

static volatile bool returned;
static volatile pid_t waiter;

static void *wait_on(void *arg)
{
	struct rdma_cm_event *event;

	waiter = gettid();
	rdma_get_cm_event(arg, &event);
	returned = true;
	return NULL;
}

static bool sleeps(pid_t thread)
{
	char path[64], text[256] = "", *name_ends;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	name_ends = strrchr(text, ')');
	return name_ends && name_ends[1] == ' ' && name_ends[2] == 'S';
}

/* Waits until the thread sleeps in its wait for an event. */
static void wait_until_it_sleeps(const volatile pid_t *thread)
{
	for (unsigned ms = 0; ms < PATIENCE_MS && !(*thread && sleeps(*thread)); ms++)
		usleep(1000);
	assert_true(sleeps(*thread));
}

/* A program may destroy a channel while a thread waits on it, as rping does. The thread keeps
 * waiting, as with the kernel's channels. */
static void the_channel_goes_while_a_thread_waits(void **state)
{
	struct rdma_event_channel *early = rdma_create_event_channel();
	pthread_t thread;

	assert_non_null(early);
	pthread_create(&thread, NULL, wait_on, early);
	wait_until_it_sleeps(&waiter);
	rdma_destroy_event_channel(early);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 0);
	usleep(50000);
	assert_false(returned);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 1);
}

static void *wait_in_call(void *arg)
{
	int got;

	waiter = gettid();
	got = adv_rdma_channel_wait(arg);
	return (void *)(intptr_t)(got < 0 ? errno : 0);
}

static void *wait_late(void *arg)
{
	struct rdma_cm_event *event;
	int got;

	waiter = gettid();
	got = rdma_get_cm_event(arg, &event);
	return (void *)(intptr_t)(got < 0 ? errno : 0);
}

/* Checks that a thread which runs a function waits until a signal comes. */
static void expect_wait(void *(*function)(void *), void *arg)
{
	struct sigaction action = {.sa_handler = on_alarm}, old;
	pthread_t thread;
	void *result;

	sigaction(SIGALRM, &action, &old);
	waiter = 0;
	pthread_create(&thread, NULL, function, arg);
	wait_until_it_sleeps(&waiter);
	pthread_kill(thread, SIGALRM);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_int_equal((intptr_t)result, EINTR);
	sigaction(SIGALRM, &old, NULL);
}

/* The channel goes while a thread is inside the call and does not sleep yet, or is about to call.
 * The thread waits as well. A call of the thread that destroyed the channel fails. */
static void the_channel_goes_before_a_thread_sleeps(void **state)
{
	struct rdma_event_channel *early = rdma_create_event_channel();
	struct adv_rdma_channel *ch = adv_rdma_channel_of(early);
	struct rdma_cm_event *event;

	assert_non_null(early);
	assert_int_equal(adv_rdma_channel_enter(ch), 0);
	rdma_destroy_event_channel(early);
	expect_wait(wait_in_call, ch);
	expect_wait(wait_late, early);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 0);
	adv_rdma_channel_leave(ch);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 1);
	expect_wait(wait_late, early);
	assert_int_equal(rdma_get_cm_event(early, &event), -1);
	assert_int_equal(errno, EBADF);
}

/* A thread that is about to read from the channel's descriptor must not read from another one that
 * got its number. */
static void no_descriptor_gets_the_number_of_a_reader(void **state)
{
	struct rdma_event_channel *early = rdma_create_event_channel();
	struct adv_rdma_channel *ch = adv_rdma_channel_of(early);
	int number;

	assert_non_null(early);
	number = early->fd;
	assert_int_equal(adv_rdma_channel_enter(ch), 0);
	rdma_destroy_event_channel(early);
	assert_int_equal(early->fd, -1);
	assert_int_not_equal(fcntl(number, F_GETFD), -1);
	adv_rdma_channel_leave(ch);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

static void migrating_moves_events(void **state)
{
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct adv_ucma_message m = fake_event(fake_last_id(), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	struct rdma_cm_event *event;

	assert_int_equal(rdma_migrate_id(id, to), 0);
	assert_ptr_equal(id->channel, to);
	assert_int_equal(fake_last(ADV_UCMA_CMD_MIGRATE).channel, 1);
	fake_push(1, &m);
	assert_int_equal(rdma_get_cm_event(to, &event), 0);
	assert_ptr_equal(event->id, id);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_migrate_id(id, channel), 0);
	rdma_destroy_event_channel(to);
	assert_int_equal(fake_count(ADV_UCMA_CMD_DESTROY_CHANNEL), 1);
}

/* The daemon sends an event. Returns what is logged when the program gets it. */
static const char *log_of(enum rdma_cm_event_type type, int status)
{
	struct adv_ucma_message m = fake_event(fake_last_id(), type, status);

	fake_push(FIRST_CHANNEL, &m);
	rdma_ack_cm_event(expect(type, status));
	return log_file_read();
}

static void failures_are_logged(void **state)
{
	struct sockaddr_in *peer = (struct sockaddr_in *)(void *)&id->route.addr.dst_storage;
	struct sockaddr_in6 *peer6 = (struct sockaddr_in6 *)(void *)peer;
	const char *text = log_of(RDMA_CM_EVENT_ADDR_ERROR, -19);

	assert_non_null(strstr(text, " warn: connection manager: RDMA_CM_EVENT_ADDR_ERROR, status "
				     "-19; see: adverb explain RDMA_CM_EVENT_ADDR_ERROR/-19\n"));
	*peer = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(7471)};
	inet_pton(AF_INET, "10.0.0.2", &peer->sin_addr);
	text = log_of(RDMA_CM_EVENT_REJECTED, 8);
	assert_non_null(strstr(text, "RDMA_CM_EVENT_REJECTED, status 8, peer 10.0.0.2, port 7471; "
				     "see: adverb explain RDMA_CM_EVENT_REJECTED/8\n"));
	*peer6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(1)};
	inet_pton(AF_INET6, "fd00::2", &peer6->sin6_addr);
	text = log_of(RDMA_CM_EVENT_UNREACHABLE, -111);
	assert_non_null(
		strstr(text, "RDMA_CM_EVENT_UNREACHABLE, status -111, peer fd00::2, port 1;"));
	assert_non_null(strstr(log_of(RDMA_CM_EVENT_ROUTE_ERROR, -110), "ROUTE_ERROR/-110"));
	assert_non_null(strstr(log_of(RDMA_CM_EVENT_CONNECT_ERROR, -22), "CONNECT_ERROR/-22"));
	assert_string_equal(log_of(RDMA_CM_EVENT_DISCONNECTED, 0), "");
	assert_string_equal(log_of(RDMA_CM_EVENT_TIMEWAIT_EXIT, 0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_event_is_what_the_daemon_says, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_to_read, setup, teardown),
		cmocka_unit_test_setup_teardown(events_of_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(destroying_waits_for_acks, setup, teardown),
		cmocka_unit_test_setup_teardown(a_request_makes_an_id, setup, teardown),
		cmocka_unit_test_setup_teardown(events_of_ones_own, setup, teardown),
		cmocka_unit_test_setup_teardown(the_channel_goes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(the_channel_goes_while_a_thread_waits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_channel_goes_before_a_thread_sleeps, setup,
						teardown),
		cmocka_unit_test_setup_teardown(no_descriptor_gets_the_number_of_a_reader, setup,
						teardown),
		cmocka_unit_test_setup_teardown(migrating_moves_events, setup, teardown),
		cmocka_unit_test_setup_teardown(failures_are_logged, setup, teardown),
	};
	int failed;

	log_file_open();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	log_file_remove();
	return failed;
}
