/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What tests of stream and of datagram rsockets share. */
#ifndef ADV_TESTS_ABI_RSOCKET_RSOCKETS_H
#define ADV_TESTS_ABI_RSOCKET_RSOCKETS_H

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <rdma/rsocket.h>

#define LIMIT_SEC   120	  /* time limit of a test */
#define PATIENCE_MS 60000 /* a test that takes longer hangs */

#define assert_fails(call, error)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal((int)(call), -1);                                                 \
		assert_int_equal(errno, error);                                                    \
	} while (0)

static inline struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sin;
}

static inline int poll_one(int fd, short events, int timeout)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n = rpoll(&p, 1, timeout);

	assert_true(n >= 0);
	return p.revents;
}

static inline int start_clock(void **state)
{
	alarm(LIMIT_SEC);
	return 0;
}

#endif
