/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests fault plans that are set, shown and cleared while a device sends, through a real adverbd.
 */
#include "node.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/netns.h"
#include "runtime/exchange/fault_exchange.h"

#define WAIT_MS ((int)(PATIENCE / 1000000))

static struct adv_control *control;
static struct adv_fault_exchange_message *message;
static char why[256];

/* Sends a request as `adverb fault` does. The answer is in `message`. */
static int ask(uint32_t kind, uint32_t number, enum adv_fault_command command, const char *plan)
{
	struct adv_control_fault target = {kind, number};

	memset(message, 0, sizeof(*message));
	message->command = (uint16_t)command;
	message->text_len = (uint32_t)strlen(plan);
	memcpy(message->text, plan, message->text_len);
	why[0] = 0;
	return adv_fault_request(control, &target, message, WAIT_MS, why, sizeof(why));
}

static uint32_t slot_of(const struct node *n)
{
	return adv_qpn_prefix(adv_qp_num(n->qp));
}

static int ask_node(const struct node *n, enum adv_fault_command command, const char *plan)
{
	return ask(ADV_CONTROL_FAULT_SLOT, slot_of(n), command, plan);
}

static void expect_plan(const char *plan)
{
	assert_true(message->in_force);
	assert_int_equal(message->text_len, strlen(plan));
	assert_memory_equal(message->text, plan, message->text_len);
}

static void open_pair(struct node *a, struct node *b)
{
	node_open(a);
	node_open(b);
	node_connect(a, b);
}

static void close_pair(struct node *a, struct node *b)
{
	node_close(a);
	node_close(b);
}

/* Tests a device without a plan that gets one plan, then another one, then none. */
static void test_set_and_clear(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	assert_int_equal(ask_node(&a, ADV_FAULT_SHOW, ""), 0);
	assert_false(message->in_force);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "seed=7; drop op=write"), 0);
	expect_plan("seed=7; drop op=write");
	assert_int_equal(node_write(&a, &b, 1, 0, 0, 5000), 0);
	usleep(50000);
	assert_false(node_look(&a, &wc));
	WAIT_UNTIL(ask_node(&a, ADV_FAULT_SHOW, "") == 0 && message->packets >= 1);
	assert_int_equal(message->hits[ADV_FAULT_DROP], message->packets);
	/* The counts of a new plan begin at 0. */
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "seed=8; drop op=write; mark rx"), 0);
	expect_plan("seed=8; drop op=write; mark rx");
	assert_int_equal(ask_node(&a, ADV_FAULT_CLEAR, ""), 0);
	assert_false(message->in_force);
	node_wait(&a, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	node_compare(&a, 0, &b, 0, 5000);
	close_pair(&a, &b);
}

/* Tests that clearing a plan releases the packets that the plan delays. */
static void test_clear_lets_go(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "delay=1000s"), 0);
	assert_int_equal(node_write(&a, &b, 1, 0, 0, 3000), 0);
	assert_int_equal(ask_node(&a, ADV_FAULT_CLEAR, ""), 0);
	node_wait(&a, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	node_compare(&a, 0, &b, 0, 3000);
	close_pair(&a, &b);
}

static void test_injected(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET,
				  "post=ENOSPC nth=2; complete=REM_OP_ERR op=write nth=3"),
			 0);
	assert_int_equal(node_write(&a, &b, 1, 0, 0, 100), 0);
	assert_int_equal(node_write(&a, &b, 2, 0, 0, 100), ENOSPC);
	for (uint64_t i = 3; i < 6; i++)
		assert_int_equal(node_write(&a, &b, i, 0, 0, 100), 0);
	for (unsigned i = 0; i < 4; i++) {
		node_wait(&a, &wc);
		assert_int_equal(wc.wr_id, i ? i + 2 : 1);
		assert_int_equal(wc.status, i < 2    ? IBV_WC_SUCCESS
					    : i == 2 ? IBV_WC_REM_OP_ERR
						     : IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.vendor_err, i < 2	 ? ADV_ERR_NONE
						: i == 2 ? ADV_ERR_INJECTED
							 : ADV_ERR_FLUSHED);
	}
	assert_int_equal(ask_node(&a, ADV_FAULT_SHOW, ""), 0);
	assert_int_equal(message->hits[ADV_FAULT_POST], 1);
	assert_int_equal(message->hits[ADV_FAULT_COMPLETE], 1);
	close_pair(&a, &b);
}

static void test_not_ready(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	assert_int_equal(ask_node(&b, ADV_FAULT_SET, "rnr times=3"), 0);
	node_recv(&b, 1, 0, 1000);
	assert_int_equal(node_send(&a, 1, 0, 1000), 0);
	node_wait(&a, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(ask_node(&b, ADV_FAULT_SHOW, ""), 0);
	assert_int_equal(message->hits[ADV_FAULT_RNR], 3);
	close_pair(&a, &b);
}

static void wait_for(atomic_uint *count, unsigned n)
{
	WAIT_UNTIL(atomic_load(count) >= n);
	assert_int_equal(atomic_load(count), n);
}

/* Tests that port events are delivered in time without any call, and that all packets are lost
 * while the port is down. */
static void test_port(void **state)
{
	static struct adv_gid_table gids;
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "port-down=1000s from=50ms"), 0);
	wait_for(&a.port_downs, 1);
	adv_device_gids(a.d, &gids);
	assert_false(gids.port_active);
	assert_int_equal(node_write(&a, &b, 1, 0, 0, 100), 0);
	usleep(30000);
	assert_false(node_look(&a, &wc));
	assert_int_equal(atomic_load(&a.port_ups), 0);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "port-down=20ms; device-fatal from=1000s"), 0);
	wait_for(&a.port_ups, 1);
	adv_device_gids(a.d, &gids);
	assert_true(gids.port_active);
	node_wait(&a, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(atomic_load(&a.fatals), 0);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "device-fatal"), 0);
	wait_for(&a.fatals, 1);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "port-down=1000s"), 0);
	wait_for(&a.port_downs, 2);
	assert_int_equal(ask_node(&a, ADV_FAULT_CLEAR, ""), 0);
	wait_for(&a.port_ups, 2);
	assert_int_equal(atomic_load(&a.fatals), 1);
	close_pair(&a, &b);
}

/* Tests a port that is up again before the device can check it: both events are delivered once. */
static void test_port_blinks(void **state)
{
	static struct adv_gid_table gids;
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(ask_node(&a, ADV_FAULT_SET, "port-down=1us from=20ms"), 0);
		wait_for(&a.port_ups, i);
		assert_int_equal(atomic_load(&a.port_downs), i);
		assert_int_equal(node_write(&a, &b, 1, 0, 0, 100), 0);
		node_wait(&a, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	adv_device_gids(a.d, &gids);
	assert_true(gids.port_active);
	assert_int_equal(atomic_load(&a.port_ups), 3);
	assert_int_equal(atomic_load(&a.port_downs), 3);
	close_pair(&a, &b);
}

static atomic_uint events_seen;
static int event_fd;

static int count_event(void *user, enum ibv_event_type type)
{
	atomic_fetch_add(&events_seen, 1);
	return event_fd;
}

static struct adv_device *open_idle(const char *plan)
{
	static const struct adv_device_callbacks callbacks = {.port = count_event};
	struct adv_device *d;

	atomic_store(&events_seen, 0);
	setenv("ADVERB_FAULT", plan, 1);
	d = adv_device_open(&callbacks, NULL, NULL);
	unsetenv("ADVERB_FAULT");
	assert_non_null(d);
	return d;
}

/* Tests that a plan applies from the start in a program that makes no call. */
static void test_port_of_an_idle_device(void **state)
{
	static struct adv_gid_table gids;
	struct adv_device *d;
	uint64_t told;

	event_fd = -1;
	d = open_idle("port-down=20ms from=20ms");
	wait_for(&events_seen, 2);
	adv_device_close(d, NULL);

	/* The plan applies before the first query. */
	d = open_idle("port-down=1000s; device-fatal");
	adv_device_gids(d, &gids);
	assert_false(gids.port_active);
	assert_int_equal(atomic_load(&events_seen), 2);
	adv_device_close(d, NULL);

	/* The event wakes a waiting thread. */
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	d = open_idle("port-down=300ms");
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(read(event_fd, &told, sizeof(told)), sizeof(told));
	adv_device_gids(d, &gids);
	assert_true(gids.port_active);
	adv_device_close(d, NULL);
	close(event_fd);
}

/* Tests that events reach one queue pair and its CQs, and no other objects, while the process
 * sleeps. */
static void test_events_of_a_queue_pair(void **state)
{
	char plan[200];
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	snprintf(plan, sizeof(plan), "event=PATH_MIG qpn=0x%x; event=CQ_ERR qpn=0x%x",
		 adv_qp_num(b.qp), adv_qp_num(b.qp));
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, plan), 0);
	assert_int_equal(ask_node(&b, ADV_FAULT_SET, plan), 0);
	wait_for(&b.async[IBV_EVENT_PATH_MIG], 1);
	wait_for(&b.async[IBV_EVENT_CQ_ERR], 1);
	usleep(50000);
	assert_int_equal(atomic_load(&a.async[IBV_EVENT_PATH_MIG]), 0);
	assert_int_equal(atomic_load(&a.async[IBV_EVENT_CQ_ERR]), 0);
	assert_int_equal(ask_node(&b, ADV_FAULT_SHOW, ""), 0);
	assert_int_equal(message->hits[ADV_FAULT_EVENT], 2);
	/* The event QP_ACCESS_ERR moves the QP to the error state, which flushes its request. */
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "drop"), 0);
	assert_int_equal(node_write(&a, &b, 1, 0, 0, 100), 0);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "event=QP_ACCESS_ERR from=20ms"), 0);
	wait_for(&a.async[IBV_EVENT_QP_ACCESS_ERR], 1);
	node_wait(&a, &wc);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	close_pair(&a, &b);
}

/* Tests a plan of the maximum length of the language. */
static void test_long_plan(void **state)
{
	static char text[ADV_FAULT_TEXT_MAX + 1];
	struct node a;

	node_open(&a);
	memset(text, ' ', ADV_FAULT_TEXT_MAX);
	memcpy(text, "seed=5; drop op=ack", 19);
	memcpy(text + ADV_FAULT_TEXT_MAX - 6, "; mark", 6);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, text), 0);
	expect_plan("seed=5; drop op=ack; mark");
	node_close(&a);
}

static void test_refusals(void **state)
{
	struct node a;

	node_open(&a);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "seed=1; drop"), 0);
	assert_int_equal(ask_node(&a, ADV_FAULT_SET, "drop=1"), EINVAL);
	assert_non_null(strstr(why, "expected a chance"));
	assert_int_equal(ask_node(&a, (enum adv_fault_command)99, ""), EOPNOTSUPP);
	/* The old plan is still in force. */
	assert_int_equal(ask_node(&a, ADV_FAULT_SHOW, ""), 0);
	expect_plan("seed=1; drop");
	assert_int_equal(ask(ADV_CONTROL_FAULT_SLOT, 200, ADV_FAULT_SHOW, ""), ENOENT);
	assert_int_equal(ask(ADV_CONTROL_FAULT_SLOT, 0, ADV_FAULT_SHOW, ""), ENOENT);
	assert_int_equal(ask(ADV_CONTROL_FAULT_SLOT, 1u << 31, ADV_FAULT_SHOW, ""), ENOENT);
	assert_int_equal(ask(ADV_CONTROL_FAULT_PROCESS, INT32_MAX, ADV_FAULT_SHOW, ""), ENOENT);
	assert_int_equal(ask(ADV_CONTROL_FAULT_PROCESS, UINT32_MAX, ADV_FAULT_SHOW, ""), ENOENT);
	assert_int_equal(ask(77, 1, ADV_FAULT_SHOW, ""), EINVAL);
	node_close(&a);
}

static int open_socket(void)
{
	const struct adv_control_fault open_one = {ADV_CONTROL_FAULT_OPEN, 0};
	int fd;

	assert_int_equal(adv_control_fault(control, &open_one, &fd, why, sizeof(why)), 0);
	return fd;
}

static void expect_end(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_true(p.revents & POLLHUP);
	close(fd);
}

static const struct adv_fault_state *no_state(void *user)
{
	return NULL;
}

static int count_set(void *user, const struct adv_fault_plan *plan)
{
	(*(unsigned *)user)++;
	return 0;
}

/* Tests that a request is not executed if its sender has closed the socket. */
static void test_asker_is_gone(void **state)
{
	const struct adv_fault_exchange_follower follower = {.state = no_state, .set = count_set};
	unsigned times = 0;
	int fd[2];

	for (unsigned gone = 0; gone < 2; gone++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
		memset(message, 0, sizeof(*message));
		message->magic = ADV_FAULT_EXCHANGE_MAGIC;
		message->version = ADV_FAULT_EXCHANGE_VERSION;
		message->command = ADV_FAULT_SET;
		assert_int_equal(adv_fault_exchange_send(fd[0], message), 0);
		if (gone)
			close(fd[0]);
		adv_fault_exchange_answer(fd[1], &follower, &times, 1);
		assert_int_equal(times, 1);
		if (!gone)
			assert_int_equal(adv_fault_exchange_receive(fd[0], message), 0);
		if (!gone)
			close(fd[0]);
		close(fd[1]);
	}
}

/* Tests that the device survives invalid messages in place of a request. */
static void test_hostile(void **state)
{
	static const uint8_t junk[300];
	struct adv_control_fault target[3] = {{ADV_CONTROL_FAULT_SLOT, 0},
					      {ADV_CONTROL_FAULT_PROCESS, 0},
					      {ADV_CONTROL_FAULT_DAEMON, 0}};
	unsigned fds = open_descriptors();
	int fd, none;
	struct node a;

	node_open(&a);
	target[0].number = slot_of(&a);
	for (unsigned i = 0; i < 30; i++) {
		fd = open_socket();
		if (i > 5)
			assert_int_equal(send(fd, junk, i * 10, 0), i * 10);
		assert_int_equal(
			adv_control_fault(control, &target[i % 3], &none, why, sizeof(why)), 0);
		expect_end(fd);
		/* A socket serves one request to one target: it cannot be passed again. */
		assert_int_equal(
			adv_control_fault(control, &target[i % 3], &none, why, sizeof(why)),
			EINVAL);
	}
	/* An unused socket is closed when the next one is opened. */
	fd = open_socket();
	close(open_socket());
	expect_end(fd);
	assert_int_equal(ask_node(&a, ADV_FAULT_SHOW, ""), 0);
	assert_false(message->in_force);
	node_close(&a);
	assert_int_equal(open_descriptors(), fds);
}

/* Tests plans in adverbd: for this process, which requests its plan, and for all processes. */
static void test_daemon(void **state)
{
	assert_int_equal(ask(ADV_CONTROL_FAULT_PROCESS, 0, ADV_FAULT_SET, "seed=3; drop=5% op=cm"),
			 0);
	assert_int_equal(ask(ADV_CONTROL_FAULT_PROCESS, (uint32_t)getpid(), ADV_FAULT_SHOW, ""), 0);
	expect_plan("seed=3; drop=5% op=cm");
	assert_int_equal(ask(ADV_CONTROL_FAULT_DAEMON, 0, ADV_FAULT_SHOW, ""), 0);
	assert_false(message->in_force);
	assert_int_equal(ask(ADV_CONTROL_FAULT_DAEMON, 0, ADV_FAULT_SET, "seed=4; mark"), 0);
	expect_plan("seed=4; mark");
	assert_int_equal(ask(ADV_CONTROL_FAULT_PROCESS, 0, ADV_FAULT_CLEAR, ""), 0);
	assert_false(message->in_force);
	assert_int_equal(ask(ADV_CONTROL_FAULT_DAEMON, 0, ADV_FAULT_CLEAR, ""), 0);
	assert_false(message->in_force);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_and_clear),
		cmocka_unit_test(test_clear_lets_go),
		cmocka_unit_test(test_injected),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_port_blinks),
		cmocka_unit_test(test_port_of_an_idle_device),
		cmocka_unit_test(test_events_of_a_queue_pair),
		cmocka_unit_test(test_long_plan),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_asker_is_gone),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_daemon),
	};
	int failed;

	if (!netns_enter())
		return NETNS_SKIP;
	(void)node_start_daemon(NULL);
	control = adv_control_connect(false, why, sizeof(why));
	message = calloc(1, sizeof(*message));
	if (!control || !message)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(message);
	adv_control_close(control);
	(void)node_stop_daemon(NULL);
	return failed;
}
