/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagram rsockets as a program uses them, at adverbd. */
#include "rsockets.h"

static void test_datagrams(void **state)
{
	int a = rsocket(AF_INET, SOCK_DGRAM, 0), b = rsocket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	struct sockaddr_in addr = loopback(0), from, to;
	socklen_t len = sizeof(addr);
	static char buf[4096], text[] = "datagram";
	struct iovec iov = {buf, 4};
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1};

	assert_fails(rsend(a, text, 1, 0), EDESTADDRREQ);
	assert_fails(rlisten(a, 1), EOPNOTSUPP);
	assert_fails(rrecv(a, buf, 1, MSG_DONTWAIT), EAGAIN);
	assert_int_equal(rbind(b, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(rgetsockname(b, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(poll_one(b, POLLIN, 0), 0);
	to = addr;
	for (int i = 0; i < 50; i++) { /* the first datagrams go by UDP, later ones by QPs */
		assert_int_equal(
			rsendto(a, text, sizeof(text), 0, (struct sockaddr *)&to, sizeof(to)),
			sizeof(text));
		assert_int_equal(poll_one(b, POLLIN, PATIENCE_MS), POLLIN);
		len = sizeof(from);
		assert_int_equal(rrecvfrom(b, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len),
				 sizeof(text));
		assert_string_equal(buf, text);
		assert_int_equal(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		assert_int_equal(rsendto(b, buf, 3, 0, (struct sockaddr *)&from, len), 3);
		assert_int_equal(rrecv(a, buf, sizeof(buf), 0), 3);
	}
	assert_int_equal(rconnect(a, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(rsend(a, text, sizeof(text), 0), sizeof(text));
	assert_int_equal(rrecvmsg(b, &msg, MSG_PEEK), 4);
	assert_int_equal(msg.msg_flags, MSG_TRUNC);
	assert_int_equal(rrecv(b, buf, 1, MSG_TRUNC), sizeof(text));
	assert_int_equal(rsend(a, buf, 2032, 0), 2032);
	assert_int_equal(rrecv(b, buf, sizeof(buf), 0), 2032);
	assert_fails(rsend(a, buf, 2033, 0), EMSGSIZE);
	assert_int_equal(rsend(a, buf, 0, 0), 0);
	assert_int_equal(rrecv(b, buf, sizeof(buf), 0), 0);
	assert_int_equal(rclose(a), 0);
	assert_int_equal(rclose(b), 0);
}

/* An IPv6 rsocket that is bound to the wildcard address receives from IPv4 peers, as a UDP socket
 * does. */
static void test_mapped_datagrams(void **state)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6}, from;
	int a = rsocket(AF_INET, SOCK_DGRAM, 0), b = rsocket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in to = loopback(0);
	socklen_t len = sizeof(any);
	char c;

	assert_int_equal(rbind(b, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(rgetsockname(b, (struct sockaddr *)&any, &len), 0);
	to.sin_port = any.sin6_port;
	assert_int_equal(rconnect(a, (struct sockaddr *)&to, sizeof(to)), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(rsend(a, "m", 1, 0), 1);
		len = sizeof(from);
		assert_int_equal(rrecvfrom(b, &c, 1, 0, (struct sockaddr *)&from, &len), 1);
		assert_int_equal(from.sin6_family, AF_INET6);
		assert_true(IN6_IS_ADDR_V4MAPPED(&from.sin6_addr));
		assert_int_equal(rsendto(b, "n", 1, 0, (struct sockaddr *)&from, len), 1);
		assert_int_equal(rrecv(a, &c, 1, 0), 1);
		assert_int_equal(c, 'n');
	}
	assert_int_equal(rclose(a), 0);
	assert_int_equal(rclose(b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_datagrams, start_clock),
		cmocka_unit_test_setup(test_mapped_datagrams, start_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
