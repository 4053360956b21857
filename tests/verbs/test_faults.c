/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a program sees of a fault plan that it was started with. */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* As in test_fork.c: a child that ends by exit() still has the device's memory. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:adv_udp_set_addresses\n";
}

/* The plan of the devices that are opened until forget_plan(). */
static void give_plan(const char *plan)
{
	assert_int_equal(setenv("ADVERB_FAULT", plan, 1), 0);
}

static void forget_plan(void)
{
	unsetenv("ADVERB_FAULT");
}

static enum ibv_port_state port_state(struct ibv_context *ctx)
{
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	return port.state;
}

static void expect_port_event(struct ibv_context *ctx, enum ibv_event_type type)
{
	struct ibv_async_event event = wait_async(ctx);

	assert_int_equal(event.event_type, type);
	assert_int_equal(event.element.port_num, 1);
	ibv_ack_async_event(&event);
}

/* A program that does nothing else sees the port down from the start, and come up. */
static void port_is_down_from_the_start(void **state)
{
	struct ibv_context *ctx;

	give_plan("port-down=300ms");
	ctx = open_device();
	forget_plan();
	assert_int_equal(port_state(ctx), IBV_PORT_DOWN);
	expect_port_event(ctx, IBV_EVENT_PORT_ERR);
	expect_port_event(ctx, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(port_state(ctx), IBV_PORT_ACTIVE);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void device_fails_at_the_start(void **state)
{
	struct ibv_context *ctx;

	give_plan("device-fatal");
	ctx = open_device();
	forget_plan();
	expect_port_event(ctx, IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* ---- a peer that is another process ---- */

struct address {
	uint32_t qpn;
	union ibv_gid gid;
};

/* Opens a side, and connects it to the one at the other end of the socket. */
static void meet(struct side *s, int fd)
{
	const struct options o = {0};
	struct address own, other;
	struct ibv_qp its_qp = {0};
	struct side peer = {.qp = &its_qp};
	char ready = 0;

	side_open(s, &o);
	own = (struct address){s->qp->qp_num, s->gid};
	assert_int_equal(write(fd, &own, sizeof(own)), sizeof(own));
	assert_int_equal(read(fd, &other, sizeof(other)), sizeof(other));
	its_qp.qp_num = other.qpn;
	peer.gid = other.gid;
	assert_int_equal(to_init(s, &o), 0);
	assert_int_equal(post_recv(s, 1, 64, 64), 0);
	assert_int_equal(to_rtr(s, &peer, &o), 0);
	assert_int_equal(to_rts(s, &o), 0);
	assert_int_equal(write(fd, &ready, 1), 1);
	assert_int_equal(read(fd, &ready, 1), 1);
}

/* Who has received a message and ends has answered it, though the plan lets the answer wait. */
static void receive_and_exit(int fd)
{
	struct side s;

	alarm(30);
	give_plan("delay=250us");
	meet(&s, fd);
	exit(wait_wc(s.recv_cq, &(struct ibv_wc){0}, 10) ? 0 : 1);
}

static void exit_sends_what_waits(void **state)
{
	int fd[2], status;
	struct side s;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		receive_and_exit(fd[0]);
	meet(&s, fd[1]);
	assert_int_equal(post_send(&s, 7, 0, 64, IBV_SEND_SIGNALED), 0);
	expect_wc(s.send_cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	side_close(&s);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_sends_what_waits), /* before there is a thread */
		cmocka_unit_test(port_is_down_from_the_start),
		cmocka_unit_test(device_fails_at_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
