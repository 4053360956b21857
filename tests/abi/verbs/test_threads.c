/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests many threads on one device. They share its PD, MR, SRQ and CQ, share a QP, and destroy
 * objects that other threads use, as far as the man pages allow that. Each request must complete
 * exactly once, and received data must equal sent data.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#define THREADS	 4
#define DEPTH	 32 /* requests in each queue */
#define MESSAGE	 64 /* bytes; filled with copies of one number */
#define SEND_BIT (1ull << 63)
#define REGION	 8192

/* An assertion for all threads: cmocka's assertions work only in the main thread. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what,              \
				strerror(errno));                                                  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The device that all threads use. Its QP stays unused. */
static struct side dev;

static pthread_t start_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, function, arg) == 0);
	return thread;
}

static void join_thread(pthread_t thread)
{
	MUST(pthread_join(thread, NULL) == 0);
}

/* ---- two QPs of the device, connected with each other ---- */

struct link {
	struct side from, to; /* like `dev`, except for the QP */
};

static struct ibv_qp *new_qp(struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = {DEPTH, DEPTH, 1, 1, MESSAGE},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(dev.pd, &attr);

	MUST(qp);
	return qp;
}

/* Moves s to RTR. Each connection begins with other PSNs, so that packets of the last connection of
 * the same QPs do not match. */
static void rtr(struct side *s, const struct side *peer, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = psn,
		.min_rnr_timer = 1,
		.ah_attr = av_to(s, peer),
	};

	MUST(ibv_modify_qp(s->qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0);
}

static void rts(struct side *s, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	MUST(ibv_modify_qp(s->qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void link_connect(struct link *l)
{
	static atomic_uint connections;
	const struct options o = {0};
	uint32_t psn = atomic_fetch_add(&connections, 1) * 997 & 0xffffff;

	MUST(to_init(&l->from, &o) == 0);
	MUST(to_init(&l->to, &o) == 0);
	rtr(&l->from, &l->to, psn);
	rtr(&l->to, &l->from, psn);
	rts(&l->from, psn);
	rts(&l->to, psn);
}

static void link_open(struct link *l, struct ibv_cq *cq, struct ibv_srq *srq)
{
	l->from = dev;
	l->to = dev;
	l->from.qp = new_qp(cq, NULL);
	l->to.qp = new_qp(cq, srq);
	link_connect(l);
}

static void link_reset(struct link *l)
{
	MUST(to_state(&l->from, IBV_QPS_RESET) == 0);
	MUST(to_state(&l->to, IBV_QPS_RESET) == 0);
}

static void link_close(struct link *l)
{
	MUST(ibv_destroy_qp(l->from.qp) == 0);
	MUST(ibv_destroy_qp(l->to.qp) == 0);
}

/* Posts an inline SEND of `number`. Waits while the queue is full. */
static void send_number(struct ibv_qp *qp, uint64_t number)
{
	uint64_t words[MESSAGE / 8];
	struct ibv_sge sge = {(uintptr_t)words, MESSAGE, 0};
	struct ibv_send_wr wr = {.wr_id = number | SEND_BIT,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	struct ibv_send_wr *bad;
	int err;

	for (size_t i = 0; i < MESSAGE / 8; i++)
		words[i] = number;
	while ((err = ibv_post_send(qp, &wr, &bad)) == ENOMEM)
		sched_yield();
	MUST(err == 0);
}

/* Posts a receive into place `slot` of the device's buffer; wr_id is the slot. */
static void post_slot(struct ibv_qp *qp, struct ibv_srq *srq, uint64_t slot)
{
	struct ibv_sge sge = sge_of(&dev, slot * MESSAGE, MESSAGE);
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;

	MUST((srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)) == 0);
}

/* Returns the number in a slot. Asserts that it is repeated throughout the slot. */
static uint64_t number_in(uint64_t slot)
{
	uint64_t words[MESSAGE / 8];

	memcpy(words, dev.buf + slot * MESSAGE, MESSAGE);
	for (size_t i = 1; i < MESSAGE / 8; i++)
		MUST(words[i] == words[0]);
	return words[0];
}

/* ---- numbers, each sent and received once ---- */

#define NUMBERS 4000

static struct {
	atomic_uint sent[NUMBERS]; /* completions of each number's SEND */
	atomic_uint received[NUMBERS];
	atomic_uint left; /* number of missing completions */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp; /* shared by all threads */
} once;

static void handle_once(const struct ibv_wc *wc)
{
	uint64_t number = wc->wr_id & ~SEND_BIT;

	if (wc->status != IBV_WC_SUCCESS)
		fprintf(stderr, "%s (%u)\n", ibv_wc_status_str(wc->status), wc->vendor_err);
	MUST(wc->status == IBV_WC_SUCCESS);
	if (wc->wr_id & SEND_BIT) {
		MUST(number < NUMBERS && atomic_fetch_add(&once.sent[number], 1) == 0);
	} else {
		number = number_in(wc->wr_id);
		MUST(number < NUMBERS && atomic_fetch_add(&once.received[number], 1) == 0);
		post_slot(NULL, once.srq, wc->wr_id);
	}
	atomic_fetch_sub(&once.left, 1);
}

static void *poll_once(void *arg)
{
	struct ibv_wc wc[4];

	while (atomic_load(&once.left)) {
		int n = ibv_poll_cq(once.cq, 4, wc);

		MUST(n >= 0);
		for (int i = 0; i < n; i++)
			handle_once(&wc[i]);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static void once_open(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = DEPTH, .max_sge = 1}};

	memset(&once, 0, sizeof(once));
	atomic_store(&once.left, 2 * NUMBERS);
	once.cq = ibv_create_cq(dev.ctx, 1024, NULL, NULL, 0);
	once.srq = ibv_create_srq(dev.pd, &attr);
	assert_non_null(once.cq);
	assert_non_null(once.srq);
	for (uint64_t slot = 0; slot < DEPTH; slot++)
		post_slot(NULL, once.srq, slot);
}

static void once_close(void)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		assert_int_equal(once.sent[i], 1);
		assert_int_equal(once.received[i], 1);
	}
	assert_int_equal(ibv_destroy_srq(once.srq), 0);
	assert_int_equal(ibv_destroy_cq(once.cq), 0);
}

struct sender {
	struct ibv_qp *qp;
	uint64_t first, count;
};

static void *send_numbers(void *arg)
{
	const struct sender *s = arg;

	for (uint64_t i = 0; i < s->count; i++)
		send_number(s->qp, s->first + i);
	return NULL;
}

/* Sends all numbers: each thread posts to its own QP, or all threads post to one. Two threads poll.
 */
static void send_all(struct ibv_qp *const *qps)
{
	pthread_t senders[THREADS], pollers[2];
	struct sender s[THREADS];

	for (unsigned i = 0; i < 2; i++)
		pollers[i] = start_thread(poll_once, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		s[i] = (struct sender){qps[i], i * NUMBERS / THREADS, NUMBERS / THREADS};
		senders[i] = start_thread(send_numbers, &s[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		join_thread(senders[i]);
	for (unsigned i = 0; i < 2; i++)
		join_thread(pollers[i]);
}

static void own_qps_and_all_else_shared(void **state)
{
	struct link links[THREADS];
	struct ibv_qp *qps[THREADS];

	once_open();
	for (unsigned i = 0; i < THREADS; i++) {
		link_open(&links[i], once.cq, once.srq);
		qps[i] = links[i].from.qp;
	}
	send_all(qps);
	for (unsigned i = 0; i < THREADS; i++)
		link_close(&links[i]);
	once_close();
}

static void one_qp_for_all(void **state)
{
	struct link l;

	once_open();
	link_open(&l, once.cq, once.srq);
	send_all((struct ibv_qp *const[]){l.from.qp, l.from.qp, l.from.qp, l.from.qp});
	link_close(&l);
	once_close();
}

/* Creates and destroys QPs of the same CQ and SRQ meanwhile. Each QP may have used one or two
 * receives, whose completions disappear with it; the function posts these receives again. */
static void *churn(void *cq)
{
	while (atomic_load(&once.left)) {
		struct link l;

		link_open(&l, cq, NULL);
		post_slot(l.to.qp, NULL, DEPTH + 1);
		send_number(l.from.qp, 0);
		link_close(&l);
	}
	return NULL;
}

static void *poll_and_forget(void *cq)
{
	struct ibv_wc wc;

	while (atomic_load(&once.left)) {
		if (ibv_poll_cq(cq, 1, &wc) == 0)
			sched_yield();
	}
	return NULL;
}

static void qps_come_and_go_beside_traffic(void **state)
{
	struct link l;
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 1024, NULL, NULL, 0);
	pthread_t beside[3];

	assert_non_null(cq);
	once_open();
	link_open(&l, once.cq, once.srq);
	beside[0] = start_thread(churn, cq);
	beside[1] = start_thread(churn, cq);
	beside[2] = start_thread(poll_and_forget, cq);
	send_all((struct ibv_qp *const[]){l.from.qp, l.from.qp, l.from.qp, l.from.qp});
	for (unsigned i = 0; i < 3; i++)
		join_thread(beside[i]);
	link_close(&l);
	once_close();
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ---- a QP that fails while threads post to it ---- */

#define ERROR_ROUNDS 20

static struct {
	struct link link;
	atomic_bool stop;
	atomic_uint posted;
} failing;

static void *post_until_stopped(void *arg)
{
	bool sends = arg != NULL;
	struct ibv_sge sge = sge_of(&dev, 0, 8);
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;

	while (!atomic_load(&failing.stop)) {
		int err = sends ? ibv_post_send(failing.link.from.qp, &send, &bad_send)
				: ibv_post_recv(failing.link.to.qp, &recv, &bad_recv);

		MUST(err == 0 || err == ENOMEM);
		if (!err)
			atomic_fetch_add(&failing.posted, 1);
		else
			sched_yield();
	}
	return NULL;
}

/* Polls until all posted requests have completed. */
static void drain(struct ibv_cq *cq, unsigned *completed)
{
	double end = now_seconds() + PATIENCE;
	struct ibv_wc wc;

	while (*completed < atomic_load(&failing.posted)) {
		int n = ibv_poll_cq(cq, 1, &wc);

		MUST(n >= 0 && now_seconds() < end);
		if (n == 0)
			continue;
		MUST(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
		(*completed)++;
	}
}

static void error_while_posting(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 1024, NULL, NULL, 0);

	assert_non_null(cq);
	link_open(&failing.link, cq, NULL);
	for (unsigned round = 0; round < ERROR_ROUNDS; round++) {
		pthread_t posting[THREADS];
		unsigned completed = 0;

		atomic_store(&failing.posted, 0);
		atomic_store(&failing.stop, false);
		for (unsigned i = 0; i < THREADS; i++)
			posting[i] = start_thread(post_until_stopped, i % 2 ? &failing : NULL);
		while (atomic_load(&failing.posted) < 10 * round)
			drain(cq, &completed);
		assert_int_equal(
			to_state(round % 2 ? &failing.link.from : &failing.link.to, IBV_QPS_ERR),
			0);
		/* Moves the other QP to ERR, if it has not failed by itself, so that it does not
		 * wait for its peer. */
		assert_int_equal(to_state(&failing.link.from, IBV_QPS_ERR), 0);
		assert_int_equal(to_state(&failing.link.to, IBV_QPS_ERR), 0);
		drain(cq, &completed);
		atomic_store(&failing.stop, true);
		for (unsigned i = 0; i < THREADS; i++)
			join_thread(posting[i]);
		drain(cq, &completed);
		assert_int_equal(completed, atomic_load(&failing.posted));
		expect_none(cq);
		link_reset(&failing.link);
		link_connect(&failing.link);
	}
	link_close(&failing.link);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ---- regions that are deregistered while a peer writes ---- */

#define REGION_ROUNDS 60

static void write_into(struct link *l, const struct ibv_mr *mr)
{
	struct ibv_sge sge = sge_of(&dev, 0, REGION);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)mr->addr, mr->rkey}};
	struct ibv_send_wr *bad;

	MUST(ibv_post_send(l->from.qp, &wr, &bad) == 0);
}

/* Deregisters regions and unmaps their memory at once. Nothing may access the memory after that. */
static void *map_and_unmap(void *arg)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	unsigned seed = (unsigned)(uintptr_t)arg;
	struct link l;

	MUST(cq);
	link_open(&l, cq, NULL);
	for (unsigned round = 0; round < REGION_ROUNDS; round++) {
		struct ibv_wc wc;
		struct ibv_mr *mr;
		void *memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		MUST(memory != MAP_FAILED);
		mr = ibv_reg_mr(dev.pd, memory, REGION, ALL_ACCESS);
		MUST(mr);
		for (int i = 0; i < 4; i++)
			write_into(&l, mr);
		for (unsigned i = rand_r(&seed) % 5; i > 0; i--)
			MUST(wait_wc(cq, &wc, PATIENCE) && wc.status == IBV_WC_SUCCESS);
		MUST(ibv_dereg_mr(mr) == 0);
		MUST(munmap(memory, REGION) == 0);
		link_reset(&l);
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			;
		link_connect(&l);
	}
	link_close(&l);
	MUST(ibv_destroy_cq(cq) == 0);
	return NULL;
}

static void regions_go_beside_traffic(void **state)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		thread[i] = start_thread(map_and_unmap, (void *)(i + 1)); /* NOLINT: a number */
	for (unsigned i = 0; i < THREADS; i++)
		join_thread(thread[i]);
}

/* ---- events of objects that are being destroyed ---- */

#define EVENT_ROUNDS 60

static atomic_bool events_end;
static atomic_uint events_taken;

static void no_waiting(int fd)
{
	MUST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

/* In some rounds, waits until the object's event was fetched. */
static void wait_taken(unsigned round, unsigned before)
{
	double end = now_seconds() + PATIENCE;

	while (round % 4 == 3 && atomic_load(&events_taken) == before && now_seconds() < end)
		usleep(100);
	if (round % 4 == 3)
		assert_true(atomic_load(&events_taken) > before);
}

/* Uses a CQ between its event and the acknowledgement of the event: the CQ must exist until then.
 */
static void *take_completions(void *arg)
{
	struct ibv_comp_channel *channel = arg;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	while (!atomic_load(&events_end)) {
		if (!readable(channel->fd, 20) || ibv_get_cq_event(channel, &cq, &context))
			continue;
		MUST(context == &events_end);
		MUST(ibv_req_notify_cq(cq, 0) == 0);
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			MUST(wc.status == IBV_WC_SUCCESS);
		atomic_fetch_add(&events_taken, 1);
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

static void cq_round(struct ibv_comp_channel *channel, unsigned round)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 64, &events_end, channel, 0);
	unsigned before = atomic_load(&events_taken);
	struct link l;

	assert_non_null(cq);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	link_open(&l, cq, NULL);
	for (unsigned i = 0; i < 8; i++)
		post_slot(l.to.qp, NULL, i);
	for (unsigned i = 0; i < 8; i++)
		send_number(l.from.qp, i);
	usleep(round % 8 * 40);
	wait_taken(round, before);
	link_close(&l);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void cqs_go_beside_their_events(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(dev.ctx);
	pthread_t thread[2];

	assert_non_null(channel);
	no_waiting(channel->fd);
	atomic_store(&events_end, false);
	atomic_store(&events_taken, 0);
	for (unsigned i = 0; i < 2; i++)
		thread[i] = start_thread(take_completions, channel);
	for (unsigned round = 0; round < EVENT_ROUNDS; round++)
		cq_round(channel, round);
	atomic_store(&events_end, true);
	for (unsigned i = 0; i < 2; i++)
		join_thread(thread[i]);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

/* Uses an object while a handler holds its event. */
static void use_object(const struct ibv_async_event *event)
{
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr srq;
	struct ibv_qp_attr qp;

	switch (event->event_type) {
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
		MUST(ibv_query_qp(event->element.qp, &qp, IBV_QP_STATE, &init) == 0);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		post_slot(NULL, event->element.srq, 0);
		srq.srq_limit = 1;
		MUST(ibv_modify_srq(event->element.srq, &srq, IBV_SRQ_LIMIT) == 0);
		break;
	default:
		MUST(!"an event that nothing here causes");
	}
}

/* As take_completions(), but with asynchronous events of QPs, after a forbidden WRITE of the peer,
 * and of SRQs. */
static void *take_async(void *arg)
{
	struct ibv_async_event event;

	while (!atomic_load(&events_end)) {
		if (!readable(dev.ctx->async_fd, 20) || ibv_get_async_event(dev.ctx, &event))
			continue;
		use_object(&event);
		atomic_fetch_add(&events_taken, 1);
		ibv_ack_async_event(&event);
	}
	return NULL;
}

static void qp_round(struct ibv_cq *cq, struct ibv_srq *srq, unsigned round)
{
	const struct ibv_mr nobody = {.addr = dev.buf, .rkey = ~dev.mr->rkey};
	unsigned before = atomic_load(&events_taken);
	struct ibv_wc wc;
	struct link l;

	link_open(&l, cq, srq);
	if (srq) {
		struct ibv_srq_attr attr = {.srq_limit = 1};

		post_slot(NULL, srq, 0);
		assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
		send_number(l.from.qp, 1);
	} else {
		write_into(&l, &nobody);
	}
	if (round % 2) {
		assert_true(wait_wc(cq, &wc, PATIENCE));
		assert_int_equal(wc.status, srq ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
	}
	wait_taken(round, before);
	link_close(&l);
}

static void qps_and_srqs_go_beside_their_events(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	pthread_t thread[2];

	assert_non_null(cq);
	no_waiting(dev.ctx->async_fd);
	atomic_store(&events_end, false);
	atomic_store(&events_taken, 0);
	for (unsigned i = 0; i < 2; i++)
		thread[i] = start_thread(take_async, NULL);
	for (unsigned round = 0; round < EVENT_ROUNDS; round++) {
		struct ibv_srq_init_attr attr = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
		struct ibv_srq *srq = ibv_create_srq(dev.pd, &attr);

		assert_non_null(srq);
		qp_round(cq, NULL, round);
		qp_round(cq, srq, round);
		assert_int_equal(ibv_destroy_srq(srq), 0);
	}
	atomic_store(&events_end, true);
	for (unsigned i = 0; i < 2; i++)
		join_thread(thread[i]);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_qps_and_all_else_shared),
		cmocka_unit_test(one_qp_for_all),
		cmocka_unit_test(qps_come_and_go_beside_traffic),
		cmocka_unit_test(error_while_posting),
		cmocka_unit_test(regions_go_beside_traffic),
		cmocka_unit_test(cqs_go_beside_their_events),
		cmocka_unit_test(qps_and_srqs_go_beside_their_events),
	};
	const struct options o = {0};
	int failed;

	side_open(&dev, &o);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	side_close(&dev);
	return failed;
}
