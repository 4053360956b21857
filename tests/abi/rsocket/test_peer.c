/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rsockets with a peer that implements their protocol in this file, correctly or not. A violation
 * breaks only the peer's own connection.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <rdma/rsocket.h>

#define LIMIT_SEC   120
#define PATIENCE_MS 60000 /* a test that takes longer hangs */
#define CONN_LEN    40
#define MEMORY	    65536
#define OP_DATA	    0u
#define OP_SGL	    4u
#define OP_CTRL	    7u

struct sge {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};

/* A peer: an id of the connection manager and a queue pair. */
struct peer {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t *memory;   /* the first bytes are its target list */
	struct sge list;   /* the rsocket's target list */
	struct sge buffer; /* the rsocket's first receive buffer */
	uint16_t credits;
};

static int listener(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	*addr = (struct sockaddr_in){.sin_family = AF_INET};
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(rbind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(rlisten(fd, 8), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static struct sge get_sge(const uint8_t *p)
{
	return (struct sge){get64(p), (uint32_t)(get64(p + 8) >> 32), (uint32_t)get64(p + 8)};
}

static void put_sge(uint8_t *p, struct sge sge)
{
	uint64_t words[2] = {htobe64(sge.addr), htobe64((uint64_t)sge.key << 32 | sge.length)};

	memcpy(p, words, sizeof(words));
}

/* Writes valid private data: half of the memory is the receive buffer, announced as small. */
static void good_data(const struct peer *peer, uint8_t data[CONN_LEN])
{
	memset(data, 0, CONN_LEN);
	data[0] = 1;
	data[3] = 64; /* credits */
	put_sge(data + 8, (struct sge){(uintptr_t)peer->memory, peer->mr->rkey, 2});
	put_sge(data + 24,
		(struct sge){(uintptr_t)peer->memory + MEMORY / 2, peer->mr->rkey, MEMORY / 4});
}

static void peer_make(struct peer *peer, struct sockaddr_in *addr)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 512,
			.max_recv_wr = 128,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_recv_wr wr = {0}, *bad;

	memset(peer, 0, sizeof(*peer));
	peer->memory = calloc(1, MEMORY);
	assert_int_equal(rdma_create_id(NULL, &peer->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(peer->id, NULL, (struct sockaddr *)addr, PATIENCE_MS),
			 0);
	assert_int_equal(rdma_resolve_route(peer->id, PATIENCE_MS), 0);
	assert_int_equal(rdma_create_qp(peer->id, NULL, &attr), 0);
	peer->mr = ibv_reg_mr(peer->id->pd, peer->memory, MEMORY,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(peer->mr);
	for (int i = 0; i < 64; i++)
		assert_int_equal(ibv_post_recv(peer->id->qp, &wr, &bad), 0);
}

/* Connects with this private data; returns the result of rdma_connect(). */
static int peer_connect(struct peer *peer, const uint8_t *data, uint8_t len)
{
	struct rdma_conn_param param = {.private_data = data,
					.private_data_len = len,
					.retry_count = 7,
					.rnr_retry_count = 7};
	const uint8_t *reply;

	if (rdma_connect(peer->id, &param))
		return -1;
	reply = peer->id->event->param.conn.private_data;
	assert_true(peer->id->event->param.conn.private_data_len >= CONN_LEN);
	assert_int_equal(reply[0], 1);
	peer->credits = (uint16_t)(reply[2] << 8 | reply[3]);
	peer->list = get_sge(reply + 8);
	peer->buffer = get_sge(reply + 24);
	return 0;
}

static void peer_free(struct peer *peer)
{
	rdma_disconnect(peer->id);
	rdma_destroy_qp(peer->id);
	ibv_dereg_mr(peer->mr);
	rdma_destroy_id(peer->id);
	free(peer->memory);
}

/* Writes len bytes of the peer's memory to addr, with an immediate. */
static void peer_write(struct peer *peer, uint32_t imm, uint64_t addr, uint32_t key, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)peer->memory + 1024, len, peer->mr->lkey};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = len > 0,
					 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					 .imm_data = htobe32(imm),
					 .wr.rdma = {.remote_addr = addr, .rkey = key},
				 };

	assert_int_equal(ibv_post_send(peer->id->qp, &wr, &bad), 0);
}

static void peer_data(struct peer *peer, uint32_t offset, uint32_t len)
{
	peer_write(peer, OP_DATA << 29 | len, peer->buffer.addr + offset, peer->buffer.key, len);
}

/* Makes a valid connection between a peer and an rsocket; returns the rsocket's number. */
static int meet(struct peer *peer)
{
	uint8_t data[CONN_LEN];
	struct sockaddr_in addr;
	int fd, lfd = listener(&addr);

	peer_make(peer, &addr);
	good_data(peer, data);
	assert_int_equal(peer_connect(peer, data, sizeof(data)), 0);
	fd = raccept(lfd, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(rclose(lfd), 0);
	return fd;
}

/* Asserts that the rsocket is reset: reading and sending fail, and closing works. */
static void assert_reset(struct peer *peer, int fd)
{
	char buf[64];

	errno = 0;
	assert_int_equal(rrecv(fd, buf, sizeof(buf), 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(rrecv(fd, buf, sizeof(buf), 0), 0);
	assert_int_equal(rsend(fd, buf, 1, 0), -1);
	assert_int_equal(rclose(fd), 0);
	peer_free(peer);
}

/* Asserts that the connection breaks within PATIENCE_MS, although the program reads nothing. */
static void assert_breaks(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (int ms = 0; ms < PATIENCE_MS && !(p.revents & POLLERR); ms++) {
		assert_int_not_equal(rpoll(&p, 1, 0), -1);
		usleep(1000);
	}
	assert_true(p.revents & POLLERR);
}

/* Receives until these bytes are in the peer's memory. */
static void await_memory(struct peer *peer, size_t at, const void *bytes, size_t len)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < PATIENCE_MS && memcmp(peer->memory + at, bytes, len) != 0; i++) {
		(void)ibv_poll_cq(peer->id->recv_cq, 1, &wc);
		usleep(1000);
	}
	assert_memory_equal(peer->memory + at, bytes, len);
}

static void test_by_hand(void **state)
{
	struct peer peer;
	uint64_t second;
	char buf[4096];
	int fd = meet(&peer);

	assert_true(peer.list.length == 2 && peer.credits >= 16);
	memcpy(peer.memory + 1024, "by hand", 7);
	peer_data(&peer, 0, 7);
	assert_int_equal(rrecv(fd, buf, sizeof(buf), 0), 7);
	assert_memory_equal(buf, "by hand", 7);
	/* The rsocket writes its second buffer to the second entry of the peer's list. */
	second = peer.buffer.addr + peer.buffer.length;
	await_memory(&peer, sizeof(struct sge), &second, sizeof(second));
	assert_int_equal(rsend(fd, "answer", 6, 0), 6);
	await_memory(&peer, MEMORY / 2, "answer", 6);
	peer_write(&peer, OP_CTRL << 29, 0, 0, 0); /* DISCONNECT */
	assert_int_equal(rrecv(fd, buf, sizeof(buf), 0), 0);
	assert_int_equal(rclose(fd), 0);
	peer_free(&peer);
}

static void test_bad_requests(void **state)
{
	static const struct {
		int offset, value, len;
	} bad[] = {{0, 2, CONN_LEN},
		   {0, 0, CONN_LEN},
		   {23, 1, CONN_LEN},
		   {23, 0, CONN_LEN},
		   {0, 0, 0}};
	struct sockaddr_in addr;
	int lfd = listener(&addr);
	uint8_t data[CONN_LEN];
	struct pollfd p = {.fd = lfd, .events = POLLIN};
	struct peer peer;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		peer_make(&peer, &addr);
		good_data(&peer, data);
		data[bad[i].offset] = (uint8_t)bad[i].value;
		assert_int_equal(peer_connect(&peer, data, (uint8_t)bad[i].len), -1);
		assert_int_equal(errno, ECONNREFUSED);
		peer_free(&peer);
	}
	assert_int_equal(rpoll(&p, 1, 0), 0);
	peer_make(&peer, &addr); /* the listener still works */
	good_data(&peer, data);
	assert_int_equal(peer_connect(&peer, data, sizeof(data)), 0);
	assert_int_equal(rpoll(&p, 1, PATIENCE_MS), 1);
	peer_free(&peer);
	assert_int_equal(rclose(lfd), 0);
}

/* Messages that break the connection: longer than the buffer, of 0 bytes, with a length other than
 * the written one, and of an invalid type. */
static void test_bad_messages(void **state)
{
	static const uint32_t bad[] = {
		OP_DATA << 29 | 0x1fffffff,
		OP_DATA << 29 | 65537,
		OP_DATA << 29,
		OP_DATA << 29 | 9,
		1u << 29 | 8,
		2u << 29 | 8,
		3u << 29 | 8,
		5u << 29 | 8,
	};
	struct peer peer;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = meet(&peer);

		peer_write(&peer, bad[i], peer.buffer.addr, peer.buffer.key, 8);
		assert_reset(&peer, fd);
	}
}

static void test_send(void **state)
{
	struct peer peer;
	int fd = meet(&peer);
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND};

	assert_int_equal(ibv_post_send(peer.id->qp, &wr, &bad), 0);
	assert_reset(&peer, fd);
}

/* A peer that writes beyond the granted buffer breaks the connection. */
static void test_beyond_the_buffer(void **state)
{
	struct peer peer;
	int fd = meet(&peer);
	char *buf = malloc(peer.buffer.length + 1);

	for (uint32_t at = 0; at < peer.buffer.length; at += 4096)
		peer_data(&peer, at, 4096);
	assert_int_equal(rrecv(fd, buf, peer.buffer.length, MSG_WAITALL), peer.buffer.length);
	for (int i = 0; i < 40; i++) /* the second half, and then beyond its end */
		peer_data(&peer, peer.buffer.length + (uint32_t)(i % 16) * 4096, 4096);
	assert_breaks(fd);
	free(buf);
	assert_int_equal(rclose(fd), 0);
	peer_free(&peer);
}

/* A peer that sends more messages than it has credits breaks the connection. The messages have one
 * byte each, and the program does not read. */
static void test_beyond_the_credits(void **state)
{
	struct peer peer;
	char buf[2048];
	int fd = meet(&peer);
	ssize_t n, total = 0;

	for (int i = 0; i < 500; i++)
		peer_data(&peer, (uint32_t)i, 1);
	assert_breaks(fd);
	while ((n = rrecv(fd, buf, sizeof(buf), 0)) > 0)
		total += n;
	assert_int_equal(n, -1);
	assert_int_equal(errno, ECONNRESET);
	assert_true(total <= peer.credits);
	assert_int_equal(rclose(fd), 0);
	peer_free(&peer);
}

/* A target list with an invalid address breaks the connection: the hardware rejects the write. */
static void test_bad_target(void **state)
{
	static char buf[MEMORY];
	struct sockaddr_in addr;
	uint8_t data[CONN_LEN];
	int fd, lfd = listener(&addr);
	struct peer peer;

	peer_make(&peer, &addr);
	good_data(&peer, data);
	put_sge(data + 24, (struct sge){0xdead0000, 0x1234, 1 << 30});
	assert_int_equal(peer_connect(&peer, data, sizeof(data)), 0);
	fd = raccept(lfd, NULL, NULL);
	assert_true(fd >= 0);
	for (int i = 0; i < 1000 && rsend(fd, buf, sizeof(buf), 0) > 0; i++)
		;
	assert_true(errno == ECONNRESET || errno == EPIPE);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(lfd), 0);
	peer_free(&peer);
}

/* Random immediates and lengths, written anywhere in the rsocket's memory, harm only the peer's
 * connection. A seed makes the run repeatable. */
static void test_noise(void **state)
{
	unsigned seed = 1;

	for (int round = 0; round < 20; round++) {
		struct peer peer;
		char buf[512];
		int fd = meet(&peer);

		for (int i = 0; i < 60; i++) {
			uint32_t op = (uint32_t)rand_r(&seed) % 8,
				 len = (uint32_t)rand_r(&seed) % 600;
			uint32_t said = rand_r(&seed) % 4 ? len : (uint32_t)rand_r(&seed);

			peer_write(&peer,
				   (rand_r(&seed) % 3 ? OP_DATA : op) << 29 | (said & 0x1fffffff),
				   peer.buffer.addr + (uint32_t)rand_r(&seed) % 1024,
				   peer.buffer.key, len);
			(void)rrecv(fd, buf, sizeof(buf), MSG_DONTWAIT);
			(void)rsend(fd, buf, sizeof(buf), MSG_DONTWAIT);
		}
		assert_int_equal(rclose(fd), 0);
		peer_free(&peer);
	}
}

static int start_clock(void **state)
{
	alarm(LIMIT_SEC);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_by_hand, start_clock),
		cmocka_unit_test_setup(test_bad_requests, start_clock),
		cmocka_unit_test_setup(test_bad_messages, start_clock),
		cmocka_unit_test_setup(test_send, start_clock),
		cmocka_unit_test_setup(test_beyond_the_buffer, start_clock),
		cmocka_unit_test_setup(test_beyond_the_credits, start_clock),
		cmocka_unit_test_setup(test_bad_target, start_clock),
		cmocka_unit_test_setup(test_noise, start_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
