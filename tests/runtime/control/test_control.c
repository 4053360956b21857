/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the client side of the control protocol with a real adverbd, in a network namespace of the
 * test's own. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/control/control.h"
#include "runtime/control/counters.h"

#define SKIPPED	 77
#define PATIENCE 120000 /* ms; an operation that takes longer is taken for a hang */

static volatile sig_atomic_t children_heard;
static int atfork_ran;

static void on_sigchld(int signal_number)
{
	children_heard++;
}

static void on_fork(void)
{
	atfork_ran++;
}

static void pause_ms(long ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static struct adv_control *connected(bool start)
{
	char why[512];
	struct adv_control *c = adv_control_connect(start, why, sizeof(why));

	if (!c)
		print_message("%s\n", why);
	assert_non_null(c);
	return c;
}

static struct adv_control_status status_of(struct adv_control *c)
{
	struct adv_control_status s;

	assert_int_equal(adv_control_status(c, &s), 0);
	return s;
}

static void wait_for_one_slot(struct adv_control *c)
{
	for (int ms = 0; ms < PATIENCE && status_of(c).slots_used != 1; ms += 2)
		pause_ms(2);
	assert_int_equal(status_of(c).slots_used, 1);
}

static void wait_until_it_left(void)
{
	char why[256];

	for (int ms = 0; ms < PATIENCE; ms += 1500) {
		struct adv_control *c = adv_control_connect(false, why, sizeof(why));

		/* A connection keeps adverbd alive, so this test connects more rarely than adverbd
		 * lingers. */
		if (!c)
			return;
		adv_control_close(c);
		pause_ms(1500);
	}
	fail_msg("adverbd does not leave");
}

static bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* Returns the number of open descriptors. *inheritable: number of descriptors that an executed
 * program inherits. */
static unsigned count_descriptors(unsigned *inheritable)
{
	unsigned n = 0;

	*inheritable = 0;
	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);

		n += flags >= 0;
		*inheritable += flags == 0;
	}
	return n;
}

/* Tests that the application does not notice the start of the daemon. */
static void starts_unnoticed(void **state)
{
	struct sigaction act = {.sa_handler = on_sigchld};
	sigset_t before, after;
	unsigned inheritable, now;
	unsigned descriptors = count_descriptors(&inheritable);
	char why[256];
	struct adv_control *c;

	assert_null(adv_control_connect(false, why, sizeof(why)));
	assert_int_equal(errno, ECONNREFUSED);
	assert_non_null(strstr(why, "not running"));
	sigaction(SIGCHLD, &act, NULL);
	pthread_atfork(on_fork, on_fork, on_fork);
	sigprocmask(SIG_SETMASK, NULL, &before);
	c = connected(true);
	sigprocmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	assert_int_equal(children_heard, 0);
	assert_int_equal(atfork_ran, 0);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_true(count_descriptors(&now) > descriptors);
	assert_int_equal(now, inheritable);
	adv_control_close(c);
	assert_int_equal(count_descriptors(&now), descriptors);
	wait_until_it_left();
}

static void slots_and_gids(void **state)
{
	struct adv_control *c = connected(true), *d = connected(true);
	static struct adv_gid_table table;
	struct adv_control_entry entry;
	struct adv_slot a, b;
	char why[256];

	assert_true(adv_gid_table_read(adv_control_gids(c), &table));
	assert_true(table.count == 2 && table.port_active == 1 && table.entry[0].loopback);
	assert_int_equal(adv_control_open_slot(c, "adverb0", &a, why, sizeof(why)), 0);
	assert_int_equal(adv_control_open_slot(d, "adverb0", &b, why, sizeof(why)), 0);
	assert_int_equal(a.qpn_first, adv_qpn_of_slot(a.number));
	assert_int_equal(a.qpn_count, ADV_SLOT_QPNS);
	assert_int_not_equal(a.qpn_first, b.qpn_first);
	assert_true(a.receive_buffer >= 100000);
	assert_int_equal(fcntl(a.receive_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(adv_control_list(c, 0, &entry), 0);
	assert_int_equal(entry.slot, a.number);
	assert_int_equal(entry.pid, getpid());
	assert_int_equal(entry.uid, geteuid());
	assert_true(entry.connected);
	assert_int_equal(adv_control_list(c, entry.slot + 1, &entry), 0);
	assert_int_equal(adv_control_list(c, entry.slot + 1, &entry), ENOENT);
	adv_control_close(d);
	wait_for_one_slot(c);
	assert_int_equal(adv_control_read(c), ADV_NOTICE_NONE);
	adv_control_close(c);
	close(a.receive_fd);
	close(b.receive_fd);
}

static void memberships(void **state)
{
	struct adv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3}};
	struct adv_control *c = connected(true);
	uint32_t lo = if_nametoindex("lo");
	struct adv_slot s, other;
	char why[256];

	assert_int_equal(adv_control_open_slot(c, "adverb0", &s, why, sizeof(why)), 0);
	other = s;
	other.number++;
	assert_int_equal(adv_control_join(c, &s, &group, lo), 0);
	assert_int_equal(adv_control_join(c, &s, &group, lo), 0);
	assert_int_equal(adv_control_join(c, &s, &group, 12345), ENODEV);
	assert_int_equal(adv_control_join(c, &other, &group, lo), EPERM);
	assert_int_equal(adv_control_leave(c, &s, &group, lo), 0);
	assert_int_equal(adv_control_leave(c, &s, &group, lo), EADDRNOTAVAIL);
	group.raw[12] = 10;
	assert_int_equal(adv_control_join(c, &s, &group, lo), EINVAL);
	adv_control_close(c);
	close(s.receive_fd);
}

/* Tests that the death of a worker is reported only as notices of changed GIDs and pairs. */
static void reconnects(void **state)
{
	struct adv_control *c = connected(true);
	struct adv_control_status old = status_of(c), new;
	int fd = adv_control_fd(c);
	bool gids = false, pairs = false;
	struct adv_slot s;
	char why[256];

	assert_int_equal(adv_control_open_slot(c, "adverb0", &s, why, sizeof(why)), 0);
	kill((pid_t)old.worker_pid, SIGKILL);
	/* Like a device's thread: polls, and reads all notices. */
	for (int ms = 0; ms < PATIENCE && !(gids && pairs); ms += 10) {
		enum adv_control_notice n;

		if (!readable(fd, 10))
			continue;
		while ((n = adv_control_read(c)) != ADV_NOTICE_NONE) {
			gids = gids || n == ADV_NOTICE_GIDS_CHANGED;
			pairs = pairs || n == ADV_NOTICE_PAIRS_CHANGED;
			assert_true(gids || pairs);
		}
	}
	assert_true(gids && pairs);
	assert_int_equal(adv_control_fd(c), fd);
	assert_false(readable(fd, 0));
	new = status_of(c);
	assert_int_not_equal(new.worker_pid, old.worker_pid);
	assert_int_equal(new.slots_used, 1);
	/* The worker also dies in the middle of requests. */
	for (int i = 0; i < 10; i++) {
		struct adv_slot t;

		kill((pid_t)status_of(c).worker_pid, SIGKILL);
		assert_int_equal(adv_control_open_slot(c, "adverb0", &t, why, sizeof(why)), 0);
		assert_int_not_equal(t.qpn_first, s.qpn_first);
		close(t.receive_fd);
	}
	adv_control_close(c);
	close(s.receive_fd);
}

static uint64_t out_of_sequence(struct adv_control *c)
{
	struct adv_counters sum;

	assert_int_equal(adv_control_counters(c, NULL, &sum), 0);
	assert_int_equal(sum.link.tx_blocked, 0);
	return sum.engine.out_of_sequence;
}

/* Tests the sums of slots' counters: of used slots, of freed slots, and after a worker's death. */
static void counts(void **state)
{
	struct adv_control *c = connected(true), *d = connected(true);
	struct adv_slot a, b;
	struct adv_counters *page_a, *page_b, one;
	char why[256];

	assert_int_equal(out_of_sequence(c), 0);
	assert_int_equal(adv_control_open_slot(c, "adverb0", &a, why, sizeof(why)), 0);
	assert_int_equal(adv_control_open_slot(d, "adverb0", &b, why, sizeof(why)), 0);
	assert_int_equal(adv_control_count(c, &a, (uint64_t **)&page_a), 0);
	assert_int_equal(adv_control_count(d, &b, (uint64_t **)&page_b), 0);
	assert_int_equal(adv_control_count(c, &b, (uint64_t **)&page_a), EINVAL);
	assert_int_equal(adv_control_count(c, &a, (uint64_t **)&page_a), EINVAL);
	page_a->engine.out_of_sequence = 5;
	page_b->engine.out_of_sequence = 1ull << 40;
	assert_int_equal(out_of_sequence(c), (1ull << 40) + 5);
	assert_int_equal(adv_control_slot_counters(c, b.number, &one), 0);
	assert_int_equal(one.engine.out_of_sequence, 1ull << 40);
	assert_int_equal(adv_control_slot_counters(c, a.number + b.number, &one), ENOENT);
	page_a->engine.out_of_sequence = 7;
	assert_int_equal(out_of_sequence(d), (1ull << 40) + 7);
	kill((pid_t)status_of(c).worker_pid, SIGKILL);
	/* Waits until both connections have reached the new worker. */
	for (int ms = 0; ms < PATIENCE && out_of_sequence(c) != (1ull << 40) + 7; ms += 10) {
		(void)adv_control_read(d);
		pause_ms(10);
	}
	assert_int_equal(out_of_sequence(c), (1ull << 40) + 7);
	adv_control_close(d);
	wait_for_one_slot(c);
	assert_int_equal(out_of_sequence(c), (1ull << 40) + 7);
	kill((pid_t)status_of(c).worker_pid, SIGKILL);
	assert_int_equal(out_of_sequence(c), (1ull << 40) + 7);
	adv_control_close(c);
	close(a.receive_fd);
	close(b.receive_fd);
}

/* Kills keeper and worker of the daemon to which c is connected. */
static void kill_all(struct adv_control *c)
{
	struct adv_control_status s = status_of(c);

	kill((pid_t)s.keeper_pid, SIGSTOP); /* the keeper must not replace the worker */
	kill((pid_t)s.worker_pid, SIGKILL);
	kill((pid_t)s.keeper_pid, SIGKILL);
}

static unsigned sender_of(const struct adv_control *c, const struct adv_slot *slot)
{
	return atomic_load(&adv_control_senders(c)->port[adv_qpn_prefix(slot->qpn_first)]);
}

/* Tests that a client starts another daemon after keeper and worker were killed, and that the new
 * daemon has the client's slot and addresses. */
static void starts_another(void **state)
{
	struct adv_control *c = connected(true), *d = connected(true);
	const struct adv_gid_table *gids = adv_control_gids(c);
	struct adv_control_status before = status_of(c);
	struct adv_slot a, b, other;
	struct adv_gid_table copy;
	char why[256];

	assert_int_equal(adv_control_open_slot(c, "adverb0", &a, why, sizeof(why)), 0);
	assert_int_equal(adv_control_open_slot(d, "adverb0", &b, why, sizeof(why)), 0);
	assert_int_equal(adv_control_sender(c, &a, 4321), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct adv_control *e;

		kill_all(c);
		/* For both connections, first does only what a device's thread does, then makes
		 * requests. */
		for (int ms = 0; ms < PATIENCE && !(readable(adv_control_fd(c), 10) &&
						    adv_control_read(c) == ADV_NOTICE_GIDS_CHANGED);
		     ms += 10) {
			adv_control_restart_daemon(c);
			assert_int_not_equal(adv_control_read(d), ADV_NOTICE_GONE);
			adv_control_restart_daemon(d);
		}
		assert_int_equal(status_of(c).restarts, before.restarts + i + 1);
		assert_int_not_equal(status_of(c).worker_pid, before.worker_pid);
		assert_int_equal(adv_control_open_slot(d, "adverb0", &other, why, sizeof(why)), 0);
		close(other.receive_fd);
		assert_int_equal(status_of(c).slots_used, 3 + i);
		assert_ptr_equal(adv_control_gids(c), gids);
		assert_true(adv_gid_table_read(gids, &copy));
		assert_int_equal(sender_of(c, &a), 4321);
		assert_int_equal(adv_control_sender(d, &b, (uint16_t)(5000 + i)), 0);
		assert_int_equal(sender_of(c, &b), 5000 + i);
		e = connected(false);
		adv_control_close(e);
	}
	adv_control_close(c);
	adv_control_close(d);
	close(a.receive_fd);
	close(b.receive_fd);
}

/* Tests that the client reports the end of adverbd in bounded time and once if it cannot start
 * another one, and does not spin. */
static void gone_for_good(void **state)
{
	struct adv_control *c = connected(true);
	const char *program = getenv("ADVERB_DAEMON");
	char *path = program ? strdup(program) : NULL;
	struct adv_slot slot;
	char why[256];
	bool gone = false;

	/* A client determines the path of adverbd when it gets its first slot. */
	setenv("ADVERB_DAEMON", "/nonexistent/adverbd", 1);
	assert_int_equal(adv_control_open_slot(c, "adverb0", &slot, why, sizeof(why)), 0);
	kill_all(c);
	for (int ms = 0; ms < PATIENCE && !gone; ms += 10)
		if (readable(adv_control_fd(c), 10)) {
			gone = adv_control_read(c) == ADV_NOTICE_GONE;
			adv_control_restart_daemon(c);
		}
	assert_true(gone);
	assert_int_equal(adv_control_read(c), ADV_NOTICE_GONE);
	assert_false(readable(adv_control_fd(c), 0));
	assert_int_equal(adv_control_open_slot(c, "adverb0", &slot, why, sizeof(why)), ECONNRESET);
	assert_string_equal(why, "adverbd closed the connection");
	if (path)
		setenv("ADVERB_DAEMON", path, 1);
	else
		unsetenv("ADVERB_DAEMON");
	free(path);
	/* The client's socket still exists, so no other daemon can bind the port. The error names
	 * this process. */
	assert_null(adv_control_connect(true, why, sizeof(why)));
	assert_non_null(strstr(why, "UDP port 4791 is in use by"));
	adv_control_close(c);
	close(slot.receive_fd);
	adv_control_close(connected(true));
}

/* Tests that a child of fork() does not disturb the parent's connection. */
static void fork_is_harmless(void **state)
{
	struct adv_control *c = connected(true);
	struct adv_slot s;
	char why[256];
	int child, wstatus;

	assert_int_equal(adv_control_open_slot(c, "adverb0", &s, why, sizeof(why)), 0);
	child = fork();
	if (child == 0) {
		struct adv_control *own;

		adv_control_abandon(c);
		close(s.receive_fd);
		own = adv_control_connect(true, why, sizeof(why));
		_exit(own && adv_control_open_slot(own, "adverb0", &s, why, sizeof(why)) == 0 ? 0
											      : 1);
	}
	assert_int_equal(waitpid(child, &wstatus, 0), child);
	assert_true(WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 0);
	wait_for_one_slot(c);
	kill((pid_t)status_of(c).worker_pid, SIGKILL);
	assert_int_equal(status_of(c).slots_used, 1);
	adv_control_close(c);
	close(s.receive_fd);
}

static bool enter_namespace(void)
{
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0 && close(fd) == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_unnoticed), cmocka_unit_test(slots_and_gids),
		cmocka_unit_test(memberships),	    cmocka_unit_test(reconnects),
		cmocka_unit_test(counts),	    cmocka_unit_test(starts_another),
		cmocka_unit_test(gone_for_good),    cmocka_unit_test(fork_is_harmless),
	};

	if (!enter_namespace()) {
		print_message("network namespaces are not permitted here\n");
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
