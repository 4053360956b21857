/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What disturbs cables while the fabric runs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fabric/network/calendar.h"
#include "world.h"

#define QPN (WORLD_QPN(WORLD_PREFIX) + 5)

static const struct world_frame frame = {0, QPN, 0, 100};

static char why[256]; /* of the last change() */

static int change(struct world *w, const char *text)
{
	struct adv_port_message m = {.type = ADV_PORT_CABLE};
	int error;

	snprintf(m.text, sizeof(m.text), "%s", text);
	error = adv_emulator_change_cable(&w->emulator, &m);

	snprintf(why, sizeof(why), "%s", error ? m.text : "");
	return error;
}

/* Returns what disturbs the cable of host 0. */
static struct adv_fabric_trouble trouble_of(const struct world *w)
{
	const struct adv_topology *t = &w->topology;

	for (uint32_t i = 0; i < t->links; i++)
		if (t->link[i].end[0].node == 0 || t->link[i].end[1].node == 0)
			return adv_fabric_trouble_of(w->emulator.config.fabric, i);
	fail();
	return (struct adv_fabric_trouble){0};
}

static uint64_t fcs_errors(const struct world *w)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->topology.links; i++)
		for (unsigned end = 0; end < 2; end++)
			sum += adv_fabric_fcs_errors(w->emulator.config.fabric, i, end);
	return sum;
}

/* Sends a frame from host 0 to host 1. Returns the time that it takes, ps. */
static uint64_t time_of_frame(struct world *w)
{
	struct adv_emulator_flow *flow;
	uint64_t start = adv_fabric_now(w->emulator.config.fabric), end;
	uint32_t count;

	world_send(w, &frame);
	world_run(w, 3 * ADV_PS_PER_MS);
	flow = adv_emulator_flows(&w->emulator.flows, &count);
	assert_non_null(flow);
	assert_int_equal(flow[0].received, flow[0].sent);
	end = flow[0].last;
	free(flow);
	return end - start;
}

/* A delay is added to that of the cable, and taken away again. */
static void test_delay(void **state)
{
	struct world *w = *state;
	uint64_t usual = time_of_frame(w);

	assert_int_equal(change(w, "h0 delay=2ms"), 0);
	assert_int_equal(time_of_frame(w), usual + 2 * ADV_PS_PER_MS);
	assert_int_equal(change(w, "s0:0 delay=10us"), 0); /* the same cable */
	assert_int_equal(time_of_frame(w), usual + 10 * ADV_PS_PER_US);
	assert_int_equal(change(w, "h0 up"), 0);
	assert_int_equal(time_of_frame(w), usual);
	assert_int_equal(adv_fabric_lost(w->emulator.config.fabric), 0);
}

/* Frames do not overtake those that were sent when the cable was slower. */
static void test_shorter_delay(void **state)
{
	struct world *w = *state;
	uint64_t first;

	assert_int_equal(change(w, "h0 delay=100us"), 0);
	for (unsigned i = 0; i < 3; i++)
		world_send(w, &frame);
	world_run(w, 20 * ADV_PS_PER_US);
	assert_int_equal(change(w, "h0 up"), 0);
	world_send(w, &frame);
	world_run(w, 70 * ADV_PS_PER_US);
	assert_int_equal(w->program[1].received, 0);
	world_run(w, 20 * ADV_PS_PER_US);
	assert_int_equal(w->program[1].received, 4);
	first = adv_fabric_now(w->emulator.config.fabric);
	assert_true(time_of_frame(w) < 10 * ADV_PS_PER_US);
	assert_true(adv_fabric_now(w->emulator.config.fabric) > first);
}

/* The port at the other end drops damaged frames, and counts them. */
static void test_corrupt(void **state)
{
	struct world *w = *state;

	assert_int_equal(change(w, "s0:1 corrupt=100%"), 0);
	for (unsigned i = 0; i < 5; i++)
		world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_int_equal(w->program[1].received, 0);
	assert_int_equal(fcs_errors(w), 5);
	assert_int_equal(adv_fabric_lost(w->emulator.config.fabric), 5);
	assert_int_equal(change(w, "s0:1 up"), 0);
	world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_int_equal(w->program[1].received, 1);
	assert_int_equal(fcs_errors(w), 5);
}

/* Some frames do not arrive, and others arrive damaged. */
static void test_both(void **state)
{
	struct world *w = *state;

	assert_int_equal(change(w, "h1 drop=30%; corrupt=40%"), 0);
	for (unsigned i = 0; i < 200; i++)
		world_send(w, &frame);
	world_run(w, ADV_PS_PER_MS);
	assert_in_range(w->program[1].received, 30, 90);
	assert_in_range(fcs_errors(w), 50, 110);
	assert_int_equal(adv_fabric_lost(w->emulator.config.fabric), 200 - w->program[1].received);
	assert_int_equal(change(w, "h1 drop=100%;corrupt=100%"), 0);
	world_send(w, &frame);
	world_run(w, ADV_PS_PER_MS);
	assert_in_range(fcs_errors(w), 50, 110);
}

static void test_words(void **state)
{
	static const struct {
		const char *text;
		struct adv_fabric_trouble wanted;
	} good[] = {{"h0 down", {1000000, 0, 0}},
		    {"h0 drop=1%", {10000, 0, 0}},
		    {"h0 loss=0.5", {500000, 0, 0}},
		    {"h0 corrupt=0.1%", {0, 1000, 0}},
		    {"h0 delay=5us", {0, 0, 5 * ADV_PS_PER_US}},
		    {"h0 delay=1s;drop=1% ; corrupt=2%", {10000, 20000, 1000 * ADV_PS_PER_MS}},
		    {"h0 up", {0, 0, 0}}};
	static const char *const bad[] = {"h0",
					  "h0 ",
					  "h0 drop",
					  "h0 drop=",
					  "h0 drop=101%",
					  "h0 corrupt=-1%",
					  "h0 delay=1.1s",
					  "h0 delay=1",
					  "h0 drop=1%;",
					  "h0 down; up",
					  "h0 mark=1%",
					  "h0 drop=1% delay=1us",
					  "h0 delay=1us;;",
					  "h0 =1%",
					  "h0 dropp=1%"};
	struct world *w = *state;

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct adv_fabric_trouble t;

		assert_int_equal(change(w, good[i].text), 0);
		t = trouble_of(w);
		assert_int_equal(t.lose, good[i].wanted.lose);
		assert_int_equal(t.corrupt, good[i].wanted.corrupt);
		assert_int_equal(t.delay, good[i].wanted.delay);
	}
	assert_int_equal(change(w, "h0 drop=7%"), 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(change(w, bad[i]), EINVAL);
		assert_non_null(strstr(why, "': expected up, down, or rules"));
	}
	assert_int_equal(change(w, "h0 drop=200%"), EINVAL);
	assert_non_null(strstr(why, "'drop=200%': expected"));
	assert_int_equal(change(w, "h2 up"), ENOENT);
	assert_int_equal(trouble_of(w).lose, 70000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_delay, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_shorter_delay, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_corrupt, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_both, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_words, world_open, world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
