/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What clients of a gateway have done: clients that come and go, requests of SMB, rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../smb2/build.h"
#include "storage/smb_gateway/stats.h"
#include "storage/gateway/stat_client.h"

static void test_clients(void **state)
{
	struct adv_gateway_stats s;
	struct adv_gateway_client *a, *b;

	adv_gateway_stats_init(&s);
	a = adv_gateway_client_get(&s, "client 192.0.2.1 port 700");
	assert_string_equal(a->address, "192.0.2.1");
	assert_ptr_equal(adv_gateway_client_get(&s, "client 192.0.2.1 port 701"), a);
	b = adv_gateway_client_get(&s, "client unknown");
	assert_string_equal(b->address, "unknown");
	assert_int_equal(s.count, 2);
	adv_gateway_client_put(&s, a);
	assert_int_equal(a->connections, 1);
	a->counts.calls = 3;
	adv_gateway_client_put(&s, a);
	/* One that comes again goes on counting. */
	assert_ptr_equal(adv_gateway_client_get(&s, "client 192.0.2.1 port 702"), a);
	assert_int_equal(a->counts.calls, 3);
	adv_gateway_client_put(&s, a);
	adv_gateway_client_put(&s, b);
	adv_gateway_stats_free(&s);
}

/* Connects a client with this number and counts a call. */
static struct adv_gateway_client *call_of(struct adv_gateway_stats *s, unsigned n)
{
	char peer[64];
	struct adv_gateway_client *c;

	snprintf(peer, sizeof(peer), "client 2001:db8::%x port 700", n);
	c = adv_gateway_client_get(s, peer);
	adv_gateway_count_answer(&c->counts, 1000, 1250, n % 2);
	return c;
}

/* Addresses are the clients' choice: 256 are kept, and no call is lost. */
static void test_many_clients(void **state)
{
	struct adv_gateway_client *c[ADV_GATEWAY_CLIENTS_MAX], *stays, *more;
	struct adv_gateway_counts total;
	struct adv_gateway_stats s;

	adv_gateway_stats_init(&s);
	stays = call_of(&s, 0xffff);
	for (unsigned i = 0; i < 1000; i++)
		adv_gateway_client_put(&s, call_of(&s, i));
	assert_int_equal(s.count, ADV_GATEWAY_CLIENTS_MAX);
	assert_int_equal(s.others.counts.calls, 1001 - ADV_GATEWAY_CLIENTS_MAX);
	assert_int_equal(stays->connections, 1);
	total = adv_gateway_stats_total(&s);
	assert_int_equal(total.calls, 1001);
	assert_int_equal(total.errors, 501);
	assert_int_equal(total.ns, 1001 * 250);
	/* All have connections: a further one is one of the others. */
	for (unsigned i = 1; i < ADV_GATEWAY_CLIENTS_MAX; i++)
		c[i] = call_of(&s, 0x1000 + i);
	more = call_of(&s, 0x2000);
	assert_ptr_equal(more, &s.others);
	assert_int_equal(s.others.connections, 1);
	total = adv_gateway_stats_total(&s);
	assert_int_equal(total.calls, 1001 + ADV_GATEWAY_CLIENTS_MAX);
	adv_gateway_client_put(&s, more);
	for (unsigned i = 1; i < ADV_GATEWAY_CLIENTS_MAX; i++)
		adv_gateway_client_put(&s, c[i]);
	assert_int_equal(s.others.connections, 0);
	adv_gateway_stats_free(&s);
}

enum { QUERY = 16, CANCEL = 12 };

static size_t respond(uint8_t *m, uint64_t id, uint32_t status)
{
	build_header(m, QUERY, id, ADV_SMB2_FLAG_RESPONSE, 0);
	adv_put_le32(m + 8, status);
	return ADV_SMB2_HEADER_LEN;
}

/* A compound's requests count by themselves; an interim response is none; a Cancel has none. */
static void test_smb(void **state)
{
	static struct adv_smb_times t;
	struct adv_gateway_counts c = {0};
	uint8_t m[2 * ADV_SMB2_HEADER_LEN];

	build_header(m, QUERY, 7, 0, ADV_SMB2_HEADER_LEN);
	build_header(m + ADV_SMB2_HEADER_LEN, QUERY, 8, 0, 0);
	adv_smb_count_request(&t, &c, m, sizeof(m), 1000);
	build_header(m, CANCEL, 8, 0, 0);
	adv_smb_count_request(&t, &c, m, ADV_SMB2_HEADER_LEN, 5000);
	assert_int_equal(c.calls, 0);
	adv_smb_count_response(&t, &c, m, respond(m, 8, ADV_SMB2_STATUS_PENDING), 1100);
	assert_int_equal(c.calls, 0);
	adv_smb_count_response(&t, &c, m, respond(m, 8, 0xc0000022), 1500);
	adv_smb_count_response(&t, &c, m, respond(m, 7, ADV_SMB2_STATUS_BUFFER_OVERFLOW), 1700);
	assert_int_equal(c.calls, 2);
	assert_int_equal(c.errors, 1);
	assert_int_equal(c.timed, 2);
	assert_int_equal(c.ns, 500 + 700);
	/* What nobody asked for: a second response, a break of an oplock, another id's place. */
	adv_smb_count_response(&t, &c, m, respond(m, 7, 0), 1800);
	adv_smb_count_response(&t, &c, m, respond(m, UINT64_MAX, 0), 1800);
	build_header(m, QUERY, 9, 0, 0);
	adv_smb_count_request(&t, &c, m, ADV_SMB2_HEADER_LEN, 1900);
	adv_smb_count_response(&t, &c, m, respond(m, 9 + ADV_SMB_TIMES, 0), 2000);
	assert_int_equal(c.calls, 2);
	/* The first half of a log-on is no error. */
	adv_smb_count_response(&t, &c, m, respond(m, 9, 0xc0000016), 2000);
	assert_int_equal(c.calls, 3);
	assert_int_equal(c.errors, 1);
	/* Of an encrypted message only the number is known. */
	m[0] = 0xfd;
	adv_smb_count_request(&t, &c, m, ADV_SMB2_HEADER_LEN, 3000);
	adv_smb_count_response(&t, &c, m, ADV_SMB2_HEADER_LEN, 3500);
	assert_int_equal(c.calls, 4);
	assert_int_equal(c.timed, 3);
}

/* Makes the row of a client. */
static struct adv_kit_stat_row row_of(struct adv_gateway_counts counts)
{
	struct adv_kit_stat_row row = {.list = 1, .name = "a"};

	memcpy(row.counts, &counts, sizeof(counts));
	return row;
}

static void test_rates(void **state)
{
	struct adv_kit_stat_row before = row_of((struct adv_gateway_counts){
		.calls = 100, .call_bytes = 1000, .timed = 50, .ns = 1000});
	struct adv_kit_stat_row now = row_of((struct adv_gateway_counts){.calls = 300,
									 .errors = 2,
									 .call_bytes = 5000,
									 .reply_bytes = 800,
									 .timed = 150,
									 .ns = 1501000});
	struct adv_kit_stat last = {.row = &before, .count = 1};
	struct adv_gateway_rates r =
		adv_gateway_stat_rates(&now, adv_kit_stat_find(&last, &now), 2);

	assert_true(r.calls == 100 && r.call_bytes == 2000 && r.reply_bytes == 400 && r.us == 15);
	assert_int_equal(r.errors, 2);
	/* It has begun anew since. */
	r = adv_gateway_stat_rates(&before, &now, 1);
	assert_true(r.calls == 100 && r.errors == 0);
	now.list = 0;
	assert_null(adv_kit_stat_find(&last, &now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_many_clients),
		cmocka_unit_test(test_smb),
		cmocka_unit_test(test_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
