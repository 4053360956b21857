/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records over TCP with a peer that is the test: fragments, pauses, records that are too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/kit/stream.h"

enum { LIMIT = 100000, GUARD_MS = 20000 };

struct world {
	struct adv_loop *loop;
	struct adv_stream *stream;
	int listener, peer;
	struct adv_kit_timer guard;
	bool starve;	       /* no memory until `more` */
	unsigned starve_after; /* so many records, likewise */
	void (*first)(void);   /* called after the first record, or NULL */
	struct adv_kit_timer more;
	unsigned starved;
	unsigned records, wanted, sent, unsent, connected;
	size_t length; /* of the last record */
	uint8_t last[LIMIT];
	bool is_lost;
	int err;
};

static struct world w;

/* System calls of the stream and the loop. */
static struct {
	unsigned sends, receives, changes;
} calls;

ssize_t recv(int fd, void *to, size_t size, int flags)
{
	calls.receives++;
	return syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	calls.sends++;
	return syscall(SYS_sendmsg, fd, m, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	calls.receives++;
	return syscall(SYS_recvmsg, fd, m, flags);
}

int epoll_ctl(int fd, int change, int of, struct epoll_event *e)
{
	calls.changes++;
	return (int)syscall(SYS_epoll_ctl, fd, change, of, e);
}

static void connected(void *user)
{
	w.connected++;
}

static uint8_t *buffer(void *user, size_t length)
{
	if (!w.starve)
		return malloc(length);
	w.starved++;
	adv_loop_start_timer(w.loop, &w.more, 1);
	return NULL;
}

static void record(void *user, uint8_t *message, size_t size, size_t length)
{
	assert_true(length <= size);
	memcpy(w.last, message, length);
	w.length = length;
	free(message);
	if (++w.records == w.wanted)
		adv_loop_stop(w.loop);
	if (w.records == w.starve_after)
		w.starve = true;
	if (w.records == 1 && w.first)
		w.first();
}

static void dropped(void *user, uint8_t *message, size_t size)
{
	free(message);
}

static void lost(void *user, int err)
{
	w.is_lost = true;
	w.err = err;
	adv_stream_close(w.stream);
	w.stream = NULL;
	adv_loop_stop(w.loop);
}

static void expired(struct adv_kit_timer *t)
{
	fail_msg("the loop did not end");
}

static const struct adv_stream_ops ops = {connected, buffer, record, dropped, lost, ADV_STREAM_RPC};
static const struct adv_stream_ops smb_ops = {connected, buffer, record,
					      dropped,	 lost,	 ADV_STREAM_SMB};

static int set_up_as(const struct adv_stream_ops *as)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	memset(&w, 0, sizeof(w));
	w.listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(w.listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(w.listener, 1), 0);
	assert_int_equal(getsockname(w.listener, (struct sockaddr *)&at, &len), 0);
	w.loop = adv_loop_create();
	adv_kit_timer_init(&w.guard, expired);
	adv_loop_start_timer(w.loop, &w.guard, GUARD_MS);
	w.stream = adv_stream_connect(w.loop, (struct sockaddr *)&at, false, LIMIT, as, NULL);
	assert_non_null(w.stream);
	w.peer = accept(w.listener, NULL, NULL);
	return w.peer < 0;
}

static int set_up(void **state)
{
	return set_up_as(&ops);
}

static int set_up_smb(void **state)
{
	return set_up_as(&smb_ops);
}

static void close_at_once(void *user)
{
	w.connected++;
	adv_stream_close(w.stream);
	w.stream = NULL;
	adv_loop_stop(w.loop);
}

static int set_up_closing(void **state)
{
	static const struct adv_stream_ops closing_ops = {close_at_once, buffer, record,
							  dropped,	 lost,	 ADV_STREAM_RPC};

	return set_up_as(&closing_ops);
}

static void record_and_close(void *user, uint8_t *message, size_t size, size_t length)
{
	record(user, message, size, length);
	adv_stream_close(w.stream);
	w.stream = NULL;
}

static int set_up_closing_record(void **state)
{
	static const struct adv_stream_ops closing_ops = {connected, buffer, record_and_close,
							  dropped,   lost,   ADV_STREAM_RPC};

	return set_up_as(&closing_ops);
}

static int tear_down(void **state)
{
	if (w.stream)
		adv_stream_close(w.stream);
	adv_kit_timer_cancel(&w.guard);
	adv_loop_destroy(w.loop);
	close(w.peer);
	close(w.listener);
	return 0;
}

static void peer_writes(const void *data, size_t len)
{
	assert_int_equal(write(w.peer, data, len), (ssize_t)len);
}

static void test_fragments(void **state)
{
	static const uint8_t in[] = {0, 0, 0,	3,   'a',  'b', 'c', 0x80, 0,
				     0, 2, 'd', 'e', 0x80, 0,	0,   1,	   'f'};

	w.wanted = 2;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_int_equal(w.connected, 1);
	assert_int_equal(w.length, 1);
	assert_int_equal(w.last[0], 'f');
	assert_int_equal(w.last[1], 'b'); /* of the record before: a b c d e */
	assert_int_equal(w.last[4], 'e');
}

static void test_too_long(void **state)
{
	static const uint8_t in[] = {0x80, 1, 0x86, 0xa1}; /* one byte more than LIMIT */

	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, EMSGSIZE);
}

/* Each fragment is short enough, but not the record. */
static void test_fragments_too_long(void **state)
{
	enum { PART = LIMIT * 2 / 3 };
	static uint8_t in[4 + PART + 4];

	in[1] = in[4 + PART + 1] = PART >> 16;
	in[2] = in[4 + PART + 2] = PART >> 8 & 0xff;
	in[3] = in[4 + PART + 3] = PART & 0xff;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, EMSGSIZE);
}

static void test_closed_by_peer(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 9, 'a'};

	peer_writes(in, sizeof(in));
	shutdown(w.peer, SHUT_WR);
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.records, 0);
}

static void done(struct adv_stream_out *out, bool ok)
{
	if (ok)
		w.sent++;
	else
		w.unsent++;
	if (w.sent == w.wanted)
		adv_loop_stop(w.loop);
}

static void test_send(void **state)
{
	char a[] = "abcd", b[] = "efgh", c[] = "ijkl";
	struct iovec first[] = {{a, 4}, {b, 4}}, second[] = {{c, 4}};
	struct adv_stream_out outs[2] = {{.parts = first, .count = 2, .done = done},
					 {.parts = second, .count = 1, .done = done}};
	uint8_t in[20];

	w.wanted = 2;
	for (unsigned i = 0; i < 2; i++) {
		adv_list_init(&outs[i].link);
		adv_stream_send(w.stream, &outs[i], i ? 4 : 8);
	}
	adv_loop_run(w.loop);
	assert_int_equal(recv(w.peer, in, sizeof(in), MSG_WAITALL), 20);
	assert_memory_equal(in,
			    "\x80\0\0\x08"
			    "abcdefgh"
			    "\x80\0\0\x04"
			    "ijkl",
			    20);
	assert_int_equal(w.unsent, 0);
}

/* `connected` closes the stream, to which records wait to be sent, and which has some to receive.
 */
static void test_closed_when_connected(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x'};
	char a[] = "abcd";
	struct iovec part = {a, 4};
	struct adv_stream_out out = {.parts = &part, .count = 1, .done = done};

	w.wanted = 9;
	adv_list_init(&out.link);
	adv_stream_send(w.stream, &out, 4);
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_int_equal(w.connected, 1);
	assert_int_equal(w.unsent, 1);
	assert_int_equal(w.records, 0);
}

static void test_close_reports_the_rest(void **state)
{
	char a[] = "abcd";
	struct iovec part = {a, 4};
	struct adv_stream_out out = {.parts = &part, .count = 1, .done = done};

	w.wanted = 9;
	adv_list_init(&out.link);
	adv_stream_send(w.stream, &out, 4);
	adv_stream_close(w.stream);
	w.stream = NULL;
	assert_int_equal(w.unsent, 1);
	assert_true(adv_list_empty(&out.link));
}

static void resume(struct adv_kit_timer *t)
{
	w.starve = false;
	adv_stream_resume(w.stream);
}

static void test_no_memory(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x'};

	adv_kit_timer_init(&w.more, resume);
	w.wanted = 1;
	w.starve = true;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_int_equal(w.starved, 1);
	assert_int_equal(w.records, 1);
	assert_int_equal(w.last[0], 'x');
}

/* Records that arrive together, and memory for the first of them only. */
static void test_no_memory_for_the_next(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x', 0x80, 0, 0, 2, 'y', 'z', 0x80, 0, 0};

	adv_kit_timer_init(&w.more, resume);
	w.wanted = 3;
	w.starve_after = 1;
	peer_writes(in, sizeof(in));
	peer_writes(&(uint8_t){0}, 1); /* the length of the third one: 0 */
	adv_loop_run(w.loop);
	assert_int_equal(w.starved, 1);
	assert_int_equal(w.records, 3);
	assert_int_equal(w.length, 0);
	assert_int_equal(w.last[0], 'y');
	assert_int_equal(w.last[1], 'z');
}

/* The user closes the stream when it gets the first of several records. */
static void test_closed_by_record(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x', 0x80, 0, 0, 1, 'y'};

	w.wanted = 1;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_int_equal(w.records, 1);
	assert_int_equal(w.last[0], 'x');
}

static void reply_by_peer(struct adv_stream_out *out, bool ok)
{
	enum { LENGTH = 4300 };
	static uint8_t in[4 + LENGTH] = {0x80, 0, LENGTH >> 8, LENGTH & 0xff};

	assert_true(ok);
	peer_writes(in, sizeof(in));
}

static void send_call(void)
{
	static struct iovec part;
	static struct adv_stream_out out;
	static char call[100];

	part = (struct iovec){call, sizeof(call)};
	out = (struct adv_stream_out){.parts = &part, .count = 1, .done = reply_by_peer};
	adv_list_init(&out.link);
	memset(&calls, 0, sizeof(calls));
	adv_stream_send(w.stream, &out, sizeof(call));
}

/* A small call takes one system call, and so does its reply; waiting takes others. */
static void test_few_calls(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x'};

	w.wanted = 2;
	w.first = send_call;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_int_equal(w.length, 4300);
	assert_int_equal(calls.sends, 1);
	assert_int_equal(calls.receives, 1);
	assert_int_equal(calls.changes, 0);
}

static void reset_by_peer(struct adv_kit_timer *t)
{
	struct linger none = {.l_onoff = 1};

	setsockopt(w.peer, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(w.peer);
	w.peer = -1;
}

static void test_reset_without_memory(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x'};

	adv_kit_timer_init(&w.more, reset_by_peer);
	w.starve = true;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, ECONNRESET);
	assert_int_equal(w.starved, 1); /* the loop did not spin */
}

static void end_by_peer(struct adv_kit_timer *t)
{
	shutdown(w.peer, SHUT_WR);
}

static void test_end_without_memory(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'x'};

	adv_kit_timer_init(&w.more, end_by_peer);
	w.starve = true;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, ECONNRESET);
	assert_int_equal(w.starved, 1);
}

/* Replaces the stream by one of an accepted connection, with a time limit. */
static void accept_stream(unsigned timeout_ms)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	adv_stream_close(w.stream);
	close(w.peer);
	assert_int_equal(getsockname(w.listener, (struct sockaddr *)&at, &len), 0);
	w.peer = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(w.peer, (struct sockaddr *)&at, len), 0);
	w.stream = adv_stream_accepted(w.loop, accept4(w.listener, NULL, NULL, SOCK_NONBLOCK),
				       timeout_ms, LIMIT, &ops, NULL);
	assert_non_null(w.stream);
}

/* A record that has memory must become complete in time. */
static void test_incomplete(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 9, 'a'};

	accept_stream(1);
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, ETIME);
	assert_int_equal(w.records, 0);
}

static void stop(struct adv_kit_timer *t)
{
	adv_loop_stop(w.loop);
}

/* The time limit is that of records: the peer may be silent between them, and within the 4 bytes
 * before one, which take no memory. */
static void test_silence(void **state)
{
	static const uint8_t in[] = {0x80, 0, 0, 1, 'a', 0x80, 0};
	struct adv_kit_timer end;

	accept_stream(1);
	w.wanted = 2;
	peer_writes(in, sizeof(in));
	adv_kit_timer_init(&end, stop);
	adv_loop_start_timer(w.loop, &end, 50);
	adv_loop_run(w.loop);
	assert_int_equal(w.records, 1);
	assert_false(w.is_lost);
}

static unsigned rounds;

static void count_round(struct adv_task *t)
{
	rounds++;
	adv_loop_defer(w.loop, t);
}

/* A peer that always has something to say does not keep the loop from others: it may send fragments
 * without data, without end. */
static void test_many_fragments(void **state)
{
	enum { FRAGMENTS = 4000 };
	static const uint8_t empty[4 * FRAGMENTS], last[] = {0x80, 0, 0, 1, 'x'};
	struct adv_task round;

	rounds = 0;
	adv_task_init(&round, count_round);
	adv_loop_defer(w.loop, &round);
	w.wanted = 1;
	peer_writes(empty, sizeof(empty));
	peer_writes(last, sizeof(last));
	adv_loop_run(w.loop);
	adv_task_cancel(&round);
	assert_int_equal(w.records, 1);
	assert_int_equal(w.last[0], 'x');
	assert_true(rounds > 20);
}

static struct adv_kit_timer drip;

static void take_some(struct adv_kit_timer *t)
{
	static uint8_t in[65536];

	recv(w.peer, in, sizeof(in), MSG_DONTWAIT);
	adv_loop_start_timer(w.loop, t, 1);
}

/* A record for which the socket has no room at once is sent when the peer has taken some. */
static void test_blocked(void **state)
{
	enum { LENGTH = 16 << 20 };
	char *memory = calloc(1, LENGTH);
	struct iovec part = {memory, LENGTH};
	struct adv_stream_out out = {.parts = &part, .count = 1, .done = done};

	assert_non_null(memory);
	w.wanted = 1;
	adv_list_init(&out.link);
	adv_stream_send(w.stream, &out, LENGTH);
	adv_kit_timer_init(&drip, take_some);
	adv_loop_start_timer(w.loop, &drip, 1);
	adv_loop_run(w.loop);
	adv_kit_timer_cancel(&drip);
	free(memory);
	assert_int_equal(w.sent, 1);
}

/* A peer that takes a record slowly: each piece in time, but not the record. */
static void test_taken_slowly(void **state)
{
	enum { LENGTH = 512 << 20 };
	char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct iovec part = {memory, LENGTH};
	struct adv_stream_out out = {.parts = &part, .count = 1, .done = done};

	assert_ptr_not_equal(memory, MAP_FAILED);
	accept_stream(100);
	w.wanted = 1;
	adv_list_init(&out.link);
	adv_stream_send(w.stream, &out, LENGTH);
	adv_kit_timer_init(&drip, take_some);
	adv_loop_start_timer(w.loop, &drip, 1);
	adv_loop_run(w.loop);
	adv_kit_timer_cancel(&drip);
	munmap(memory, LENGTH);
	assert_true(w.is_lost);
	assert_int_equal(w.err, ETIMEDOUT);
	assert_int_equal(w.unsent, 1);
}

/* A peer that takes each record in time, but many in a row slowly. */
static void test_all_taken_slowly(void **state)
{
	enum { RECORDS = 8000, LENGTH = 65536 };
	static uint8_t memory[LENGTH];
	static struct iovec parts[RECORDS];
	static struct adv_stream_out outs[RECORDS];

	accept_stream(500);
	w.wanted = RECORDS;
	for (unsigned i = 0; i < RECORDS; i++) {
		parts[i] = (struct iovec){memory, LENGTH};
		outs[i] = (struct adv_stream_out){.parts = &parts[i], .count = 1, .done = done};
		adv_list_init(&outs[i].link);
		adv_stream_send(w.stream, &outs[i], LENGTH);
	}
	adv_kit_timer_init(&drip, take_some);
	adv_loop_start_timer(w.loop, &drip, 1);
	adv_loop_run(w.loop);
	adv_kit_timer_cancel(&drip);
	assert_true(w.is_lost);
	assert_int_equal(w.err, ETIMEDOUT);
}

static void test_smb(void **state)
{
	static const uint8_t in[] = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 1, 'd'};

	w.wanted = 2;
	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_int_equal(w.length, 1);
	assert_int_equal(w.last[0], 'd');
}

static void test_smb_send(void **state)
{
	char a[] = "abcd";
	struct iovec part = {a, 4};
	struct adv_stream_out out = {.parts = &part, .count = 1, .done = done};
	uint8_t back[8];

	adv_list_init(&out.link);
	w.wanted = 1;
	adv_stream_send(w.stream, &out, 4);
	adv_loop_run(w.loop);
	assert_int_equal(recv(w.peer, back, sizeof(back), MSG_WAITALL), 8);
	assert_memory_equal(back,
			    "\0\0\0\x04"
			    "abcd",
			    8);
}

static void test_smb_wrong(void **state)
{
	static const uint8_t in[] = {0x85, 0, 0, 0}; /* of NetBIOS: a keep-alive, port 139 only */

	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, EPROTO);
}

static void test_smb_too_long(void **state)
{
	static const uint8_t in[] = {0, 1, 0x86, 0xa1};

	peer_writes(in, sizeof(in));
	adv_loop_run(w.loop);
	assert_true(w.is_lost);
	assert_int_equal(w.err, EMSGSIZE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fragments),
		TEST(test_too_long),
		TEST(test_fragments_too_long),
		TEST(test_closed_by_peer),
		TEST(test_send),
		TEST(test_close_reports_the_rest),
		cmocka_unit_test_setup_teardown(test_closed_when_connected, set_up_closing,
						tear_down),
		TEST(test_no_memory),
		TEST(test_no_memory_for_the_next),
		cmocka_unit_test_setup_teardown(test_closed_by_record, set_up_closing_record,
						tear_down),
		TEST(test_few_calls),
		TEST(test_blocked),
		TEST(test_reset_without_memory),
		TEST(test_end_without_memory),
		TEST(test_incomplete),
		TEST(test_silence),
		TEST(test_many_fragments),
		TEST(test_taken_slowly),
		TEST(test_all_taken_slowly),
		cmocka_unit_test_setup_teardown(test_smb, set_up_smb, tear_down),
		cmocka_unit_test_setup_teardown(test_smb_send, set_up_smb, tear_down),
		cmocka_unit_test_setup_teardown(test_smb_wrong, set_up_smb, tear_down),
		cmocka_unit_test_setup_teardown(test_smb_too_long, set_up_smb, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
