/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests two processes that read each other's memory (src/runtime/link/pull.h) when one is killed,
 * or frees memory, in the middle of a transfer: no wrong byte arrives, no call hangs, and requests
 * fail with the documented errors. The peer is this program again, with a role and a socket as
 * arguments.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "log_file.h"

#define LEN	  (192u << 10) /* three long packets, which a window holds */
#define MEMORY	  (2 * LEN)    /* the second half is never named by a request */
#define IN_TURN	  4
#define ROUNDS	  6
#define UNTOUCHED 0xee /* bytes that no request has written yet */
#define REUSED	  0x33 /* bytes of other data at the address of freed memory */

/* Roles of a peer. A PUPPET is connected to another peer, and a test controls it. */
enum role { SENDER, WRITER, TARGET, PUPPET_SENDER, PUPPET_RECEIVER };

static const struct options options = {.timeout = 14, .rnr_retry = 7};

/* What one process needs to know about the other. */
struct card {
	uint32_t qpn, rkey;
	union ibv_gid gid;
	uint64_t addr;
};

/* One process, its memory, and the peer's card in the form that the harness needs. */
struct bed {
	struct side own, peer;
	struct ibv_qp peer_qp;
	struct ibv_mr peer_mr;
	uint8_t *memory;
	struct ibv_mr *mr;
	int fd;	     /* socket to the peer */
	int control; /* socket to the test; only of a puppet */
	pid_t pid;
	uint64_t posted, done;
};

/* Byte i of all data. */
static uint8_t byte_at(size_t i)
{
	return (uint8_t)(1 + i % 47); /* neither UNTOUCHED nor REUSED */
}

static void *map_at(void *addr)
{
	void *p = mmap(addr, MEMORY, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (addr ? MAP_FIXED : 0), -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void exchange_cards(struct bed *b)
{
	struct card card = {b->own.qp->qp_num, b->mr->rkey, b->own.gid, (uintptr_t)b->memory};

	assert_int_equal(write(b->fd, &card, sizeof(card)), sizeof(card));
	assert_int_equal(read(b->fd, &card, sizeof(card)), sizeof(card));
	b->peer_qp.qp_num = card.qpn;
	b->peer_mr.rkey = card.rkey;
	b->peer = (struct side){.qp = &b->peer_qp,
				.mr = &b->peer_mr,
				.gid = card.gid,
				.buf = (uint8_t *)(uintptr_t)card.addr};
}

static void tell_ready(int fd)
{
	assert_int_equal(write(fd, "r", 1), 1);
}

static void wait_ready(int fd)
{
	char c;

	assert_int_equal(read(fd, &c, 1), 1);
}

/* Opens the device and connects. Fills the first half of the memory with data if `filled`. */
static void bed_open(struct bed *b, bool filled)
{
	side_open(&b->own, &options);
	b->memory = map_at(NULL);
	memset(b->memory, UNTOUCHED, MEMORY);
	for (size_t i = 0; filled && i < LEN; i++)
		b->memory[i] = byte_at(i);
	b->mr = ibv_reg_mr(b->own.pd, b->memory, MEMORY, ALL_ACCESS);
	assert_non_null(b->mr);
	exchange_cards(b);
	assert_int_equal(to_init(&b->own, &options), 0);
	assert_int_equal(to_rtr(&b->own, &b->peer, &options), 0);
	assert_int_equal(to_rts(&b->own, &options), 0);
	tell_ready(b->fd);
	wait_ready(b->fd);
}

static void bed_close(struct bed *b)
{
	if (b->pid) {
		kill(b->pid, SIGKILL);
		assert_int_equal(waitpid(b->pid, NULL, 0), b->pid);
	}
	close(b->fd);
	if (b->mr) {
		assert_int_equal(ibv_destroy_qp(b->own.qp), 0);
		b->own.qp = NULL;
		assert_int_equal(ibv_dereg_mr(b->mr), 0);
	}
	side_close(&b->own);
	munmap(b->memory, MEMORY);
}

static int post(struct bed *b, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {(uintptr_t)b->memory, LEN, b->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = b->posted,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)b->peer.buf, b->peer_mr.rkey}};
	struct ibv_send_wr *bad;

	b->posted++;
	return ibv_post_send(b->own.qp, &wr, &bad);
}

/* Sends without end. Returns the status of the first completion that is no success. */
static enum ibv_wc_status send_until_error(struct bed *b, enum ibv_wr_opcode opcode)
{
	struct ibv_wc wc;

	for (;;) {
		while (b->posted - b->done < IN_TURN)
			assert_int_equal(post(b, opcode), 0);
		assert_true(wait_wc(b->own.send_cq, &wc, PATIENCE));
		assert_int_equal(wc.wr_id, b->done++);
		if (wc.status != IBV_WC_SUCCESS)
			return wc.status;
	}
}

/* All requests after the failed one are flushed. */
static void expect_flushes(struct bed *b)
{
	while (b->done < b->posted)
		expect_wc(b->own.send_cq, b->done++, IBV_WC_WR_FLUSH_ERR);
}

/* Each byte is data in its place, or untouched. The second half is untouched. */
static void expect_no_wrong_byte(const uint8_t *memory)
{
	for (size_t i = 0; i < MEMORY; i++)
		if (memory[i] != UNTOUCHED && (i >= LEN || memory[i] != byte_at(i)))
			fail_msg("byte %zu is 0x%02x", i, memory[i]);
}

/* All data is in its place. */
static void expect_whole(const uint8_t *memory)
{
	expect_no_wrong_byte(memory);
	for (size_t i = 0; i < LEN; i++)
		if (memory[i] != byte_at(i))
			fail_msg("byte %zu of a received message is 0x%02x", i, memory[i]);
}

/* ---- the peer ---- */

/* Posts a message for each request of the test. */
static void be_puppet_sender(struct bed *b)
{
	for (;;) {
		wait_ready(b->control);
		assert_int_equal(post(b, IBV_WR_SEND), 0);
		tell_ready(b->control);
	}
}

/* Receives a message for each request of the test. A message may be missing, but not a part of it.
 */
static void be_puppet_receiver(struct bed *b)
{
	struct ibv_sge sge = {(uintptr_t)b->memory, MEMORY, b->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_wc wc;

	for (;;) {
		memset(b->memory, UNTOUCHED, LEN);
		assert_int_equal(ibv_post_recv(b->own.qp, &wr, &bad), 0);
		tell_ready(b->control);
		wait_ready(b->control);
		if (wait_wc(b->own.recv_cq, &wc, 1)) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			expect_whole(b->memory);
		}
	}
}

static int be_peer(enum role role, int fd, int control)
{
	struct bed b = {.fd = fd, .control = control};
	enum ibv_wc_status status;

	bed_open(&b, role != TARGET && role != PUPPET_RECEIVER);
	if (role == PUPPET_SENDER)
		be_puppet_sender(&b);
	if (role == PUPPET_RECEIVER)
		be_puppet_receiver(&b);
	if (role == TARGET) {
		/* Waits for the end of the transfer, and checks its memory. */
		wait_ready(b.fd);
		expect_no_wrong_byte(b.memory);
		tell_ready(b.fd);
		pause();
	}
	status = send_until_error(&b, role == SENDER ? IBV_WR_SEND : IBV_WR_RDMA_WRITE);
	assert_int_equal(write(fd, &status, sizeof(status)), sizeof(status));
	pause();
	return 0;
}

/* Starts a peer with these two sockets, and closes them here. Returns its process id. */
static pid_t start_process(enum role role, int fd, int control)
{
	char text[3][12];
	pid_t pid;

	snprintf(text[0], sizeof(text[0]), "%d", role);
	snprintf(text[1], sizeof(text[1]), "%d", fd);
	snprintf(text[2], sizeof(text[2]), "%d", control);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		fcntl(fd, F_SETFD, 0);
		if (control >= 0)
			fcntl(control, F_SETFD, 0);
		execl("/proc/self/exe", "one_copy", text[0], text[1], text[2], (char *)NULL);
		_exit(127);
	}
	close(fd);
	if (control >= 0)
		close(control);
	return pid;
}

/* Starts the peer and connects to it. */
static void start_peer(struct bed *b, enum role role)
{
	int fd[2];

	memset(b, 0, sizeof(*b));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	b->pid = start_process(role, fd[1], -1);
	b->fd = fd[0];
	bed_open(b, role == TARGET);
}

static void kill_peer(struct bed *b)
{
	assert_int_equal(kill(b->pid, SIGKILL), 0);
	assert_int_equal(waitpid(b->pid, NULL, 0), b->pid);
	b->pid = 0;
}

static void expect_one_copy(void)
{
	const char *all = log_file_read();

	if (!strstr(all, "is read from process"))
		fail_msg("no process reads the other's memory:\n%s", all);
}

/* ---- tests ---- */

/* A message whose sender dies during the copy is not received in part. */
static void sender_is_killed(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge;
		struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
		double end = now_seconds() + 0.05 + 0.0013 * i;
		struct ibv_wc wc;
		unsigned messages = 0;
		struct bed b;
		bool killed = false;

		start_peer(&b, SENDER);
		sge = (struct ibv_sge){(uintptr_t)b.memory, MEMORY, b.mr->lkey};
		assert_int_equal(ibv_post_recv(b.own.qp, &wr, &bad), 0);
		while (wait_wc(b.own.recv_cq, &wc, killed ? 0.1 : PATIENCE)) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.byte_len, LEN);
			expect_whole(b.memory);
			memset(b.memory, UNTOUCHED, LEN);
			messages++;
			assert_int_equal(ibv_post_recv(b.own.qp, &wr, &bad), 0);
			if (!killed && messages > 2 && now_seconds() > end) {
				usleep(20 * i);
				kill_peer(&b);
				killed = true;
			}
		}
		assert_true(killed);
		expect_no_wrong_byte(b.memory);
		assert_int_equal(post(&b, IBV_WR_SEND), 0);
		expect_wc(b.own.send_cq, 0, IBV_WC_RETRY_EXC_ERR);
		bed_close(&b);
	}
	expect_one_copy();
}

/* A receiver that was stopped finds packets whose sender is dead. */
static void dead_senders_packets_are_lost(void **state)
{
	int between[2], sender[2], receiver[2];
	pid_t from, to;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, between), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sender), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, receiver), 0);
	from = start_process(PUPPET_SENDER, between[0], sender[1]);
	to = start_process(PUPPET_RECEIVER, between[1], receiver[1]);
	wait_ready(receiver[0]);
	/* The payload of the first messages may be copied through the ring. */
	for (unsigned i = 0; i < 3; i++) {
		tell_ready(sender[0]);
		wait_ready(sender[0]);
		tell_ready(receiver[0]);
		wait_ready(receiver[0]);
	}
	assert_int_equal(kill(to, SIGSTOP), 0);
	assert_int_equal(waitpid(to, NULL, WUNTRACED), to);
	tell_ready(sender[0]);
	wait_ready(sender[0]);
	assert_int_equal(kill(from, SIGKILL), 0);
	assert_int_equal(waitpid(from, NULL, 0), from);
	assert_int_equal(kill(to, SIGCONT), 0);
	tell_ready(receiver[0]);
	wait_ready(receiver[0]);
	assert_int_equal(kill(to, SIGKILL), 0);
	assert_int_equal(waitpid(to, NULL, 0), to);
	close(sender[0]);
	close(receiver[0]);
	expect_one_copy();
}

/* The requests of a sender whose receiver dies during the copy fail, and free their memory. */
static void receiver_is_killed(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct bed b;

		start_peer(&b, TARGET);
		for (unsigned k = 0; k < 32; k++)
			assert_int_equal(post(&b, IBV_WR_RDMA_WRITE), 0);
		usleep(37 * i);
		kill_peer(&b);
		assert_int_equal(send_until_error(&b, IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
		expect_flushes(&b);
		bed_close(&b);
	}
	expect_one_copy();
}

/* When the source of outstanding WRITEs is deregistered, the program may free it at once: the peer
 * reads no byte of what is at its address then. */
static void source_is_freed(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		enum ibv_wc_status status = IBV_WC_SUCCESS;
		struct ibv_wc wc;
		struct bed b;

		start_peer(&b, TARGET);
		for (unsigned k = 0; k < 32; k++)
			assert_int_equal(post(&b, IBV_WR_RDMA_WRITE), 0);
		usleep(113 * i);
		assert_int_equal(ibv_dereg_mr(b.mr), 0);
		b.mr = NULL;
		munmap(b.memory, MEMORY);
		memset(map_at(b.memory), REUSED, MEMORY);
		while (b.done < b.posted && status == IBV_WC_SUCCESS) {
			assert_true(wait_wc(b.own.send_cq, &wc, PATIENCE));
			assert_int_equal(wc.wr_id, b.done++);
			status = wc.status;
		}
		if (status != IBV_WC_SUCCESS)
			assert_int_equal(status, IBV_WC_LOC_PROT_ERR);
		expect_flushes(&b);
		tell_ready(b.fd);
		wait_ready(b.fd);
		bed_close(&b);
	}
	expect_one_copy();
}

/* After the deregistration of the target of WRITEs, no byte at its address changes. */
static void target_is_freed(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		enum ibv_wc_status status;
		struct bed b;

		start_peer(&b, WRITER);
		usleep(1000 + 113 * i);
		assert_int_equal(ibv_dereg_mr(b.mr), 0);
		b.mr = NULL;
		expect_no_wrong_byte(b.memory);
		munmap(b.memory, MEMORY);
		memset(map_at(b.memory), REUSED, MEMORY);
		assert_int_equal(read(b.fd, &status, sizeof(status)), sizeof(status));
		assert_int_equal(status, IBV_WC_REM_ACCESS_ERR);
		for (size_t k = 0; k < MEMORY; k++)
			assert_int_equal(b.memory[k], REUSED);
		bed_close(&b);
	}
	expect_one_copy();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sender_is_killed),
		cmocka_unit_test(dead_senders_packets_are_lost),
		cmocka_unit_test(receiver_is_killed),
		cmocka_unit_test(source_is_freed),
		cmocka_unit_test(target_is_freed),
	};
	int failed;

	if (argc == 4)
		return be_peer((enum role)atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
	log_file_open();
	setenv("ADVERB_LOG", "info", 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	log_file_remove();
	return failed;
}
