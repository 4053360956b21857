/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "host/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "host/control_internal.h"
#include "host/control_revive.h"
#include "host/counters.h"

#define CONNECT_WAIT_MS	  20000 /* the whole of connecting, starting a daemon included */
#define ANSWER_WAIT_MS	  15000
#define RECONNECT_WAIT_MS 2500 /* less than the grace that the daemon gives */
#define REVIVAL_MORE_MS	  1000 /* for a daemon that is being started for us, each time it is seen */
#define RETRY_MS	  20
#define PAGE_LEN	  (ADV_COUNTERS * sizeof(uint64_t))
#define SLOTS_HELD	  16
#define FAULTS_WAITING	  4 /* more are refused by being closed */

enum state {
	LIVE,
	RETRYING, /* no socket; the timer tells when to try again */
	RESUMING, /* connected again, waiting for the answers to HELLO and RESUME */
	GONE,
};

struct held {
	uint32_t slot;
	uint8_t token[ADV_CONTROL_TOKEN_LEN];
	uint64_t *page; /* where it counts, or NULL */
};

/* epoll holds the socket, `wake` and `timer`; it is what the caller polls. */
struct adv_control {
	int epoll;
	int sock; /* -1: none at present */
	int wake; /* eventfd, readable while there is a notice put by in `pending` */
	int timer;
	enum state state;
	uint32_t pending; /* ADV_CONTROL_NOTICE_* heard but not yet handed on */
	uint32_t serial;
	uint32_t awaited; /* RESUMING: answers still to come */
	uint64_t deadline_ms;
	bool system;
	uint8_t instance[ADV_CONTROL_TOKEN_LEN];
	const struct adv_gid_page *page;
	unsigned held_count;
	struct held held[SLOTS_HELD];
	struct adv_revival revival;
	unsigned fault_count;
	int fault[FAULTS_WAITING]; /* sockets for adv_control_take_fault() */
};

static void sleep_ms(int ms)
{
	adv_sys_poll(NULL, 0, ms);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		adv_sys_close(*fd);
	*fd = -1;
}

/* ---- one message ---- */

void adv_control_message_init(struct adv_control_message *m, enum adv_control_type type,
			      uint32_t serial)
{
	memset(m, 0, sizeof(*m));
	m->magic = ADV_CONTROL_MAGIC;
	m->version = ADV_CONTROL_VERSION;
	m->type = (uint16_t)type;
	m->serial = serial;
}

/* 0 or errno. Requests are few and small: a full socket means a daemon that hangs. */
static int message_send(int sock, const struct adv_control_message *m)
{
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	do
		n = adv_sys_sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	return n == sizeof(*m) ? 0 : EPROTO;
}

/*
 * One message without blocking. *fd is the descriptor that came along, or -1, and the caller's.
 * 0; EAGAIN: none there; ECONNRESET: the daemon went away; EPROTO: not our protocol.
 */
static int message_receive(int sock, struct adv_control_message *m, int *fd)
{
	char room[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	bool reset = false;
	ssize_t n;

	*fd = -1;
	do {
		n = adv_sys_recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		/* It closed with a request of ours unread; a refusal may be there nevertheless. */
		reset = n < 0 && errno == ECONNRESET && !reset;
	} while (n < 0 && (errno == EINTR || reset));
	if (n < 0)
		return errno == EAGAIN ? EAGAIN : ECONNRESET;
	*fd = adv_rights_take(&msg); /* a message of no bytes may bring one too */
	if (n == 0) {
		close_fd(fd);
		return ECONNRESET;
	}
	if (n == sizeof(*m) && !(msg.msg_flags & MSG_TRUNC) && m->magic == ADV_CONTROL_MAGIC &&
	    (m->version == ADV_CONTROL_VERSION || m->type == ADV_CONTROL_REFUSED)) {
		if (m->type == ADV_CONTROL_REFUSED || m->result)
			m->body.text[ADV_CONTROL_TEXT_LEN - 1] = 0;
		return 0;
	}
	close_fd(fd);
	return EPROTO;
}

/* Waits for readability. 0 or ETIMEDOUT. */
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

/* ---- the socket ---- */

static socklen_t daemon_address(struct sockaddr_un *a, bool system)
{
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	if (system)
		n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "%s", ADV_CONTROL_NAME);
	else
		n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "%s-%u", ADV_CONTROL_NAME,
			     (unsigned)geteuid());
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* A name in the abstract namespace is anybody's to take: trust only root and ourselves. */
static int check_peer(int sock, bool system, char *why, size_t why_len)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (adv_sys_getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return errno;
	if (peer.uid == 0 || peer.uid == geteuid())
		return 0;
	if (system)
		snprintf(why, why_len,
			 "the name of the system's adverbd is taken by process %d of user %u, who "
			 "is not root: not trusted",
			 (int)peer.pid, (unsigned)peer.uid);
	else
		snprintf(why, why_len,
			 "the name of your adverbd is taken by process %d of user %u, who is "
			 "neither you nor root: not trusted; have that process ended",
			 (int)peer.pid, (unsigned)peer.uid);
	return EPERM;
}

/* *sock is connected and its peer checked. 0; ECONNREFUSED: nobody listens; EAGAIN: come again;
 * EPERM: somebody we do not trust. */
static int dial(bool system, int *sock, char *why, size_t why_len)
{
	struct sockaddr_un a;
	socklen_t len = daemon_address(&a, system);
	int fd = adv_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0) {
		error = errno;
		snprintf(why, why_len, "cannot make a socket: errno %d", error);
		return error;
	}
	error = adv_sys_connect(fd, &a, len) < 0 ? errno : check_peer(fd, system, why, why_len);
	if (error)
		close_fd(&fd);
	*sock = fd;
	return error;
}

/* ---- connecting ---- */

/* A file that could shrink would be a SIGBUS of the application. */
static bool stays_mapped(int fd, size_t len)
{
	int seals = adv_sys_fcntl(fd, F_GET_SEALS, 0); /* below 0: no file that can be sealed */
	struct stat st;

	return seals >= 0 && (seals & F_SEAL_SHRINK) && syscall(SYS_fstat, fd, &st) == 0 &&
	       st.st_size >= (off_t)len;
}

static int map_table(struct adv_control *c, int fd)
{
	void *p;

	if (!stays_mapped(fd, sizeof(*c->page)))
		return EPROTO;
	p = mmap(NULL, sizeof(*c->page), PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return errno;
	c->page = p;
	return 0;
}

/* HELLO and its answer, blocking. 0; ECONNRESET: the daemon is leaving, come again; else why[]. */
static int greet(struct adv_control *c, int sock, char *why, size_t why_len)
{
	struct adv_control_message m;
	int fd = -1, error;

	adv_control_message_init(&m, ADV_CONTROL_HELLO, ++c->serial);
	error = message_send(sock, &m);
	/* EPIPE: closed already, but a refusal may be there to be read. */
	if (error && error != EPIPE)
		return error;
	error = wait_readable(sock, adv_clock_ms() + ANSWER_WAIT_MS);
	if (!error)
		error = message_receive(sock, &m, &fd);
	if (error == ETIMEDOUT)
		snprintf(why, why_len, "adverbd does not answer");
	else if (error == EPROTO)
		snprintf(why, why_len,
			 "adverbd uses another version of the control protocol: end it, so that a "
			 "matching one starts");
	if (error)
		return error;
	if (m.type == ADV_CONTROL_REFUSED) {
		snprintf(why, why_len, "%s", m.body.text);
		/* Not one of those that say "come again". */
		error = m.result == EUSERS || m.result == EPROTO ? m.result : EACCES;
	} else if (m.type != ADV_CONTROL_HELLO || fd < 0) {
		snprintf(why, why_len, "adverbd answered another request");
		error = EPROTO;
	} else {
		memcpy(c->instance, m.body.welcome.instance, sizeof(c->instance));
		error = map_table(c, fd);
		if (error)
			snprintf(why, why_len, "cannot map the GID table: errno %d", error);
	}
	close_fd(&fd);
	return error;
}

/* Closing alone would leave the socket in epoll where a child of fork() has a copy. */
static void hang_up(struct adv_control *c)
{
	if (c->sock >= 0)
		adv_sys_epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->sock, NULL);
	close_fd(&c->sock);
}

static int watch(struct adv_control *c, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	return adv_sys_epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? errno : 0;
}

static struct adv_control *control_new(void)
{
	struct adv_control *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sock = -1;
	adv_revival_init(&c->revival);
	c->epoll = adv_sys_epoll_create(EPOLL_CLOEXEC);
	c->wake = adv_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->timer = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll < 0 || c->wake < 0 || c->timer < 0 || watch(c, c->wake) ||
	    watch(c, c->timer)) {
		int saved = errno;

		adv_control_close(c);
		errno = saved;
		return NULL;
	}
	return c;
}

/* One try at one name. 0, or as dial() and greet(). */
static int try_name(struct adv_control *c, bool system, char *why, size_t why_len)
{
	int sock = -1;
	int error = dial(system, &sock, why, why_len);

	if (error)
		return error;
	error = greet(c, sock, why, why_len);
	if (!error)
		error = watch(c, sock);
	if (error) {
		close_fd(&sock);
		return error;
	}
	c->sock = sock;
	c->system = system;
	c->state = LIVE;
	return 0;
}

/* True for what passes by itself: a daemon that leaves, starts or is busy. */
static bool passing(int error)
{
	return error == ECONNRESET || error == EAGAIN || error == EINTR;
}

/*
 * Tries the system's daemon, then the user's own. A stranger who holds the system's name does
 * not keep a user from a daemon of his own, but is told of.
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
		if (error != ECONNREFUSED && !passing(error))
			return error;
		if (error == ECONNREFUSED && !start) {
			snprintf(why, why_len, "adverbd is not running in this network namespace");
			return ECONNREFUSED;
		}
		if (adv_clock_ms() >= until && waits) /* why[] has it from adverbd */
			return ETIMEDOUT;
		if (adv_clock_ms() >= until) {
			snprintf(why, why_len,
				 "adverbd did not start to listen; if none runs, another process "
				 "holds its name (@%s-%u in /proc/net/unix)",
				 ADV_CONTROL_NAME, (unsigned)geteuid());
			return ETIMEDOUT;
		}
		/* Lost a race of starters: the winner listens soon, or fails and is not there. */
		if (error == ECONNREFUSED && adv_clock_ms() >= start_again) {
			int verdict = adv_control_start_daemon(why, why_len);

			if (verdict == ADV_START_FAILED)
				return errno;
			waits = verdict == ADV_START_WAIT;
			start_again = adv_clock_ms() + 300;
			continue;
		}
		sleep_ms(pause);
		pause = pause < 32 ? pause * 2 : 32;
	}
}

struct adv_control *adv_control_connect(bool start, char *why, size_t why_len)
{
	struct adv_control *c = control_new();
	int error = c ? 0 : errno;

	(void)adv_log_enabled(ADV_LOG_ERROR); /* warns of a level that does not exist */
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

void adv_control_abandon(struct adv_control *c)
{
	for (unsigned i = 0; i < c->held_count; i++) {
		if (c->held[i].page)
			munmap(c->held[i].page, PAGE_LEN);
		c->held[i].page = NULL;
	}
	while (c->fault_count)
		close_fd(&c->fault[--c->fault_count]);
	adv_revival_close(&c->revival);
	close_fd(&c->sock);
	close_fd(&c->epoll);
	close_fd(&c->wake);
	close_fd(&c->timer);
	if (c->page)
		munmap((void *)(uintptr_t)c->page, sizeof(*c->page));
	c->page = NULL;
	c->state = GONE;
}

void adv_control_close(struct adv_control *c)
{
	if (!c)
		return;
	adv_control_abandon(c);
	adv_revival_free(&c->revival);
	free(c);
}

int adv_control_fd(const struct adv_control *c)
{
	return c->epoll;
}

const struct adv_gid_table *adv_control_gids(const struct adv_control *c)
{
	return &c->page->table;
}

const struct adv_senders *adv_control_senders(const struct adv_control *c)
{
	return &c->page->senders;
}

/* ---- reconnecting ---- */

/* The timer's first expiry, relative; 0 stops it. */
static void set_timer(struct adv_control *c, uint64_t ms)
{
	struct itimerspec t = {.it_value = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L}};

	syscall(SYS_timerfd_settime, c->timer, 0, &t, NULL);
}

static void put_by(struct adv_control *c, uint32_t what)
{
	uint64_t one = 1;

	c->pending |= what;
	(void)!adv_sys_write(c->wake, &one, sizeof(one));
}

/* A socket that came with a notice, where it is announced and there is room; then *fd is -1. */
static void keep_fault(struct adv_control *c, const struct adv_control_message *m, int *fd)
{
	if (!(m->body.notice.what & ADV_CONTROL_NOTICE_FAULT) || *fd < 0 ||
	    c->fault_count == FAULTS_WAITING)
		return;
	c->fault[c->fault_count++] = *fd;
	*fd = -1;
}

int adv_control_take_fault(struct adv_control *c)
{
	return c->fault_count ? c->fault[--c->fault_count] : -1;
}

/* For good: nothing stays readable, so that a caller who polls us does not spin. */
static void give_up(struct adv_control *c, const char *because)
{
	adv_warn("the connection to adverbd is lost: %s", because);
	hang_up(c);
	adv_revival_close(&c->revival);
	set_timer(c, 0);
	c->state = GONE;
}

static void retry_later(struct adv_control *c)
{
	hang_up(c);
	if (adv_clock_ms() >= c->deadline_ms) {
		give_up(c, "adverbd did not accept a new connection in time");
		return;
	}
	c->state = RETRYING;
	set_timer(c, RETRY_MS);
}

/* Asks for a slot back, and for a new page to count in. 0 or errno. */
static int ask_to_resume(struct adv_control *c, const struct held *h)
{
	struct adv_control_message m;
	int error;

	adv_control_message_init(&m, ADV_CONTROL_RESUME, ++c->serial);
	m.body.slot.slot = h->slot;
	memcpy(m.body.slot.token, h->token, sizeof(m.body.slot.token));
	error = message_send(c->sock, &m);
	c->awaited++;
	if (error || !h->page)
		return error;
	adv_control_message_init(&m, ADV_CONTROL_COUNT, ++c->serial);
	m.body.slot.slot = h->slot;
	c->awaited++;
	return message_send(c->sock, &m);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Dials again, and asks for everything at once: HELLO, and RESUME for each slot. */
static void redial(struct adv_control *c)
{
	struct adv_control_message m;
	char why[160] = "";
	int error = dial(c->system, &c->sock, why, sizeof(why));

	if (error == EPERM) {
		give_up(c, why);
		return;
	}
	if (error == ECONNREFUSED && adv_revival_try(&c->revival, adv_clock_ms()))
		c->deadline_ms = later(c->deadline_ms, adv_clock_ms() + REVIVAL_MORE_MS);
	adv_control_message_init(&m, ADV_CONTROL_HELLO, ++c->serial);
	if (!error)
		error = message_send(c->sock, &m);
	c->awaited = 1;
	for (unsigned i = 0; !error && i < c->held_count; i++)
		error = ask_to_resume(c, &c->held[i]);
	if (!error)
		error = watch(c, c->sock);
	if (error) {
		retry_later(c);
		return;
	}
	c->state = RESUMING;
	set_timer(c, c->deadline_ms > adv_clock_ms() ? c->deadline_ms - adv_clock_ms() : 1);
}

static void lost(struct adv_control *c)
{
	hang_up(c);
	if (c->state == LIVE)
		c->deadline_ms = adv_clock_ms() + RECONNECT_WAIT_MS;
	if (c->state == RESUMING)
		retry_later(c);
	else
		redial(c);
}

/* Maps the page to count in that came as fd; NULL with errno. One that could shrink would be a
 * SIGBUS of the application. */
static uint64_t *map_page(int fd)
{
	void *p;

	if (!stays_mapped(fd, PAGE_LEN)) {
		errno = EPROTO;
		return NULL;
	}
	p = mmap(NULL, PAGE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static struct held *find_held(struct adv_control *c, uint32_t slot)
{
	for (unsigned i = 0; i < c->held_count; i++)
		if (c->held[i].slot == slot)
			return &c->held[i];
	return NULL;
}

/* A new page takes the old one's place, at its address: whoever counts there goes on. */
static void replace_page(struct adv_control *c, uint32_t slot, int fd)
{
	struct held *h = find_held(c, slot);
	uint64_t *page = h && h->page && fd >= 0 ? map_page(fd) : NULL;

	if (!page)
		return;
	memcpy(page, h->page, PAGE_LEN);
	if (mremap(page, PAGE_LEN, PAGE_LEN, MREMAP_MAYMOVE | MREMAP_FIXED, h->page) == MAP_FAILED)
		munmap(page, PAGE_LEN);
}

/* A daemon that goes on from what clients kept has a table of its own: it takes the old one's
 * place, for whoever reads there at this moment too. */
static bool replace_table(struct adv_control *c, int fd)
{
	void *at = (void *)(uintptr_t)c->page;

	return fd >= 0 && stays_mapped(fd, sizeof(*c->page)) &&
	       mmap(at, sizeof(*c->page), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == at;
}

/* An answer while RESUMING. */
static void resumed(struct adv_control *c, const struct adv_control_message *m, int fd)
{
	if (m->type == ADV_CONTROL_REFUSED || (m->result && m->type != ADV_CONTROL_COUNT)) {
		give_up(c, m->body.text);
		return;
	}
	if (m->type == ADV_CONTROL_HELLO &&
	    memcmp(m->body.welcome.instance, c->instance, sizeof(c->instance)) != 0) {
		give_up(c, "another one has taken its place");
		return;
	}
	if (m->type == ADV_CONTROL_HELLO && !replace_table(c, fd)) {
		give_up(c, "the table of addresses cannot be mapped");
		return;
	}
	if (m->type == ADV_CONTROL_COUNT && !m->result)
		replace_page(c, m->body.slot.slot, fd);
	if (c->awaited && --c->awaited)
		return;
	c->state = LIVE;
	adv_revival_done(&c->revival);
	set_timer(c, 0);
	put_by(c, ADV_CONTROL_NOTICE_GIDS | ADV_CONTROL_NOTICE_PAIRS);
	adv_info("adverbd was replaced; %u slots resumed", c->held_count);
}

/* The timer fired: try again, or no more. */
static void timer_fired(struct adv_control *c)
{
	uint64_t count;

	if (adv_sys_read(c->timer, &count, sizeof(count)) < 0)
		return;
	if (c->state == RETRYING)
		redial(c);
	else if (c->state == RESUMING)
		give_up(c, "its replacement does not answer");
}

/*
 * Takes in what there is, without blocking, up to the answer to `serial` (0: none is awaited).
 * 0: *m (and *fd) is that answer; EAGAIN: nothing more; ECONNRESET: a request has to be asked
 * again, or where the state is GONE, never.
 */
static int take_in(struct adv_control *c, uint32_t serial, struct adv_control_message *m, int *fd)
{
	for (;;) {
		int error;

		*fd = -1;
		timer_fired(c);
		if (c->state == GONE)
			return ECONNRESET;
		if (c->state == RETRYING)
			return EAGAIN;
		error = message_receive(c->sock, m, fd);
		if (error == EAGAIN)
			return EAGAIN;
		if (error == EPROTO) {
			give_up(c, "it sent what is not in the protocol");
			return ECONNRESET;
		}
		if (error) {
			bool was_live = c->state == LIVE;

			lost(c);
			if (was_live && serial)
				return ECONNRESET;
			continue;
		}
		if (m->type == ADV_CONTROL_NOTICE) {
			keep_fault(c, m, fd);
			if (m->body.notice.what & ADV_CONTROL_NOTICE_LEAVING)
				adv_revival_close(&c->revival);
			put_by(c, m->body.notice.what);
		} else if (c->state == RESUMING) {
			resumed(c, m, *fd);
		} else if (serial && m->serial == serial) {
			return 0;
		} else if (m->type == ADV_CONTROL_REFUSED) {
			give_up(c, m->body.text);
		}
		close_fd(fd);
	}
}

enum adv_control_notice adv_control_read(struct adv_control *c)
{
	struct adv_control_message m;
	uint64_t count;
	int fd;

	if (c->state == GONE)
		return ADV_NOTICE_GONE;
	take_in(c, 0, &m, &fd);
	if (c->pending & ADV_CONTROL_NOTICE_GIDS) {
		c->pending &= ~ADV_CONTROL_NOTICE_GIDS;
		return ADV_NOTICE_GIDS_CHANGED;
	}
	if (c->pending & ADV_CONTROL_NOTICE_PORT) {
		c->pending &= ~ADV_CONTROL_NOTICE_PORT;
		return ADV_NOTICE_PORT_CHANGED;
	}
	if (c->pending & ADV_CONTROL_NOTICE_PAIRS) {
		c->pending &= ~ADV_CONTROL_NOTICE_PAIRS;
		return ADV_NOTICE_PAIRS_CHANGED;
	}
	if (c->fault_count)
		return ADV_NOTICE_FAULT;
	c->pending = 0;
	(void)!adv_sys_read(c->wake, &count, sizeof(count));
	return c->state == GONE ? ADV_NOTICE_GONE : ADV_NOTICE_NONE;
}

/* ---- requests ---- */

/* Waits until the connection is LIVE. 0 or errno. */
static int settle(struct adv_control *c)
{
	struct adv_control_message m;
	int fd;

	while (c->state != LIVE && c->state != GONE) {
		struct pollfd p[2] = {{.fd = c->timer, .events = POLLIN},
				      {.fd = c->sock, .events = POLLIN}};

		if (adv_clock_ms() >= c->deadline_ms + 500)
			give_up(c, "adverbd did not accept a new connection in time");
		else if (adv_sys_poll(p, c->sock >= 0 ? 2 : 1, RETRY_MS) >= 0)
			take_in(c, 0, &m, &fd);
	}
	return c->state == LIVE ? 0 : ECONNRESET;
}

/* One try of one request. ECONNRESET with the state not GONE: ask again. */
static int ask_once(struct adv_control *c, struct adv_control_message *m, int *fd, uint64_t until)
{
	uint32_t serial = m->serial;
	int error = settle(c);

	if (!error)
		error = message_send(c->sock, m);
	if (error == EPIPE) /* take_in() will see the end of the connection */
		error = 0;
	else if (error == EAGAIN) /* it has hundreds of our requests unread */
		error = ETIMEDOUT;
	while (!error) {
		error = take_in(c, serial, m, fd);
		if (error == 0)
			return 0;
		if (error == EAGAIN)
			error = wait_readable(c->sock >= 0 ? c->sock : c->timer, until);
	}
	return error;
}

/*
 * Asks and waits for the answer, which takes the request's place in *m. Returns the answer's
 * result, or errno where there was none; *fd as in message_receive(). A request that a dying worker
 * may have seen is asked again, within ANSWER_WAIT_MS in all: each is harmless when done twice.
 */
int adv_control_ask(struct adv_control *c, struct adv_control_message *m, int *fd)
{
	struct adv_control_message request = *m;
	uint64_t until = adv_clock_ms() + ANSWER_WAIT_MS;
	int error = ECONNRESET;

	*fd = -1;
	while (error == ECONNRESET && c->state != GONE) {
		*m = request;
		m->serial = ++c->serial;
		error = ask_once(c, m, fd, until);
		if (adv_clock_ms() >= until)
			break;
	}
	if (error)
		return error;
	if (m->type == ADV_CONTROL_REFUSED)
		return m->result ? m->result : EACCES;
	if (m->type != request.type) {
		close_fd(fd);
		return EPROTO;
	}
	return m->result;
}

void adv_control_explain(const struct adv_control_message *m, int error, char *why, size_t why_len)
{
	if (error == ECONNRESET)
		snprintf(why, why_len, "adverbd closed the connection");
	else if (error == m->result && m->body.text[0])
		snprintf(why, why_len, "%s", m->body.text);
	else
		snprintf(why, why_len, "adverbd: %s", strerror(error));
}

/* So that the group of sockets outlives the daemon, as long as we have a slot. Does without where
 * that is not possible. */
static void keep_estate(struct adv_control *c)
{
	struct adv_control_message m;
	int fd, error;

	if (c->system || c->revival.estate >= 0)
		return;
	adv_control_message_init(&m, ADV_CONTROL_ESTATE, 0);
	error = adv_control_ask(c, &m, &fd);
	if (!error && fd >= 0)
		adv_revival_keep(&c->revival, fd);
	else
		close_fd(&fd);
}

int adv_control_open_slot(struct adv_control *c, struct adv_slot *slot, char *why, size_t why_len)
{
	struct adv_control_message m;
	struct held *h;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_OPEN_SLOT, 0);
	error = adv_control_ask(c, &m, &fd);
	if (!error && (fd < 0 || m.body.slot.slot < ADV_SLOT_FIRST ||
		       m.body.slot.slot >= ADV_SLOTS || c->held_count >= SLOTS_HELD))
		error = EPROTO;
	if (error) {
		adv_control_explain(&m, error, why, why_len);
		close_fd(&fd);
		return error;
	}
	h = &c->held[c->held_count++];
	h->slot = m.body.slot.slot;
	memcpy(h->token, m.body.slot.token, sizeof(h->token));
	h->page = NULL;
	keep_estate(c);
	slot->receive_fd = fd;
	slot->number = h->slot;
	slot->qpn_first = adv_slot_qpn(h->slot);
	slot->qpn_count = ADV_SLOT_QPNS;
	slot->receive_buffer = m.body.slot.receive_buffer;
	return 0;
}

int adv_control_count(struct adv_control *c, const struct adv_slot *slot, uint64_t **page)
{
	struct held *h = find_held(c, slot->number);
	struct adv_control_message m;
	int fd, error;

	if (!h || h->page)
		return EINVAL;
	adv_control_message_init(&m, ADV_CONTROL_COUNT, 0);
	m.body.slot.slot = h->slot;
	error = adv_control_ask(c, &m, &fd);
	if (!error && fd < 0)
		error = EPROTO;
	if (!error) {
		*page = h->page = map_page(fd);
		error = h->page ? 0 : errno;
	}
	close_fd(&fd);
	return error;
}

int adv_control_sender(struct adv_control *c, const struct adv_slot *slot, uint16_t port)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_SENDER, 0);
	m.body.sender.slot = slot->number;
	m.body.sender.port = port;
	error = adv_control_ask(c, &m, &fd);
	close_fd(&fd);
	return error;
}

int adv_control_counters(struct adv_control *c, struct adv_counters *sum)
{
	uint64_t value[ADV_COUNTERS] = {0};
	uint32_t n = 0;

	while (n < ADV_COUNTERS_USED) {
		struct adv_control_message m;
		int fd, error;

		adv_control_message_init(&m, ADV_CONTROL_COUNTERS, 0);
		m.body.counters.first = n;
		error = adv_control_ask(c, &m, &fd);
		close_fd(&fd);
		if (!error &&
		    (m.body.counters.count == 0 || m.body.counters.count > ADV_COUNTERS_A_MESSAGE ||
		     m.body.counters.count > ADV_COUNTERS - n))
			error = EPROTO;
		if (error)
			return error;
		memcpy(&value[n], m.body.counters.value, m.body.counters.count * sizeof(value[0]));
		n += m.body.counters.count;
	}
	memcpy(sum, value, sizeof(*sum));
	return 0;
}

int adv_control_open_cm(struct adv_control *c, int *fd, char *why, size_t why_len)
{
	struct adv_control_message m;
	int error;

	adv_control_message_init(&m, ADV_CONTROL_OPEN_CM, 0);
	error = adv_control_ask(c, &m, fd);
	if (!error && *fd < 0)
		error = EPROTO;
	if (error) {
		adv_control_explain(&m, error, why, why_len);
		close_fd(fd);
	}
	return error;
}
