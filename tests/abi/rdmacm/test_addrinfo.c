/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_getaddrinfo(), and the names of events. */
#include <netdb.h>
#include <stdlib.h>

#include "fake.h"
#include "abi/rdmacm/newer.h"

static void a_destination(void **state)
{
	struct rdma_addrinfo *res;
	struct sockaddr_in *in;

	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7471", NULL, &res), 0);
	assert_int_equal(res->ai_flags, 0);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_dst_len, sizeof(*in));
	in = (struct sockaddr_in *)(void *)res->ai_dst_addr;
	assert_int_equal(in->sin_port, htons(7471));
	assert_int_equal(in->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(res->ai_src_len, 0);
	assert_null(res->ai_src_addr);
	assert_int_equal(res->ai_route_len, 0);
	assert_int_equal(res->ai_connect_len, 0);
	assert_null(res->ai_next);
	rdma_freeaddrinfo(res);
}

static void a_listener(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE | RAI_FAMILY,
				      .ai_family = AF_INET6,
				      .ai_port_space = RDMA_PS_UDP};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo(NULL, "7471", &hints, &res), 0);
	assert_int_equal(res->ai_flags, RAI_PASSIVE);
	assert_int_equal(res->ai_family, AF_INET6);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(res->ai_src_len, sizeof(struct sockaddr_in6));
	assert_int_equal(res->ai_dst_len, 0);
	rdma_freeaddrinfo(res);
}

static void xrc_in_the_port_space_of_ib(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE,
				      .ai_qp_type = IBV_QPT_XRC_RECV,
				      .ai_port_space = RDMA_PS_IB};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo(NULL, "7471", &hints, &res), 0);
	assert_int_equal(res->ai_qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(res->ai_port_space, RDMA_PS_IB);
	rdma_freeaddrinfo(res);
}

static void a_source_is_kept(void **state)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(5)};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(6)};
	struct rdma_addrinfo hints = {.ai_src_addr = (struct sockaddr *)&from,
				      .ai_src_len = sizeof(from)};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo("127.0.0.1", NULL, &hints, &res), 0);
	assert_int_equal(res->ai_src_len, sizeof(from));
	assert_memory_equal(res->ai_src_addr, &from, sizeof(from));
	assert_int_equal(res->ai_dst_len, sizeof(to));
	rdma_freeaddrinfo(res);
	hints.ai_dst_addr = (struct sockaddr *)&to;
	hints.ai_dst_len = sizeof(to);
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &res), 0);
	assert_memory_equal(res->ai_src_addr, &from, sizeof(from));
	assert_memory_equal(res->ai_dst_addr, &to, sizeof(to));
	assert_int_equal(res->ai_family, AF_INET);
	rdma_freeaddrinfo(res);
	hints.ai_dst_len = 0; /* pyverbs passes an address whose length is 0 */
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &res), 0);
	assert_memory_equal(res->ai_src_addr, &from, sizeof(from));
	assert_int_equal(res->ai_dst_len, 0);
	rdma_freeaddrinfo(res);
}

static int code(const char *node, int flags, int family, int qp_type, int ps)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags, .ai_family = family, .ai_qp_type = qp_type, .ai_port_space = ps};
	struct rdma_addrinfo *res = NULL;
	int ret = rdma_getaddrinfo(node, "1", &hints, &res);

	rdma_freeaddrinfo(res);
	return ret;
}

static void codes_of_failure(void **state)
{
	struct rdma_addrinfo *res;

	assert_int_equal(code("::1", RAI_NUMERICHOST, 0, 0, 0), 0);
	assert_int_equal(code("nobody.invalid", RAI_NUMERICHOST, 0, 0, 0), EAI_NONAME);
	assert_int_equal(code("127.0.0.1", 0x4000, 0, 0, 0), EAI_BADFLAGS);
	assert_int_equal(code("127.0.0.1", 0, AF_UNIX, 0, 0), EAI_FAMILY);
	assert_int_equal(code("127.0.0.1", 0, 0, IBV_QPT_UD, RDMA_PS_TCP), EAI_SOCKTYPE);
	assert_int_equal(code("127.0.0.1", 0, 0, IBV_QPT_RC, RDMA_PS_UDP), EAI_SOCKTYPE);
	assert_int_equal(code("127.0.0.1", 0, 0, 77, 0), EAI_SOCKTYPE);
	assert_int_equal(code("127.0.0.1", 0, 0, 0, 77), EAI_SERVICE);
	assert_int_equal(code("127.0.0.1", ADV_RAI_SA, 0, 0, 0), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, NULL, &res), -1);
	assert_int_equal(errno, EINVAL);
}

static void event_names(void **state)
{
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(rdma_event_str(99), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str(-1), "UNKNOWN EVENT");
	for (int i = 0; i <= ADV_EVENT_ADDRINFO_ERROR; i++)
		assert_memory_equal(rdma_event_str(i), "RDMA_CM_EVENT_", 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_destination),
		cmocka_unit_test(a_listener),
		cmocka_unit_test(xrc_in_the_port_space_of_ib),
		cmocka_unit_test(a_source_is_kept),
		cmocka_unit_test(codes_of_failure),
		cmocka_unit_test(event_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
