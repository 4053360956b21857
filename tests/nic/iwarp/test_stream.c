/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMAP streams: what two ends do with each other. */
#include "base/array.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/queue_pair.h"
#include "stream_bed.h"

#define REGION 300000

static const struct adv_rdmap_config plain = {.ird = 4, .ord = 4};
static const struct adv_rdmap_config with_all = {
	.ird = 2, .ord = 2, .crc = true, .rx_markers = true, .tx_markers = true};
static const uint32_t lengths[] = {0, 1, 3, 4, 1024, 4097, 65517, 65536, 200000};

/* Every operation and length once, each alone, in pieces of all kinds. */
static void transfer(const struct adv_rdmap_config *config, size_t piece)
{
	struct bed *b = bed_open(config, 1);
	struct region *from = region_open(&b->net->node[0], REGION, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], REGION, ALL_ACCESS);
	size_t i;

	b->piece = piece;
	for (i = 0; i < ADV_ARRAY_SIZE(lengths); i++) {
		uint32_t len = lengths[i];

		region_fill(from, (uint8_t)(3 * i));
		memset(to->buf, 0, REGION);
		end_recv(b->end[1], i, to, 5, len);
		end_op(b->end[0], IBV_WR_SEND, 10, from, 0, len, NULL, 0);
		bed_run(b);
		expect_pattern(to, 5, len, (uint8_t)(3 * i), 0);
		assert_int_equal(b->end[1]->recvs[i].wc.byte_len, len);

		end_op(b->end[0], IBV_WR_RDMA_WRITE, 11, from, 7, len, to, 0);
		bed_run(b);
		expect_pattern(to, 0, len, (uint8_t)(3 * i), 7);
		assert_int_equal(to->buf[len], len ? to->buf[len] : 0);

		end_op(b->end[1], IBV_WR_RDMA_READ, 12, to, 1, len, from, 20);
		bed_run(b);
		expect_pattern(to, 1, len, (uint8_t)(3 * i), 20);
		assert_int_equal(b->end[0]->send_count, 2 * (i + 1));
		assert_int_equal(b->end[1]->send_count, i + 1);
	}
	for (i = 0; i < b->end[0]->send_count; i++)
		assert_int_equal(b->end[0]->sends[i].wc.status, IBV_WC_SUCCESS);
	assert_int_equal(end_state(b->end[0]), IBV_QPS_RTS);
	bed_close(b);
}

/* Each FPDU counts once, when the connection has taken all of it. */
static void test_counters(void **state)
{
	const struct adv_rdmap_config config = {.ird = 1, .ord = 1, .segment = 1000};
	struct bed *b = bed_open(&config, 1);
	struct region *from = region_open(&b->net->node[0], REGION, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], REGION, ALL_ACCESS);
	const struct adv_engine_counters *here = &b->end[0]->qp->engine->counters;
	const struct adv_engine_counters *there = &b->end[1]->qp->engine->counters;

	b->piece = 100;
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, from, 0, 2500, to, 0);
	bed_step(b, 0);
	assert_int_equal(here->tx_packets, 0);
	bed_run(b);
	assert_int_equal(here->tx_packets, 3);
	assert_int_equal(there->rx_packets, 3);
	assert_int_equal(there->rx_write_requests, 1);
	end_op(b->end[0], IBV_WR_RDMA_READ, 2, from, 0, 2000, to, 0);
	bed_run(b);
	assert_int_equal(here->tx_packets, 4);
	assert_int_equal(there->tx_packets, 2);
	assert_int_equal(here->rx_packets, 2);
	assert_int_equal(there->rx_read_requests, 1);
	assert_int_equal(here->rx_malformed + there->rx_malformed, 0);
	bed_close(b);
}

static void test_transfer(void **state)
{
	transfer(&plain, 0);
	transfer(&plain, 3000);
	transfer(&with_all, 0);
	transfer(&with_all, 700);
}

/* Many requests at once keep their order; READs overlap, and more wait than may be outstanding. */
static void test_many_at_once(void **state)
{
	struct bed *b = bed_open(&plain, 2);
	struct region *from = region_open(&b->net->node[0], REGION, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], REGION, ALL_ACCESS);
	unsigned i;

	region_fill(from, 1);
	b->piece = 100;
	for (i = 0; i < 12; i++) {
		end_recv(b->end[1], i, to, 1000 * i, 1000);
		end_op(b->end[0], IBV_WR_SEND, 3 * i, from, 1000 * i, 1000, NULL, 0);
		end_op(b->end[0], IBV_WR_RDMA_READ, 3 * i + 1, from, 100000 + 2000 * i, 2000, to,
		       200000);
		end_op(b->end[0], IBV_WR_RDMA_WRITE, 3 * i + 2, from, 50 * i, 50, to,
		       50000 + 50 * i);
		end_op(b->end[1], IBV_WR_RDMA_READ, i, to, 100000 + 3000 * i, 3000, from, 3000 * i);
	}
	bed_run(b);
	assert_int_equal(b->end[0]->send_count, 36);
	assert_int_equal(b->end[1]->send_count, 12);
	assert_int_equal(b->end[1]->recv_count, 12);
	expect_pattern(to, 0, 12000, 1, 0);
	expect_pattern(to, 50000, 600, 1, 0);
	expect_pattern(to, 100000, 36000, 1, 0);
	bed_close(b);
}

/* A message of several pieces of memory, to several pieces. */
static void test_gather_and_scatter(void **state)
{
	struct bed *b = bed_open(&plain, 3);
	struct region *from = region_open(&b->net->node[0], 1000, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], 1000, ALL_ACCESS);
	struct ibv_sge sges[] = {{to->iova, 10, to->key},
				 {to->iova + 100, 0, to->key},
				 {to->iova + 200, 300, to->key}};
	struct wr wr;

	region_fill(from, 9);
	b->piece = 13;
	assert_int_equal(end_recv_sges(b->end[1], 1, sges, 3), 0);
	wr_make(&wr, IBV_WR_SEND, 2, 0);
	wr_sge(&wr, from, 500, 60);
	wr_sge(&wr, from, 0, 40);
	assert_int_equal(end_send(b->end[0], &wr), 0);
	bed_run(b);
	expect_pattern(to, 0, 10, 9, 500);
	expect_pattern(to, 200, 50, 9, 510);
	expect_pattern(to, 250, 40, 9, 0);

	wr_make(&wr, IBV_WR_RDMA_READ, 3, 0);
	wr_sge(&wr, to, 700, 33);
	wr_sge(&wr, to, 600, 22);
	wr_remote(&wr, from, 400);
	assert_int_equal(end_send(b->end[1], &wr), 0);
	bed_run(b);
	expect_send(b->end[1], 0, 3, IBV_WC_SUCCESS);
	expect_pattern(to, 700, 33, 9, 400);
	expect_pattern(to, 600, 22, 9, 433);
	bed_close(b);
}

static void test_inline_and_solicited(void **state)
{
	struct bed *b = bed_open(&plain, 4);
	struct region *from = region_open(&b->net->node[0], 100, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], 100, ALL_ACCESS);
	struct wr wr;

	region_fill(from, 2);
	adv_cq_arm(b->end[1]->rcq, true);
	end_recv(b->end[1], 1, to, 0, 100);
	end_recv(b->end[1], 2, to, 50, 50);
	wr_make(&wr, IBV_WR_SEND, 1, IBV_SEND_INLINE);
	wr.sge[0] = (struct ibv_sge){(uintptr_t)from->buf, 20, 0};
	wr.w.num_sge = 1;
	assert_int_equal(end_send(b->end[0], &wr), 0);
	memset(from->buf, 0, 20);
	bed_run(b);
	expect_pattern(to, 0, 20, 2, 0);
	assert_int_equal(net_count_completion_events(&b->net->node[1], b->end[1]->rcq), 0);
	wr_make(&wr, IBV_WR_SEND, 2, IBV_SEND_SOLICITED);
	wr_sge(&wr, from, 30, 9);
	assert_int_equal(end_send(b->end[0], &wr), 0);
	bed_run(b);
	assert_int_equal(net_count_completion_events(&b->net->node[1], b->end[1]->rcq), 1);
	bed_close(b);
}

/* A fenced request waits for the READs before it. */
static void test_fence(void **state)
{
	struct bed *b = bed_open(&plain, 5);
	struct region *here = region_open(&b->net->node[0], 2000, ALL_ACCESS);
	struct region *there = region_open(&b->net->node[1], 2000, ALL_ACCESS);
	struct wr wr;

	region_fill(there, 4);
	end_op(b->end[0], IBV_WR_RDMA_READ, 1, here, 0, 1000, there, 0);
	wr_make(&wr, IBV_WR_RDMA_WRITE, 2, IBV_SEND_FENCE);
	wr_sge(&wr, here, 0, 1000);
	wr_remote(&wr, there, 1000);
	assert_int_equal(end_send(b->end[0], &wr), 0);
	bed_run(b);
	expect_pattern(there, 1000, 1000, 4, 0);
	bed_close(b);
}

/* SENDs and WRITEs complete when the connection has taken their bytes, before the peer has them. */
static void test_completes_when_taken(void **state)
{
	struct bed *b = bed_open(&plain, 6);
	struct region *from = region_open(&b->net->node[0], 5000, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], 5000, ALL_ACCESS);
	struct iovec iov[PIECES_OF_BED];
	size_t count, len = 0, i;

	end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, from, 0, 5000, to, 0);
	count = adv_rdmap_tx(b->stream[0], b->net->now, iov, PIECES_OF_BED);
	for (i = 0; i < count; i++)
		len += iov[i].iov_len;
	adv_rdmap_sent(b->stream[0], b->net->now, len - 1);
	end_poll(b->end[0]);
	assert_int_equal(b->end[0]->send_count, 0);
	assert_int_equal(adv_rdmap_tx(b->stream[0], b->net->now, iov, PIECES_OF_BED), 1);
	assert_int_equal(iov[0].iov_len, 1);
	adv_rdmap_sent(b->stream[0], b->net->now, 1);
	end_poll(b->end[0]);
	expect_send(b->end[0], 0, 1, IBV_WC_SUCCESS);
	bed_close(b);
}

/* A turn of a queue pair makes no system call: it adds the bytes to a batch, and the owner of the
 * connection sends them. Until it has told how many, the next turn adds nothing. */
static void test_turn(void **state)
{
	struct bed *b = bed_open(&plain, 7);
	struct region *from = region_open(&b->net->node[0], 5000, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], 5000, ALL_ACCESS);
	struct adv_qp *qp = b->end[0]->qp;
	struct adv_tx_batch batch = {.limit = ADV_TX_BATCH_PACKETS};
	uint32_t len;

	adv_iwarp_turn(qp, b->net->now, &batch);
	assert_int_equal(batch.count, 0); /* it has no connection */
	qp->connection = b->stream[0];
	adv_iwarp_turn(qp, b->net->now, &batch);
	assert_int_equal(batch.count, 0);
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, from, 0, 5000, to, 0);
	adv_iwarp_turn(qp, b->net->now, &batch);
	assert_int_equal(batch.count, 1);
	assert_int_equal(batch.packet[0].dest_qpn, adv_qp_num(qp));
	assert_int_equal(batch.packet[0].iov_count, batch.iov_used);
	len = batch.packet[0].payload_len;
	assert_in_range(len, 5001, 5100);
	adv_iwarp_turn(qp, b->net->now, &batch);
	assert_int_equal(batch.count, 1);
	adv_rdmap_sent(b->stream[0], b->net->now, len - 1);
	adv_iwarp_turn(qp, b->net->now, &batch);
	assert_int_equal(batch.count, 2);
	assert_int_equal(batch.packet[1].payload_len, 1);
	adv_rdmap_sent(b->stream[0], b->net->now, 1);
	adv_rdmap_ended(b->stream[0], b->net->now);
	adv_iwarp_turn(qp, b->net->now, &batch);
	assert_int_equal(batch.count, 3); /* the owner ends the connection */
	assert_int_equal(batch.packet[2].iov_count, 0);
	qp->connection = NULL;
	bed_close(b);
}

/* The memory of a READ may change at any time: the program writes to it, or another peer does. Each
 * byte is an old or a new one, and the CRC covers the bytes that are sent. */
static void test_read_of_changing_memory(void **state)
{
	struct bed *b = bed_open(&with_all, 9);
	struct region *to = region_open(&b->net->node[0], REGION, ALL_ACCESS);
	struct region *from = region_open(&b->net->node[1], REGION, ALL_ACCESS);
	unsigned i;

	b->piece = 500;
	memset(from->buf, 1, REGION);
	memset(to->buf, 9, REGION);
	end_op(b->end[0], IBV_WR_RDMA_READ, 1, to, 0, 200000, from, 0);
	for (i = 0; i < 10000 && b->end[0]->send_count == 0; i++) {
		bed_step(b, i % 2);
		memset(from->buf, i % 3 ? 1 : 2, REGION);
	}
	expect_send(b->end[0], 0, 1, IBV_WC_SUCCESS);
	for (i = 0; i < 200000; i++)
		assert_in_range(to->buf[i], 1, 2);
	assert_int_equal(to->buf[200000], 9);
	bed_close(b);
}

/* Receives up to `most` bytes of end 0 at end 1, whose program changes what a WRITE has brought as
 * soon as it sees that: programs poll the memory of WRITEs. */
static void receive_and_change(struct bed *b, size_t most)
{
	struct pipe *p = &b->pipe[0];
	struct iovec iov[ADV_MAX_SGE];
	unsigned count = adv_rdmap_rx_room(b->stream[1], iov);
	uint8_t buffer[300];
	size_t n;

	if (most > sizeof(buffer))
		most = sizeof(buffer);
	for (n = 0; n < most && p->tail != p->head; n++)
		buffer[n] = p->bytes[p->tail++ % sizeof(p->bytes)];
	if (count == 0) {
		adv_rdmap_rx(b->stream[1], b->net->now, buffer, n);
		return;
	}
	if (n > iov[0].iov_len) {
		p->tail -= n - iov[0].iov_len;
		n = iov[0].iov_len;
	}
	memcpy(iov[0].iov_base, buffer, n);
	*(uint8_t *)iov[0].iov_base ^= 0xff;
	adv_rdmap_rx_placed(b->stream[1], iov, n);
}

static void test_polled_memory(void **state)
{
	struct bed *b = bed_open(&with_all, 10);
	struct region *from = region_open(&b->net->node[0], REGION, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], REGION, ALL_ACCESS);

	region_fill(from, 6);
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 1, from, 0, 100000, to, 0);
	do {
		bed_step(b, 0);
		receive_and_change(b, 1 + adv_rng_below(&b->rng, 300));
	} while (b->pipe[0].tail != b->pipe[0].head);
	expect_send(b->end[0], 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(end_state(b->end[1]), IBV_QPS_RTS);
	assert_int_equal(b->end[1]->qp->engine->counters.rx_write_requests, 1);
	assert_int_equal(b->end[1]->qp->engine->counters.rx_malformed, 0);
	bed_close(b);
}

/* Reads the opcodes of the segments that wait in a pipe. Returns their number. */
static size_t opcodes_in(struct pipe *p, uint8_t *opcodes, size_t room)
{
	struct adv_fpdu_rx rx;
	size_t count = 0, used;

	adv_fpdu_rx_init(&rx, false, false);
	while (p->tail != p->head) {
		enum adv_fpdu_event event =
			adv_fpdu_rx_take(&rx, p->bytes + p->tail, p->head - p->tail, &used);

		p->tail += used;
		if (event == ADV_FPDU_HEADER) {
			assert_in_range(count, 0, room - 1);
			opcodes[count++] = rx.header[1] & 0xf;
		}
	}
	return count;
}

/* The segments of a message follow each other, though a READ is answered at the same time. */
static void test_not_mixed(void **state)
{
	struct adv_rdmap_config c = plain;
	uint8_t opcodes[100];
	struct region *here, *there;
	size_t count, changes = 0, i;
	struct bed *b;

	c.segment = 100;
	b = bed_open(&c, 8);
	here = region_open(&b->net->node[0], 1000, ALL_ACCESS);
	there = region_open(&b->net->node[1], 1000, ALL_ACCESS);
	for (i = 0; i < 4; i++) {
		end_op(b->end[0], IBV_WR_RDMA_WRITE, i, here, 0, 1000, there, 0);
		end_op(b->end[1], IBV_WR_RDMA_READ, i, there, 0, 1000, here, 0);
	}
	while (bed_step(b, 1))
		;
	/* End 0 has the READs before its first turn to send. */
	adv_rdmap_rx(b->stream[0], 0, b->pipe[1].bytes, b->pipe[1].head);
	b->pipe[1].tail = b->pipe[1].head;
	while (bed_step(b, 0))
		;
	count = opcodes_in(&b->pipe[0], opcodes, sizeof(opcodes));
	assert_int_equal(count, 80);
	for (i = 1; i < count; i++)
		changes += opcodes[i] != opcodes[i - 1];
	assert_int_equal(changes, 7);
	for (i = 0; i < count; i += 10)
		assert_int_equal(opcodes[i], opcodes[i + 9]);
	bed_close(b);
}

/* A window is bound, used and invalidated by the peer's SEND. */
static void test_window(void **state)
{
	struct bed *b = bed_open(&plain, 7);
	struct region *from = region_open(&b->net->node[0], 100, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], 100, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct adv_mw *mw = adv_mw_create(b->net->node[1].pd, IBV_MW_TYPE_2);
	struct ibv_mw ibv_mw = {.type = IBV_MW_TYPE_2, .rkey = adv_mw_rkey(mw)};
	struct ibv_mr ibv_mr = {.lkey = to->key};
	struct region window = *to;
	struct wr wr;

	region_fill(from, 5);
	window.key = ibv_inc_rkey(ibv_mw.rkey);
	wr_make(&wr, IBV_WR_BIND_MW, 1, 0);
	wr.w.bind_mw.mw = &ibv_mw;
	wr.w.bind_mw.rkey = window.key;
	wr.w.bind_mw.bind_info.mr = &ibv_mr;
	wr.w.bind_mw.bind_info.addr = to->iova;
	wr.w.bind_mw.bind_info.length = 50;
	wr.w.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(end_send(b->end[1], &wr), 0);
	bed_run(b);
	expect_send(b->end[1], 0, 1, IBV_WC_SUCCESS);

	end_recv(b->end[1], 9, to, 50, 50);
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 2, from, 0, 50, &window, 0);
	wr_make(&wr, IBV_WR_SEND_WITH_INV, 3, 0);
	wr_sge(&wr, from, 0, 10);
	wr.w.invalidate_rkey = window.key;
	assert_int_equal(end_send(b->end[0], &wr), 0);
	bed_run(b);
	expect_pattern(to, 0, 50, 5, 0);
	expect_recv(b->end[1], 0, 9, IBV_WC_SUCCESS);
	assert_int_equal(b->end[1]->recvs[0].wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(b->end[1]->recvs[0].wc.invalidated_rkey, window.key);
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 4, from, 0, 1, &window, 0);
	bed_run(b);
	assert_int_equal(end_state(b->end[1]), IBV_QPS_ERR);
	bed_close(b);
}

/* Both ends know where FPDUs begin, after any number of bytes: each WRITE of 98 bytes is an FPDU of
 * 120 bytes. */
static void test_where_fpdus_begin(void **state)
{
	struct bed *b = bed_open(&plain, 7);
	struct region *from = region_open(&b->net->node[0], REGION, ALL_ACCESS);
	struct region *to = region_open(&b->net->node[1], REGION, ALL_ACCESS);
	size_t sent = 0, received = 0, before, most;

	for (unsigned i = 0; i < 5; i++)
		end_op(b->end[0], IBV_WR_RDMA_WRITE, i, from, 0, 98, to, 0);
	b->piece = 50;
	while (received < 600) {
		struct iovec iov[PIECES_OF_BED];

		assert_true(adv_rdmap_tx(b->stream[0], b->net->now, iov, PIECES_OF_BED) ||
			    sent == 600);
		adv_rdmap_sent(b->stream[0], b->net->now, 0);
		for (size_t at = 0; at <= 600 - sent; at++)
			assert_int_equal(adv_rdmap_tx_begin(b->stream[0], at),
					 (sent + at + 119) / 120 * 120 - sent);
		if (received % 120 == 1)
			assert_int_equal(adv_rdmap_rx_begin(b->stream[1]), ADV_FPDU_REST_UNKNOWN);
		else
			assert_int_equal(adv_rdmap_rx_begin(b->stream[1]),
					 (received + 119) / 120 * 120 - received);
		before = b->pipe[0].head;
		most = b->pipe[0].tail;
		assert_int_not_equal((int)bed_step(b, 0) + (int)bed_step(b, 1), 0);
		sent += b->pipe[0].head - before;
		received += b->pipe[0].tail - most;
	}
	bed_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_gather_and_scatter),
		cmocka_unit_test(test_inline_and_solicited),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_completes_when_taken),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_read_of_changing_memory),
		cmocka_unit_test(test_polled_memory),
		cmocka_unit_test(test_not_mixed),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_where_fpdus_begin),
	};

	return cmocka_run_group_tests_name("rdmap streams", tests, NULL, NULL);
}
