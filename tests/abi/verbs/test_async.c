/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests asynchronous events of errors, port and device, and their log lines. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "log_file.h"

/* Asserts that the log got a line with this text since the last call. */
static void expect_logged(const char *text)
{
	const char *all = log_file_read();

	if (!strstr(all, text))
		fail_msg("'%s' is not in the log:\n%s", text, all);
}

/* Waits for the event. Other events may come before it, also of the same object. */
static struct ibv_async_event expect_async(struct ibv_context *ctx, enum ibv_event_type type)
{
	struct ibv_async_event event = wait_async(ctx);

	while (event.event_type != type) {
		ibv_ack_async_event(&event);
		event = wait_async(ctx);
	}
	ibv_ack_async_event(&event);
	return event;
}

static void invalid_request(void **state)
{
	struct ibv_async_event event;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &(struct options){.qp_access = IBV_ACCESS_LOCAL_WRITE});
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_READ, 1, 0, 8, 0, p.b.mr->rkey), 0);
	wc = expect_wc(p.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(wc.vendor_err, 10);
	event = expect_async(p.b.ctx, IBV_EVENT_QP_REQ_ERR);
	assert_ptr_equal(event.element.qp, p.b.qp);
	assert_int_equal(state_of(&p.b), IBV_QPS_ERR);
	expect_logged("the queue pair does not allow the peer's request (cause 29)");
	assert_false(readable(p.a.ctx->async_fd, 0));
	pair_close(&p);
}

static void access_violation(void **state)
{
	struct ibv_async_event event;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 1, 0, 8, 0, ~p.b.mr->rkey), 0);
	wc = expect_wc(p.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, 11);
	event = expect_async(p.b.ctx, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, p.b.qp);
	assert_int_equal(state_of(&p.b), IBV_QPS_ERR);
	expect_logged("the peer's rkey names no region and no window (cause 33)");
	assert_false(readable(p.a.ctx->async_fd, 0));
	pair_close(&p);
}

/* Tests that a queue pair fails if its completions overrun the CQ, and that its peer gets no more
 * responses. */
static void overrun_is_fatal(void **state)
{
	const struct options o = {.timeout = 8};
	struct ibv_async_event event;
	struct ibv_cq *small;
	struct pair p;
	int n;

	pair_open(&p, &o);
	small = ibv_create_cq(p.a.ctx, 2, NULL, NULL, 0);
	assert_non_null(small);
	assert_int_equal(ibv_destroy_qp(p.a.qp), 0);
	p.a.init.send_cq = small;
	p.a.qp = ibv_create_qp(p.a.pd, &p.a.init);
	assert_non_null(p.a.qp);
	assert_int_equal(to_state(&p.b, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(&p.a, &o) | to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o) | to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(to_rts(&p.a, &o) | to_rts(&p.b, &o), 0);
	n = small->cqe;
	for (int i = 0; i <= n; i++)
		assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, (uint64_t)i, 0, 8, 0,
					   p.b.mr->rkey),
				 0);
	event = expect_async(p.a.ctx, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, small);
	event = expect_async(p.a.ctx, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(event.element.qp, p.a.qp);
	assert_int_equal(state_of(&p.a), IBV_QPS_ERR);
	expect_logged("the completion queue was full when a completion was added (cause 15)");
	for (int i = 0; i < n; i++)
		expect_wc(small, (uint64_t)i, IBV_WC_SUCCESS);
	assert_int_equal(post_send(&p.b, 1, 0, 8, 0), 0);
	expect_wc(p.b.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(ibv_destroy_qp(p.a.qp), 0);
	p.a.qp = NULL;
	assert_int_equal(ibv_destroy_cq(small), 0);
	pair_close(&p);
}

static void communication_established(void **state)
{
	const struct options o = {.unconnected = true};
	struct ibv_async_event event;
	struct pair p;

	pair_open(&p, &o);
	assert_int_equal(to_init(&p.a, &o) | to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o) | to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(to_rts(&p.a, &o), 0);
	assert_int_equal(post_recv(&p.b, 1, 0, 64), 0);
	assert_false(readable(p.b.ctx->async_fd, 0));
	assert_int_equal(post_send(&p.a, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	event = expect_async(p.b.ctx, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, p.b.qp);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(to_rts(&p.b, &o), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_false(readable(p.b.ctx->async_fd, 0));
	pair_close(&p);
}

/* ---- the port ---- */

static enum ibv_port_state port_state(struct ibv_context *ctx)
{
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	return port.state;
}

static void expect_port(struct ibv_context *ctx, enum ibv_event_type type,
			enum ibv_port_state state)
{
	assert_int_equal(expect_async(ctx, type).element.port_num, 1);
	assert_int_equal(port_state(ctx), state);
}

/* Tests that a change of the port state to DOWN fails a queue pair only if it sends meanwhile. */
static void port_goes_and_comes(void **state)
{
	struct pair patient, sending;

	pair_open(&patient, &(struct options){0});
	pair_open(&sending, &(struct options){.timeout = 8});
	assert_int_equal(system("ip link set lo down"), 0);
	expect_port(patient.a.ctx, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
	expect_port(sending.b.ctx, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
	assert_int_equal(post_send(&sending.a, 1, 0, 8, 0), 0);
	assert_int_equal(expect_wc(sending.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR).vendor_err, 7);
	assert_int_equal(state_of(&patient.a), IBV_QPS_RTS);
	assert_int_equal(system("ip link set lo up"), 0);
	expect_port(patient.a.ctx, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	expect_port(patient.b.ctx, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	assert_int_equal(post_recv(&patient.b, 2, 0, 64), 0);
	assert_int_equal(post_send(&patient.a, 2, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(patient.a.send_cq, 2, IBV_WC_SUCCESS);
	expect_wc(patient.b.recv_cq, 2, IBV_WC_SUCCESS);
	pair_close(&sending);
	pair_close(&patient);
}

/* ---- the device ---- */

/* Runs `adverb` with arguments and stores the first line of its output. */
static void run_adverb(const char *arguments, char *line, int size)
{
	char command[4096], rest[512];
	FILE *f;

	snprintf(command, sizeof(command), "'%s/../adverb' %s", getenv("LD_LIBRARY_PATH"),
		 arguments);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, size, f));
	while (fgets(rest, sizeof(rest), f))
		;
	assert_int_equal(pclose(f), 0);
}

/* Starts a daemon for this test. A daemon without clients must first exit, which it does one second
 * after the last query. */
static void start_daemon(void)
{
	char command[4096];
	int tries = 0;

	snprintf(command, sizeof(command), "'%s/../adverbd' --linger 60 2>/dev/null",
		 getenv("LD_LIBRARY_PATH"));
	while (system(command) != 0) {
		assert_true(tries++ < 20);
		usleep(1500000);
	}
}

/* Finds the process ids of the worker and the keeper. */
static void find_daemon(int *daemon, int *keeper)
{
	char line[512];
	const char *p;

	run_adverb("status", line, sizeof(line));
	p = strstr(line, ": process ");
	assert_non_null(p);
	assert_int_equal(sscanf(p, ": process %d, keeper %d", daemon, keeper), 2);
}

static void send_one(struct pair *p)
{
	assert_int_equal(post_recv(&p->b, 1, 0, 64), 0);
	assert_int_equal(post_send(&p->a, 1, 0, 8, IBV_SEND_SIGNALED), 0);
}

/* Tests that no call hangs if no daemon follows address changes and none can be started. Sends may
 * fail. A newly opened device works. */
static void device_fatal(void **state)
{
	const char *program = getenv("ADVERB_DAEMON");
	char *path = program ? strdup(program) : NULL;
	int daemon, keeper;
	struct ibv_wc wc;
	char line[512];
	struct pair p;

	/* A process determines the path of the daemon when it opens the device. */
	start_daemon();
	setenv("ADVERB_DAEMON", "/nonexistent/adverbd", 1);
	pair_open(&p, &(struct options){.timeout = 8});
	find_daemon(&daemon, &keeper);
	/* Stops both before killing them, as each would replace the other. */
	assert_int_equal(kill(keeper, SIGSTOP) | kill(daemon, SIGSTOP), 0);
	assert_int_equal(kill(keeper, SIGKILL) | kill(daemon, SIGKILL), 0);
	expect_async(p.a.ctx, IBV_EVENT_DEVICE_FATAL);
	expect_async(p.b.ctx, IBV_EVENT_DEVICE_FATAL);
	send_one(&p);
	assert_true(wait_wc(p.a.send_cq, &wc, PATIENCE));
	assert_true(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
	if (path)
		setenv("ADVERB_DAEMON", path, 1);
	else
		unsetenv("ADVERB_DAEMON");
	free(path);
	/* Another program starts the new daemon: see run-isolated. */
	run_adverb("gids", line, sizeof(line));
	pair_open(&p, &(struct options){0});
	send_one(&p);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_request),     cmocka_unit_test(access_violation),
		cmocka_unit_test(overrun_is_fatal),    cmocka_unit_test(communication_established),
		cmocka_unit_test(port_goes_and_comes), cmocka_unit_test(device_fatal),
	};
	int failed;

	/* Uses UDP, because processes of one machine need no port with shared memory. */
	setenv("ADVERB_NO_SHM", "1", 1);
	log_file_open();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	log_file_remove();
	return failed;
}
