/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections that are accepted while descriptors are free, and while none is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/spare.h"

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_len;
static int listener;

static int open_listener(void **state)
{
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "adverb-spare-%d",
			 (int)getpid());

	(void)state;
	address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return bind(listener, (const struct sockaddr *)&address, address_len) ||
	       listen(listener, 8);
}

static int close_listener(void **state)
{
	(void)state;
	return close(listener);
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, address_len), 0);
	return fd;
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Sets the limit to the number of descriptors that are open. Returns the previous limit. */
static rlim_t take_descriptors(void)
{
	int next = fcntl(listener, F_DUPFD, 0);
	struct rlimit r;
	rlim_t before;

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &r), 0);
	before = r.rlim_cur;
	r.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	return before;
}

static void give_descriptors(rlim_t limit)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void test_accept(void **state)
{
	struct adv_spare s;
	int peer, fd;

	(void)state;
	assert_int_equal(adv_spare_open(&s), 0);
	assert_int_equal(adv_spare_accept(&s, listener), -1);
	assert_int_equal(errno, EAGAIN);
	peer = dial();
	fd = adv_spare_accept(&s, listener);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(peer);
	adv_spare_close(&s);
}

/* Without a free descriptor each call closes one connection. Later ones are accepted again. */
static void test_no_descriptor(void **state)
{
	struct adv_spare s;
	int peer[3], fd;
	rlim_t limit;

	(void)state;
	assert_int_equal(adv_spare_open(&s), 0);
	for (unsigned i = 0; i < 3; i++)
		peer[i] = dial();
	limit = take_descriptors();
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(adv_spare_accept(&s, listener), -1);
		assert_int_equal(errno, EMFILE);
		assert_true(is_closed(peer[i]));
		assert_false(is_closed(peer[i + 1]));
	}
	give_descriptors(limit);
	fd = adv_spare_accept(&s, listener);
	assert_true(fd >= 0);
	assert_false(is_closed(peer[2]));
	close(fd);
	for (unsigned i = 0; i < 3; i++)
		close(peer[i]);
	adv_spare_close(&s);
	adv_spare_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_accept, open_listener, close_listener),
		cmocka_unit_test_setup_teardown(test_no_descriptor, open_listener, close_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
