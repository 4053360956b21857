/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The model, the keys and the drawing of `adverb top`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "cli/observe/latencies.h"
#include "cli/top/columns.h"
#include "cli/top/view.h"

#define SECOND 1000000000ull

static struct adv_screen screen;

static struct adv_sample_process process(uint32_t pid, const char *comm, uint64_t bytes,
					 uint64_t naks)
{
	struct adv_sample_process p = {.pid = pid, .slots = 1, .counted = true};

	snprintf(p.comm, sizeof(p.comm), "%s", comm);
	p.counters.link.tx_bytes = bytes;
	p.counters.engine.packet_seq_err = naks;
	p.counters.work.qps_created = 3;
	p.counters.work.qps_destroyed = 1;
	return p;
}

static struct adv_top_rows rows_of(struct adv_sample_process *p, size_t count, uint64_t at)
{
	struct adv_sample s = {.at = at, .process = p, .count = count};
	struct adv_top_rows rows;

	assert_true(adv_top_programs(&rows, &s));
	return rows;
}

static void rates(void **state)
{
	struct adv_sample_process before[] = {process(1, "a", 100, 5), process(2, "b", 0, 0)};
	struct adv_sample_process after[] = {process(2, "b", 4000, 0), process(3, "c", 7, 0),
					     process(1, "a", 1100, 5)};
	struct adv_top_rows last = rows_of(before, 2, SECOND), now;

	after[0].counters.work.send_latency[adv_latency_bucket(100)] = 99; /* 6.4 us */
	after[0].counters.work.send_latency[adv_latency_bucket(10000)] = 1;
	now = rows_of(after, 3, 3 * SECOND);
	adv_top_compare(&now, &last);
	assert_int_equal((int)now.row[0].rate[ADV_TOP_TX_BYTES], 2000);
	assert_int_equal((int)now.row[0].rate[ADV_TOP_SENDS], 50);
	assert_in_range(now.row[0].p50, 5000, 8000);
	assert_in_range(now.row[0].p99, 5000, 9000);
	assert_int_equal((int)now.row[1].rate[ADV_TOP_TX_BYTES], 0);
	assert_int_equal((int)now.row[2].rate[ADV_TOP_TX_BYTES], 500);
	assert_int_equal(now.row[2].total[ADV_TOP_RETRANSMISSIONS], 5);
	assert_false(now.row[2].grown[ADV_TOP_RETRANSMISSIONS]);
	assert_int_equal(now.row[2].qps, 2);
	adv_top_free(&last);
	/* Counters that go back belong to another process; no time passes. */
	last = now;
	now = rows_of(before, 2, 3 * SECOND);
	adv_top_compare(&now, &last);
	assert_int_equal((int)now.row[0].rate[ADV_TOP_TX_BYTES], 0);
	assert_int_equal(now.row[0].p50, 0);
	adv_top_free(&last);
	adv_top_free(&now);
}

static void queue_pairs_wrap(void **state)
{
	struct adv_object qp = {.number = 0x1234, .pid = 7, .qp = {.send_done = UINT32_MAX}};
	struct adv_objects o = {.list = &qp, .count = 1}, none = {0};
	struct adv_top_rows last, now;

	assert_true(adv_top_queue_pairs(&last, &o, &none, SECOND));
	qp.qp.send_done = 9;
	assert_true(adv_top_queue_pairs(&now, &o, &none, 2 * SECOND));
	adv_top_compare(&now, &last);
	assert_int_equal((int)now.row[0].rate[ADV_TOP_SENDS], 10);
	adv_top_free(&last);
	adv_top_free(&now);
}

/* Returns a piece of a queue pair's histogram with `count` requests in one bucket. */
static struct adv_object piece_of(uint32_t qpn, uint32_t first, unsigned at, uint32_t count)
{
	struct adv_object o = {.number = qpn, .pid = 7, .latency = {.first = first}};

	o.latency.count[at] = count;
	return o;
}

/* Each queue pair has its own latency, from the pieces of its histogram in any order. A piece that
 * cannot be counts nothing. */
static void queue_pairs_have_latencies(void **state)
{
	const unsigned slow = adv_latency_bucket(50000000 / ADV_LATENCY_UNIT);
	struct adv_object qps[] = {{.number = 1, .pid = 7}, {.number = 2, .pid = 7}};
	struct adv_object piece[] = {
		piece_of(2, 0, 0, 5),
		piece_of(1, ADV_RESOURCE_BUCKETS, slow - ADV_RESOURCE_BUCKETS, 1),
		piece_of(1, 0, adv_latency_bucket(2000 / ADV_LATENCY_UNIT), 9),
		piece_of(1, ADV_RESOURCE_BUCKETS + 1, 0, 1000),
		piece_of(1, UINT32_MAX, 0, 1000),
	};
	struct adv_objects o = {.list = qps, .count = 2}, none = {0};
	struct adv_objects pieces = {.list = piece, .count = 5};
	struct adv_top_rows last, now;

	assert_true(slow >= ADV_RESOURCE_BUCKETS);
	assert_true(adv_top_queue_pairs(&last, &o, &none, SECOND));
	adv_latencies_sort(&pieces);
	assert_true(adv_top_queue_pairs(&now, &o, &pieces, 2 * SECOND));
	adv_top_compare(&now, &last);
	assert_int_equal(adv_latency_count(now.row[0].latency), 10);
	assert_in_range(now.row[0].p50, 1600, 2400);
	assert_in_range(now.row[0].p99, 40000000, 60000000);
	assert_int_equal(adv_latency_count(now.row[1].latency), 5);
	assert_in_range(now.row[1].p99, 1, ADV_LATENCY_UNIT);
	adv_top_sort(&now, ADV_TOP_BY_LATENCY, false);
	assert_int_equal(now.row[0].qpn, 1);
	adv_top_free(&last);
	adv_top_free(&now);
}

static void order(void **state)
{
	struct adv_sample_process p[] = {process(5, "x", 0, 9), process(3, "z", 0, 0),
					 process(4, "y", 0, 0)};
	struct adv_top_rows rows = rows_of(p, 3, SECOND);

	rows.row[1].rate[ADV_TOP_TX_BYTES] = 10;
	adv_top_sort(&rows, ADV_TOP_BY_BYTES, false);
	assert_int_equal(rows.row[0].pid, 3);
	assert_int_equal(rows.row[1].pid, 4); /* equal ones by number */
	adv_top_sort(&rows, ADV_TOP_BY_TROUBLE, false);
	assert_int_equal(rows.row[0].pid, 5);
	adv_top_sort(&rows, ADV_TOP_BY_NAME, true);
	assert_int_equal(rows.row[0].pid, 3);
	adv_top_filter(&rows, "y");
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.row[0].pid, 4);
	adv_top_filter(&rows, "4");
	assert_int_equal(rows.count, 1);
	adv_top_filter(&rows, "44");
	assert_int_equal(rows.count, 0);
	assert_int_equal(adv_top_find_order("latency"), ADV_TOP_BY_LATENCY);
	assert_int_equal(adv_top_find_order("?"), ADV_TOP_ORDERS);
	adv_top_free(&rows);
}

static void texts(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"},	      {999, "999"},	{999.6, "1.00k"},
		     {1234, "1.23k"}, {45678, "45.7k"}, {1e9, "1.00G"},
		     {99950, "100k"}, {5e14, "500T"},	{1e30, "9999P"}};
	char text[ADV_TOP_SI];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		adv_top_si(text, cases[i].value);
		assert_string_equal(text, cases[i].text);
	}
	adv_top_duration(text, 0);
	assert_string_equal(text, "-");
	adv_top_duration(text, 850);
	assert_string_equal(text, "850n");
	adv_top_duration(text, 1234567);
	assert_string_equal(text, "1.23m");
}

/* Each width has the columns that fit; wider terminals lose none. */
static void columns(void **state)
{
	const struct adv_top_column *chosen[ADV_TOP_COLUMNS];

	for (int kind = 0; kind < 2; kind++) {
		unsigned before = 0;

		for (unsigned width = 20; width <= 250; width++) {
			unsigned n = adv_top_columns(kind, width, chosen), sum = 0;

			for (unsigned i = 0; i < n; i++)
				sum += chosen[i]->width + 1u;
			assert_true(n >= before);
			assert_true(n >= 3);
			if (width >= 50)
				assert_true(sum - 1 <= width);
			before = n;
		}
		assert_true(before >= 18);
		assert_true(adv_top_columns(kind, 80, chosen) >= 8);
	}
}

/* True if a line of the screen has the text. */
static bool shows(const char *text)
{
	for (unsigned i = 0; i < screen.rows; i++)
		if (strstr(screen.text[i], text))
			return true;
	return false;
}

static void draw(struct adv_top_view *v, struct adv_top_data *d, unsigned rows, unsigned width)
{
	screen.rows = rows;
	screen.columns = width;
	adv_top_draw(&screen, v, d, false);
}

static void drawing(void **state)
{
	struct adv_sample_process p[50];
	struct adv_top_view v = {.page = ADV_TOP_PROGRAMS};
	struct adv_top_data d = {.connected = true, .port_active = true, .mbps = 100000};

	for (uint32_t i = 0; i < 50; i++)
		p[i] = process(1000 + i, "pro\033gram", 0, 0);
	d.rows = rows_of(p, 50, SECOND);
	draw(&v, &d, 24, 80);
	assert_true(shows("100Gbit/s, active"));
	assert_true(shows("1000 pro?gram"));
	assert_true(shows("1017 "));
	assert_false(shows("1018 "));
	assert_true(shows("q quit"));
	(void)adv_top_press(&v, &d, ADV_KEY_END);
	draw(&v, &d, 24, 80);
	assert_true(shows("1049 "));
	assert_false(shows("1000 "));
	assert_int_equal(v.selected, 49);
	/* a batch has all rows, also a single one */
	for (unsigned n = 50; n; n = n / 7) {
		char last[16];

		d.rows.count = n;
		v.selected = v.first = 0;
		screen.rows = adv_top_batch_rows(&v, &d);
		screen.columns = 100;
		adv_top_draw(&screen, &v, &d, true);
		snprintf(last, sizeof(last), "%u ", 1000 + n - 1);
		assert_true(shows(last));
		assert_false(shows("q quit"));
	}
	d.rows.count = 50;
	/* any size is drawn */
	for (unsigned rows = 0; rows <= 60; rows += 3)
		for (unsigned width = 0; width <= 260; width += 13)
			draw(&v, &d, rows, width);
	draw(&v, &d, 1000, 1000);
	d.rows.count = 0;
	draw(&v, &d, 24, 80);
	assert_true(shows("No program uses the device."));
	d.connected = false;
	draw(&v, &d, 24, 80);
	assert_true(shows("adverbd does not run"));
	adv_top_free(&d.rows);
}

static void keys(void **state)
{
	struct adv_sample_process p[] = {process(5, "x", 0, 0), process(6, "y", 0, 0)};
	struct adv_top_view v = {.page = ADV_TOP_PROGRAMS};
	struct adv_top_data d = {.connected = true};

	d.rows = rows_of(p, 2, SECOND);
	assert_false(adv_top_press(&v, &d, ADV_KEY_DOWN));
	assert_false(adv_top_press(&v, &d, ADV_KEY_DOWN));
	assert_int_equal(v.selected, 1);
	assert_true(adv_top_press(&v, &d, ADV_KEY_ENTER));
	assert_int_equal(v.page, ADV_TOP_QUEUE_PAIRS);
	assert_int_equal(v.pid, 6);
	d.rows.row[0].qpn = 17;
	assert_true(adv_top_press(&v, &d, ADV_KEY_ENTER));
	assert_int_equal(v.page, ADV_TOP_DETAILS);
	assert_int_equal(v.qpn, 17);
	assert_false(adv_top_press(&v, &d, ADV_KEY_ENTER));
	assert_true(adv_top_press(&v, &d, ADV_KEY_BACK));
	assert_true(adv_top_press(&v, &d, ADV_KEY_BACK));
	assert_false(adv_top_press(&v, &d, ADV_KEY_BACK));
	assert_int_equal(v.page, ADV_TOP_PROGRAMS);
	adv_top_press(&v, &d, '/');
	for (int i = 0; i < 100; i++)
		adv_top_press(&v, &d, 'q');
	assert_int_equal(strlen(v.filter), ADV_TOP_FILTER - 1);
	adv_top_press(&v, &d, ADV_KEY_ERASE);
	assert_int_equal(strlen(v.filter), ADV_TOP_FILTER - 2);
	adv_top_press(&v, &d, ADV_KEY_BACK);
	assert_string_equal(v.filter, "");
	adv_top_press(&v, &d, ' ');
	assert_true(v.frozen);
	assert_true(adv_top_press(&v, &d, 's'));
	assert_int_equal(v.order, ADV_TOP_BY_MESSAGES);
	d.rows.count = 0;
	assert_false(adv_top_press(&v, &d, ADV_KEY_ENTER));
	adv_top_press(&v, &d, 'q');
	assert_true(v.quit);
	adv_top_free(&d.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),
		cmocka_unit_test(queue_pairs_wrap),
		cmocka_unit_test(queue_pairs_have_latencies),
		cmocka_unit_test(order),
		cmocka_unit_test(texts),
		cmocka_unit_test(columns),
		cmocka_unit_test(drawing),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
