/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptors in messages: which of them are kept, and that all others are closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rights.h"

#define SENT 3

static int pair[2];	  /* the messages' socket */
static int ends[SENT][2]; /* pipes; the tests send their writing ends */

static int make_pipes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SENT; i++)
		assert_int_equal(pipe2(ends[i], O_CLOEXEC | O_NONBLOCK), 0);
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pipes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SENT; i++)
		close(ends[i][0]);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* Sends the pipes' writing ends and closes its own copies of them. */
static void send_ends(unsigned count)
{
	union adv_rights_room_several room = {{0}};
	char byte = 1;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fd[SENT];

	for (unsigned i = 0; i < SENT; i++)
		fd[i] = ends[i][1];
	adv_rights_put_several(&msg, &room, fd, count);
	assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
	for (unsigned i = 0; i < SENT; i++)
		close(fd[i]);
}

static void receive(struct msghdr *msg, union adv_rights_room_several *room)
{
	static char byte;
	static struct iovec iov = {&byte, 1};

	*msg = (struct msghdr){.msg_iov = &iov,
			       .msg_iovlen = 1,
			       .msg_control = room,
			       .msg_controllen = sizeof(*room)};
	assert_int_equal(recvmsg(pair[1], msg, MSG_CMSG_CLOEXEC), 1);
}

/* True if a descriptor of the pipe's writing end is open somewhere. */
static bool has_writer(unsigned i)
{
	char byte;

	return read(ends[i][0], &byte, 1) < 0 && errno == EAGAIN;
}

static void test_takes_several(void **state)
{
	union adv_rights_room_several room;
	struct msghdr msg;
	int fd[SENT];

	(void)state;
	send_ends(SENT);
	receive(&msg, &room);
	assert_int_equal(adv_rights_take_several(&msg, fd, SENT), SENT);
	for (unsigned i = 0; i < SENT; i++) {
		assert_true(has_writer(i));
		close(fd[i]);
		assert_false(has_writer(i));
	}
}

static void test_closes_those_beyond(void **state)
{
	union adv_rights_room_several room;
	struct msghdr msg;
	int fd;

	(void)state;
	send_ends(SENT);
	receive(&msg, &room);
	fd = adv_rights_take(&msg);
	assert_true(has_writer(0));
	assert_false(has_writer(1));
	assert_false(has_writer(2));
	close(fd);
	assert_false(has_writer(0));
}

static void test_rest_is_none(void **state)
{
	union adv_rights_room_several room;
	struct msghdr msg;
	int fd[SENT] = {7, 7, 7};

	(void)state;
	send_ends(1);
	receive(&msg, &room);
	assert_int_equal(adv_rights_take_several(&msg, fd, SENT), 1);
	assert_int_equal(fd[1], -1);
	assert_int_equal(fd[2], -1);
	close(fd[0]);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	receive(&msg, &room);
	assert_int_equal(adv_rights_take(&msg), -1);
}

static void test_close_closes_all(void **state)
{
	union adv_rights_room_several room;
	struct msghdr msg;

	(void)state;
	send_ends(SENT);
	receive(&msg, &room);
	adv_rights_close(&msg);
	for (unsigned i = 0; i < SENT; i++)
		assert_false(has_writer(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_takes_several, make_pipes, close_pipes),
		cmocka_unit_test_setup_teardown(test_closes_those_beyond, make_pipes, close_pipes),
		cmocka_unit_test_setup_teardown(test_rest_is_none, make_pipes, close_pipes),
		cmocka_unit_test_setup_teardown(test_close_closes_all, make_pipes, close_pipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
