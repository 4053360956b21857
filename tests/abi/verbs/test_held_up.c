/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests a poll that is preempted after it has read the socket, as on a busy machine: it must not
 * report an empty queue. Otherwise programs would close the connection, because they believe that
 * all earlier packets have been polled. This program replaces the library's system calls. It holds
 * a packet back until the poll has found the socket empty, and lets the poll continue some
 * milliseconds later.
 */
#include "harness.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../common/raw_calls.h"

#define HELD_UP_SECONDS 0.005
#define ROUNDS		20

typedef long syscall_fn(long number, ...);

static syscall_fn *real;
static pthread_t tester;
static enum { PASS, KEEP, DELIVER } mode; /* treatment of the tested thread's calls */

/* The packet that is held back. */
static struct {
	int fd;
	struct sockaddr_storage to;
	socklen_t to_len;
	char control[256];
	size_t control_len;
	char bytes[8192];
	size_t len;
} kept;

static long keep_packet(int fd, const struct msghdr *m)
{
	assert_int_equal(m->msg_iovlen, 1);
	assert_int_equal(kept.len, 0);
	assert_true(m->msg_iov->iov_len <= sizeof(kept.bytes) &&
		    m->msg_controllen <= sizeof(kept.control));
	kept.fd = fd;
	memcpy(&kept.to, m->msg_name, m->msg_namelen);
	kept.to_len = m->msg_namelen;
	if (m->msg_controllen)
		memcpy(kept.control, m->msg_control, m->msg_controllen);
	kept.control_len = m->msg_controllen;
	memcpy(kept.bytes, m->msg_iov->iov_base, m->msg_iov->iov_len);
	kept.len = m->msg_iov->iov_len;
	return (long)kept.len;
}

static long keep_plain_packet(int fd, void *bytes, size_t len, void *to, socklen_t to_len)
{
	struct iovec iov = {bytes, len};
	const struct msghdr m = {
		.msg_name = to, .msg_namelen = to_len, .msg_iov = &iov, .msg_iovlen = 1};

	return keep_packet(fd, &m);
}

/* Delivers the packet now; the caller continues later. */
static void deliver_packet(void)
{
	struct iovec iov = {kept.bytes, kept.len};
	struct msghdr m = {
		.msg_name = &kept.to,
		.msg_namelen = kept.to_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = kept.control_len ? kept.control : NULL,
		.msg_controllen = kept.control_len,
	};
	double until = now_seconds() + HELD_UP_SECONDS;

	assert_int_equal(real(SYS_sendmsg, kept.fd, &m, 0), kept.len);
	kept.len = 0;
	while (now_seconds() < until)
		;
}

/* Replaces the C library's function. It always reads six arguments. */
__attribute__((visibility("default"), no_sanitize_address)) long syscall(long number, ...)
{
	long a[6], result;
	va_list list;
	bool mine;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!real) /* called at the start of a library */
		real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	mine = pthread_equal(tester, pthread_self());
	if (mine && mode == KEEP && number == SYS_sendmsg)
		return keep_packet((int)a[0], (const struct msghdr *)a[1]);
	if (mine && mode == KEEP && number == SYS_sendto)
		return keep_plain_packet((int)a[0], (void *)a[1], (size_t)a[2], (void *)a[4],
					 (socklen_t)a[5]);
	result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (mine && mode == DELIVER && result < 0 &&
	    (number == SYS_recvmsg || number == SYS_recvmmsg)) {
		mode = PASS;
		deliver_packet();
		errno = EAGAIN;
	}
	return result;
}

/* Runs before the process has threads. */
__attribute__((constructor)) static void begin(void)
{
	real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	tester = pthread_self();
}

static void send_later(struct pair *p, uint64_t wr_id)
{
	assert_int_equal(post_recv(&p->b, wr_id, 0, 100), 0);
	mode = KEEP;
	assert_int_equal(post_send(&p->a, wr_id, 0, 100, IBV_SEND_SIGNALED), 0);
	assert_int_not_equal(kept.len, 0);
	mode = DELIVER;
}

static void test_poll(void **state)
{
	const struct options o = {0};
	struct pair p;

	pair_open(&p, &o);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		struct ibv_wc wc;

		send_later(&p, i);
		assert_int_equal(ibv_poll_cq(p.b.recv_cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void test_start_poll(void **state)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct ibv_poll_cq_attr none = {0};
	const struct options o = {.unconnected = true};
	struct ibv_cq *plain;
	struct ibv_cq_ex *cq;
	struct pair p;

	pair_open(&p, &o);
	cq = ibv_create_cq_ex(p.b.ctx, &attr);
	assert_non_null(cq);
	plain = p.b.recv_cq;
	p.b.recv_cq = ibv_cq_ex_to_cq(cq);
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.init.recv_cq = p.b.recv_cq;
	p.b.init.send_cq = p.b.send_cq;
	p.b.init.qp_type = IBV_QPT_RC;
	p.b.qp = ibv_create_qp(p.b.pd, &p.b.init);
	assert_non_null(p.b.qp);
	assert_int_equal(to_init(&p.a, &o) | to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o) | to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(to_rts(&p.a, &o) | to_rts(&p.b, &o), 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		send_later(&p, i);
		assert_int_equal(ibv_start_poll(cq, &none), 0);
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
		assert_int_equal(cq->wr_id, i);
		ibv_end_poll(cq);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(plain), 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_start_poll),
	};

	setenv("ADVERB_NO_SHM", "1", 1);
	raw_calls_go_to(syscall);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
