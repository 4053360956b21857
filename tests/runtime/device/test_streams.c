/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the connections of iWARP devices with a real adverbd. The connections are socket pairs, so
 * the test decides what each end takes, and what the peer sends. */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/array.h"
#include "../../common/netns.h"
#include "runtime/device/internal.h"
#include "runtime/device/streams.h"
#include "nic/iwarp/agreement.h"
#include "nic/queue/qp.h"

#define HALF (NODE_BUFFER / 2)

static const struct adv_rdmap_config initiator = {
	.first = ADV_RDMAP_FIRST_WRITE, .crc = true, .ird = 4, .ord = 4};
static const struct adv_rdmap_config responder = {
	.first = ADV_RDMAP_FIRST_OF_PEER, .crc = true, .ird = 4, .ord = 4};

/* As the connection manager does: the queue pair is in INIT, with access rights. */
static void init_qp(struct node *n, struct adv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.qp_access_flags =
					IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};

	adv_device_lock(n->d);
	assert_int_equal(adv_qp_modify(qp, adv_clock_ns(), &a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
			 0);
	adv_device_unlock(n->d);
}

static int attach(struct node *n, int fd, const struct adv_rdmap_config *config)
{
	return adv_device_attach_stream(n->d, adv_qp_num(n->qp), fd, config);
}

static void make_pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
}

static void open_both(struct node *a, struct node *b)
{
	node_open(a);
	node_open(b);
	init_qp(a, a->qp);
	init_qp(b, b->qp);
}

static void connect_both(struct node *a, struct node *b)
{
	int fd[2];

	make_pair(fd);
	assert_int_equal(attach(a, fd[0], &initiator), 0);
	assert_int_equal(attach(b, fd[1], &responder), 0);
}

static void open_pair(struct node *a, struct node *b)
{
	open_both(a, b);
	connect_both(a, b);
}

/* A node whose peer is the test: returns the peer's descriptor. */
static int open_alone(struct node *n, const struct adv_rdmap_config *config)
{
	int fd[2];

	node_open(n);
	init_qp(n, n->qp);
	make_pair(fd);
	assert_int_equal(attach(n, fd[0], config), 0);
	return fd[1];
}

static enum ibv_qp_state state_of(struct node *n)
{
	enum ibv_qp_state state;

	adv_device_lock(n->d);
	state = n->qp->state;
	adv_device_unlock(n->d);
	return state;
}

static void fill(struct node *n, uint32_t offset, uint32_t length, unsigned seed)
{
	for (uint32_t i = 0; i < length; i++)
		n->buffer[offset + i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

static void expect_good(struct node *n, uint64_t wr_id)
{
	struct ibv_wc wc;

	node_wait(n, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
}

/* Waits for the peer's end of the connection; discards what comes before. */
static void expect_end(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t sink[4096];
	ssize_t n;

	do {
		assert_int_equal(poll(&p, 1, 120000), 1);
		n = recv(fd, sink, sizeof(sink), 0);
	} while (n > 0);
	assert_int_equal(n, 0);
}

/* Long and short messages in both directions; only the background threads receive. */
static void test_messages(void **state)
{
	static const uint32_t lengths[] = {1, 100, 4095, 4096, 70000, HALF};
	struct node a, b;

	open_pair(&a, &b);
	assert_int_equal(state_of(&a), IBV_QPS_RTS);
	for (unsigned i = 0; i < 60; i++) {
		struct node *from = i % 2 ? &a : &b, *to = i % 2 ? &b : &a;
		uint32_t length = lengths[i % ADV_ARRAY_SIZE(lengths)];

		fill(from, 0, length, i);
		node_recv(to, i, HALF, length);
		assert_int_equal(node_send(from, i, 0, length), 0);
		expect_good(from, i);
		expect_good(to, i);
		node_compare(from, 0, to, HALF, length);
	}
	node_close(&a);
	node_close(&b);
}

/* A polling program receives by itself, and no other thread. */
static void test_polled(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	open_pair(&a, &b);
	for (unsigned i = 0; i < 200; i++) {
		node_recv(&b, i, HALF, 64);
		fill(&a, 0, 64, i);
		assert_int_equal(node_send(&a, i, 0, 64), 0);
		node_poll(&b, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		node_compare(&a, 0, &b, HALF, 64);
		node_poll(&a, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	node_close(&a);
	node_close(&b);
}

/* ---- captures ---- */

/* A capture of a device, and the bytes of the two directions by their positions. */
struct capture {
	struct adv_tap_memory *memory;
	struct adv_tap_reader reader;
	uint64_t end[2]; /* 1: sent */
	uint8_t bytes[2][1 << 20];
};

static struct capture *start_capture(struct node *n)
{
	struct capture *c = calloc(1, sizeof(*c));
	const uint32_t size = 16 * ADV_TAP_SIZE_MIN;
	int life[2], fd;

	assert_non_null(c);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, life), 0);
	adv_device_lock(n->d);
	assert_int_equal(
		adv_tap_attach(&n->d->tap[ADV_CAPTURE_WIRE], size, UINT32_MAX, life[0], &fd), 0);
	adv_device_stack_links(n->d);
	adv_device_unlock(n->d);
	c->memory = mmap(NULL, adv_tap_memory_len(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(c->memory != MAP_FAILED);
	close(fd);
	close(life[1]);
	adv_tap_reader_init(&c->reader, c->memory, size);
	return c;
}

/* Reads the records: each direction is without gaps, and no sent one goes beyond its FPDU. */
static void read_capture(struct capture *c)
{
	static uint8_t data[ADV_TAP_DATA_MAX];
	struct adv_tap_record r;

	while (adv_tap_peek(&c->reader, &r)) {
		unsigned out = !!(r.flags & ADV_TAP_OUT);
		struct adv_tap_stream head;

		adv_tap_take(&c->reader, &r, data);
		assert_true(r.flags & ADV_TAP_STREAM);
		assert_int_equal(r.kept, r.payload_len);
		memcpy(&head, data, sizeof(head));
		assert_int_equal(head.at, c->end[out]);
		assert_in_range(head.other, 0, c->end[!out]);
		if (out && head.begin)
			assert_in_range(r.payload_len, 1, head.begin);
		if (out && !head.begin && r.payload_len < ADV_TAP_SEGMENT_MAX)
			assert_in_range(r.payload_len, 1,
					4 + (data[r.header_len] << 8 | data[r.header_len + 1]) + 7);
		assert_true(head.at + r.kept <= sizeof(c->bytes[out]));
		memcpy(c->bytes[out] + head.at, data + r.header_len, r.kept);
		c->end[out] += r.kept;
	}
	assert_false(c->reader.broken);
	assert_int_equal(c->memory->dropped, 0);
	munmap(c->memory, adv_tap_memory_len(c->reader.size));
}

/* Captures of both ends have all bytes, also payload that is received to its place, and agree. */
static void test_captured(void **state)
{
	static const uint32_t lengths[] = {1, 100, 5000, 70000, 200000};
	struct capture *c[2];
	struct node n[2];

	open_both(&n[0], &n[1]);
	c[0] = start_capture(&n[0]);
	c[1] = start_capture(&n[1]);
	connect_both(&n[0], &n[1]);
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(lengths); i++) {
		for (unsigned from = 0; from < 2; from++) {
			fill(&n[from], 0, lengths[i], i);
			node_recv(&n[!from], i, HALF, lengths[i]);
			assert_int_equal(node_send(&n[from], i, 0, lengths[i]), 0);
			expect_good(&n[from], i);
			expect_good(&n[!from], i);
		}
	}
	node_close(&n[0]);
	node_close(&n[1]);
	read_capture(c[0]);
	read_capture(c[1]);
	for (unsigned from = 0; from < 2; from++) {
		assert_in_range(c[from]->end[1], 275101, 280000);
		assert_int_equal(c[from]->end[1], c[!from]->end[0]);
		assert_memory_equal(c[from]->bytes[1], c[!from]->bytes[0], c[from]->end[1]);
	}
	free(c[0]);
	free(c[1]);
}

/* ---- injected faults ---- */

/* As open_both(); `plan` is in force at the first node. */
static void open_faulty(struct node *a, struct node *b, const char *plan)
{
	setenv("ADVERB_FAULT", plan, 1);
	node_open(a);
	unsetenv("ADVERB_FAULT");
	node_open(b);
	init_qp(a, a->qp);
	init_qp(b, b->qp);
	connect_both(a, b);
}

/* Sends and receives a message. Returns its time, ns. */
static uint64_t pass_message(struct node *from, struct node *to)
{
	uint64_t start;

	fill(from, 0, 5000, 3);
	node_recv(to, 7, HALF, 5000);
	start = adv_clock_ns();
	assert_int_equal(node_send(from, 8, 0, 5000), 0);
	expect_good(to, 7);
	expect_good(from, 8);
	node_compare(from, 0, to, HALF, 5000);
	return adv_clock_ns() - start;
}

/* What is lost and delayed arrives, and not too early. The first turn is the one that says: ready
 * to receive. */
static void test_losses_and_delays(void **state)
{
	static const struct {
		const char *plan;
		unsigned from; /* the sender: 0: the node with the plan */
		unsigned least_ms;
	} faults[] = {
		{"drop tx nth=2", 0, 200},   {"delay=50ms tx nth=2", 0, 50},
		{"drop rx nth=1", 1, 200},   {"delay=50ms rx nth=1", 1, 50},
		{"drop tx nth=2-3", 0, 600}, {"duplicate; reorder", 0, 0},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(faults); i++) {
		struct node n[2];

		open_faulty(&n[0], &n[1], faults[i].plan);
		if (!faults[i].from) /* then the second turn is that of the message */
			pass_message(&n[1], &n[0]);
		assert_true(pass_message(&n[faults[i].from], &n[!faults[i].from]) >=
			    faults[i].least_ms * 1000000ull);
		pass_message(&n[0], &n[1]);
		pass_message(&n[1], &n[0]);
		node_close(&n[0]);
		node_close(&n[1]);
	}
}

/* A wrong CRC ends the connection. */
static void test_damaged(void **state)
{
	static const char *const plans[] = {"corrupt tx nth=2", "corrupt rx nth=1"};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(plans); i++) {
		struct node n[2];

		open_faulty(&n[0], &n[1], plans[i]);
		node_recv(&n[!i], 1, 0, 100);
		assert_int_equal(node_send(&n[i], 2, 0, 100), 0);
		WAIT_UNTIL(state_of(&n[0]) == IBV_QPS_ERR && state_of(&n[1]) == IBV_QPS_ERR);
		adv_device_lock(n[!i].d);
		assert_int_equal(n[!i].qp->error.cause, ADV_ERR_STREAM);
		adv_device_unlock(n[!i].d);
		node_close(&n[0]);
		node_close(&n[1]);
	}
}

/* A socket that is full: the WRITE completes when the peer has read, and not before. */
static void test_full_socket(void **state)
{
	struct node n;
	int fd = open_alone(&n, &initiator);
	uint8_t sink[65536];
	struct ibv_wc wc;
	uint64_t total = 0;
	bool done = false;

	assert_int_equal(node_write(&n, &n, 1, 0, HALF, HALF), 0);
	usleep(50000);
	assert_false(node_look(&n, &wc));
	while (!done || total <= HALF) { /* the payload, headers and CRCs */
		ssize_t got = recv(fd, sink, sizeof(sink), 0);

		total += got > 0 ? (uint64_t)got : 0;
		done = done || node_look(&n, &wc);
		if (got < 0)
			usleep(1000);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	close(fd);
	node_close(&n);
}

/* More connections than a polling program reads without epoll, all at once. */
static void test_many(void **state)
{
	struct node n[2][6];
	unsigned i;

	for (i = 0; i < 6; i++)
		open_pair(&n[0][i], &n[1][i]);
	for (i = 0; i < 6; i++) {
		fill(&n[0][i], 0, 100000, i);
		node_recv(&n[1][i], i, HALF, 100000);
		assert_int_equal(node_send(&n[0][i], i, 0, 100000), 0);
	}
	for (i = 0; i < 6; i++) {
		expect_good(&n[1][i], i);
		expect_good(&n[0][i], i);
		node_compare(&n[0][i], 0, &n[1][i], HALF, 100000);
	}
	for (i = 0; i < 6; i++) {
		node_close(&n[0][i]);
		node_close(&n[1][i]);
	}
}

/* The end that the peer, or the program, gives a connection. */
static void test_ends(void **state)
{
	struct ibv_qp_attr to_error = {.qp_state = IBV_QPS_ERR};
	struct node n;
	struct ibv_wc wc;
	int fd = open_alone(&n, &responder);

	node_recv(&n, 7, 0, 100);
	close(fd);
	node_wait(&n, &wc);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(&n), IBV_QPS_ERR);
	node_close(&n);

	fd = open_alone(&n, &responder);
	adv_device_lock(n.d);
	assert_int_equal(adv_qp_modify(n.qp, adv_clock_ns(), &to_error, IBV_QP_STATE), 0);
	adv_device_unlock(n.d);
	expect_end(fd);
	close(fd);
	node_close(&n);

	/* An error that no byte of the connection has caused. */
	fd = open_alone(&n, &responder);
	adv_device_lock(n.d);
	assert_int_equal(adv_engine_raise(n.d->engine, adv_clock_ns(), IBV_EVENT_QP_FATAL,
					  adv_qp_num(n.qp), adv_qp_num(n.qp)),
			 1);
	adv_device_unlock(n.d);
	expect_end(fd);
	close(fd);
	node_close(&n);

	fd = open_alone(&n, &responder);
	adv_device_lock(n.d);
	adv_qp_destroy(n.qp);
	adv_device_unlock(n.d);
	expect_end(fd);
	close(fd);
	node_close(&n);
}

/* A responder whose initiator has not offered to begin waits while its reply is not acknowledged:
 * for a socket pair, not read. */
static void test_reply_is_under_way(void **state)
{
	static const struct adv_rdmap_config hoping = {
		.first = ADV_RDMAP_FIRST_HOPED, .ird = 1, .ord = 1};
	struct node n;
	uint8_t got[100];
	int fd[2];

	node_open(&n);
	init_qp(&n, n.qp);
	make_pair(fd);
	assert_int_equal(send(fd[0], "reply", 5, 0), 5);
	assert_int_equal(attach(&n, fd[0], &hoping), 0);
	assert_int_equal(node_send(&n, 1, 0, 10), 0);
	usleep(350000);
	assert_int_equal(recv(fd[1], got, sizeof(got), MSG_PEEK), 5); /* and nothing behind it */
	assert_int_equal(recv(fd[1], got, sizeof(got), 0), 5);
	expect_good(&n, 1);
	assert_true(recv(fd[1], got, sizeof(got), 0) > 10);
	close(fd[1]);
	node_close(&n);
}

/* An attacker on the connection: the queue pair ends, and no byte of memory changes. */
static void test_attack(void **state)
{
	struct node n;
	uint8_t garbage[3000];
	int fd = open_alone(&n, &responder);

	for (unsigned i = 0; i < sizeof(garbage); i++)
		garbage[i] = (uint8_t)(i * 31 + 1);
	assert_int_equal(send(fd, garbage, sizeof(garbage), 0), sizeof(garbage));
	WAIT_UNTIL(state_of(&n) == IBV_QPS_ERR);
	expect_end(fd);
	for (unsigned i = 0; i < NODE_BUFFER; i++)
		assert_int_equal(n.buffer[i], 0);
	close(fd);
	node_close(&n);
}

/* True if both directions of a connection have ended: adverbd sees that by its copy. */
static bool has_ended(int copy)
{
	struct pollfd p = {.fd = copy, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1 && p.revents & POLLRDHUP;
}

/* As open_alone(), with a copy of the node's socket in *copy, as adverbd has one. full: nothing
 * fits into the socket before the peer reads. */
static int open_copied(struct node *n, bool full, int *copy)
{
	static const uint8_t zero[4096];
	int fd[2];

	node_open(n);
	init_qp(n, n->qp);
	make_pair(fd);
	while (full && send(fd[0], zero, sizeof(zero), 0) > 0)
		;
	*copy = dup(fd[0]);
	assert_true(*copy >= 0);
	assert_int_equal(attach(n, fd[0], &responder), 0);
	return fd[1];
}

/* A refused peer that sends on and keeps its end, with and without room for a Terminate: its bytes
 * are discarded, and both directions end after some seconds. */
static void test_peer_stays(void **state)
{
	static const uint8_t garbage[65536] = {1, 2, 3};

	for (unsigned full = 0; full < 2; full++) {
		struct node n;
		int copy, fd = open_copied(&n, full, &copy);

		for (unsigned i = 0; i < 4; i++)
			WAIT_UNTIL(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL) > 0);
		assert_false(has_ended(copy));
		WAIT_UNTIL(state_of(&n) == IBV_QPS_ERR);
		WAIT_UNTIL(has_ended(copy));
		close(copy);
		close(fd);
		node_close(&n);
	}
}

/* The program destroys the queue pair, and the peer keeps its end. */
static void test_peer_outstays(void **state)
{
	struct node n;
	int copy, fd = open_copied(&n, false, &copy);

	adv_device_lock(n.d);
	adv_qp_destroy(n.qp);
	adv_device_unlock(n.d);
	expect_end(fd);
	assert_false(has_ended(copy));
	WAIT_UNTIL(has_ended(copy));
	close(copy);
	close(fd);
	node_close(&n);
}

/* A refused peer that ends the connection behind bytes that nobody wants. */
static void test_end_behind_bytes(void **state)
{
	static const uint8_t garbage[65536] = {1, 2, 3};
	struct node n;
	int copy, fd = open_copied(&n, false, &copy);

	assert_int_equal(send(fd, garbage, 1000, 0), 1000);
	expect_end(fd);
	for (unsigned i = 0; i < 4; i++)
		WAIT_UNTIL(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL) > 0);
	WAIT_UNTIL(recv(copy, &n.buffer[0], 1, MSG_PEEK | MSG_DONTWAIT) < 0);
	shutdown(fd, SHUT_WR);
	WAIT_UNTIL(has_ended(copy));
	close(copy);
	close(fd);
	node_close(&n);
}

/* A queue pair that gets no connection keeps its state. */
static void test_failed_attach(void **state)
{
	struct node n;
	int fd[2], file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0);
	node_open(&n);
	init_qp(&n, n.qp);
	assert_int_equal(attach(&n, file, &responder), EPERM); /* no epoll set takes it */
	assert_int_equal(state_of(&n), IBV_QPS_INIT);
	make_pair(fd);
	assert_int_equal(attach(&n, fd[0], &responder), 0);
	assert_int_equal(state_of(&n), IBV_QPS_RTS);
	close(file);
	close(fd[1]);
	node_close(&n);
}

/* A descriptor that is not attached stays the caller's. */
static void test_not_attached(void **state)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct node n;
	int fd[2], more[2];

	node_open(&n);
	make_pair(fd);
	make_pair(more);
	assert_int_equal(attach(&n, fd[0], &responder), EINVAL); /* it is in RESET */
	assert_int_equal(adv_device_attach_stream(n.d, 0xfffff0, fd[0], &responder), EINVAL);
	init_qp(&n, n.qp);
	assert_int_equal(attach(&n, fd[0], &responder), 0);
	assert_int_equal(attach(&n, more[0], &responder), EINVAL); /* it has one */
	assert_int_equal(send(more[0], "x", 1, 0), 1);
	/* RESET ends a connection, and the queue pair can get another one. */
	adv_device_lock(n.d);
	assert_int_equal(adv_qp_modify(n.qp, adv_clock_ns(), &reset, IBV_QP_STATE), 0);
	adv_device_unlock(n.d);
	expect_end(fd[1]);
	init_qp(&n, n.qp);
	assert_int_equal(attach(&n, more[0], &responder), 0);
	assert_int_equal(state_of(&n), IBV_QPS_RTS);
	close(fd[1]);
	close(more[1]);
	node_close(&n);
}

/* Connections leave no descriptor and no thread behind. */
static void test_nothing_left(void **state)
{
	struct node a, b;
	unsigned fds, tasks;

	open_pair(&a, &b);
	node_close(&a);
	node_close(&b);
	fds = open_descriptors();
	tasks = threads();
	for (unsigned i = 0; i < 20; i++) {
		open_pair(&a, &b);
		node_recv(&b, i, HALF, 64);
		assert_int_equal(node_send(&a, i, 0, 64), 0);
		expect_good(&b, i);
		node_close(&a);
		node_close(&b);
	}
	assert_int_equal(open_descriptors(), fds);
	assert_int_equal(threads(), tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_polled),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_losses_and_delays),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_full_socket),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_reply_is_under_way),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_attack),
		cmocka_unit_test(test_peer_stays),
		cmocka_unit_test(test_peer_outstays),
		cmocka_unit_test(test_end_behind_bytes),
		cmocka_unit_test(test_failed_attach),
		cmocka_unit_test(test_not_attached),
		cmocka_unit_test(test_nothing_left),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests_name("device streams", tests, node_start_daemon,
					   node_stop_daemon);
}
