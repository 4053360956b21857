/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects to adverbd. Starts it first if none runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/control/dial.h"
#include "runtime/control/internal.h"
#include "runtime/control/memory.h"
#include "runtime/control/start.h"

#define CONNECT_WAIT_MS	  20000 /* time for the whole call, including the start of adverbd */
#define START_INTERVAL_MS 300
#define PAUSE_MOST_MS	  32

static int wait_readable(int fd, uint64_t until_ms)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = adv_clock_ms();
		int n;

		if (now >= until_ms)
			return ETIMEDOUT;
		n = adv_sys_poll(&p, 1, (int)(until_ms - now));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno;
	}
}

/* Sends HELLO and waits for its answer. 0 or errno. */
static int exchange_hello(struct adv_control *c, int sock, struct adv_control_message *m, int *fd)
{
	int error;

	*fd = -1;
	adv_control_message_init(m, ADV_CONTROL_HELLO, ++c->serial);
	error = adv_control_message_send(sock, m);
	/* EPIPE: adverbd has closed its end, but its refusal may be queued. */
	if (error && error != EPIPE)
		return error;
	error = wait_readable(sock, adv_clock_ms() + ADV_CONTROL_ANSWER_WAIT_MS);
	return error ? error : adv_control_message_receive(sock, m, fd);
}

static int accept_welcome(struct adv_control *c, const struct adv_control_message *m, int fd,
			  char *why, size_t why_len)
{
	void *page;

	if (m->type == ADV_CONTROL_REFUSED) {
		snprintf(why, why_len, "%s", m->body.text);
		/* The caller does not try again after any of these errors. */
		return m->result == EUSERS || m->result == EPROTO ? m->result : EACCES;
	}
	if (m->type != ADV_CONTROL_HELLO || fd < 0) {
		snprintf(why, why_len, "adverbd answered another request");
		return EPROTO;
	}
	memcpy(c->instance, m->body.welcome.instance, sizeof(c->instance));
	page = adv_control_memory_map(fd, sizeof(*c->page), PROT_READ);
	if (!page) {
		int error = errno;

		snprintf(why, why_len, "cannot map the GID table: errno %d", error);
		return error;
	}
	c->page = page;
	return 0;
}

/* Exchanges HELLO and maps the GID table. Blocks. 0; ECONNRESET: adverbd is about to end, try
 * again; else errno with a line in why[]. */
static int greet_daemon(struct adv_control *c, int sock, char *why, size_t why_len)
{
	struct adv_control_message m;
	int fd, error = exchange_hello(c, sock, &m, &fd);

	if (error == ETIMEDOUT)
		snprintf(why, why_len, "adverbd does not answer");
	else if (error == EPROTO)
		snprintf(why, why_len,
			 "adverbd uses another version of the control protocol: end it, so that a "
			 "matching one starts");
	else if (!error)
		error = accept_welcome(c, &m, fd, why, why_len);
	adv_control_close_fd(&fd);
	return error;
}

/* Makes one attempt to connect to the system's adverbd or to the user's own. 0, or errno as
 * adv_control_dial() and greet_daemon(). */
static int try_name(struct adv_control *c, bool system, char *why, size_t why_len)
{
	int sock = -1;
	int error = adv_control_dial(system, &sock, why, why_len);

	if (error)
		return error;
	error = greet_daemon(c, sock, why, why_len);
	if (!error)
		error = adv_control_watch(c, sock);
	if (error) {
		adv_control_close_fd(&sock);
		return error;
	}
	c->sock = sock;
	c->system = system;
	c->state = CONTROL_LIVE;
	return 0;
}

/* True if another attempt may succeed, because adverbd ends, starts or is busy. */
static bool is_transient(int error)
{
	return error == ECONNRESET || error == EAGAIN || error == EINTR;
}

/*
 * Tries the system's adverbd, then the user's own. If a process of another user holds the system's
 * name, the user still gets an own adverbd, and the log has the reason.
 */
static int try_both(struct adv_control *c, char *why, size_t why_len)
{
	int error = try_name(c, true, why, why_len);

	if (error == EPERM)
		adv_warn("%s", why);
	if (error != ECONNREFUSED && error != EPERM)
		return error;
	return try_name(c, false, why, why_len);
}

static int connect_loop(struct adv_control *c, bool start, char *why, size_t why_len)
{
	uint64_t until = adv_clock_ms() + CONNECT_WAIT_MS;
	uint64_t start_again = 0;
	bool waits = false;
	int pause = 1;

	for (;;) {
		int error = try_both(c, why, why_len);

		if (error == 0)
			return 0;
		if (error != ECONNREFUSED && !is_transient(error))
			return error;
		if (error == ECONNREFUSED && !start) {
			snprintf(why, why_len, "adverbd is not running in this network namespace");
			return ECONNREFUSED;
		}
		if (adv_clock_ms() >= until && waits) /* why[] has the line from adverbd */
			return ETIMEDOUT;
		if (adv_clock_ms() >= until) {
			snprintf(why, why_len,
				 "adverbd did not start to listen; if none runs, another process "
				 "holds its name (@%s-%u in /proc/net/unix)",
				 ADV_CONTROL_NAME, (unsigned)geteuid());
			return ETIMEDOUT;
		}
		/* Another process may start adverbd at the same time. One of the two adverbd gets
		 * the name; it soon listens or fails. */
		if (error == ECONNREFUSED && adv_clock_ms() >= start_again) {
			int verdict = adv_control_start_daemon(why, why_len);

			if (verdict == ADV_START_FAILED)
				return errno;
			waits = verdict == ADV_START_WAIT;
			start_again = adv_clock_ms() + START_INTERVAL_MS;
			continue;
		}
		adv_sys_poll(NULL, 0, pause);
		pause = pause < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
	}
}

struct adv_control *adv_control_connect(bool start, char *why, size_t why_len)
{
	struct adv_control *c = adv_control_new();
	int error = c ? 0 : errno;

	(void)adv_log_enabled(ADV_LOG_ERROR); /* warns if the configured level does not exist */
	if (why_len)
		why[0] = 0;
	if (c)
		error = connect_loop(c, start, why, why_len);
	if (!error)
		return c;
	if (why_len && !why[0])
		snprintf(why, why_len, "cannot connect to adverbd: %s", strerror(error));
	adv_control_close(c);
	errno = error;
	return NULL;
}
