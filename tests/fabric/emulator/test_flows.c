/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flows of programs that a report shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fabric/network/calendar.h"
#include "world.h"

/* Frames are counted by host and queue pair, when they are sent and when they arrive. */
static void test_counts(void **state)
{
	struct world *w = *state;
	const struct world_frame data = {0, WORLD_QPN(WORLD_PREFIX) + 1, ADV_ECN_ECT0, 1000};
	const struct world_frame ack = {1, WORLD_QPN(WORLD_PREFIX) + 9, 0, 4};
	const struct world_frame other = {0, WORLD_QPN(WORLD_PREFIX) + 2, 0, 100};
	struct adv_emulator_flow *flow;
	uint32_t count;

	for (unsigned i = 0; i < 5; i++)
		world_send(w, &data);
	world_run(w, 100 * ADV_PS_PER_US);
	world_send(w, &ack);
	world_send(w, &other);
	world_run(w, 100 * ADV_PS_PER_US);
	flow = adv_emulator_flows(&w->emulator.flows, &count);
	assert_non_null(flow);
	assert_int_equal(count, 3);
	assert_int_equal(flow[0].from, 0);
	assert_int_equal(flow[0].to, 1);
	assert_int_equal(flow[0].qpn, data.qpn);
	assert_int_equal(flow[0].sent, 5);
	assert_int_equal(flow[0].sent_bytes, 5 * (ADV_BTH_LEN + 1000));
	assert_int_equal(flow[0].received, 5);
	assert_int_equal(flow[0].received_bytes, flow[0].sent_bytes);
	assert_int_equal(flow[0].marked, 0);
	assert_true(flow[0].first < ADV_PS_PER_US);
	/* five frames on three cables */
	assert_in_range(flow[0].last, 5ull * 1082 * WORLD_PS_PER_BYTE,
			10ull * 1082 * WORLD_PS_PER_BYTE + 3 * 50000);
	assert_int_equal(flow[1].qpn, other.qpn);
	assert_in_range(flow[1].first, 100 * ADV_PS_PER_US, 101 * ADV_PS_PER_US);
	assert_int_equal(flow[2].from, 1);
	assert_int_equal(flow[2].to, 0);
	assert_int_equal(flow[2].received, 1);
	free(flow);
}

/* Frames that a cable loses were sent and did not arrive. */
static void test_lost(void **state)
{
	struct world *w = *state;
	const struct world_frame data = {0, WORLD_QPN(WORLD_PREFIX) + 1, 0, 1000};
	struct adv_emulator_flow *flow;
	uint32_t count;

	for (uint32_t i = 0; i < w->topology.links; i++)
		adv_fabric_lose(w->emulator.config.fabric, i, 1000000);
	for (unsigned i = 0; i < 5; i++)
		world_send(w, &data);
	world_run(w, 100 * ADV_PS_PER_US);
	flow = adv_emulator_flows(&w->emulator.flows, &count);
	assert_int_equal(count, 1);
	assert_int_equal(flow[0].sent, 5);
	assert_int_equal(flow[0].received, 0);
	free(flow);
}

static void send_to(struct emulator_flows *s, uint32_t qpn, uint8_t tclass)
{
	uint8_t bth[ADV_BTH_LEN] = {[5] = (uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8), (uint8_t)qpn};
	struct adv_fabric_frame frame = {
		.from = 3, .to = 4, .tclass = tclass, .length = sizeof(bth), .bytes = bth};

	adv_emulator_count_sent(s, 3, &frame, 10);
	adv_emulator_count_received(s, 4, &frame, 20);
}

/* A program that sends to any number of queue pairs costs no more memory; nothing is lost from the
 * sums. Marks are counted. */
static void test_bounded(void **state)
{
	const uint32_t sent = ADV_EMULATOR_FLOWS + 1000;
	struct adv_emulator_flow *flow;
	struct emulator_flows s;
	uint64_t frames = 0, marked = 0;
	uint32_t count;

	assert_int_equal(adv_emulator_flows_open(&s), 0);
	for (uint32_t i = 0; i < sent; i++)
		send_to(&s, i, ADV_ECN_CE);
	for (uint32_t i = 0; i < sent; i++)
		send_to(&s, i, ADV_ECN_ECT0);
	flow = adv_emulator_flows(&s, &count);
	assert_int_equal(count, ADV_EMULATOR_FLOWS + 1);
	for (uint32_t i = 0; i < count; i++) {
		frames += flow[i].received;
		marked += flow[i].marked;
	}
	assert_int_equal(frames, 2 * sent);
	assert_int_equal(marked, sent);
	assert_int_equal(flow[0].received, 2);
	assert_true(flow[count - 1].from == UINT32_MAX);
	assert_int_equal(flow[count - 1].sent, 2 * 1000);
	free(flow);
	adv_emulator_flows_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counts, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_lost, world_open, world_close),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
