/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the effects of a fault plan on the program that was started with it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Sets the plan of devices that are opened until forget_plan(). */
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

/* Tests that an idle program sees the port down from the start, and later up. */
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

/* ---- every status and every event ---- */

/* Connects a queue pair with an SRQ to itself, under the plan. */
static void open_alone(struct side *s, const char *plan)
{
	const struct options o = {.srq = true};

	give_plan(plan);
	side_open(s, &o);
	forget_plan();
	assert_int_equal(to_init(s, &o), 0);
	assert_int_equal(to_rtr(s, s, &o), 0);
	/* A fatal event may have happened before. */
	assert_true(to_rts(s, &o) == 0 || state_of(s) == IBV_QPS_ERR);
}

static const char *const statuses[] = {
	"SUCCESS",
	"LOC_LEN_ERR",
	"LOC_QP_OP_ERR",
	"LOC_EEC_OP_ERR",
	"LOC_PROT_ERR",
	"WR_FLUSH_ERR",
	"MW_BIND_ERR",
	"BAD_RESP_ERR",
	"LOC_ACCESS_ERR",
	"REM_INV_REQ_ERR",
	"REM_ACCESS_ERR",
	"REM_OP_ERR",
	"RETRY_EXC_ERR",
	"RNR_RETRY_EXC_ERR",
	"LOC_RDD_VIOL_ERR",
	"REM_INV_RD_REQ_ERR",
	"REM_ABORT_ERR",
	"INV_EECN_ERR",
	"INV_EEC_STATE_ERR",
	"FATAL_ERR",
	"RESP_TIMEOUT_ERR",
	"GENERAL_ERR",
	"TM_ERR",
	"TM_RNDV_INCOMPLETE",
};

/* Tests every status for a send request and a receive request. */
static void every_status(void **state)
{
	for (unsigned i = 1; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		char plan[100];
		struct side s;

		snprintf(plan, sizeof(plan), "complete=%s queue=send nth=2", statuses[i]);
		open_alone(&s, plan);
		for (uint64_t k = 1; k <= 2; k++)
			assert_int_equal(
				post_rdma(&s, &s, IBV_WR_RDMA_WRITE, k, 0, 8, 64, s.mr->rkey), 0);
		expect_wc(s.send_cq, 1, IBV_WC_SUCCESS);
		expect_wc(s.send_cq, 2, (enum ibv_wc_status)i);
		assert_int_equal(state_of(&s), IBV_QPS_ERR);
		side_close(&s);

		snprintf(plan, sizeof(plan), "complete=IBV_WC_%s queue=srq", statuses[i]);
		open_alone(&s, plan);
		assert_int_equal(post_recv(&s, 3, 0, 64), 0);
		assert_int_equal(post_send(&s, 4, 64, 8, 0), 0);
		expect_wc(s.recv_cq, 3, (enum ibv_wc_status)i);
		side_close(&s);
	}
}

enum element { PORT, QP, BOTH_CQS, SRQ, WQ };

/* In the order of enum ibv_event_type. */
static const struct {
	const char *name;
	enum element element;
	bool fails; /* True if the event moves the queue pair to the error state */
} events[] = {
	{"CQ_ERR", BOTH_CQS, false},
	{"QP_FATAL", QP, true},
	{"QP_REQ_ERR", QP, true},
	{"QP_ACCESS_ERR", QP, true},
	{"COMM_EST", QP, false},
	{"SQ_DRAINED", QP, false},
	{"PATH_MIG", QP, false},
	{"PATH_MIG_ERR", QP, false},
	{"DEVICE_FATAL", PORT, false},
	{"PORT_ACTIVE", PORT, false},
	{"PORT_ERR", PORT, false},
	{"LID_CHANGE", PORT, false},
	{"PKEY_CHANGE", PORT, false},
	{"SM_CHANGE", PORT, false},
	{"SRQ_ERR", SRQ, false},
	{"SRQ_LIMIT_REACHED", SRQ, false},
	{"QP_LAST_WQE_REACHED", QP, false},
	{"CLIENT_REREGISTER", PORT, false},
	{"GID_CHANGE", PORT, false},
	{"WQ_FATAL", WQ, false},
};

static void expect_element(const struct side *s, const struct ibv_async_event *e,
			   enum element element)
{
	switch (element) {
	case PORT:
		assert_int_equal(e->element.port_num, 1);
		break;
	case QP:
		assert_ptr_equal(e->element.qp, s->qp);
		break;
	case BOTH_CQS:
		assert_true(e->element.cq == s->send_cq || e->element.cq == s->recv_cq);
		break;
	case SRQ:
		assert_ptr_equal(e->element.srq, s->srq);
		break;
	case WQ:
		assert_null(e->element.wq);
		break;
	}
}

/* Tests every event, and that the destruction of an object blocks until the object's events are
 * acknowledged. */
static void every_event(void **state)
{
	for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		unsigned wanted = events[i].element == BOTH_CQS ? 2 : 1;
		char plan[100];
		struct side s;

		snprintf(plan, sizeof(plan), "event=%s%s", i % 2 ? "IBV_EVENT_" : "",
			 events[i].name);
		open_alone(&s, plan);
		while (wanted) {
			struct ibv_async_event e = wait_async(s.ctx);

			if ((unsigned)e.event_type == i) {
				expect_element(&s, &e, events[i].element);
				wanted--;
				ibv_ack_async_event(&e);
				continue;
			}
			/* A queue pair with an SRQ reports the last WQE when it enters the error
			 * state. */
			assert_true(events[i].fails);
			assert_int_equal(e.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
			ibv_ack_async_event(&e);
		}
		assert_int_equal(state_of(&s), events[i].fails ? IBV_QPS_ERR : IBV_QPS_RTS);
		assert_int_equal(port_state(s.ctx), IBV_PORT_ACTIVE);
		side_close(&s);
	}
}

/* Tests that an event arrives at its time, and only once. */
static void event_at_a_time(void **state)
{
	double began = now_seconds();
	struct ibv_async_event e;
	struct side s;

	open_alone(&s, "event=PATH_MIG from=1s; event=LID_CHANGE from=2s");
	e = wait_async(s.ctx);
	assert_int_equal(e.event_type, IBV_EVENT_PATH_MIG);
	assert_true(now_seconds() - began >= 1);
	assert_false(readable(s.ctx->async_fd, 0));
	ibv_ack_async_event(&e);
	expect_port_event(s.ctx, IBV_EVENT_LID_CHANGE);
	assert_false(readable(s.ctx->async_fd, 50));
	side_close(&s);
}

/* ---- a peer that is another process ---- */

struct address {
	uint32_t qpn;
	union ibv_gid gid;
};

/* Opens a side and connects it to the side of the process at the other end of the socket. */
static void open_and_connect(struct side *s, int fd)
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

/* Receives a message and exits. The message must be acknowledged although ACKs are delayed. */
static void receive_and_exit(int fd)
{
	struct side s;

	alarm((unsigned)(2 * PATIENCE));
	give_plan("delay=250us");
	open_and_connect(&s, fd);
	exit(wait_wc(s.recv_cq, &(struct ibv_wc){0}, PATIENCE) ? 0 : 1);
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
	open_and_connect(&s, fd[1]);
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
		cmocka_unit_test(exit_sends_what_waits), /* runs before the process has threads */
		cmocka_unit_test(port_is_down_from_the_start),
		cmocka_unit_test(device_fails_at_the_start),
		cmocka_unit_test(every_status),
		cmocka_unit_test(every_event),
		cmocka_unit_test(event_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
