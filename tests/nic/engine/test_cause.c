/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Produces each status and event that the table of causes lists for a cause. */
#include "harness.h"
#include "base/array.h"
#include "nic/engine/cause.h"
#include "nic/queue/srq.h"

#define CAUSES 64
#define LEN    8192

/* a is the requester, b the responder. */
struct bed {
	struct options o;
	struct net *net;
	struct end *a, *b;
	struct region *ra, *rb;
	struct wr wr;
	struct adv_mw *mw;
	struct ibv_mw ibv_mw;
	struct ibv_mr ibv_mr;
};

static uint32_t statuses_seen[CAUSES];
static uint32_t events_seen[CAUSES];
static bool unmapped; /* pages of on-demand paging are not present */

static bool page_in(void *addr, uint64_t length, bool to_write)
{
	return !unmapped;
}

static void mute(struct net *net, struct wire *w)
{
	w->copies = 0;
}

static void open_with(struct bed *bed, const struct options *o)
{
	bed->o = *o;
	pair_open(bed->net, &bed->o, &bed->a, &bed->b);
	bed->ra = region_open(&bed->net->node[0], LEN, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], LEN, ALL_ACCESS | IBV_ACCESS_MW_BIND);
}

static void open_type(struct bed *bed, enum ibv_qp_type type)
{
	const struct adv_engine_config c = {.seed = {25, 2, 3, 4}, .page_in = page_in};
	struct options o = options_default(type);

	memset(bed, 0, sizeof(*bed));
	unmapped = false;
	bed->net = net_open_config(2, &c);
	open_with(bed, &o);
}

static void open_rc(struct bed *bed)
{
	open_type(bed, IBV_QPT_RC);
}

/* ---- results ---- */

static void expect_failure(const struct completion *log, unsigned count, enum ibv_wc_status status,
			   enum adv_vendor_err why)
{
	unsigned i = 0;

	while (i < count && log[i].wc.status == IBV_WC_SUCCESS)
		i++;
	if (i == count)
		fail_msg("nothing failed with %s", adv_cause(why)->name);
	assert_int_equal(log[i].wc.vendor_err, why);
	assert_int_equal(log[i].wc.status, status);
	statuses_seen[why] |= 1u << status;
	for (i++; i < count && status != IBV_WC_REM_ABORT_ERR; i++)
		assert_int_equal(log[i].wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* Ends a case: checks the failure of a send request, and closes the bed. */
static void expect_send_failure(struct bed *bed, const struct end *end, enum ibv_wc_status status,
				enum adv_vendor_err why)
{
	net_run(bed->net, SEC);
	expect_failure(end->sends, end->send_count, status, why);
	net_abandon(bed->net);
}

static void expect_recv_failure(struct bed *bed, enum ibv_wc_status status, enum adv_vendor_err why)
{
	net_run(bed->net, SEC);
	expect_failure(bed->b->recvs, bed->b->recv_count, status, why);
	for (unsigned i = 0; i < bed->net->node[1].event_count; i++)
		assert_int_equal(bed->net->node[1].events[i].why, ADV_ERR_NONE);
	net_abandon(bed->net);
}

static void expect_event(struct bed *bed, unsigned node, enum ibv_event_type type,
			 enum adv_vendor_err why)
{
	const struct node *n = &bed->net->node[node];
	unsigned i = 0;

	net_run(bed->net, SEC);
	while (i < n->event_count && n->events[i].why == ADV_ERR_NONE)
		i++;
	if (i == n->event_count)
		fail_msg("no event of an error for %s", adv_cause(why)->name);
	assert_int_equal(n->events[i].why, why);
	assert_int_equal(net_count_events(n, type), 1);
	events_seen[why] |= 1u << type;
}

static void expect_refusal(struct bed *bed, enum ibv_event_type type, enum adv_vendor_err why)
{
	expect_event(bed, 1, type, why);
	assert_int_equal(end_state(bed->b), IBV_QPS_ERR);
	net_abandon(bed->net);
}

/* ---- requests that fail here ---- */

static struct ibv_send_wr *request(struct bed *bed, int opcode, uint32_t len)
{
	wr_make(&bed->wr, opcode, 1, 0);
	wr_sge(&bed->wr, bed->ra, 0, len);
	if (opcode != IBV_WR_SEND)
		wr_remote(&bed->wr, bed->rb, 0);
	return &bed->wr.w;
}

static void post(struct bed *bed)
{
	assert_int_equal(end_send(bed->a, &bed->wr), 0);
}

static void test_local_memory(void **state)
{
	struct region *other;
	struct bed bed;

	open_rc(&bed);
	request(&bed, IBV_WR_SEND, 8)->sg_list[0].lkey ^= 0x100;
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY);

	open_rc(&bed);
	other = region_open_at(&bed.net->node[0], adv_pd_create(bed.net->node[0].e), 64, 0,
			       ALL_ACCESS);
	request(&bed, IBV_WR_SEND, 8)->sg_list[0].lkey = other->key;
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY_PD);

	open_rc(&bed);
	request(&bed, IBV_WR_RDMA_WRITE, LEN)->sg_list[0].addr++;
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_PROT_ERR, ADV_ERR_LOCAL_BOUNDS);

	open_rc(&bed);
	bed.ra = region_open(&bed.net->node[0], 64, IBV_ACCESS_REMOTE_READ);
	request(&bed, IBV_WR_RDMA_READ, 8);
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_PROT_ERR, ADV_ERR_LOCAL_ACCESS);

	open_rc(&bed);
	bed.ra = region_open(&bed.net->node[0], 64, IBV_ACCESS_ON_DEMAND);
	request(&bed, IBV_WR_SEND, 8);
	unmapped = true;
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_PROT_ERR, ADV_ERR_LOCAL_UNMAPPED);
}

static void test_local_lengths(void **state)
{
	struct bed bed;

	open_rc(&bed);
	request(&bed, IBV_WR_SEND, 0x7fffffff);
	wr_sge(&bed.wr, bed.ra, 0, 2);
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_LEN_ERR, ADV_ERR_MESSAGE_TOO_LONG);

	open_rc(&bed);
	request(&bed, IBV_WR_ATOMIC_FETCH_AND_ADD, 7);
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_LEN_ERR, ADV_ERR_ATOMIC_TOO_SMALL);

	open_rc(&bed);
	end_recv(bed.b, 1, bed.rb, 0, 7);
	request(&bed, IBV_WR_SEND, 8);
	post(&bed);
	expect_recv_failure(&bed, IBV_WC_LOC_LEN_ERR, ADV_ERR_RECV_TOO_SMALL);
}

static void test_datagrams(void **state)
{
	for (int foreign = 0; foreign < 2; foreign++) {
		struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
		struct adv_ah ah = {0};
		struct bed bed;

		open_type(&bed, IBV_QPT_UD);
		memcpy(attr.grh.dgid.raw, bed.net->node[1].gid[0].raw, 16);
		assert_int_equal(adv_qp_path_from_attr(bed.net->node[0].e, &attr, 0, 0, &ah.path),
				 0);
		ah.pd = foreign ? adv_pd_create(bed.net->node[0].e) : bed.net->node[0].pd;
		request(&bed, IBV_WR_SEND, foreign ? 8 : 4097)->wr.ud.ah = &ah.ibv;
		bed.wr.w.wr.ud.remote_qpn = adv_qp_num(bed.b->qp);
		post(&bed);
		if (foreign)
			expect_send_failure(&bed, bed.a, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_AH_PD);
		else
			expect_send_failure(&bed, bed.a, IBV_WC_LOC_LEN_ERR,
					    ADV_ERR_DATAGRAM_TOO_LONG);
	}
}

static void test_no_rd_atomic(void **state)
{
	struct bed bed;

	open_rc(&bed);
	bed.o.max_rd_atomic = 0;
	open_with(&bed, &bed.o);
	request(&bed, IBV_WR_RDMA_READ, 8);
	post(&bed);
	expect_send_failure(&bed, bed.a, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_NO_RD_ATOMIC);
}

static void test_flushed(void **state)
{
	struct bed bed;

	open_rc(&bed);
	request(&bed, IBV_WR_SEND, 8);
	post(&bed);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_ERR), 0);
	expect_send_failure(&bed, bed.a, IBV_WC_WR_FLUSH_ERR, ADV_ERR_FLUSHED);
}

static void test_cq_overrun(void **state)
{
	struct bed bed;

	open_rc(&bed);
	bed.o.cqe = 1;
	open_with(&bed, &bed.o);
	bed.a->no_poll = true;
	for (int i = 0; i < 2; i++) {
		request(&bed, IBV_WR_RDMA_WRITE, 8);
		post(&bed);
	}
	expect_event(&bed, 0, IBV_EVENT_CQ_ERR, ADV_ERR_CQ_OVERRUN);
	expect_event(&bed, 0, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN);
	net_abandon(bed.net);
}

/* ---- windows ---- */

/* Prepares a request of b that binds the window to the middle of the region. The caller may alter
 * the request before posting. */
static struct ibv_send_wr *bind(struct bed *bed)
{
	wr_make(&bed->wr, IBV_WR_BIND_MW, 1, 0);
	if (!bed->mw)
		bed->mw = adv_mw_create(bed->net->node[1].pd, IBV_MW_TYPE_2);
	bed->ibv_mw = (struct ibv_mw){.type = IBV_MW_TYPE_2, .rkey = adv_mw_rkey(bed->mw)};
	bed->ibv_mr.lkey = bed->rb->key;
	bed->wr.w.bind_mw.mw = &bed->ibv_mw;
	bed->wr.w.bind_mw.rkey = bed->ibv_mw.rkey ^ 1;
	bed->wr.w.bind_mw.bind_info = (struct ibv_mw_bind_info){&bed->ibv_mr, bed->rb->iova + 1024,
								1024, IBV_ACCESS_REMOTE_WRITE};
	return &bed->wr.w;
}

static void expect_bind_failure(struct bed *bed, enum adv_vendor_err why)
{
	assert_int_equal(end_send(bed->b, &bed->wr), 0);
	expect_send_failure(bed, bed->b, IBV_WC_MW_BIND_ERR, why);
}

static void test_windows(void **state)
{
	struct bed bed;

	open_rc(&bed);
	bind(&bed);
	adv_mw_destroy(bed.mw);
	expect_bind_failure(&bed, ADV_ERR_WINDOW);

	open_rc(&bed);
	bind(&bed);
	assert_int_equal(end_send(bed.b, &bed.wr), 0);
	net_run(bed.net, MS);
	bind(&bed);
	expect_bind_failure(&bed, ADV_ERR_WINDOW_BOUND);

	open_rc(&bed);
	bind(&bed)->bind_mw.rkey = bed.ibv_mw.rkey;
	bed.wr.w.bind_mw.rkey = adv_mw_rkey(bed.mw);
	expect_bind_failure(&bed, ADV_ERR_WINDOW_KEY);

	open_rc(&bed);
	bind(&bed)->bind_mw.bind_info.length = 0;
	expect_bind_failure(&bed, ADV_ERR_WINDOW_LENGTH);

	open_rc(&bed);
	bind(&bed);
	region_deregister(bed.rb);
	expect_bind_failure(&bed, ADV_ERR_BIND_LKEY);

	open_rc(&bed);
	bed.rb = region_open(&bed.net->node[1], LEN, ALL_ACCESS);
	bind(&bed);
	expect_bind_failure(&bed, ADV_ERR_BIND_ACCESS);

	open_rc(&bed);
	bind(&bed)->bind_mw.bind_info.length = LEN - 1023;
	expect_bind_failure(&bed, ADV_ERR_BIND_BOUNDS);

	open_rc(&bed);
	wr_make(&bed.wr, IBV_WR_LOCAL_INV, 1, 0);
	bed.wr.w.invalidate_rkey = bed.rb->key;
	expect_bind_failure(&bed, ADV_ERR_LOCAL_INVALIDATE);
}

/* ---- errors that the network or the peer reports ---- */

static void answer(struct bed *bed, uint8_t opcode, uint8_t syndrome, uint32_t ahead, uint32_t len)
{
	struct adv_headers h = {.bth = {.opcode = opcode,
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = adv_qp_num(bed->a->qp),
					.psn = adv_psn_add(bed->o.psn[0], ahead)},
				.aeth = {.syndrome = syndrome, .msn = 1}};

	net_run(bed->net, US);
	net_inject_packet(bed->net, 1, 0, &h, len);
}

/* Opens a pair whose requests are dropped, so that the test sends the answers. There are no
 * retries. */
static void open_unanswered(struct bed *bed, int opcode)
{
	open_rc(bed);
	bed->o.retry_cnt = 0;
	bed->o.rnr_retry = 0;
	open_with(bed, &bed->o);
	bed->net->hook = mute;
	request(bed, opcode, 8);
	post(bed);
}

static void test_retries(void **state)
{
	struct bed bed;

	open_unanswered(&bed, IBV_WR_RDMA_WRITE);
	expect_send_failure(&bed, bed.a, IBV_WC_RETRY_EXC_ERR, ADV_ERR_TIMEOUT);

	open_unanswered(&bed, IBV_WR_RDMA_WRITE);
	answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR, 0, 0);
	expect_send_failure(&bed, bed.a, IBV_WC_RETRY_EXC_ERR, ADV_ERR_SEQUENCE_RETRIES);

	open_unanswered(&bed, IBV_WR_RDMA_READ);
	request(&bed, IBV_WR_RDMA_WRITE, 8);
	post(&bed);
	answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, 1, 0);
	expect_send_failure(&bed, bed.a, IBV_WC_RETRY_EXC_ERR, ADV_ERR_RESPONSES_LOST);

	open_unanswered(&bed, IBV_WR_SEND);
	bed.net->hook = NULL;
	expect_send_failure(&bed, bed.a, IBV_WC_RNR_RETRY_EXC_ERR, ADV_ERR_RNR_RETRIES);
}

static void test_naks(void **state)
{
	static const struct {
		uint8_t nak;
		enum ibv_wc_status status;
		enum adv_vendor_err why;
	} cases[] = {
		{ADV_NAK_INVALID_REQUEST, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST},
		{ADV_NAK_REMOTE_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR, ADV_ERR_NAK_ACCESS},
		{ADV_NAK_REMOTE_OPERATIONAL_ERROR, IBV_WC_REM_OP_ERR, ADV_ERR_NAK_OPERATION},
		{ADV_NAK_INVALID_RD_REQUEST, IBV_WC_BAD_RESP_ERR, ADV_ERR_NAK_RESERVED},
	};
	struct bed bed;

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		open_unanswered(&bed, IBV_WR_RDMA_WRITE);
		answer(&bed, ADV_OP_ACKNOWLEDGE, ADV_AETH_NAK | cases[i].nak, 0, 0);
		expect_send_failure(&bed, bed.a, cases[i].status, cases[i].why);
	}
}

static void test_responses(void **state)
{
	struct bed bed;

	open_unanswered(&bed, IBV_WR_RDMA_WRITE);
	answer(&bed, ADV_OP_READ_RESPONSE_ONLY, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, 0, 8);
	expect_send_failure(&bed, bed.a, IBV_WC_BAD_RESP_ERR, ADV_ERR_BAD_RESPONSE);

	open_unanswered(&bed, IBV_WR_RDMA_READ);
	answer(&bed, ADV_OP_READ_RESPONSE_ONLY, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, 0, 12);
	expect_send_failure(&bed, bed.a, IBV_WC_BAD_RESP_ERR, ADV_ERR_RESPONSE_LENGTH);
}

/* ---- requests that the responder refuses ---- */

static struct adv_headers packet(const struct bed *bed, uint8_t opcode, uint32_t ahead)
{
	struct adv_headers h = {.bth = {.opcode = (uint8_t)(bed->b->qp->service | opcode),
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = adv_qp_num(bed->b->qp),
					.psn = adv_psn_add(bed->o.psn[0], ahead)}};

	h.reth.va = h.atomiceth.va = bed->rb->iova;
	h.reth.rkey = h.atomiceth.rkey = bed->rb->key;
	h.reth.length = 2048;
	h.ieth.rkey = bed->rb->key;
	if (bed->b->qp->xrcd)
		h.xrceth.xrcsrq = adv_srq_number(bed->b->srq);
	return h;
}

static void inject(struct bed *bed, uint8_t opcode, uint32_t ahead, uint32_t len)
{
	struct adv_headers h = packet(bed, opcode, ahead);

	net_inject_packet(bed->net, 0, 1, &h, len);
}

/* Sends the first packet of a message of two, with receives posted. */
static void open_mid_message(struct bed *bed, enum ibv_qp_type type, uint8_t first)
{
	open_type(bed, type);
	end_recv(bed->b, 1, bed->rb, 0, LEN);
	end_recv(bed->b, 2, bed->rb, 0, LEN);
	inject(bed, first, 0, 1024);
}

static void test_sequences(void **state)
{
	struct bed bed;

	open_rc(&bed);
	inject(&bed, ADV_OP_SEND_LAST, 0, 8);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_REQUEST_SEQUENCE);

	open_mid_message(&bed, IBV_QPT_RC, ADV_OP_SEND_FIRST);
	inject(&bed, ADV_OP_READ_REQUEST, 1, 0);
	expect_recv_failure(&bed, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_REQUEST_SEQUENCE);

	open_rc(&bed);
	inject(&bed, ADV_OP_SEND_ONLY, 0, 1028);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_REQUEST_LENGTH);

	open_mid_message(&bed, IBV_QPT_RC, ADV_OP_SEND_FIRST);
	inject(&bed, ADV_OP_SEND_MIDDLE, 1, 1020);
	expect_recv_failure(&bed, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_REQUEST_LENGTH);
}

/* A request that is refused while no receive request is in use raises an event. */
static void test_refused_at_once(void **state)
{
	struct adv_headers h;
	struct bed bed;

	open_rc(&bed);
	bed.o.access = 0;
	open_with(&bed, &bed.o);
	inject(&bed, ADV_OP_READ_REQUEST, 0, 0);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_QP_ACCESS);

	open_rc(&bed);
	for (uint32_t i = 0; i < 5; i++)
		inject(&bed, ADV_OP_READ_REQUEST, 2 * i, 0);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_TOO_MANY_RD_ATOMIC);

	open_rc(&bed);
	h = packet(&bed, ADV_OP_READ_REQUEST, 0);
	h.reth.length = ADV_MAX_MSG + 1;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_REQUEST_TOO_LONG);

	open_rc(&bed);
	h = packet(&bed, ADV_OP_FETCH_ADD, 0);
	h.atomiceth.va += 4;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_MISALIGNED);

	open_rc(&bed);
	inject(&bed, ADV_OP_FLUSH, 0, 0);
	expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, ADV_ERR_FLUSH_TYPE);

	open_rc(&bed);
	h = packet(&bed, ADV_OP_READ_REQUEST, 0);
	h.reth.va += LEN;
	net_inject_packet(bed.net, 0, 1, &h, 0);
	expect_refusal(&bed, IBV_EVENT_QP_ACCESS_ERR, ADV_ERR_REMOTE_BOUNDS);
}

/* Changes of a region before a request or in the middle of it. */
static void lose_key(struct bed *bed)
{
	region_deregister(bed->rb);
}

static void lose_pd(struct bed *bed)
{
	assert_int_equal(adv_mr_reregister(bed->rb->mr, IBV_REREG_MR_CHANGE_PD,
					   adv_pd_create(bed->net->node[1].e), NULL, 0, 0, 0),
			 0);
}

static void lose_access(struct bed *bed)
{
	assert_int_equal(adv_mr_reregister(bed->rb->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					   0, IBV_ACCESS_LOCAL_WRITE),
			 0);
}

static void lose_pages(struct bed *bed)
{
	assert_int_equal(adv_mr_reregister(bed->rb->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					   0, ALL_ACCESS | IBV_ACCESS_ON_DEMAND),
			 0);
	unmapped = true;
}

static void test_remote_memory(void **state)
{
	static const struct {
		void (*lose)(struct bed *bed);
		enum adv_vendor_err why;
	} cases[] = {
		{lose_key, ADV_ERR_RKEY},
		{lose_pd, ADV_ERR_RKEY_PD},
		{lose_access, ADV_ERR_REMOTE_ACCESS},
		{lose_pages, ADV_ERR_REMOTE_UNMAPPED},
	};
	struct bed bed;

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		open_rc(&bed);
		cases[i].lose(&bed);
		inject(&bed, ADV_OP_READ_REQUEST, 0, 0);
		expect_refusal(&bed, IBV_EVENT_QP_ACCESS_ERR, cases[i].why);
		/* The receive request for the immediate data is in use. */
		open_mid_message(&bed, IBV_QPT_RC, ADV_OP_WRITE_FIRST);
		cases[i].lose(&bed);
		inject(&bed, ADV_OP_WRITE_LAST_WITH_IMM, 1, 1024);
		expect_recv_failure(&bed, IBV_WC_LOC_ACCESS_ERR, cases[i].why);
		/* The region changes while a READ is answered. */
		open_rc(&bed);
		inject(&bed, ADV_OP_READ_REQUEST, 0, 0);
		cases[i].lose(&bed);
		expect_refusal(&bed, IBV_EVENT_QP_ACCESS_ERR, cases[i].why);
	}

	open_rc(&bed);
	end_recv(bed.b, 1, bed.rb, 0, LEN);
	inject(&bed, ADV_OP_SEND_ONLY_WITH_INV, 0, 8);
	expect_recv_failure(&bed, IBV_WC_LOC_ACCESS_ERR, ADV_ERR_INVALIDATE);
}

static void test_xrc(void **state)
{
	struct bed bed;

	for (int receives = 0; receives < 2; receives++) {
		for (int exists = 0; exists < 2; exists++) {
			enum adv_vendor_err why =
				exists ? ADV_ERR_XRC_SRQ_CHANGED : ADV_ERR_XRC_SRQ;
			struct adv_headers h;
			struct end *other;

			open_mid_message(&bed, IBV_QPT_XRC_SEND,
					 receives ? ADV_OP_SEND_FIRST : ADV_OP_WRITE_FIRST);
			other = bed.b;
			open_with(&bed, &bed.o);
			h = packet(&bed, receives ? ADV_OP_SEND_LAST : ADV_OP_WRITE_LAST, 1);
			h.bth.dest_qpn = adv_qp_num(other->qp);
			h.xrceth.xrcsrq = exists ? adv_srq_number(bed.b->srq) : 0;
			net_inject_packet(bed.net, 0, 1, &h, 1024);
			bed.b = other;
			if (receives)
				expect_recv_failure(&bed, IBV_WC_REM_INV_REQ_ERR, why);
			else
				expect_refusal(&bed, IBV_EVENT_QP_REQ_ERR, why);
		}
	}
}

/* UC with an SRQ: the receive request of a damaged message completes as aborted, because an SRQ
 * does not take it back. The QP continues. */
static void test_uc_aborted(void **state)
{
	/* Three kinds of damage: a gap; a message that begins before the end of the previous
	 * message; a packet of wrong length. */
	static const struct {
		uint8_t opcode;
		uint32_t ahead;
		uint32_t len;
		unsigned received;
	} cases[] = {
		{ADV_OP_SEND_LAST, 2, 8, 1},  {ADV_OP_SEND_ONLY, 1, 8, 2},
		{ADV_OP_SEND_ONLY, 5, 8, 2},  {ADV_OP_SEND_MIDDLE, 1, 8, 1},
		{ADV_OP_WRITE_ONLY, 1, 8, 1},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
		struct options o = options_default(IBV_QPT_UC);
		struct bed bed = {.net = net_open(2, 3)};

		o.srq = adv_srq_create(bed.net->node[1].e, bed.net->node[1].pd, &attr, NULL);
		open_with(&bed, &o);
		end_recv(bed.b, 1, bed.rb, 0, LEN);
		end_recv(bed.b, 2, bed.rb, 0, LEN);
		inject(&bed, ADV_OP_SEND_FIRST, 0, 1024);
		inject(&bed, cases[i].opcode, cases[i].ahead, cases[i].len);
		net_run(bed.net, MS);
		assert_int_equal(bed.b->recv_count, cases[i].received);
		if (cases[i].received == 2)
			expect_recv(bed.b, 1, 2, IBV_WC_SUCCESS);
		assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
		assert_int_equal(o.srq->free_count, o.srq->max_wr - 2 + cases[i].received);
		expect_recv_failure(&bed, IBV_WC_REM_ABORT_ERR, ADV_ERR_MESSAGE_ABORTED);
	}
}

/* ---- injected errors ---- */

static uint32_t inject_status(void *user, enum adv_injection what, const struct adv_work *work)
{
	return what == ADV_INJECT_COMPLETION ? *(const uint32_t *)user : 0;
}

static void test_injected(void **state)
{
	for (uint32_t status = IBV_WC_SUCCESS + 1; status <= IBV_WC_GENERAL_ERR; status++) {
		struct bed bed;

		open_rc(&bed);
		adv_engine_set_injector(bed.net->node[0].e, inject_status, &status);
		request(&bed, IBV_WR_RDMA_WRITE, 8);
		post(&bed);
		expect_send_failure(&bed, bed.a, (enum ibv_wc_status)status, ADV_ERR_INJECTED);
	}
}

/* ---- the table ---- */

static void test_table(void **state)
{
	uint32_t n = 0;

	for (; adv_cause(n); n++) {
		const struct adv_cause *c = adv_cause(n);

		assert_true(n < CAUSES && c->name && c->text && c->advice);
		assert_true(c->statuses || c->events);
		if (n >= ADV_ERR_NO_RECEIVE && n <= ADV_ERR_NOT_IWARP)
			continue; /* tests/nic/iwarp/test_stream_errors.c produces these */
		if (n != ADV_ERR_NONE && c->statuses != statuses_seen[n])
			fail_msg("%s: statuses %x, seen %x", c->name, c->statuses,
				 statuses_seen[n]);
		if (c->events != events_seen[n])
			fail_msg("%s: events %x, seen %x", c->name, c->events, events_seen[n]);
	}
	assert_null(adv_cause(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_memory),  cmocka_unit_test(test_local_lengths),
		cmocka_unit_test(test_datagrams),     cmocka_unit_test(test_no_rd_atomic),
		cmocka_unit_test(test_flushed),	      cmocka_unit_test(test_cq_overrun),
		cmocka_unit_test(test_windows),	      cmocka_unit_test(test_retries),
		cmocka_unit_test(test_naks),	      cmocka_unit_test(test_responses),
		cmocka_unit_test(test_sequences),     cmocka_unit_test(test_refused_at_once),
		cmocka_unit_test(test_remote_memory), cmocka_unit_test(test_xrc),
		cmocka_unit_test(test_uc_aborted),    cmocka_unit_test(test_injected),
		cmocka_unit_test(test_table), /* last: it checks the results of all other tests */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
