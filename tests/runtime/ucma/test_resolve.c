/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's answers about routes and neighbours, well formed and malformed; and handles. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "base/array.h"
#include "base/rng.h"
#include "runtime/session/handles.h"
#include "runtime/ucma/resolve.h"

#define SERIAL 77

/* A message that is put together piece by piece. */
static struct {
	struct nlmsghdr header;
	char room[512];
} message;

static struct adv_gid gid(const char *text)
{
	struct adv_gid g = {{0}};

	if (inet_pton(AF_INET, text, g.raw + 12) == 1)
		g.raw[10] = g.raw[11] = 0xff;
	else
		assert_int_equal(inet_pton(AF_INET6, text, g.raw), 1);
	return g;
}

static void begin(uint16_t type, const void *body, size_t len)
{
	memset(&message, 0, sizeof(message));
	message.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
	message.header.nlmsg_type = type;
	message.header.nlmsg_seq = SERIAL;
	memcpy(NLMSG_DATA(&message.header), body, len);
}

static void begin_route(uint8_t family, uint8_t type)
{
	const struct rtmsg m = {.rtm_family = family, .rtm_type = type};

	begin(RTM_NEWROUTE, &m, sizeof(m));
}

static void add(uint16_t type, const void *data, size_t len)
{
	struct rtattr *a = (void *)((char *)&message + NLMSG_ALIGN(message.header.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	message.header.nlmsg_len =
		NLMSG_ALIGN(message.header.nlmsg_len) + (uint32_t)RTA_ALIGN(a->rta_len);
}

static void add_address(uint16_t type, const char *text)
{
	const struct adv_gid g = gid(text);
	size_t len = adv_gid_is_ipv4(&g) ? 4 : 16;

	add(type, g.raw + 16 - len, len);
}

static void add_interface(uint32_t ifindex)
{
	add(RTA_OIF, &ifindex, sizeof(ifindex));
}

static int parse(struct adv_ip_route *way)
{
	*way = (struct adv_ip_route){.next_hop = gid("10.0.0.9")};
	return adv_resolve_parse_route(&message, message.header.nlmsg_len, SERIAL, way);
}

static void assert_gid(const struct adv_gid *g, const char *text)
{
	const struct adv_gid want = gid(text);

	assert_memory_equal(g, &want, sizeof(want));
}

static void routes(void **state)
{
	struct adv_ip_route way;

	begin_route(AF_INET, RTN_UNICAST);
	add_interface(3);
	add_address(RTA_PREFSRC, "10.0.0.1");
	assert_int_equal(parse(&way), 0);
	assert_true(way.has_source && !way.local && !way.multicast);
	assert_int_equal(way.ifindex, 3);
	assert_gid(&way.source, "10.0.0.1");
	assert_gid(&way.next_hop, "10.0.0.9");
	add_address(RTA_GATEWAY, "10.0.0.254");
	assert_int_equal(parse(&way), 0);
	assert_gid(&way.next_hop, "10.0.0.254");

	begin_route(AF_INET6, RTN_LOCAL);
	add_interface(1);
	assert_int_equal(parse(&way), 0);
	assert_true(way.local && !way.has_source);

	begin_route(AF_INET6, RTN_MULTICAST);
	add_interface(2);
	add_address(RTA_PREFSRC, "fd00::1");
	assert_int_equal(parse(&way), 0);
	assert_true(way.multicast);
	assert_gid(&way.source, "fd00::1");
}

/* An IPv4 route through an IPv6 neighbour (RFC 5549). */
static void gateway_of_another_family(void **state)
{
	const struct adv_gid gateway = gid("fe80::1");
	uint8_t via[18] = {0};
	uint16_t family = AF_INET6;
	struct adv_ip_route way;

	memcpy(via, &family, sizeof(family));
	memcpy(via + 2, gateway.raw, 16);
	begin_route(AF_INET, RTN_UNICAST);
	add_interface(3);
	add(RTA_VIA, via, sizeof(via));
	assert_int_equal(parse(&way), 0);
	assert_gid(&way.next_hop, "fe80::1");
	begin_route(AF_INET, RTN_UNICAST);
	add_interface(3);
	add(RTA_VIA, via, sizeof(via) - 1);
	assert_int_equal(parse(&way), 0);
	assert_gid(&way.next_hop, "10.0.0.9");
}

static void no_route(void **state)
{
	static const struct {
		uint8_t type;
		int error;
	} cases[] = {
		{RTN_UNREACHABLE, EHOSTUNREACH}, {RTN_PROHIBIT, EACCES},   {RTN_BROADCAST, EACCES},
		{RTN_BLACKHOLE, ENETUNREACH},	 {RTN_THROW, ENETUNREACH},
	};
	struct nlmsgerr e = {.error = -ENETUNREACH};
	struct adv_ip_route way;

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		begin_route(AF_INET, cases[i].type);
		add_interface(3);
		assert_int_equal(parse(&way), cases[i].error);
	}
	begin_route(AF_INET, RTN_UNICAST); /* a route without an interface */
	assert_int_equal(parse(&way), ENETUNREACH);
	begin(NLMSG_ERROR, &e, sizeof(e));
	assert_int_equal(parse(&way), ENETUNREACH);
	e.error = 0; /* an acknowledgement without contents */
	begin(NLMSG_ERROR, &e, sizeof(e));
	assert_int_equal(parse(&way), EPROTO);
	e.error = INT32_MIN;
	begin(NLMSG_ERROR, &e, sizeof(e));
	assert_int_equal(parse(&way), EPROTO);
	message.header.nlmsg_len = NLMSG_LENGTH(sizeof(e) - 1);
	assert_int_equal(parse(&way), EPROTO);
}

static void not_the_answer(void **state)
{
	struct adv_ip_route way;
	uint16_t s;

	begin_route(AF_INET, RTN_UNICAST);
	add_interface(3);
	message.header.nlmsg_seq = SERIAL + 1;
	assert_int_equal(parse(&way), EPROTO);
	message.header.nlmsg_seq = SERIAL;
	message.header.nlmsg_type = RTM_NEWLINK;
	assert_int_equal(parse(&way), EPROTO);
	begin_route(AF_PACKET, RTN_UNICAST);
	add_interface(3);
	assert_int_equal(parse(&way), EPROTO);
	assert_int_equal(
		adv_resolve_parse_neighbour(&message, message.header.nlmsg_len, SERIAL, &s),
		EPROTO);
}

/* An attribute of the wrong length counts as missing; truncated messages do no harm. */
static void cut_short(void **state)
{
	struct adv_ip_route way = {0};
	uint32_t whole;

	begin_route(AF_INET, RTN_UNICAST);
	add_interface(3);
	add(RTA_PREFSRC, "abc", 3);
	add(RTA_GATEWAY, "abcdefgh", 8);
	assert_int_equal(parse(&way), 0);
	assert_false(way.has_source);
	assert_gid(&way.next_hop, "10.0.0.9");
	whole = message.header.nlmsg_len;
	for (uint32_t len = 0; len < whole; len++) {
		/* Block of the exact size, so that the sanitizer detects a read beyond its end. */
		char *copy = malloc(len ? len : 1);

		memcpy(copy, &message, len);
		assert_int_equal(adv_resolve_parse_route(copy, len, SERIAL, &way), EPROTO);
		if (len >= sizeof(struct nlmsghdr)) {
			((struct nlmsghdr *)(void *)copy)->nlmsg_len = len;
			(void)adv_resolve_parse_route(copy, len, SERIAL, &way);
		}
		free(copy);
	}
}

static void random_bytes(void **state)
{
	struct adv_rng dice;
	struct adv_ip_route way;

	adv_rng_seed(&dice, 5);
	for (int i = 0; i < 20000; i++) {
		uint32_t len =
			NLMSG_LENGTH(sizeof(struct rtmsg)) + (uint32_t)adv_rng_below(&dice, 64);
		uint8_t *copy = malloc(len);
		struct nlmsghdr *h = (void *)copy;
		uint8_t mac[6];
		uint16_t s;

		for (uint32_t k = 0; k < len; k++)
			copy[k] = (uint8_t)adv_rng_below(&dice, adv_rng_below(&dice, 2) ? 256 : 12);
		h->nlmsg_len = len - (uint32_t)adv_rng_below(&dice, 3);
		h->nlmsg_seq = SERIAL;
		h->nlmsg_type = adv_rng_below(&dice, 2) ? RTM_NEWROUTE : RTM_NEWNEIGH;
		copy[NLMSG_HDRLEN] = AF_INET;
		copy[NLMSG_HDRLEN + offsetof(struct rtmsg, rtm_type)] = RTN_UNICAST;
		way = (struct adv_ip_route){.next_hop = gid("10.0.0.9")};
		(void)adv_resolve_parse_route(copy, len, SERIAL, &way);
		(void)adv_resolve_parse_neighbour(copy, len, SERIAL, &s);
		(void)adv_resolve_parse_mac(copy, len, SERIAL, mac);
		free(copy);
	}
}

static void neighbours(void **state)
{
	const struct ndmsg m = {.ndm_family = AF_INET, .ndm_state = NUD_REACHABLE};
	struct nlmsgerr e = {.error = -ENOENT};
	uint16_t s = 0;

	begin(RTM_NEWNEIGH, &m, sizeof(m));
	assert_int_equal(
		adv_resolve_parse_neighbour(&message, message.header.nlmsg_len, SERIAL, &s), 0);
	assert_int_equal(s, NUD_REACHABLE);
	begin(NLMSG_ERROR, &e, sizeof(e));
	assert_int_equal(
		adv_resolve_parse_neighbour(&message, message.header.nlmsg_len, SERIAL, &s),
		ENOENT);
}

/* The Ethernet address of an answer; none of another length, and none behind the message. */
static void addresses(void **state)
{
	static const uint8_t right[6] = {2, 1, 2, 3, 4, 5}, longer[8] = {9};
	const struct ndmsg m = {.ndm_family = AF_INET, .ndm_state = NUD_REACHABLE};
	uint8_t mac[6] = {0};

	begin(RTM_NEWNEIGH, &m, sizeof(m));
	assert_false(adv_resolve_parse_mac(&message, message.header.nlmsg_len, SERIAL, mac));
	mnl_attr_put(&message.header, NDA_DST, 4, "abcd");
	mnl_attr_put(&message.header, NDA_LLADDR, sizeof(right), right);
	assert_true(adv_resolve_parse_mac(&message, message.header.nlmsg_len, SERIAL, mac));
	assert_memory_equal(mac, right, sizeof(mac));
	assert_false(adv_resolve_parse_mac(&message, message.header.nlmsg_len, SERIAL + 1, mac));
	assert_false(adv_resolve_parse_mac(&message, message.header.nlmsg_len - 4, SERIAL, mac));
	begin(RTM_NEWNEIGH, &m, sizeof(m));
	mnl_attr_put(&message.header, NDA_LLADDR, sizeof(longer), longer);
	assert_false(adv_resolve_parse_mac(&message, message.header.nlmsg_len, SERIAL, mac));
}

/* With the real kernel: this machine is reached through the loopback interface. */
static void the_kernel(void **state)
{
	struct adv_resolver *r = adv_resolver_create();
	const struct adv_gid here = gid("127.0.0.1"), other = gid("198.51.100.1");
	struct adv_ip_route way;

	assert_non_null(r);
	assert_int_equal(adv_resolve_way(r, &here, NULL, 0, &way), 0);
	assert_true(way.local && way.has_source);
	assert_gid(&way.source, "127.0.0.1");
	assert_int_equal(adv_resolve_neighbour(r, &way), ADV_NEIGHBOUR_KNOWN);
	adv_resolve_probe_neighbour(r, &here, &way);
	assert_true(adv_resolve_is_own(r, &here, 0));
	assert_false(adv_resolve_is_own(r, &other, 0));
	assert_int_not_equal(adv_resolve_way(r, &here, &other, 0, &way), 0);
	assert_int_equal(adv_resolve_interface_flags(r, 0x7fffffff), 0);
	adv_resolver_destroy(r);
}

static void handles_find(void **state)
{
	struct adv_handles h = {0};
	uint32_t first, second;
	int a, b;

	assert_null(adv_handles_find(&h, 0));
	assert_int_equal(adv_handles_add(&h, &a, &first), 0);
	assert_int_equal(adv_handles_add(&h, &b, &second), 0);
	assert_true(first != 0 && second != 0 && first != second);
	assert_ptr_equal(adv_handles_find(&h, first), &a);
	assert_ptr_equal(adv_handles_find(&h, second), &b);
	assert_null(adv_handles_find(&h, 0));
	assert_null(adv_handles_find(&h, first + (1u << 16)));
	assert_null(adv_handles_find(&h, UINT32_MAX));
	adv_handles_remove(&h, first);
	assert_null(adv_handles_find(&h, first));
	assert_int_equal(h.used, 1);
	adv_handles_free(&h);
}

/* A released handle is used again only after 65,535 other handles of the same place. */
static void handles_come_late(void **state)
{
	struct adv_handles h = {0};
	uint32_t first, next = 0, turns = 0;
	int object;

	assert_int_equal(adv_handles_add(&h, &object, &first), 0);
	adv_handles_remove(&h, first);
	while (next != first) {
		assert_int_equal(adv_handles_add(&h, &object, &next), 0);
		assert_int_not_equal(next, 0);
		adv_handles_remove(&h, next);
		turns++;
	}
	assert_true(turns >= 65535 && h.used == 0);
	adv_handles_free(&h);
}

static void handles_end(void **state)
{
	static uint32_t handle[ADV_HANDLES_MAX];
	struct adv_handles h = {0};
	uint32_t one_more;

	for (uint32_t i = 0; i < ADV_HANDLES_MAX; i++)
		assert_int_equal(adv_handles_add(&h, &handle[i], &handle[i]), 0);
	assert_int_equal(adv_handles_add(&h, &h, &one_more), ENOMEM);
	for (uint32_t i = 0; i < ADV_HANDLES_MAX; i++)
		assert_ptr_equal(adv_handles_find(&h, handle[i]), &handle[i]);
	adv_handles_remove(&h, handle[12345]);
	assert_int_equal(adv_handles_add(&h, &h, &one_more), 0);
	assert_int_not_equal(one_more, handle[12345]);
	assert_null(adv_handles_find(&h, handle[12345]));
	adv_handles_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes),
		cmocka_unit_test(gateway_of_another_family),
		cmocka_unit_test(no_route),
		cmocka_unit_test(not_the_answer),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(addresses),
		cmocka_unit_test(the_kernel),
		cmocka_unit_test(handles_find),
		cmocka_unit_test(handles_come_late),
		cmocka_unit_test(handles_end),
	};

	return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
