/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests a process with more contexts than devices: several contexts share a device and do not
 * affect each other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "harness.h"

#define MANY	  300
#define APART	  16   /* each of the first contexts has its own device */
#define FILES	  1024 /* usual limit of descriptors */
#define QPN_SHIFT 11   /* a slot has 2,048 numbers */

static struct ibv_context *filler[MANY];
static struct side shared[2 * APART + 2];

/* Objects of a closed context, which cannot be destroyed. The leak checker finds them here. */
struct side left[2]; /* not static: the compiler would remove it, because it is never read */
void *also_left[2];

static void limit_files(void)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = r.rlim_max < FILES ? r.rlim_max : FILES;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void open_fillers(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		filler[i] = open_device();
}

static void close_fillers(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(ibv_close_device(filler[i]), 0);
}

static void exchange(struct pair *p, uint64_t seed)
{
	memset(p->a.buf, (int)seed, 5000);
	assert_int_equal(post_recv(&p->b, seed, 0, 5000), 0);
	assert_int_equal(post_send(&p->a, seed, 0, 5000, IBV_SEND_SIGNALED), 0);
	expect_wc(p->a.send_cq, seed, IBV_WC_SUCCESS);
	expect_wc(p->b.recv_cq, seed, IBV_WC_SUCCESS);
	assert_memory_equal(p->a.buf, p->b.buf, 5000);
}

/* Tests hundreds of contexts: with any card, a program with the usual limit of descriptors can open
 * them. */
static void hundreds(void **state)
{
	struct pair p;

	limit_files();
	open_fillers(MANY);
	for (unsigned i = 0; i < MANY; i++) {
		struct ibv_pd *pd = ibv_alloc_pd(filler[i]);
		struct ibv_cq *cq = ibv_create_cq(filler[i], 10, NULL, NULL, 0);
		uint64_t word = i;
		struct ibv_mr *mr = ibv_reg_mr(pd, &word, sizeof(word), 0);

		assert_true(pd && cq && mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
	pair_open(&p, &(struct options){0});
	exchange(&p, 1);
	for (unsigned i = 0; i < MANY; i += 2)
		assert_int_equal(ibv_close_device(filler[i]), 0);
	exchange(&p, 2);
	for (unsigned i = 1; i < MANY; i += 2)
		assert_int_equal(ibv_close_device(filler[i]), 0);
	exchange(&p, 3);
	pair_close(&p);
}

/* Opens sides until one shares a device with the first side. Returns that side. */
static struct side *open_shared(const struct options *o)
{
	unsigned i = 0;

	open_fillers(APART);
	do
		side_open(&shared[i], o);
	while (++i == 1 ||
	       shared[i - 1].qp->qp_num >> QPN_SHIFT != shared[0].qp->qp_num >> QPN_SHIFT);
	for (unsigned k = 1; k < i - 1; k++)
		side_close(&shared[k]);
	return &shared[i - 1];
}

/* Tests that objects of two contexts cannot be combined, although they share an engine. */
static void strangers(void **state)
{
	struct side *a = &shared[0], *b = open_shared(&(struct options){.unconnected = true});
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = a->send_cq, .recv_cq = a->recv_cq};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	const struct options o = {0};
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.wr_id = 7,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .sg_list = &sge,
				 .num_sge = 1},
			   *bad;

	init.cap.max_send_wr = init.cap.max_recv_wr = 1;
	assert_null(ibv_create_qp(b->pd, &init));
	assert_int_equal(errno, EINVAL);
	init.send_cq = init.recv_cq = b->send_cq;
	init.srq = ibv_create_srq(a->pd, &srq);
	assert_non_null(init.srq);
	assert_null(ibv_create_qp(b->pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_srq(init.srq), 0);
	/* When the two contexts are connected to each other, a key of one is invalid for the other.
	 */
	assert_int_equal(to_init(a, &o) + to_init(b, &o), 0);
	assert_int_equal(to_rtr(a, b, &o) + to_rtr(b, a, &o), 0);
	assert_int_equal(to_rts(a, &o) + to_rts(b, &o), 0);
	sge = sge_of(a, 0, 100);
	wr.wr.rdma.remote_addr = (uintptr_t)a->buf + 4096;
	wr.wr.rdma.rkey = a->mr->rkey;
	assert_int_equal(ibv_post_send(b->qp, &wr, &bad), 0);
	expect_wc(b->send_cq, 7, IBV_WC_LOC_PROT_ERR);
	side_close(b);
	side_close(a);
	close_fillers(APART);
}

/* Tests that a context gets no events of the other context's objects. */
static void events(void **state)
{
	const struct options o = {.srq = true, .unconnected = true};
	struct side *a = &shared[0], *b = open_shared(&o);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_RC,
				      .send_cq = b->send_cq,
				      .recv_cq = b->recv_cq,
				      .cap = {.max_send_wr = 1, .max_send_sge = 1}};
	struct ibv_async_event event;
	struct ibv_qp *with_srq;

	qp.srq = ibv_create_srq(b->pd, &init);
	with_srq = ibv_create_qp(b->pd, &qp);
	assert_non_null(with_srq);
	assert_int_equal(ibv_modify_qp(with_srq, &error, IBV_QP_STATE), 0);
	event = wait_async(b->ctx);
	assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_ptr_equal(event.element.qp, with_srq);
	ibv_ack_async_event(&event);
	assert_false(readable(a->ctx->async_fd, 50));
	for (unsigned i = 0; i < APART; i++)
		assert_false(readable(filler[i]->async_fd, 0));
	assert_int_equal(ibv_destroy_qp(with_srq), 0);
	assert_int_equal(ibv_destroy_srq(qp.srq), 0);
	side_close(b);
	side_close(a);
	close_fillers(APART);
}

/* Tests that closing a context with all its objects does not affect the other context. */
static void closed_with_objects(void **state)
{
	struct side *a = &shared[0], *b = open_shared(&(struct options){.unconnected = true});
	const struct options o = {0};
	struct pair p = {.b = {0}};
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};

	p.a = *b;
	side_open(&p.b, &(struct options){.unconnected = true});
	assert_int_equal(to_init(&p.a, &o) + to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o) + to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(to_rts(&p.a, &o) + to_rts(&p.b, &o), 0);
	/* The closed context has a window, a domain, outstanding requests, and packets in flight.
	 */
	also_left[0] = ibv_alloc_mw(a->pd, IBV_MW_TYPE_1);
	also_left[1] = ibv_open_xrcd(a->ctx, &xrcd);
	assert_true(also_left[0] && also_left[1]);
	assert_int_equal(to_init(a, &o) + to_rtr(a, a, &o) + to_rts(a, &o), 0);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(post_rdma(a, a, IBV_WR_RDMA_WRITE, i, 0, 4096, 8192, a->mr->rkey),
				 0);
	exchange(&p, 1);
	left[0] = *a;
	assert_int_equal(ibv_close_device(a->ctx), 0);
	exchange(&p, 2);
	/* A new context reuses the place of the closed one and finds it empty. */
	side_open(a, &o);
	exchange(&p, 3);
	side_close(a);
	exchange(&p, 4);
	side_close(&p.b);
	side_close(&p.a);
	close_fillers(APART);
}

static bool is_joined(const char *group)
{
	char line[200];
	bool found = false;
	FILE *f = fopen("/proc/net/igmp", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		found = found || strstr(line, group);
	fclose(f);
	return found;
}

/* Tests that the socket is a member of a group as long as one context is. */
static void groups(void **state)
{
	const struct options o = {.type = IBV_QPT_UD};
	struct side *a = &shared[0], *b = open_shared(&o);
	union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 77}};

	assert_int_equal(ibv_attach_mcast(a->qp, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(b->qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(a->qp, &group, 0), 0);
	assert_true(is_joined("4D0201EF"));
	assert_int_equal(ibv_attach_mcast(a->qp, &group, 0), 0);
	left[1] = *a;
	assert_int_equal(ibv_close_device(a->ctx), 0);
	assert_true(is_joined("4D0201EF"));
	assert_int_equal(ibv_detach_mcast(b->qp, &group, 0), 0);
	assert_false(is_joined("4D0201EF"));
	side_close(b);
	close_fillers(APART);
}

#define OPENERS 6
#define ROUNDS	12
#define OPENED	10 /* contexts that each thread has open at once */

/* Objects that each context leaves for its close. */
struct opener {
	struct ibv_pd *pd[ROUNDS][OPENED];
	struct ibv_cq *cq[ROUNDS][OPENED];
} opener[OPENERS];

static void *open_and_close(void *arg)
{
	struct opener *o = arg;
	struct ibv_context *ctx[OPENED];
	static char memory[64];

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < OPENED; i++) {
			ctx[i] = open_device();
			o->pd[round][i] = ibv_alloc_pd(ctx[i]);
			o->cq[round][i] = ibv_create_cq(ctx[i], 4, NULL, NULL, 0);
			if (round % 4 == 0)
				ibv_dereg_mr(
					ibv_reg_mr(o->pd[round][i], memory, sizeof(memory), 0));
		}
		for (unsigned i = 0; i < OPENED; i++)
			ibv_close_device(ctx[(i * 7 + round) % OPENED]);
	}
	return NULL;
}

/* Tests threads that open and close contexts while a connection transfers data. */
static void at_once(void **state)
{
	pthread_t thread[OPENERS];
	struct pair p;

	pair_open(&p, &(struct options){0});
	for (unsigned i = 0; i < OPENERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, open_and_close, &opener[i]), 0);
	for (uint64_t i = 0; i < 100; i++)
		exchange(&p, i);
	for (unsigned i = 0; i < OPENERS; i++)
		pthread_join(thread[i], NULL);
	exchange(&p, 101);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hundreds), cmocka_unit_test(strangers),
		cmocka_unit_test(events),   cmocka_unit_test(closed_with_objects),
		cmocka_unit_test(groups),   cmocka_unit_test(at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
