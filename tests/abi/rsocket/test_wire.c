/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bytes that rsockets send, and the bytes that they reject. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "base/array.h"
#include "abi/rsocket/config.h"
#include "abi/rsocket/wire.h"

static void test_messages(void **state)
{
	assert_int_equal(adv_rs_msg(ADV_RS_OP_DATA, 5), 5);
	assert_int_equal(adv_rs_msg(ADV_RS_OP_SGL, 7), 0x80000007);
	assert_int_equal(adv_rs_msg(ADV_RS_OP_IOMAP_SGL, 1), 0xc0000001);
	assert_int_equal(adv_rs_msg(ADV_RS_OP_CTRL, ADV_RS_CTRL_SHUTDOWN), 0xe0000002);
	assert_int_equal(adv_rs_msg_op(0xe0000002), ADV_RS_OP_CTRL);
	assert_int_equal(adv_rs_msg_data(0xe0000002), 2);
}

static const uint8_t conn_bytes[ADV_RS_CONN_LEN] = {
	1, 3, 0x01, 0x80, 0,	0,    0,    130, /* version, flags, credits, mappings */
	0, 0, 0,    1,	  2,	3,    4,    5,	  0xa, 0xb, 0xc, 0xd, 0, 0, 0, 2, /* target list */
	0, 0, 0x7f, 0,	  0x10, 0x20, 0x30, 0x40, 1,   2,   3,	 4,   0, 1, 0, 0, /* buffer */
};

static void test_conn(void **state)
{
	const struct adv_rs_conn conn = {
		.version = 1,
		.big_endian = true,
		.mappings = true,
		.credits = 384,
		.mapping_count = 512,
		.targets = {0x0102030405, 0x0a0b0c0d, 2},
		.buffer = {0x7f0010203040, 0x01020304, 65536},
	};
	struct adv_rs_conn back = {0};
	uint8_t bytes[ADV_RS_CONN_LEN];

	adv_rs_pack_conn(bytes, &conn);
	assert_memory_equal(bytes, conn_bytes, sizeof(bytes));
	assert_true(adv_rs_unpack_conn(&back, bytes, sizeof(bytes)));
	assert_int_equal(back.credits, 384);
	assert_int_equal(back.mapping_count, 512);
	assert_true(back.big_endian);
	assert_int_equal(back.targets.addr, conn.targets.addr);
	assert_int_equal(back.buffer.length, 65536);
	assert_int_equal(back.buffer.key, 0x01020304);
}

static void test_bad_conn(void **state)
{
	struct adv_rs_conn conn;
	uint8_t bytes[ADV_RS_CONN_LEN];

	assert_false(adv_rs_unpack_conn(&conn, conn_bytes, sizeof(conn_bytes) - 1));
	memcpy(bytes, conn_bytes, sizeof(bytes));
	bytes[0] = 2;
	assert_false(adv_rs_unpack_conn(&conn, bytes, sizeof(bytes)));
	memcpy(bytes, conn_bytes, sizeof(bytes));
	bytes[23] = 1; /* a target list of one entry */
	assert_false(adv_rs_unpack_conn(&conn, bytes, sizeof(bytes)));
	memcpy(bytes, conn_bytes, sizeof(bytes));
	bytes[1] = 0;
	assert_true(adv_rs_unpack_conn(&conn, bytes, sizeof(bytes)));
	assert_int_equal(conn.mapping_count, 0); /* the peer claims to have no table */
	assert_false(conn.big_endian);
}

static void test_mapping_counts(void **state)
{
	static const uint32_t counts[][2] = {{0, 0},	 {1, 1},	 {128, 128},	{129, 128},
					     {255, 128}, {256, 256},	 {300, 256},	{512, 512},
					     {767, 512}, {32512, 32512}, {65536, 32512}};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(counts); i++)
		assert_int_equal(adv_rs_round_mappings(counts[i][0]), counts[i][1]);
}

static void test_swap(void **state)
{
	struct adv_rs_mapping m = {1, {0x0102030405060708, 0x0a0b0c0d, 0x10}};

	adv_rs_swap_mapping(&m);
	assert_int_equal(m.offset, UINT64_C(1) << 56);
	assert_int_equal(m.sge.addr, 0x0807060504030201);
	assert_int_equal(m.sge.key, 0x0d0c0b0a);
	assert_int_equal(m.sge.length, 0x10000000);
}

static union adv_rs_addr address(const char *text, uint16_t port)
{
	union adv_rs_addr a = {0};

	if (inet_pton(AF_INET, text, &a.sin.sin_addr) == 1)
		a.sin.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &a.sin6.sin6_addr) == 1)
		a.sin6.sin6_family = AF_INET6;
	*adv_rs_addr_port(&a) = htons(port);
	return a;
}

static void test_datagram_headers(void **state)
{
	static const uint8_t v4[] = {4, 8, 0x1c, 0x06, 10, 1, 2, 3};
	union adv_rs_addr from = address("10.1.2.3", 7174), back;
	uint8_t bytes[ADV_RS_DS_MAX_HEADER];

	assert_int_equal(adv_rs_pack_ds(bytes, &from), sizeof(v4));
	assert_memory_equal(bytes, v4, sizeof(v4));
	assert_int_equal(adv_rs_unpack_ds(&back, bytes, sizeof(v4)), sizeof(v4));
	assert_true(adv_rs_addr_equal(&back, &from));
	assert_int_equal(adv_rs_unpack_ds(&back, bytes, sizeof(v4) - 1), 0);
	bytes[1] = 24;
	assert_int_equal(adv_rs_unpack_ds(&back, bytes, sizeof(bytes)), 0);
	from = address("fd00::1", 9);
	assert_int_equal(adv_rs_pack_ds(bytes, &from), 24);
	assert_int_equal(adv_rs_unpack_ds(&back, bytes, 24), 24);
	assert_true(adv_rs_addr_equal(&back, &from));
	assert_int_equal(adv_rs_unpack_ds(&back, bytes, 23), 0);
}

static void test_udp_headers(void **state)
{
	static const uint8_t v4[] = {0x55, 0x55, 0x55, 0x55, 4, 7, 16, 0, 0, 1, 2, 3, 10, 1, 2, 3};
	union adv_rs_addr local = address("10.1.2.3", 1), six = address("fd00::1", 1);
	union adv_rs_addr mapped = address("::ffff:10.1.2.3", 1);
	uint8_t bytes[ADV_RS_UDP_MAX_HEADER];
	unsigned op;
	uint32_t qpn;

	assert_int_equal(adv_rs_pack_udp(bytes, ADV_RS_OP_CTRL, 0xff010203, &local), sizeof(v4));
	assert_memory_equal(bytes, v4, sizeof(v4));
	assert_int_equal(adv_rs_unpack_udp(&op, &qpn, &local, bytes, sizeof(v4)), sizeof(v4));
	assert_int_equal(op, ADV_RS_OP_CTRL);
	assert_int_equal(qpn, 0x010203);
	assert_int_equal(adv_rs_unpack_udp(&op, &qpn, &local, bytes, sizeof(v4) - 1), 0);
	assert_int_equal(adv_rs_unpack_udp(&op, &qpn, &six, bytes, sizeof(bytes)), 0);
	assert_int_equal(adv_rs_unpack_udp(&op, &qpn, &mapped, bytes, sizeof(v4)), sizeof(v4));
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(adv_rs_pack_udp(bytes, ADV_RS_OP_CTRL, 0x010203, &mapped), sizeof(v4));
	assert_memory_equal(bytes, v4, sizeof(v4));
	bytes[5] = 3;
	assert_int_equal(adv_rs_unpack_udp(&op, &qpn, &local, bytes, sizeof(v4)), 0);
	bytes[5] = 0;
	bytes[0] = 0;
	assert_int_equal(adv_rs_unpack_udp(&op, &qpn, &local, bytes, sizeof(v4)), 0);
}

static void test_addresses(void **state)
{
	union adv_rs_addr a = address("10.1.2.3", 80), wanted = address("::ffff:10.1.2.3", 80);
	struct sockaddr_in6 out;
	socklen_t len = 4;

	assert_true(adv_rs_addr_is_any(&(union adv_rs_addr){.sa.sa_family = AF_INET}));
	assert_false(adv_rs_addr_is_any(&a));
	adv_rs_addr_map(&a, AF_INET);
	assert_int_equal(a.sa.sa_family, AF_INET);
	adv_rs_addr_map(&a, AF_INET6);
	assert_true(adv_rs_addr_equal(&a, &wanted));
	adv_rs_addr_unmap(&wanted);
	assert_int_equal(wanted.sin.sin_addr.s_addr, inet_addr("10.1.2.3"));
	assert_int_equal(wanted.sin.sin_port, htons(80));
	memset(&out, 0xee, sizeof(out));
	adv_rs_addr_return(&a, (struct sockaddr *)&out, &len);
	assert_int_equal(len, sizeof(out));
	assert_int_equal(out.sin6_family, AF_INET6);
	assert_int_equal(out.sin6_flowinfo, 0xeeeeeeee); /* the caller asked for 4 bytes */
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_config(void **state)
{
	char folder[] = "/tmp/rsocket-config-XXXXXX";
	struct adv_rs_config config;
	char command[64];

	adv_rs_config_read(&config, "/nonexistent");
	assert_int_equal(config.rcvbuf, 131072);
	assert_int_equal(config.sq_size, 384);
	assert_int_equal(config.inline_size, 64);
	assert_int_equal(config.wake_up_ms, 500);
	assert_non_null(mkdtemp(folder));
	write_file(folder, "mem_default", "1000000\n");
	write_file(folder, "wmem_default", "nonsense\n");
	write_file(folder, "sqsize_default", "99999999999999999999\n");
	write_file(folder, "rqsize_default", "-5\n");
	write_file(folder, "inline_default", "0");
	write_file(folder, "iomap_size", "300");
	adv_rs_config_read(&config, folder);
	assert_int_equal(config.rcvbuf, 1000000);
	assert_int_equal(config.sndbuf, 131072);
	assert_int_equal(config.sq_size, 384);
	assert_int_equal(config.rq_size, 384);
	assert_int_equal(config.inline_size, 0);
	assert_int_equal(config.mappings, 256);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),    cmocka_unit_test(test_conn),
		cmocka_unit_test(test_bad_conn),    cmocka_unit_test(test_mapping_counts),
		cmocka_unit_test(test_swap),	    cmocka_unit_test(test_datagram_headers),
		cmocka_unit_test(test_udp_headers), cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
