/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMAP streams: how they end. */
#include "base/array.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/rdmap.h"
#include "stream_bed.h"

static const struct adv_rdmap_config config = {.ird = 2, .ord = 4};

struct scene {
	struct bed *b;
	struct region *here;  /* of end 0 */
	struct region *there; /* of end 1 */
};

static struct scene scene_open(int access)
{
	struct scene s = {.b = bed_open(&config, 1)};

	s.here = region_open(&s.b->net->node[0], 4096, ALL_ACCESS);
	s.there = region_open(&s.b->net->node[1], 4096, access);
	region_fill(s.there, 1);
	return s;
}

static const struct adv_engine_counters *counters_of(const struct scene *s, unsigned end)
{
	return &s->b->end[end]->qp->engine->counters;
}

/* Both queue pairs are in ERR, and end 1 has raised the event. */
static void expect_ended(struct scene *s, enum ibv_event_type type, enum adv_vendor_err why)
{
	bed_run(s->b);
	assert_int_equal(end_state(s->b->end[0]), IBV_QPS_ERR);
	assert_int_equal(end_state(s->b->end[1]), IBV_QPS_ERR);
	assert_int_equal(net_count_events(&s->b->net->node[1], type), 1);
	assert_int_equal(s->b->end[1]->qp->error.cause, why);
	assert_int_equal(adv_rdmap_phase(s->b->stream[0]), ADV_RDMAP_ENDED);
	assert_int_equal(adv_rdmap_phase(s->b->stream[1]), ADV_RDMAP_ENDED);
	bed_close(s->b);
}

/* An FPDU that is damaged, by its sender or its receiver, ends the connection. A second time
 * changes nothing. */
static void test_damage(void **state)
{
	static const struct adv_rdmap_config with_crc = {.ird = 2, .ord = 2, .crc = true};

	for (unsigned receiver = 0; receiver < 2; receiver++) {
		struct scene s = {.b = bed_open(&with_crc, 1)};
		struct iovec iov[PIECES_OF_BED];

		s.here = region_open(&s.b->net->node[0], 4096, ALL_ACCESS);
		s.there = region_open(&s.b->net->node[1], 4096, ALL_ACCESS);
		end_op(s.b->end[0], IBV_WR_RDMA_WRITE, 1, s.here, 0, 101, s.there, 0);
		end_op(s.b->end[0], IBV_WR_RDMA_WRITE, 2, s.here, 0, 101, s.there, 0);
		if (receiver) {
			adv_rdmap_rx_damage(s.b->stream[1]);
		} else {
			adv_rdmap_tx_damage(s.b->stream[0]); /* nothing is there yet */
			adv_rdmap_tx(s.b->stream[0], 0, iov, PIECES_OF_BED);
			adv_rdmap_sent(s.b->stream[0], 0, 0);
			adv_rdmap_tx_damage(s.b->stream[0]);
			adv_rdmap_tx_damage(s.b->stream[0]);
		}
		bed_run(s.b);
		assert_int_equal(counters_of(&s, 1)->rx_malformed, 1);
		assert_int_equal(counters_of(&s, 1)->rx_packets, 0);
		assert_int_equal(s.b->end[0]->qp->error.cause, ADV_ERR_TERMINATED);
		expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_STREAM);
	}
}

static void test_no_receive(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_op(s.b->end[0], IBV_WR_SEND, 1, s.here, 0, 10, NULL, 0);
	bed_run(s.b);
	expect_send(s.b->end[0], 0, 1, IBV_WC_SUCCESS); /* its bytes were taken */
	assert_int_equal(s.b->end[0]->qp->error.cause, ADV_ERR_TERMINATED);
	expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_NO_RECEIVE);
}

static void test_receive_too_small(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_recv(s.b->end[1], 5, s.there, 0, 9);
	end_op(s.b->end[0], IBV_WR_SEND, 1, s.here, 0, 10, NULL, 0);
	bed_run(s.b);
	expect_recv(s.b->end[1], 0, 5, IBV_WC_LOC_LEN_ERR);
	expect_pattern(s.there, 0, 4096, 1, 0);
	assert_int_equal(end_state(s.b->end[0]), IBV_QPS_ERR);
	assert_int_equal(counters_of(&s, 1)->resp_local_length_error, 1);
	assert_int_equal(counters_of(&s, 1)->resp_remote_access_errors, 0);
	bed_close(s.b);
}

/* The receive's memory went away: an error of the receiver's own side. */
static void test_receive_without_memory(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_recv(s.b->end[1], 5, s.there, 0, 100);
	region_deregister(s.there);
	end_op(s.b->end[0], IBV_WR_SEND, 1, s.here, 0, 10, NULL, 0);
	bed_run(s.b);
	expect_recv(s.b->end[1], 0, 5, IBV_WC_LOC_PROT_ERR);
	bed_close(s.b);
}

static void write_that_fails(uint64_t offset, uint32_t length, uint32_t key_change, int access,
			     enum adv_vendor_err why)
{
	struct scene s = scene_open(access);
	struct region wrong = *s.there;

	wrong.key ^= key_change;
	end_op(s.b->end[0], IBV_WR_RDMA_WRITE, 1, s.here, 0, length, &wrong, offset);
	bed_run(s.b);
	expect_pattern(s.there, 0, 4096, 1, 0);
	assert_int_equal(counters_of(&s, 1)->resp_remote_access_errors, 1);
	expect_ended(&s, IBV_EVENT_QP_ACCESS_ERR, why);
}

static void test_write(void **state)
{
	write_that_fails(0, 100, 0x5500, ALL_ACCESS, ADV_ERR_RKEY);
	write_that_fails(0, 100, 1, ALL_ACCESS, ADV_ERR_RKEY);
	write_that_fails(4000, 97, 0, ALL_ACCESS, ADV_ERR_REMOTE_BOUNDS);
	write_that_fails(UINT64_MAX - 10, 97, 0, ALL_ACCESS, ADV_ERR_REMOTE_BOUNDS);
	write_that_fails(0, 1, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
			 ADV_ERR_REMOTE_ACCESS);
}

/* The READ that was refused fails; what was posted behind it is flushed. */
static void test_read(void **state)
{
	struct scene s = scene_open(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	end_op(s.b->end[0], IBV_WR_RDMA_READ, 1, s.here, 0, 10, s.there, 0);
	bed_run(s.b);
	end_op(s.b->end[0], IBV_WR_RDMA_READ, 2, s.here, 0, 10, s.there, 0);
	bed_run(s.b);
	expect_send(s.b->end[0], 0, 1, IBV_WC_REM_ACCESS_ERR);
	expect_send(s.b->end[0], 1, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(counters_of(&s, 0)->req_remote_access_errors, 1);
	assert_int_equal(counters_of(&s, 1)->resp_remote_access_errors, 1);
	expect_ended(&s, IBV_EVENT_QP_ACCESS_ERR, ADV_ERR_REMOTE_ACCESS);
}

/* This end may have four READs outstanding, and the peer serves two. */
static void test_too_many_reads(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);
	unsigned i;

	for (i = 0; i < 3; i++)
		end_op(s.b->end[0], IBV_WR_RDMA_READ, i, s.here, 0, 10, s.there, 0);
	expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_TOO_MANY_RD_ATOMIC);
}

/* A request with a wrong key of its own completes after the READ before it. */
static void test_own_key(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);
	struct region wrong = *s.here;

	wrong.key ^= 0x100;
	end_op(s.b->end[0], IBV_WR_RDMA_READ, 1, s.here, 0, 10, s.there, 0);
	end_op(s.b->end[0], IBV_WR_SEND, 2, &wrong, 0, 10, NULL, 0);
	end_op(s.b->end[0], IBV_WR_SEND, 3, s.here, 0, 10, NULL, 0);
	bed_run(s.b);
	expect_send(s.b->end[0], 0, 1, IBV_WC_SUCCESS);
	expect_send(s.b->end[0], 1, 2, IBV_WC_LOC_PROT_ERR);
	expect_send(s.b->end[0], 2, 3, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(end_state(s.b->end[1]), IBV_QPS_ERR);
	bed_close(s.b);
}

/* Takes bytes of end 1 to its pipe, `most` of them. */
static void take_part(struct bed *b, size_t most)
{
	struct iovec iov[PIECES_OF_BED];
	size_t count = adv_rdmap_tx(b->stream[1], b->net->now, iov, PIECES_OF_BED), sent = 0;

	for (size_t i = 0; i < count && sent < most; i++) {
		size_t n = iov[i].iov_len < most - sent ? iov[i].iov_len : most - sent;

		bed_inject(b, 1, iov[i].iov_base, n);
		sent += n;
	}
	adv_rdmap_sent(b->stream[1], b->net->now, sent);
}

/* A request fails behind a part of an answer to a READ, while more READs wait: no byte follows the
 * part. The peer would take bytes of another answer for the rest. */
static void test_own_key_behind_part(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);
	struct pipe *answers = &s.b->pipe[1];
	struct region wrong = *s.there;
	struct iovec iov[PIECES_OF_BED];
	size_t tail;

	wrong.key ^= 0x100;
	end_op(s.b->end[0], IBV_WR_RDMA_READ, 1, s.here, 0, 2000, s.there, 0);
	bed_step(s.b, 0);
	bed_step(s.b, 1);
	take_part(s.b, 100);
	end_op(s.b->end[0], IBV_WR_RDMA_READ, 2, s.here, 0, 2000, s.there, 1000);
	end_op(s.b->end[0], IBV_WR_RDMA_READ, 3, s.here, 0, 2000, s.there, 2000);
	bed_step(s.b, 0);
	tail = answers->tail;
	answers->tail = answers->head - sizeof(answers->bytes); /* it is full */
	bed_step(s.b, 1);
	answers->tail = tail;
	end_op(s.b->end[1], IBV_WR_SEND, 9, &wrong, 0, 10, NULL, 0);
	assert_int_equal(adv_rdmap_tx(s.b->stream[1], s.b->net->now, iov, PIECES_OF_BED), 0);
	bed_run(s.b);
	expect_send(s.b->end[1], 0, 9, IBV_WC_LOC_PROT_ERR);
	expect_send(s.b->end[0], 0, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(adv_rdmap_phase(s.b->stream[1]), ADV_RDMAP_ENDED);
	bed_close(s.b);
}

static void test_not_of_iwarp(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_op(s.b->end[0], IBV_WR_SEND_WITH_IMM, 1, s.here, 0, 10, NULL, 0);
	bed_run(s.b);
	expect_send(s.b->end[0], 0, 1, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(s.b->end[0]->sends[0].wc.vendor_err, ADV_ERR_NOT_IWARP);
	bed_close(s.b);
}

/* A region that is deregistered while its bytes wait: none of them is sent. */
static void test_deregistered(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);
	struct iovec iov[PIECES_OF_BED];

	end_op(s.b->end[0], IBV_WR_RDMA_WRITE, 1, s.here, 0, 4000, s.there, 0);
	assert_int_not_equal(adv_rdmap_tx(s.b->stream[0], 0, iov, PIECES_OF_BED), 0);
	adv_rdmap_sent(s.b->stream[0], 0, 10);
	region_deregister(s.here);
	assert_int_equal(adv_rdmap_tx(s.b->stream[0], 0, iov, PIECES_OF_BED), 0);
	assert_int_equal(adv_rdmap_phase(s.b->stream[0]), ADV_RDMAP_ENDED);
	assert_int_equal(end_state(s.b->end[0]), IBV_QPS_ERR);
	bed_close(s.b);
}

/* The program moves its queue pair to ERR: the peer's is told. */
static void test_program_ends(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_recv(s.b->end[1], 7, s.there, 0, 100);
	assert_int_equal(end_to_state(s.b->end[0], IBV_QPS_ERR), 0);
	bed_run(s.b);
	assert_int_equal(end_state(s.b->end[1]), IBV_QPS_ERR);
	expect_recv(s.b->end[1], 0, 7, IBV_WC_WR_FLUSH_ERR);
	bed_close(s.b);
}

static void test_connection_ends(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_recv(s.b->end[1], 7, s.there, 0, 100);
	end_op(s.b->end[1], IBV_WR_RDMA_READ, 8, s.there, 0, 10, s.here, 0);
	s.b->pipe[0].ended = true;
	bed_run(s.b);
	expect_recv(s.b->end[1], 0, 7, IBV_WC_WR_FLUSH_ERR);
	expect_send(s.b->end[1], 0, 8, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(net_count_events(&s.b->net->node[1], IBV_EVENT_QP_FATAL), 0);
	bed_close(s.b);
}

/* ---- an attacker on the connection ---- */

/* Sends end 1 a segment that end 0 would not send. The payload is `length` bytes 0. */
static void inject_part(struct scene *s, struct adv_ddp_header h, size_t length)
{
	static uint8_t zeros[200];
	uint8_t header[ADV_DDP_HEADER_MAX];
	struct iovec pieces[] = {{header, 0}, {zeros, length}}, out[4];
	struct adv_fpdu_added added;
	struct adv_fpdu_tx tx;
	size_t n, i;

	h.ddp_version = h.ddp_version ? h.ddp_version : ADV_DDP_VERSION;
	h.rdmap_version = h.rdmap_version ? h.rdmap_version : ADV_RDMAP_VERSION;
	pieces[0].iov_len = adv_ddp_encode(&h, header);
	adv_fpdu_tx_init(&tx, false, false);
	n = adv_fpdu_tx_frame(&tx, pieces, 2, &added, out);
	for (i = 0; i < n; i++)
		bed_inject(s->b, 0, out[i].iov_base, out[i].iov_len);
}

/* The same as a whole message. */
static void inject(struct scene *s, struct adv_ddp_header h, size_t length)
{
	h.last = true;
	inject_part(s, h, length);
}

/* What each wrong segment is answered with, as bytes of a Terminate (RFC 5040 section 4.8). */
static const struct attack {
	const char *what;
	struct adv_ddp_header header;
	size_t length;
	uint8_t layer, type, code;
} attacks[] = {
	{"a response to no READ",
	 {.tagged = true, .opcode = ADV_RDMAP_READ_RESPONSE},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_TAGGED,
	 0},
	{"a response with the STag of a later READ",
	 {.tagged = true, .opcode = ADV_RDMAP_READ_RESPONSE, .stag = 1},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_TAGGED,
	 0},
	{"a queue that does not exist",
	 {.opcode = ADV_RDMAP_SEND, .queue = 4, .msn = 1},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 1},
	{"a SEND on the queue of READs",
	 {.opcode = ADV_RDMAP_SEND, .queue = 1, .msn = 1},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 1},
	{"a later message",
	 {.opcode = ADV_RDMAP_SEND, .msn = 2},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 3},
	{"an earlier message",
	 {.opcode = ADV_RDMAP_SEND, .msn = 0},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 3},
	{"the middle of a message",
	 {.opcode = ADV_RDMAP_SEND, .msn = 1, .mo = 5},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 4},
	{"a READ request that is too short",
	 {.opcode = ADV_RDMAP_READ_REQUEST, .queue = 1, .msn = 1},
	 27,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 5},
	{"a READ request that is too long",
	 {.opcode = ADV_RDMAP_READ_REQUEST, .queue = 1, .msn = 1},
	 200,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 5},
	{"a READ of no STag",
	 {.opcode = ADV_RDMAP_READ_REQUEST, .queue = 1, .msn = 1, .mo = 0},
	 28,
	 0xff,
	 0,
	 0}, /* of length 0: it is answered */
	{"a Terminate that is too long",
	 {.opcode = ADV_RDMAP_TERMINATE, .queue = 2, .msn = 1},
	 200,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_UNTAGGED,
	 5},
	{"an atomic",
	 {.opcode = ADV_RDMAP_ATOMIC_REQUEST, .queue = 1, .msn = 1},
	 52,
	 ADV_TERMINATE_RDMAP,
	 ADV_TERMINATE_RDMAP_OPERATION,
	 6},
	{"a tagged SEND",
	 {.tagged = true, .opcode = ADV_RDMAP_SEND},
	 10,
	 ADV_TERMINATE_RDMAP,
	 ADV_TERMINATE_RDMAP_OPERATION,
	 6},
	{"a WRITE without memory",
	 {.opcode = ADV_RDMAP_WRITE, .msn = 1},
	 10,
	 ADV_TERMINATE_RDMAP,
	 ADV_TERMINATE_RDMAP_OPERATION,
	 6},
	{"another version of DDP",
	 {.tagged = true, .opcode = ADV_RDMAP_WRITE, .ddp_version = 2},
	 10,
	 ADV_TERMINATE_DDP,
	 ADV_TERMINATE_DDP_TAGGED,
	 4},
	{"another version of RDMAP",
	 {.opcode = ADV_RDMAP_SEND, .msn = 1, .rdmap_version = 2},
	 10,
	 ADV_TERMINATE_RDMAP,
	 ADV_TERMINATE_RDMAP_OPERATION,
	 5},
};

/* Reads the Terminate that end 1 has sent. */
static void expect_terminate(struct scene *s, const struct attack *attack)
{
	uint8_t bytes[400];
	struct adv_rdmap_terminate t;
	size_t n = s->b->pipe[1].head;

	assert_in_range(n, ADV_FPDU_LENGTH_LEN + ADV_DDP_UNTAGGED_LEN + 4, sizeof(bytes));
	memcpy(bytes, s->b->pipe[1].bytes, n);
	assert_int_equal(bytes[3] & 0xf, ADV_RDMAP_TERMINATE);
	n -= ADV_FPDU_LENGTH_LEN + ADV_DDP_UNTAGGED_LEN;
	assert_int_not_equal(adv_rdmap_decode_terminate(
				     bytes + ADV_FPDU_LENGTH_LEN + ADV_DDP_UNTAGGED_LEN, n, &t),
			     0);
	assert_int_equal(t.layer, attack->layer);
	assert_int_equal(t.type, attack->type);
	assert_int_equal(t.code, attack->code);
	assert_true(t.has_ddp);
	assert_int_equal(t.ddp.opcode, attack->header.opcode);
	assert_int_equal(t.ddp_length,
			 attack->length + (attack->header.tagged ? ADV_DDP_TAGGED_LEN
								 : ADV_DDP_UNTAGGED_LEN));
}

static void test_attacks(void **state)
{
	size_t i;

	for (i = 0; i < ADV_ARRAY_SIZE(attacks); i++) {
		struct scene s = scene_open(ALL_ACCESS);

		print_message("%s\n", attacks[i].what);
		end_recv(s.b->end[1], 1, s.there, 0, 4096);
		inject(&s, attacks[i].header, attacks[i].length);
		while (bed_step(s.b, 1))
			;
		expect_pattern(s.there, 0, 4096, 1, 0);
		assert_int_equal(end_state(s.b->end[1]),
				 attacks[i].layer == 0xff ? IBV_QPS_RTS : IBV_QPS_ERR);
		if (attacks[i].layer != 0xff)
			expect_terminate(&s, &attacks[i]);
		bed_close(s.b);
	}
}

/* A response before the connection has taken the request. */
static void test_attacks_on_reads(void **state)
{
	const struct adv_ddp_header response = {.tagged = true, .opcode = ADV_RDMAP_READ_RESPONSE};
	struct scene s = scene_open(ALL_ACCESS);

	end_op(s.b->end[1], IBV_WR_RDMA_READ, 1, s.there, 0, 50, s.here, 0);
	s.b->pipe[1].ended = true; /* takes nothing */
	inject(&s, response, 50);
	while (bed_step(s.b, 1))
		;
	expect_pattern(s.there, 0, 4096, 1, 0);
	assert_int_equal(end_state(s.b->end[1]), IBV_QPS_ERR);
	bed_close(s.b);
}

/* A response that does not fit the READ that waits for it. */
static void response_that_fails(struct adv_ddp_header h, size_t length, enum adv_vendor_err why)
{
	struct scene s = scene_open(ALL_ACCESS);

	h.tagged = true;
	h.opcode = ADV_RDMAP_READ_RESPONSE;
	end_op(s.b->end[1], IBV_WR_RDMA_READ, 1, s.there, 0, 50, s.here, 0);
	end_op(s.b->end[1], IBV_WR_RDMA_READ, 2, s.there, 50, 50, s.here, 0);
	assert_true(bed_step(s.b, 1));
	inject_part(&s, h, length);
	while (bed_step(s.b, 1))
		;
	assert_int_equal(end_state(s.b->end[1]), IBV_QPS_ERR);
	expect_pattern(s.there, 0, 4096, 1, 0);
	expect_send(s.b->end[1], 0, 1, IBV_WC_BAD_RESP_ERR);
	assert_int_equal(s.b->end[1]->sends[0].wc.vendor_err, why);
	bed_close(s.b);
}

static void test_wrong_responses(void **state)
{
	response_that_fails((struct adv_ddp_header){.stag = 1, .last = true}, 50,
			    ADV_ERR_BAD_RESPONSE);
	response_that_fails((struct adv_ddp_header){.to = 1, .last = true}, 49,
			    ADV_ERR_BAD_RESPONSE);
	response_that_fails((struct adv_ddp_header){.last = true}, 49, ADV_ERR_RESPONSE_LENGTH);
	response_that_fails((struct adv_ddp_header){.last = true}, 51, ADV_ERR_RESPONSE_LENGTH);
	response_that_fails((struct adv_ddp_header){.last = false}, 51, ADV_ERR_RESPONSE_LENGTH);
}

/* The queue pair itself grants nothing. */
static void test_queue_pair_without_access(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	s.b->end[1]->qp->attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	end_op(s.b->end[0], IBV_WR_RDMA_WRITE, 1, s.here, 0, 10, s.there, 0);
	bed_run(s.b);
	expect_pattern(s.there, 0, 4096, 1, 0);
	expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_QP_ACCESS);

	s = scene_open(ALL_ACCESS);
	s.b->end[1]->qp->attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	end_op(s.b->end[0], IBV_WR_RDMA_READ, 1, s.here, 0, 10, s.there, 0);
	bed_run(s.b);
	expect_send(s.b->end[0], 0, 1, IBV_WC_REM_ACCESS_ERR);
	expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_QP_ACCESS);
}

/* Empty segments in front of a message are a part of it: they use no further receive request. */
static void test_empty_segments(void **state)
{
	const struct adv_ddp_header h = {.opcode = ADV_RDMAP_SEND, .msn = 1};
	struct scene s = scene_open(ALL_ACCESS);
	unsigned i;

	end_recv(s.b->end[1], 1, s.there, 0, 10);
	end_recv(s.b->end[1], 2, s.there, 10, 10);
	for (i = 0; i < 3; i++)
		inject_part(&s, h, 0);
	inject(&s, h, 10);
	while (bed_step(s.b, 1))
		;
	assert_int_equal(s.b->end[1]->recv_count, 1);
	expect_recv(s.b->end[1], 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(s.b->end[1]->recvs[0].wc.byte_len, 10);
	assert_int_equal(end_to_state(s.b->end[1], IBV_QPS_ERR), 0);
	end_poll(s.b->end[1]);
	expect_recv(s.b->end[1], 1, 2, IBV_WC_WR_FLUSH_ERR);
	bed_close(s.b);
}

/* A CRC that is wrong, and a segment shorter than its header. */
static void test_bad_stream(void **state)
{
	static const uint8_t short_segment[] = {0, 13, ADV_DDP_TAGGED_BIT};
	const struct adv_rdmap_config with_crc = {.crc = true, .ird = 1, .ord = 1};
	struct scene s = scene_open(ALL_ACCESS);

	bed_inject(s.b, 0, short_segment, sizeof(short_segment));
	expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_STREAM);

	s.b = bed_open(&with_crc, 1);
	inject(&s, (struct adv_ddp_header){.tagged = true, .opcode = ADV_RDMAP_WRITE}, 0);
	bed_run(s.b);
	assert_int_equal(counters_of(&s, 1)->rx_malformed, 1);
	expect_ended(&s, IBV_EVENT_QP_REQ_ERR, ADV_ERR_STREAM);
}

/* The Terminate of the peer ends the oldest request that waits for an answer. */
static void test_terminate(void **state)
{
	struct scene s = scene_open(ALL_ACCESS);

	end_op(s.b->end[1], IBV_WR_RDMA_READ, 1, s.there, 0, 50, s.here, 0);
	assert_true(bed_step(s.b, 1));
	inject(&s, (struct adv_ddp_header){.opcode = ADV_RDMAP_TERMINATE, .queue = 2, .msn = 1}, 4);
	bed_run(s.b);
	expect_send(s.b->end[1], 0, 1, IBV_WC_REM_OP_ERR);
	bed_close(s.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_receive),
		cmocka_unit_test(test_receive_too_small),
		cmocka_unit_test(test_receive_without_memory),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_too_many_reads),
		cmocka_unit_test(test_own_key),
		cmocka_unit_test(test_own_key_behind_part),
		cmocka_unit_test(test_not_of_iwarp),
		cmocka_unit_test(test_deregistered),
		cmocka_unit_test(test_program_ends),
		cmocka_unit_test(test_connection_ends),
		cmocka_unit_test(test_attacks),
		cmocka_unit_test(test_attacks_on_reads),
		cmocka_unit_test(test_wrong_responses),
		cmocka_unit_test(test_queue_pair_without_access),
		cmocka_unit_test(test_empty_segments),
		cmocka_unit_test(test_bad_stream),
		cmocka_unit_test(test_terminate),
	};

	return cmocka_run_group_tests_name("the end of rdmap streams", tests, NULL, NULL);
}
