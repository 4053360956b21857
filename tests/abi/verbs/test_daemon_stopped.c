/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that calls of the library do not stop the traffic of a device while adverbd's worker is
 * stopped (SIGSTOP). A thread, the tester, creates queue pairs, connects them, attaches them to
 * multicast groups and destroys them. Meanwhile the traffic of other queue pairs of the same
 * devices must continue.
 *
 * No test compares times. The tester's system calls pass through syscall() below. Before each call
 * that may wait for adverbd, it lets the traffic advance. If the tester holds a device's lock at
 * that time, the traffic never advances.
 */
#include "harness.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE	  256
#define ADVANCE	  5    /* exchanges by which the traffic must advance */
#define SLOT_QPNS 2048 /* QP numbers that a device has before it gets a block */
#define LONG_WAIT 5    /* s; the library waits for no lock for so long a time */
#define ROUNDS	  20
#define STOPS	  10
#define PIDS	  32768

typedef long syscall_fn(long number, ...);

static syscall_fn *real;
static pthread_t tester;
static pthread_t traffic;
static struct pair p; /* queue pairs whose traffic must continue */
static atomic_bool done;
static atomic_uint exchanged;
static atomic_bool stopped;   /* the worker is stopped */
static bool continue_at_wait; /* before_long_wait() continues the worker */
static unsigned long_waits;
static pid_t worker;
static pid_t keeper;

/* ---- traffic ---- */

/* An assertion for all threads: those of cmocka work only in the tester. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void await_completion(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;

	MUST(wait_wc(cq, &wc, PATIENCE));
	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "%s (vendor_err %u)\n", ibv_wc_status_str(wc.status),
			wc.vendor_err);
	MUST(wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id);
}

static void exchange(uint32_t round)
{
	memset(p.a.buf, (int)(round % 251), MESSAGE);
	MUST(post_recv(&p.b, round, MESSAGE, MESSAGE) == 0);
	MUST(post_send(&p.a, round, 0, MESSAGE, IBV_SEND_SIGNALED) == 0);
	await_completion(p.b.recv_cq, round);
	await_completion(p.a.send_cq, round);
	MUST(memcmp(p.a.buf, p.b.buf + MESSAGE, MESSAGE) == 0);
}

static void *run_traffic(void *arg)
{
	for (uint32_t round = 0; !atomic_load(&done); round++) {
		exchange(round);
		atomic_fetch_add(&exchanged, 1);
	}
	return NULL;
}

/* Blocks until the traffic has advanced. Also called during a call of the library. */
static void let_traffic_advance(void)
{
	unsigned goal = atomic_load(&exchanged) + ADVANCE;
	double until = now_seconds() + PATIENCE;

	while ((int)(goal - atomic_load(&exchanged)) > 0) {
		MUST(now_seconds() < until); /* fails if the traffic stands still */
		real(SYS_sched_yield);
	}
}

/* ---- system calls ---- */

/* True for a system call that may wait long, such as a wait for an answer of adverbd. */
static bool is_long_wait(long number, const long *a)
{
	const struct timespec *timeout = NULL;

	if (number == SYS_ppoll)
		timeout = (const struct timespec *)a[2];
	else if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
		timeout = (const struct timespec *)a[3];
	return timeout && timeout->tv_sec >= LONG_WAIT;
}

static void before_long_wait(void)
{
	long_waits++;
	let_traffic_advance();
	if (continue_at_wait && kill(worker, SIGCONT) == 0)
		atomic_store(&stopped, false);
}

/* Replaces the C library's function. Reads six arguments, even if the caller passes fewer. */
__attribute__((visibility("default"), no_sanitize_address)) long syscall(long number, ...)
{
	va_list list;
	long a[6];

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!real) /* called by a library's constructor */
		real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	if (atomic_load(&stopped) && pthread_equal(tester, pthread_self()) &&
	    is_long_wait(number, a))
		before_long_wait();
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- adverbd ---- */

struct process {
	char name[16];
	char state;
	pid_t parent;
};

/* Reads a process's status. False: the process does not exist. Uses raw system calls, like the
 * library: if both use a descriptor in turn, the thread sanitizer reports a race. */
static bool read_process(pid_t pid, struct process *process)
{
	char path[64], text[256];
	long fd, n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = real(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = real(SYS_read, fd, text, sizeof(text) - 1);
	real(SYS_close, fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	return sscanf(text, "%*d (%15[^)]) %c %d", process->name, &process->state,
		      &process->parent) == 3;
}

static bool is_adverbd(const struct process *process)
{
	return strncmp(process->name, "adverbd", strlen("adverbd")) == 0;
}

/* Sets `worker`, and `keeper`, its parent. The PID namespace has no other adverbd. */
static void find_daemon(void)
{
	worker = 0;
	for (pid_t pid = 1; pid < PIDS && !worker; pid++) {
		struct process child, parent;

		if (read_process(pid, &child) && is_adverbd(&child) &&
		    read_process(child.parent, &parent) && is_adverbd(&parent)) {
			worker = pid;
			keeper = child.parent;
		}
	}
	assert_int_not_equal(worker, 0);
}

/* Stops a process, and returns when it no longer runs. */
static void stop_process(pid_t pid)
{
	double until = now_seconds() + PATIENCE;
	struct process process = {.state = 0};

	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (process.state != 'T' && now_seconds() < until)
		assert_true(read_process(pid, &process));
	assert_int_equal(process.state, 'T');
}

static void stop_daemon(void)
{
	find_daemon();
	stop_process(worker);
	long_waits = 0;
	continue_at_wait = false;
	atomic_store(&stopped, true);
}

static void continue_daemon(void)
{
	atomic_store(&stopped, false);
	assert_int_equal(kill(worker, SIGCONT), 0);
}

/* ---- tests ---- */

static const struct options plain = {0};

static int begin_traffic(void **state)
{
	atomic_store(&done, false);
	pair_open(&p, &plain);
	assert_int_equal(pthread_create(&traffic, NULL, run_traffic, NULL), 0);
	let_traffic_advance();
	return 0;
}

static int end_traffic(void **state)
{
	if (atomic_load(&stopped)) /* still stopped: the test has failed */
		continue_daemon();
	let_traffic_advance();
	atomic_store(&done, true);
	assert_int_equal(pthread_join(traffic, NULL), 0);
	pair_close(&p);
	return 0;
}

/* Returns a copy of s with a new QP. */
static struct side with_new_qp(const struct side *s, enum ibv_qp_type type)
{
	struct side copy = *s;
	struct ibv_qp_init_attr init = s->init;

	init.qp_type = type;
	copy.qp = ibv_create_qp(s->pd, &init);
	assert_non_null(copy.qp);
	return copy;
}

static void connect_sides(struct side *a, struct side *b)
{
	assert_int_equal(to_init(a, &plain) | to_init(b, &plain), 0);
	assert_int_equal(to_rtr(a, b, &plain) | to_rtr(b, a, &plain), 0);
	assert_int_equal(to_rts(a, &plain) | to_rts(b, &plain), 0);
}

/* Asserts that a WRITE from a to b completes. No other QP uses a's CQs. */
static void check_connection(struct side *a, struct side *b)
{
	static uint8_t value;

	memset(a->buf + 8192, ++value, MESSAGE);
	assert_int_equal(
		post_rdma(a, b, IBV_WR_RDMA_WRITE, value, 8192, MESSAGE, 16384, b->mr->rkey), 0);
	expect_wc(a->send_cq, value, IBV_WC_SUCCESS);
	assert_memory_equal(a->buf + 8192, b->buf + 16384, MESSAGE);
}

/* Opens a third device, and connects it to one of the devices with traffic. */
static void open_third(struct side *c, struct side *of_a)
{
	side_open(c, &plain);
	*of_a = with_new_qp(&p.a, IBV_QPT_RC);
}

static void close_third(struct side *c, struct side *of_a)
{
	assert_int_equal(ibv_destroy_qp(of_a->qp), 0);
	side_close(c);
}

static union ibv_gid group_of(unsigned i)
{
	union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, (uint8_t)i}};

	return group;
}

/* Asserts that adverbd answers this device. */
static void check_answers(void)
{
	struct side ud = with_new_qp(&p.a, IBV_QPT_UD);
	union ibv_gid group = group_of(200);

	assert_int_equal(ibv_attach_mcast(ud.qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(ud.qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(ud.qp), 0);
}

/* Tests that no call that connects queue pairs waits for adverbd. */
static void test_connect(void **state)
{
	struct side c, of_a;

	open_third(&c, &of_a);
	stop_daemon();
	connect_sides(&c, &of_a);
	check_connection(&c, &of_a);
	let_traffic_advance();
	assert_int_equal(long_waits, 0);
	continue_daemon();
	check_answers();
	check_connection(&c, &of_a);
	close_third(&c, &of_a);
}

/* Tests the destruction of a queue pair before adverbd answers the request that was posted for it.
 */
static void test_destroy(void **state)
{
	struct side c, of_a;

	open_third(&c, &of_a);
	stop_daemon();
	connect_sides(&c, &of_a);
	assert_int_equal(ibv_destroy_qp(c.qp), 0);
	assert_int_equal(ibv_destroy_qp(of_a.qp), 0);
	let_traffic_advance();
	assert_int_equal(long_waits, 0);
	continue_daemon();
	check_answers();
	c = with_new_qp(&c, IBV_QPT_RC);
	of_a = with_new_qp(&p.a, IBV_QPT_RC);
	connect_sides(&c, &of_a);
	check_connection(&c, &of_a);
	close_third(&c, &of_a);
}

/* Tests that the device can be closed before adverbd answers. */
static void test_close(void **state)
{
	struct side c, of_a;

	open_third(&c, &of_a);
	stop_daemon();
	connect_sides(&c, &of_a);
	close_third(&c, &of_a);
	let_traffic_advance();
	assert_int_equal(long_waits, 0);
	continue_daemon();
	check_answers();
}

/* Tests that a child of fork() does not disturb the posted request. */
static void test_fork(void **state)
{
	struct side c, of_a;
	int status;
	pid_t child;

	open_third(&c, &of_a);
	stop_daemon();
	connect_sides(&c, &of_a);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(ibv_create_qp(p.a.pd, &p.a.init) ? 1 : 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	let_traffic_advance();
	continue_daemon();
	check_answers();
	check_connection(&c, &of_a);
	close_third(&c, &of_a);
}

/* Tests that the next worker gets a request again if the worker dies before it reads the request.
 */
static void test_worker_killed(void **state)
{
	struct side c, of_a;

	open_third(&c, &of_a);
	stop_daemon();
	connect_sides(&c, &of_a);
	assert_int_equal(kill(worker, SIGKILL), 0);
	let_traffic_advance();
	atomic_store(&stopped, false);
	check_answers();
	check_connection(&c, &of_a);
	close_third(&c, &of_a);
}

/* Tests the death of worker and keeper: a thread of this process starts another adverbd. */
static void test_both_killed(void **state)
{
	struct side c, of_a;

#if defined(__SANITIZE_THREAD__)
	skip(); /* the thread sanitizer reports the start of adverbd as a race */
#endif
	open_third(&c, &of_a);
	stop_daemon();
	stop_process(keeper);
	connect_sides(&c, &of_a);
	assert_int_equal(kill(worker, SIGKILL) | kill(keeper, SIGKILL), 0);
	let_traffic_advance();
	atomic_store(&stopped, false);
	check_answers();
	check_connection(&c, &of_a);
	close_third(&c, &of_a);
}

/* Tests the creation of more queue pairs than the device has numbers. A thread waits only if no
 * number is left. */
static void test_numbers(void **state)
{
	static struct ibv_qp *qps[SLOT_QPNS];
	struct ibv_qp_init_attr init = {
		.send_cq = p.a.send_cq,
		.recv_cq = p.a.recv_cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	stop_daemon();
	continue_at_wait = true;
	for (unsigned i = 0; i < SLOT_QPNS; i++) { /* p.a has one QP already */
		qps[i] = ibv_create_qp(p.a.pd, &init);
		assert_non_null(qps[i]);
		assert_int_equal(long_waits, i == SLOT_QPNS - 1);
	}
	for (unsigned i = 0; i < SLOT_QPNS; i++)
		assert_int_equal(ibv_destroy_qp(qps[i]), 0);
}

/* Tests a join of a multicast group: the caller needs adverbd's answer and waits for it, while the
 * traffic continues. */
static void test_multicast(void **state)
{
	struct side ud = with_new_qp(&p.a, IBV_QPT_UD);
	union ibv_gid group = group_of(1);

	for (unsigned i = 0; i < ROUNDS; i++) {
		stop_daemon();
		continue_at_wait = true;
		assert_int_equal(i % 2 ? ibv_detach_mcast(ud.qp, &group, 0)
				       : ibv_attach_mcast(ud.qp, &group, 0),
				 0);
		assert_int_equal(long_waits, 1);
	}
	assert_int_equal(ibv_destroy_qp(ud.qp), 0);
}

/* ---- several threads that wait ---- */

struct member {
	pthread_t thread;
	struct side ud;
	unsigned own_group; /* index of the group that only this member joins; all members join the
			       other group */
	int error;
};

static atomic_bool members_end;

static void *join_and_leave(void *arg)
{
	struct member *m = arg;
	union ibv_gid groups[] = {group_of(100), group_of(m->own_group)};

	while (!m->error && !atomic_load(&members_end)) {
		for (unsigned i = 0; i < 2; i++)
			m->error = m->error ? m->error : ibv_attach_mcast(m->ud.qp, &groups[i], 0);
		for (unsigned i = 0; i < 2; i++)
			m->error = m->error ? m->error : ibv_detach_mcast(m->ud.qp, &groups[i], 0);
	}
	return NULL;
}

static void test_many_wait(void **state)
{
	struct member members[3];
	struct side c, of_a;

	open_third(&c, &of_a);
	atomic_store(&members_end, false);
	for (unsigned i = 0; i < 3; i++) {
		members[i] = (struct member){.ud = with_new_qp(i ? &p.a : &p.b, IBV_QPT_UD),
					     .own_group = 101 + i};
		assert_int_equal(
			pthread_create(&members[i].thread, NULL, join_and_leave, &members[i]), 0);
	}
	for (unsigned i = 0; i < STOPS; i++) {
		stop_daemon();
		connect_sides(&c, &of_a);
		let_traffic_advance();
		assert_int_equal(to_state(&c, IBV_QPS_RESET) | to_state(&of_a, IBV_QPS_RESET), 0);
		if (i == STOPS / 2) {
			assert_int_equal(kill(worker, SIGKILL), 0);
			atomic_store(&stopped, false);
		} else {
			continue_daemon();
		}
		check_answers();
	}
	atomic_store(&members_end, true);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(members[i].thread, NULL), 0);
		assert_int_equal(members[i].error, 0);
		assert_int_equal(ibv_destroy_qp(members[i].ud.qp), 0);
	}
	close_third(&c, &of_a);
}

#define WITH_TRAFFIC(test) cmocka_unit_test_setup_teardown(test, begin_traffic, end_traffic)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TRAFFIC(test_connect),	  WITH_TRAFFIC(test_destroy),
		WITH_TRAFFIC(test_close),	  WITH_TRAFFIC(test_fork),
		WITH_TRAFFIC(test_worker_killed), WITH_TRAFFIC(test_both_killed),
		WITH_TRAFFIC(test_numbers),	  WITH_TRAFFIC(test_multicast),
		WITH_TRAFFIC(test_many_wait),
	};

	real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	tester = pthread_self();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
