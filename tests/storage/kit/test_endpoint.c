/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An endpoint on a device that is the test: a peer that never stops sending. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "storage/kit/endpoint_internal.h"

enum { RECEIVES = 8, RECEIVE_SIZE = 64, ROUNDS = 50, ENOUGH = 10000000 };

static struct {
	struct ibv_context verbs;
	struct ibv_pd pd;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	struct ibv_mr mr;
	struct ibv_qp qp;
	struct rdma_cm_id id;

	uint64_t posted[RECEIVES]; /* receives, a ring */
	unsigned first, count;
	unsigned events;  /* to fetch */
	unsigned fetched; /* and not acknowledged */
	bool armed, quiet;
	unsigned messages;
} f;

/* --- the device --- */

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	assert_true(f.count < RECEIVES);
	f.posted[(f.first + f.count++) % RECEIVES] = wr->wr_id;
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int i;

	for (i = 0; i < n && f.count > 0 && !f.quiet; i++) {
		wc[i] = (struct ibv_wc){.wr_id = f.posted[f.first], .opcode = IBV_WC_RECV};
		f.first = (f.first + 1) % RECEIVES;
		f.count--;
	}
	return i;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	f.armed = true;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	if (f.events == 0)
		return -1;
	f.events--;
	f.fetched++;
	*cq = &f.cq;
	*context = f.cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	f.fetched -= n;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int entries, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	f.cq = (struct ibv_cq){.context = verbs, .channel = channel, .cq_context = context};
	return &f.cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	assert_int_equal(f.fetched + f.events, 0);
	return 0;
}

struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *pd, void *memory, size_t length, int access)
{
	return &f.mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *memory, size_t length, uint64_t iova,
				unsigned int access)
{
	return &f.mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return 0;
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	f.qp.context = &f.verbs;
	id->qp = &f.qp;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
	f.count = 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	return -1;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	return -1;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	return 0;
}

/* --- the test --- */

static struct world {
	struct adv_loop *loop;
	struct adv_kit_device device;
	struct adv_endpoint *endpoint;
	struct adv_task round;
	unsigned rounds;
	bool is_closed;
} w;

static void received(void *user, struct adv_receive *r)
{
	adv_endpoint_repost(w.endpoint, r);
	/* Without a limit, the loop would not go on. */
	if (++f.messages == ENOUGH)
		fail_msg("the loop does nothing else");
}

static void closed(void *user)
{
	w.is_closed = true;
	adv_loop_stop(w.loop);
}

static int set_up(void **state)
{
	const struct adv_endpoint_config config = {
		.receives = RECEIVES,
		.receive_size = RECEIVE_SIZE,
		.work_max = 1,
		.received = received,
		.closed = closed,
	};
	const struct rdma_conn_param param = {0};

	memset(&f, 0, sizeof(f));
	f.verbs.ops.poll_cq = poll_cq;
	f.verbs.ops.req_notify_cq = req_notify_cq;
	f.verbs.ops.post_recv = post_recv;
	w = (struct world){.loop = adv_loop_create()};
	w.device = (struct adv_kit_device){.verbs = &f.verbs, .pd = &f.pd, .channel = &f.channel};
	return !adv_endpoint_accept(w.loop, &w.device, &f.id, &param, &config, &w.endpoint);
}

static int tear_down(void **state)
{
	adv_task_cancel(&w.round);
	adv_loop_destroy(w.loop);
	return 0;
}

/* The device has an event whenever the queue is armed, as there are always messages. */
static void next_round(struct adv_task *t)
{
	if (f.armed && !f.quiet) {
		f.armed = false;
		f.events++;
	}
	while (adv_kit_device_event(&w.device))
		;
	if (++w.rounds == ROUNDS)
		adv_endpoint_close(w.endpoint);
	else
		adv_loop_defer(w.loop, t);
}

static void run(void)
{
	adv_task_init(&w.round, next_round);
	adv_loop_defer(w.loop, &w.round);
	adv_loop_run(w.loop);
}

/* A peer whose messages arrive faster than they are handled gets its turn in each round of the
 * loop, and the others too. */
static void test_busy(void **state)
{
	run();
	assert_int_equal(w.rounds, ROUNDS);
	assert_true(f.messages >= ROUNDS * RECEIVES / 2);
	assert_true(w.is_closed);
}

/* After the last message, the queue is armed: its next event is not lost. */
static void test_armed(void **state)
{
	f.quiet = true;
	f.armed = false;
	f.events = 1;
	run();
	assert_true(f.armed);
	assert_true(w.is_closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_busy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_armed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
