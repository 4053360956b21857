/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keeper only holds the estate. So that it cannot fail, it has no client, receives no packet
 * and allocates no memory.
 */
#include "runtime/daemon/keeper.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "runtime/daemon/daemon.h"
#include "runtime/keeper/detach.h"
#include "runtime/keeper/priority.h"
#include "runtime/identity/sysfs_root.h"

/* If the worker dies more than RESTARTS_MAX times within RESTARTS_WINDOW_MS, the keeper does not
 * restart it. */
#define RESTARTS_MAX	   20
#define RESTARTS_WINDOW_MS 10000
#define QUIT_WAIT_MS	   3000

static int keeper_run(struct adv_daemon *d, int worker);

/* Forks a worker and connects it by a new socket pair. In the keeper, returns the keeper's end.
 * In the worker, returns when the worker has to exit: *in_worker is true and *status the exit
 * status. */
static int fork_worker(struct adv_daemon *d, bool *in_worker, int *status)
{
	int pair[2];
	pid_t pid;

	*in_worker = false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	pid = fork();
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	if (pid == 0) {
		adv_daemon_close_others(d, pair[1]);
		*in_worker = true;
		*status = d->run_worker(d, pair[1]);
		return -1;
	}
	atomic_store(&d->ledger->worker_pid, (uint32_t)pid);
	close(pair[1]);
	/* Only the worker reports to the starting process. If the worker exits without a report,
	 * the starting process sees the end of the pipe. */
	if (d->ready_fd >= 0)
		close(d->ready_fd);
	d->ready_fd = -1;
	return pair[0];
}

int adv_keeper_replace(struct adv_daemon *d)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		adv_daemon_close_others(d, pair[0]);
		_exit(keeper_run(d, pair[0]));
	}
	close(pair[0]);
	if (pid < 0) {
		close(pair[1]);
		return -1;
	}
	return pair[1];
}

/* Stores the socket of a worker's message at its place. False: the message is invalid. */
static bool take_socket(struct adv_daemon *d, struct msghdr *msg, uint32_t place)
{
	int fd = adv_rights_take(msg);

	if (fd < 0 || place != d->sockets || place >= ADV_SLOTS)
		return false;
	d->socket[d->sockets++] = fd;
	return true;
}

/* Reads one message of the worker. False: the worker has exited or closed its end. */
static bool hear_worker(struct adv_daemon *d, int worker)
{
	union adv_rights_room room = {0};
	uint32_t place = 0;
	struct iovec iov = {&place, sizeof(place)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = recvmsg(worker, &msg, MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	if (n == sizeof(place) && take_socket(d, &msg, place))
		return true;
	/* A keeper must hold all sockets. This keeper exits; the worker holds all sockets and forks
	 * another keeper. */
	adv_error("the keeper's list of the sockets of UDP port 4791 is wrong");
	_exit(1);
}

/* Waits for the worker's exit. False: a signal requests the daemon's end, and the function has
 * notified the worker. */
static bool watch_worker(struct adv_daemon *d, int worker, int signals)
{
	for (;;) {
		struct pollfd p[2] = {{.fd = worker, .events = POLLIN},
				      {.fd = signals, .events = POLLIN}};
		struct signalfd_siginfo info;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents && !hear_worker(d, worker))
			return true;
		if (p[1].revents && read(signals, &info, sizeof(info)) > 0) {
			(void)!send(worker, "q", 1, MSG_NOSIGNAL);
			return false;
		}
	}
}

static void wait_for_end(int worker)
{
	struct pollfd p = {.fd = worker, .events = POLLIN};

	poll(&p, 1, QUIT_WAIT_MS);
}

/* True if workers die too often to be replaced. */
static bool too_often(uint64_t *window, unsigned *count)
{
	uint64_t now = adv_clock_ms();

	if (now - *window > RESTARTS_WINDOW_MS) {
		*window = now;
		*count = 0;
	}
	return ++*count > RESTARTS_MAX;
}

/* Runs the keeper. Returns the exit status, also in each worker that this keeper forks. */
static int keeper_run(struct adv_daemon *d, int worker)
{
	uint64_t window = 0;
	unsigned count = 0;
	sigset_t set;
	int signals;

	prctl(PR_SET_NAME, "adverbd-keeper");
	adv_priority_renew(adv_priority_deadline()); /* the worker that forked this keeper may have
							been without SCHED_RR */
	atomic_store(&d->ledger->keeper_pid, (uint32_t)getpid());
	adv_daemon_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		bool in_worker, died = watch_worker(d, worker, signals);
		int status = 0;

		if (!died)
			wait_for_end(worker);
		close(worker);
		if (!died || atomic_load(&d->ledger->leaving))
			break;
		if (!atomic_load(&d->ledger->served)) { /* the start failed: the worker has reported
							   the reason */
			adv_daemon_release(d);
			return 1;
		}
		if (too_often(&window, &count)) {
			adv_error("adverbd: the worker died repeatedly: exiting");
			adv_sysfs_root_remove();
			adv_daemon_release(d);
			return 1;
		}
		adv_warn("the worker died: starting another");
		atomic_fetch_add(&d->ledger->restarts, 1);
		worker = fork_worker(d, &in_worker, &status);
		if (in_worker)
			return status;
		if (worker < 0) {
			adv_error("cannot start another worker: %s", strerror(errno));
			return 1;
		}
	}
	if (!atomic_load(&d->ledger->handed))
		adv_sysfs_root_remove();
	adv_daemon_release(d);
	return 0;
}

int adv_keeper_start(struct adv_daemon *d)
{
	bool in_worker;
	int status = 0;
	sigset_t set;
	int worker;

	/* The kernel reaps children: neither process calls wait(2) for the other. */
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	adv_daemon_signals(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	/* set before a client can request the value from the worker */
	atomic_store(&d->ledger->keeper_pid, (uint32_t)getpid());
	worker = fork_worker(d, &in_worker, &status);
	if (in_worker)
		return status;
	if (worker < 0) {
		adv_daemon_cannot_start(d, errno);
		return 1;
	}
	adv_daemon_close_others(d, worker);
	if (!d->foreground)
		adv_detach_group((pid_t)atomic_load(&d->ledger->worker_pid));
	return keeper_run(d, worker);
}
