/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests memory that another thread withdraws while requests use it. The thread deregisters the
 * memory, re-registers it elsewhere, or invalidates or frees its window. When that call has
 * returned, other pages are mapped at the addresses, and none of their bytes may change. The
 * connection ends with the matching error.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#define SIZE	(256u << 10)
#define PART	(64u << 10)
#define IN_TURN 4 /* outstanding requests */
#define CANARY	0x5a
#ifdef __SANITIZE_THREAD__
#define ROUNDS 3 /* each way is tested once, because it is slow */
#else
#define ROUNDS 6
#endif

/* Role of the memory for the requests, which side a posts. */
enum role {
	SEND_SOURCE,
	WRITE_SOURCE,
	READ_TARGET,
	ATOMIC_RESULT,
	RECV_TARGET,
	WRITE_TARGET,
	READ_SOURCE,
	ATOMIC_TARGET,
	WRITE_WITH_IMM_TARGET,
	ROLES
};

enum way { DEREGISTER, REREGISTER, WAYS };

/* Ways to withdraw memory that has a window; only for roles in which the memory is the peer's. */
enum window_way { LOCAL_INVALIDATE, FREE_WINDOW, PEER_INVALIDATES, WINDOW_WAYS };

static const struct {
	enum ibv_wr_opcode opcode;
	bool receives; /* side b posts receives */
	bool at_b;     /* the memory belongs to side b */
	uint32_t length;
	/* Status of the requester's error, and of a receive in use. */
	enum ibv_wc_status status;
	enum ibv_wc_status recv_status;
} roles[ROLES] = {
	[SEND_SOURCE] = {IBV_WR_SEND, true, false, PART, IBV_WC_LOC_PROT_ERR, 0},
	[WRITE_SOURCE] = {IBV_WR_RDMA_WRITE, false, false, PART, IBV_WC_LOC_PROT_ERR, 0},
	[READ_TARGET] = {IBV_WR_RDMA_READ, false, false, PART, IBV_WC_LOC_PROT_ERR, 0},
	[ATOMIC_RESULT] = {IBV_WR_ATOMIC_FETCH_AND_ADD, false, false, 8, IBV_WC_LOC_PROT_ERR, 0},
	[RECV_TARGET] = {IBV_WR_SEND, true, true, PART, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR},
	[WRITE_TARGET] = {IBV_WR_RDMA_WRITE, false, true, PART, IBV_WC_REM_ACCESS_ERR, 0},
	[READ_SOURCE] = {IBV_WR_RDMA_READ, false, true, PART, IBV_WC_REM_ACCESS_ERR, 0},
	[ATOMIC_TARGET] = {IBV_WR_ATOMIC_FETCH_AND_ADD, false, true, 8, IBV_WC_REM_ACCESS_ERR, 0},
	[WRITE_WITH_IMM_TARGET] = {IBV_WR_RDMA_WRITE_WITH_IMM, true, true, PART,
				   IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
};

struct bed {
	struct pair p;
	enum role role;
	struct side *owner;
	uint8_t *memory; /* SIZE bytes: the region of the memory's owner */
	struct ibv_mr *mr;
	struct ibv_mw *mw; /* the memory's window, or NULL */
	uint32_t lkey, rkey;
	uint64_t posted, done;
	uint64_t last; /* PEER_INVALIDATES: number of requests before the invalidation */
	unsigned delay_us;
	int way;
	uint8_t *elsewhere; /* memory to which the region is re-registered */
};

static const struct options options = {.timeout = 14, .rnr_retry = 7};

static void connect_again(struct pair *p)
{
	assert_int_equal(to_state(&p->a, IBV_QPS_RESET) | to_state(&p->b, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(&p->a, &options) | to_init(&p->b, &options), 0);
	assert_int_equal(to_rtr(&p->a, &p->b, &options) | to_rtr(&p->b, &p->a, &options), 0);
	assert_int_equal(to_rts(&p->a, &options) | to_rts(&p->b, &options), 0);
}

static uint8_t *map_region(void *at)
{
	uint8_t *m = mmap(at, SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_true(m != MAP_FAILED);
	return m;
}

/* ---- side a's requests ---- */

static void post_one_recv(struct bed *b)
{
	struct ibv_sge sge = {(uintptr_t)b->memory, PART, b->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	if (b->role != RECV_TARGET)
		sge = sge_of(&b->p.b, 0, PART);
	assert_int_equal(ibv_post_recv(b->p.b.qp, &wr, &bad), 0);
}

static void post_one(struct bed *b)
{
	bool atomic = roles[b->role].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	uint32_t length = roles[b->role].length;
	uint64_t at = b->posted * length % (SIZE - length + 1) & ~7ull;
	uint64_t remote = (uintptr_t)b->p.b.buf;
	uint32_t rkey = b->p.b.mr->rkey;
	struct ibv_sge sge = sge_of(&b->p.a, 0, length);
	struct ibv_send_wr wr = {.wr_id = b->posted,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = roles[b->role].opcode,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (roles[b->role].at_b) {
		remote = (uintptr_t)b->memory + at;
		rkey = b->rkey;
	} else {
		sge.addr = (uintptr_t)b->memory + at;
		sge.lkey = b->lkey;
	}
	if (atomic) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	assert_int_equal(ibv_post_send(b->p.a.qp, &wr, &bad), 0);
	b->posted++;
}

static bool peer_invalidates(const struct bed *b)
{
	return b->mw && b->way == PEER_INVALIDATES;
}

/* Makes the peer invalidate the window and then use it. */
static void post_invalidation(struct bed *b)
{
	struct ibv_send_wr wr = {.wr_id = b->posted++,
				 .opcode = IBV_WR_SEND_WITH_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = b->rkey};
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(b->p.a.qp, &wr, &bad), 0);
}

/* Polls the receives: the receive in use fails with the status, and later receives are flushed. */
static void take_recvs(struct bed *b, bool *failed)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(b->p.b.recv_cq, 1, &wc) == 1) {
		if (wc.status == IBV_WC_SUCCESS) {
			assert_false(*failed);
			post_one_recv(b);
		} else if (!*failed && wc.status == roles[b->role].recv_status) {
			*failed = true;
		} else {
			assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
			*failed = true;
		}
	}
}

/* Keeps side a busy until an error, and polls the flushed requests. */
static enum ibv_wc_status work_until_error(struct bed *b)
{
	enum ibv_wc_status first = IBV_WC_SUCCESS;
	double end = now_seconds() + PATIENCE;
	bool recv_failed = false;
	struct ibv_wc wc;

	for (int i = 0; roles[b->role].receives && i < 2 * IN_TURN; i++)
		post_one_recv(b);
	while (first == IBV_WC_SUCCESS || b->done < b->posted) {
		assert_true(now_seconds() < end);
		while (first == IBV_WC_SUCCESS && b->posted - b->done < IN_TURN) {
			if (peer_invalidates(b) && b->posted == b->last)
				post_invalidation(b);
			post_one(b);
		}
		if (roles[b->role].receives)
			take_recvs(b, &recv_failed);
		if (ibv_poll_cq(b->p.a.send_cq, 1, &wc) == 0)
			continue;
		assert_int_equal(wc.wr_id, b->done);
		b->done++;
		if (first == IBV_WC_SUCCESS)
			first = wc.status;
		else
			assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	return first;
}

/* ---- the owner's thread ---- */

static void invalidate(struct bed *b)
{
	struct ibv_send_wr wr = {.wr_id = 1,
				 .opcode = IBV_WR_LOCAL_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = b->rkey};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(b->owner->qp, &wr, &bad), 0);
	assert_true(wait_wc(b->owner->send_cq, &wc, PATIENCE));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void wait_for_invalidation(struct bed *b)
{
	struct ibv_wc wc;

	assert_true(wait_wc(b->owner->recv_cq, &wc, PATIENCE));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, b->rkey);
}

static void withdraw_memory(struct bed *b)
{
	if (b->mw && b->way == LOCAL_INVALIDATE)
		invalidate(b);
	else if (peer_invalidates(b))
		wait_for_invalidation(b);
	else if (b->mw)
		assert_int_equal(ibv_dealloc_mw(b->mw), 0);
	else if (b->way == DEREGISTER)
		assert_int_equal(ibv_dereg_mr(b->mr), 0);
	else
		assert_int_equal(ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					      b->elsewhere, SIZE, 0),
				 0);
	/* If a window was withdrawn, its region is still registered, so its pages must stay. */
	if (!b->mw)
		map_region(b->memory);
	memset(b->memory, CANARY, SIZE);
}

static void *owner_thread(void *arg)
{
	struct bed *b = arg;

	usleep(b->delay_us);
	withdraw_memory(b);
	return NULL;
}

static void expect_untouched(const struct bed *b)
{
	for (uint32_t i = 0; i < SIZE; i++)
		if (b->memory[i] != CANARY)
			fail_msg("byte %u was written after the memory was withdrawn", i);
	/* Checks that the new pages were not sent either. Sums of atomics may have any value. */
	if (roles[b->role].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return;
	if (memchr(b->p.a.buf, CANARY, PART) || memchr(b->p.b.buf, CANARY, PART))
		fail_msg("role %d, way %d: memory was read after it was withdrawn", b->role,
			 b->way);
}

/* ---- one round ---- */

static void bind_window(struct bed *b)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	b->mw = ibv_alloc_mw(b->owner->pd, IBV_MW_TYPE_2);
	assert_non_null(b->mw);
	b->rkey = ibv_inc_rkey(b->mw->rkey);
	wr.bind_mw.mw = b->mw;
	wr.bind_mw.rkey = b->rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		b->mr, (uintptr_t)b->memory, SIZE,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
	assert_int_equal(ibv_post_send(b->owner->qp, &wr, &bad), 0);
	expect_wc(b->owner->send_cq, 1, IBV_WC_SUCCESS);
}

static void one_round(struct bed *b, bool window)
{
	int access = window ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND : ALL_ACCESS;
	enum ibv_wc_status first;
	pthread_t thread;

	b->owner = roles[b->role].at_b ? &b->p.b : &b->p.a;
	b->posted = b->done = 0;
	b->mw = NULL;
	/* Data of an earlier round, such as a sum of atomics, may look like the canary. */
	memset(b->p.a.buf, 0, PART);
	memset(b->p.b.buf, 0, PART);
	b->memory = map_region(NULL);
	b->mr = ibv_reg_mr(b->owner->pd, b->memory, SIZE, access);
	assert_non_null(b->mr);
	b->lkey = b->mr->lkey;
	b->rkey = b->mr->rkey;
	if (window)
		bind_window(b);
	if (peer_invalidates(b))
		post_one_recv(b);
	assert_int_equal(pthread_create(&thread, NULL, owner_thread, b), 0);
	first = work_until_error(b);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(first, roles[b->role].status);
	expect_untouched(b);
	if (window && b->way != FREE_WINDOW)
		assert_int_equal(ibv_dealloc_mw(b->mw), 0);
	if (window || b->way == REREGISTER)
		assert_int_equal(ibv_dereg_mr(b->mr), 0);
	assert_int_equal(munmap(b->memory, SIZE), 0);
	connect_again(&b->p);
}

static void rounds(int ways, bool window, bool udp)
{
	struct bed b = {0};
	unsigned seed = 7;

	if (udp)
		assert_int_equal(setenv("ADVERB_NO_SHM", "1", 1), 0);
	pair_open(&b.p, &options);
	assert_int_equal(unsetenv("ADVERB_NO_SHM"), 0);
	b.elsewhere = map_region(NULL);
	memset(b.p.a.buf, CANARY, PART);
	memset(b.p.b.buf, CANARY, PART);
	for (b.role = 0; b.role < ROLES; b.role++) {
		/* Only requests of a peer use windows. */
		if (window && (!roles[b.role].at_b || b.role == RECV_TARGET))
			continue;
		for (int i = 0; i < ROUNDS; i++) {
			b.way = i % ways;
			if (window && b.way == PEER_INVALIDATES && roles[b.role].receives)
				b.way = FREE_WINDOW;
			b.last = (uint64_t)rand_r(&seed) % 20;
			b.delay_us = (unsigned)rand_r(&seed) % 1500;
			one_round(&b, window);
		}
	}
	assert_int_equal(munmap(b.elsewhere, SIZE), 0);
	pair_close(&b.p);
}

static void regions(void **state)
{
	rounds(WAYS, false, false);
}

static void windows(void **state)
{
	rounds(WINDOW_WAYS, true, false);
}

static void regions_over_udp(void **state)
{
	rounds(WAYS, false, true);
}

static void windows_over_udp(void **state)
{
	rounds(WINDOW_WAYS, true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions),
		cmocka_unit_test(windows),
		cmocka_unit_test(regions_over_udp),
		cmocka_unit_test(windows_over_udp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
