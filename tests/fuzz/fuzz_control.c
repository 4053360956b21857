/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's side of the control protocol, with a daemon that the input controls: it answers
 * correctly, wrongly, not at all, or with a descriptor of another kind. Checks that each call
 * returns within its time, that its results are valid, and that no descriptor stays open. This file
 * wraps the system calls of base/sys.h. Time passes only while a call waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sys.h"
#include "fuzz.h"
#include "runtime/control/control.h"
#include "runtime/control/start.h"
#include "runtime/control/counters.h"
#include "runtime/link/shm.h"
#include "records.h"

#define NOTICES_MAX 1000
#define STEPS_MAX   128
#define BODY	    48
#define CALL_MOST   100000 /* ms that any call may take */

/* One step: what the process does, or what the daemon does next while the process waits. */
struct step {
	uint8_t code;
	uint8_t type;
	uint8_t flags;
	uint8_t descriptor;
	uint32_t value;
	uint16_t at;
	uint16_t reserved;
	uint32_t raw;
	uint8_t body[BODY];
};

const size_t fuzz_records_from = 1;
const size_t fuzz_record_len = sizeof(struct step);

static struct {
	const uint8_t *next; /* steps not yet carried out */
	size_t left;
	uint64_t now_ns;
	int daemon;	   /* the daemon's end of the connection, or -1 */
	uint64_t timer_ns; /* time at which the timer expires; 0: never */
	int timer;
	unsigned starts;  /* attempts to start another daemon */
	bool plain_table; /* the last sent table could shrink */
} w;

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	ts->tv_sec = (time_t)(w.now_ns / 1000000000u);
	ts->tv_nsec = (long)(w.now_ns % 1000000000u);
	return 0;
}

/* Takes the next step if it is the daemon's (bit 7 of code) or the process's, as `daemon` requires.
 */
static bool take_step(struct step *s, bool daemon)
{
	if (w.left < sizeof(*s) || (w.next[0] >> 7) != daemon)
		return false;
	memcpy(s, w.next, sizeof(*s));
	w.next += sizeof(*s);
	w.left -= sizeof(*s);
	return true;
}

/* ---- the daemon ---- */

static int make_table(bool sealed)
{
	int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	FUZZ_CHECK(fd >= 0 && ftruncate(fd, sizeof(struct adv_gid_page)) == 0);
	if (sealed)
		FUZZ_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	return fd;
}

static int make_file(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		FUZZ_CHECK(ftruncate(fd, sizeof(struct adv_gid_page)) == 0);
	return fd;
}

static int make_answer_descriptor(unsigned kind, bool wanted)
{
	w.plain_table = kind == 2 || kind == 3;
	switch (kind) {
	case 1:
		return -1;
	case 2:
		return make_table(false);
	case 3:
		return make_file();
	case 4:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	default:
		return wanted ? make_table(true) : -1;
	}
}

static void send_message(const void *message, size_t len, int fd, unsigned copies)
{
	char room[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec iov = {(void *)(uintptr_t)message, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(copies * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(copies * sizeof(int));
		for (unsigned i = 0; i < copies; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(fd));
	}
	(void)!sendmsg(w.daemon, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (fd >= 0)
		close(fd);
}

static void close_daemon_socket(void)
{
	if (w.daemon >= 0)
		close(w.daemon);
	w.daemon = -1;
}

/* Sends a correct answer, with the changes of the step. */
static void send_answer(const struct adv_control_message *asked, const struct step *s)
{
	struct adv_control_message m = *asked;
	bool wants = m.type == ADV_CONTROL_HELLO || m.type == ADV_CONTROL_OPEN_SLOT ||
		     m.type == ADV_CONTROL_OPEN_CM || m.type == ADV_CONTROL_COUNT ||
		     m.type == ADV_CONTROL_ESTATE;
	size_t at = s->at % sizeof(m.body);

	if (m.type == ADV_CONTROL_OPEN_SLOT)
		m.body.slot.slot = ADV_SLOT_FIRST;
	if (m.type == ADV_CONTROL_BLOCK)
		m.body.block.block = ADV_BLOCKS - 1;
	if (m.type == ADV_CONTROL_PAIRS)
		m.body.pairs.count = s->type % (ADV_PAIRS_A_MESSAGE + 2);
	if (m.type == ADV_CONTROL_PAIRS && !(s->flags & 32))
		for (unsigned i = 0; i < ADV_PAIRS_A_MESSAGE; i++)
			m.body.pairs.peer[i] = (uint16_t)(m.body.pairs.from + i);
	if (m.type == ADV_CONTROL_COUNTERS)
		m.body.counters.count = ADV_COUNTERS_A_MESSAGE;
	if (s->flags & 1)
		memcpy((uint8_t *)&m.body + at, s->body,
		       sizeof(m.body) - at < BODY ? sizeof(m.body) - at : BODY);
	if (s->flags & 2)
		m.result = (int32_t)s->value;
	if (s->flags & 4)
		m.type = s->type;
	if (s->flags & 8)
		m.serial ^= s->raw;
	if (s->flags & 16)
		m.version ^= (uint16_t)s->raw;
	if (s->flags & 32)
		m.magic ^= s->raw;
	send_message(&m, s->flags & 64 ? s->raw % (sizeof(m) + 64) % sizeof(m) : sizeof(m),
		     make_answer_descriptor(s->descriptor % 8, wants), 1 + s->descriptor / 64u);
}

static void send_notice(const struct step *s)
{
	struct adv_control_message m = {.magic = ADV_CONTROL_MAGIC,
					.version = ADV_CONTROL_VERSION,
					.type = s->type & 1 ? ADV_CONTROL_REFUSED
							    : ADV_CONTROL_NOTICE,
					.result = (int32_t)s->value};

	if (s->flags & 4)
		m.type = s->type;
	memcpy(&m.body, s->body, BODY);
	send_message(&m, sizeof(m), s->descriptor & 1 ? make_table(true) : -1, 1);
}

/* Executes the daemon's next step. Without one, the daemon answers the next request correctly.
 * False: the daemon has nothing to do. */
static bool run_daemon_step(void)
{
	static const struct step well;
	struct adv_control_message asked;
	struct step s;

	if (w.daemon < 0)
		return false;
	if (take_step(&s, true)) {
		switch (s.code % 4) {
		case 0:
			send_notice(&s);
			return true;
		case 1:
			close_daemon_socket();
			return true;
		case 2: /* the daemon is slow */
			w.now_ns += (uint64_t)(s.value % 20000) * 1000000;
			return true;
		default:
			break;
		}
	} else {
		s = well;
	}
	if (recv(w.daemon, &asked, sizeof(asked), MSG_DONTWAIT) != (ssize_t)sizeof(asked))
		return false;
	send_answer(&asked, &s);
	return true;
}

int adv_control_start_daemon(char *why, size_t why_len)
{
	snprintf(why, why_len, "there is no daemon to start");
	errno = ENOENT;
	return ADV_START_FAILED;
}

struct adv_control_starter *adv_control_starter_new(void)
{
	return (struct adv_control_starter *)&w;
}

void adv_control_starter_free(struct adv_control_starter *s)
{
}

/* Every second start fails. */
int adv_control_starter_run(struct adv_control_starter *s, int carrier, int *said, char *why,
			    size_t why_len)
{
	FUZZ_CHECK(fcntl(carrier, F_GETFD) == FD_CLOEXEC);
	*said = -1;
	snprintf(why, why_len, "there is no daemon to start");
	return w.starts++ % 2 ? ENOENT : 0;
}

/* ---- system calls ---- */

static long make_socket(void)
{
	int pair[2];

	close_daemon_socket();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	w.daemon = pair[1];
	return pair[0];
}

/* Fails if the next step requires it: no daemon listens, or its queue is full. */
static long connect_to_daemon(void)
{
	struct step s;

	if (w.left < sizeof(s) || w.next[0] != 0x85)
		return 0;
	(void)take_step(&s, true);
	close_daemon_socket();
	errno = s.type & 1 ? ECONNREFUSED : EAGAIN;
	return -1;
}

static long poll_descriptors(struct pollfd *p, nfds_t n, const struct timespec *timeout)
{
	static const struct timespec at_once;
	uint64_t end = UINT64_MAX;

	if (timeout)
		end = w.now_ns + (uint64_t)timeout->tv_sec * 1000000000u +
		      (uint64_t)timeout->tv_nsec;
	for (unsigned i = 0; i < STEPS_MAX && w.now_ns < end; i++) {
		long ready = n ? __real_syscall(SYS_ppoll, p, n, &at_once, NULL, 8) : 0;

		if (ready != 0)
			return ready;
		for (nfds_t k = 0; k < n; k++) {
			p[k].revents = 0;
			if (p[k].fd == w.timer && w.timer_ns && w.timer_ns <= w.now_ns) {
				p[k].revents = POLLIN;
				return 1;
			}
		}
		if (!n || !run_daemon_step())
			break;
	}
	FUZZ_CHECK(timeout != NULL);
	if (w.now_ns < end)
		w.now_ns = end;
	return 0;
}

static long read_timer(void *to)
{
	const uint64_t one = 1;

	if (!w.timer_ns || w.timer_ns > w.now_ns) {
		errno = EAGAIN;
		return -1;
	}
	w.timer_ns = 0;
	memcpy(to, &one, sizeof(one));
	return sizeof(one);
}

static void set_timer(const struct itimerspec *t)
{
	uint64_t in = (uint64_t)t->it_value.tv_sec * 1000000000u + (uint64_t)t->it_value.tv_nsec;

	w.timer_ns = in ? w.now_ns + in : 0;
}

/* Reads all six possible arguments, like the C library's syscall(), even if fewer were passed. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	switch (number) {
	case SYS_socket:
		/* A datagram socket only binds an unused name. */
		return (a[1] & 0xf) == SOCK_DGRAM ? __real_syscall(number, a[0], a[1], a[2])
						  : make_socket();
	case SYS_bind:
		return 0;
	case SYS_connect:
		return connect_to_daemon();
	case SYS_ppoll:
		return poll_descriptors((struct pollfd *)a[0], (nfds_t)a[1],
					(const struct timespec *)a[2]);
	case SYS_timerfd_create:
		w.timer = (int)__real_syscall(number, a[0], a[1]);
		return w.timer;
	case SYS_timerfd_settime:
		set_timer((const struct itimerspec *)a[2]);
		return 0;
	case SYS_read:
		if ((int)a[0] == w.timer)
			return read_timer((void *)a[1]);
		break;
	default:
		break;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- the process ---- */

struct process {
	struct adv_control *c;
	struct adv_slot slot;
	bool has_slot;
	enum { NOT_POSTED, BLOCK_POSTED, PAIR_POSTED, PAIRS_POSTED } posted;
	struct adv_control_request request;
	unsigned pairs_from;
};

static void check_text(const char *why, size_t len, int error)
{
	FUZZ_CHECK(memchr(why, 0, len));
	FUZZ_CHECK(error == 0 || why[0]);
}

static void open_slot(struct process *p)
{
	struct adv_slot slot;
	char why[200] = "";
	int error = adv_control_open_slot(p->c, "adverb0", &slot, why, sizeof(why));

	check_text(why, sizeof(why), error);
	if (error)
		return;
	FUZZ_CHECK(slot.receive_fd >= 0 && fcntl(slot.receive_fd, F_GETFD) == FD_CLOEXEC);
	FUZZ_CHECK(slot.number >= ADV_SLOT_FIRST && slot.number < ADV_SLOTS &&
		   slot.qpn_first == adv_qpn_of_slot(slot.number));
	close(slot.receive_fd);
	p->slot = slot;
	p->has_slot = true;
}

/* Reads the notifications before the one that adverbd is gone. */
static bool is_gone(struct process *p)
{
	for (unsigned i = 0; i < NOTICES_MAX; i++) {
		enum adv_control_notice notice = adv_control_read(p->c);

		if (notice == ADV_NOTICE_FAULT)
			close(adv_control_take_fault(p->c));
		if (notice == ADV_NOTICE_GONE || notice == ADV_NOTICE_NONE)
			return notice == ADV_NOTICE_GONE;
	}
	return false;
}

/* Posts one request at a time; read_notices() takes its answer. */
static void post_request(struct process *p, const struct step *s)
{
	int error;

	if (p->posted != NOT_POSTED)
		return;
	if (s->flags & 1) {
		p->posted = BLOCK_POSTED;
		error = adv_control_post_block(p->c, &p->request, &p->slot);
	} else if (s->flags & 2) {
		p->posted = PAIR_POSTED;
		error = adv_control_post_pair(p->c, &p->request, p->slot.number, s->raw);
	} else {
		p->posted = PAIRS_POSTED;
		p->pairs_from = s->raw % ADV_SLOTS;
		error = adv_control_post_pairs(p->c, &p->request, p->slot.number, p->pairs_from);
	}
	if (error) {
		FUZZ_CHECK(error == ECONNRESET && is_gone(p));
		p->posted = NOT_POSTED;
	}
}

static void take_block(struct process *p)
{
	uint32_t first = 0;
	char why[200] = "";
	int error = adv_control_block_answer(&p->request, &first, why, sizeof(why));

	check_text(why, sizeof(why), error);
	FUZZ_CHECK(error || (first >= ADV_BLOCK_FIRST_QPN &&
			     first < ADV_QPN_MULTICAST - ADV_BLOCK_QPNS && !(first & 0xffff)));
}

static void take_pair(struct process *p)
{
	struct adv_shm_pair pair;

	if (adv_control_pair_answer(&p->request, &pair))
		return;
	FUZZ_CHECK(fcntl(pair.memory_fd, F_GETFD) == FD_CLOEXEC);
	close(pair.memory_fd);
}

static void take_pairs(struct process *p)
{
	uint8_t paired[ADV_SLOTS / 8] = {0}, ready[ADV_SLOTS / 8] = {0};
	unsigned from = p->pairs_from;

	if (adv_control_pairs_answer(&p->request, &from, paired, ready))
		return;
	FUZZ_CHECK(from > p->pairs_from && from <= ADV_SLOTS);
	for (unsigned i = 0; i < sizeof(paired); i++)
		FUZZ_CHECK((ready[i] & ~paired[i]) == 0);
}

static void take_answer(struct process *p)
{
	FUZZ_CHECK(adv_control_take_answered(p->c) == &p->request);
	if (p->posted == BLOCK_POSTED)
		take_block(p);
	else if (p->posted == PAIR_POSTED)
		take_pair(p);
	else if (p->posted == PAIRS_POSTED)
		take_pairs(p);
	else
		FUZZ_CHECK(!"an send_answer without a request");
	p->posted = NOT_POSTED;
}

static void open_cm(struct process *p)
{
	char why[200] = "";
	int fd, error = adv_control_open_cm(p->c, &fd, why, sizeof(why));

	check_text(why, sizeof(why), error);
	FUZZ_CHECK((error == 0) == (fd >= 0));
	if (fd >= 0)
		close(fd);
}

static void open_counter_page(struct process *p)
{
	uint64_t *page = NULL;

	if (adv_control_count(p->c, &p->slot, &page) == 0) {
		FUZZ_CHECK(page != NULL);
		page[ADV_COUNTERS - 1] = 1;
	}
}

/* Checks the duration of one call that began at `before`. */
static void check_call_time(uint64_t before)
{
	FUZZ_CHECK(w.now_ns - before < CALL_MOST * 1000000ull);
}

static void query_daemon(struct process *p, const struct step *s)
{
	uint64_t before = w.now_ns;
	struct adv_control_status status;
	struct adv_control_entry entry;
	struct adv_counters sum;

	if (s->flags & 1)
		adv_control_status(p->c, &status);
	check_call_time(before);
	before = w.now_ns;
	if (s->flags & 2 && adv_control_list(p->c, s->raw, &entry) == 0)
		FUZZ_CHECK(memchr(entry.comm, 0, sizeof(entry.comm)));
	check_call_time(before);
	before = w.now_ns;
	if (s->flags & 4)
		adv_control_counters(p->c, NULL, &sum);
	check_call_time(before);
}

static void read_notices(struct process *p)
{
	for (unsigned i = 0; i < STEPS_MAX && run_daemon_step(); i++)
		;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t before = w.now_ns;
		enum adv_control_notice n = adv_control_read(p->c);
		int fd = n == ADV_NOTICE_FAULT ? adv_control_take_fault(p->c) : -1;

		check_call_time(before);
		FUZZ_CHECK(n != ADV_NOTICE_FAULT || fd >= 0);
		if (fd >= 0)
			close(fd);
		if (n == ADV_NOTICE_ANSWERED)
			take_answer(p);
		if (n == ADV_NOTICE_NONE || n == ADV_NOTICE_GONE)
			break;
		FUZZ_CHECK(i < 999);
	}
	adv_control_restart_daemon(p->c);
}

static void run_process_step(struct process *p, const struct step *s)
{
	struct adv_gid group;
	uint64_t before = w.now_ns;

	memcpy(group.raw, s->body, sizeof(group.raw));
	switch (s->code % 8) {
	case 0:
		open_slot(p);
		break;
	case 1:
		if (p->has_slot)
			adv_control_join(p->c, &p->slot, &group, s->raw);
		break;
	case 2:
		if (p->has_slot)
			adv_control_leave(p->c, &p->slot, &group, s->raw);
		break;
	case 3:
		if (p->has_slot && s->flags & 7)
			post_request(p, s);
		else if (p->has_slot)
			open_counter_page(p);
		break;
	case 4:
		query_daemon(p, s); /* several calls */
		return;
	case 5:
		open_cm(p);
		break;
	case 6:
		w.now_ns += (uint64_t)(s->value % 4000) * 1000000;
		break;
	default:
		read_notices(p); /* many calls */
		return;
	}
	check_call_time(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned before = fuzz_descriptors();
	struct process p = {.c = NULL};
	struct step s;
	char why[200] = "";

	if (size < 1)
		return 0;
	memset(&w, 0, sizeof(w));
	w.now_ns = 1000000000;
	w.daemon = -1;
	w.next = data + 1;
	w.left = size - 1;
	if (w.left > STEPS_MAX * sizeof(s))
		w.left = STEPS_MAX * sizeof(s);
	p.c = adv_control_connect(data[0] & 1, why, sizeof(why));
	check_text(why, sizeof(why), p.c ? 0 : errno);
	if (p.c) {
		/* The process must not read a table that could shrink. */
		FUZZ_CHECK(!w.plain_table);
		FUZZ_CHECK(adv_control_gids(p.c)->count == 0);
		while (w.left >= sizeof(s)) {
			if (take_step(&s, false))
				run_process_step(&p, &s);
			else if (!run_daemon_step())
				break;
		}
		FUZZ_CHECK(adv_control_gids(p.c)->count == 0);
	}
	adv_control_close(p.c);
	close_daemon_socket();
	FUZZ_CHECK(fuzz_descriptors() == before);
	return 0;
}
