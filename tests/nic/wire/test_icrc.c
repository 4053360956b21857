/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "test_util.h"
#include "nic/wire/crc32.h"
#include "nic/wire/headers.h"
#include "nic/wire/icrc.h"

#define PAYLOAD_MAX 65507 /* maximum payload of an IPv4 UDP packet, bytes */

static void be16(uint8_t *p, size_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Writes the masked headers byte by byte, after the text of annex A17.3.3. Returns their length. */
static size_t pseudo_headers(uint8_t *p, const struct adv_icrc_flow *flow, uint16_t id, size_t len)
{
	size_t n;

	memset(p, 0xff, 8); /* LRH */
	if (flow->ipv4) {
		static const uint8_t masked[20] = {0x45, 0xff, [8] = 0xff, 17, 0xff, 0xff};

		memcpy(p + 8, masked, 20);
		be16(p + 10, 28 + len);
		be16(p + 12, id);
		p[14] = flow->ipv4_no_df ? 0 : 0x40;
		memcpy(p + 20, flow->saddr, 4);
		memcpy(p + 24, flow->daddr, 4);
		n = 28;
	} else {
		memset(p + 8, 0xff, 8);
		p[8] = 0x6f;
		be16(p + 12, 8 + len);
		p[14] = 17;
		memcpy(p + 16, flow->saddr, 16);
		memcpy(p + 32, flow->daddr, 16);
		n = 48;
	}
	be16(p + n, flow->sport);
	be16(p + n + 2, flow->dport);
	be16(p + n + 4, 8 + len);
	be16(p + n + 6, 0xffff);
	return n + 8;
}

static void random_flow(struct adv_rng *rng, struct adv_icrc_flow *flow)
{
	fill_random(rng, flow->saddr, 16);
	fill_random(rng, flow->daddr, 16);
	flow->sport = (uint16_t)adv_rng_next(rng);
	flow->dport = ADV_ROCE_UDP_PORT;
	flow->ipv4 = adv_rng_below(rng, 2);
	flow->ipv4_no_df = adv_rng_below(rng, 2);
}

static void test_against_the_definition(void **state)
{
	uint8_t pseudo[56 + 1500], transport[1500];
	struct adv_icrc_flow flow;
	struct adv_rng rng;
	int i;

	adv_rng_seed(&rng, 3);
	for (i = 0; i < 2000; i++) {
		size_t len = ADV_BTH_LEN + adv_rng_below(&rng, sizeof(transport) - ADV_BTH_LEN);
		uint16_t id = (uint16_t)adv_rng_next(&rng);
		size_t n;

		random_flow(&rng, &flow);
		fill_random(&rng, transport, len);
		n = pseudo_headers(pseudo, &flow, id, len + ADV_ICRC_LEN);
		memcpy(pseudo + n, transport, len);
		pseudo[n + 4] = 0xff;
		assert_int_equal(adv_icrc_finish(adv_icrc_begin(&flow, id, len + ADV_ICRC_LEN),
						 transport, len),
				 crc32_by_bits(pseudo, n + len));
	}
}

/* A16.5: GRH with traffic class, flow label and hop limit as ones. */
static void test_v1_against_the_definition(void **state)
{
	uint8_t pseudo[8 + ADV_GRH_LEN + 100], grh[ADV_GRH_LEN], transport[100];
	struct adv_rng rng;
	int i;

	adv_rng_seed(&rng, 4);
	for (i = 0; i < 200; i++) {
		fill_random(&rng, grh, sizeof(grh));
		fill_random(&rng, transport, sizeof(transport));
		grh[0] = 0x60 | (grh[0] & 0x0f);
		memset(pseudo, 0xff, 8);
		memcpy(pseudo + 8, grh, sizeof(grh));
		pseudo[8] = 0x6f;
		memset(pseudo + 9, 0xff, 3);
		pseudo[15] = 0xff;
		memcpy(pseudo + 48, transport, sizeof(transport));
		pseudo[52] = 0xff;
		assert_int_equal(
			adv_icrc_finish(adv_icrc_begin_v1(grh), transport, sizeof(transport)),
			crc32_by_bits(pseudo, sizeof(pseudo)));
	}
}

/* The ICRC does not depend on FECN, BECN and the reserved bits beside them. */
static void test_reserved_bits(void **state)
{
	const struct adv_icrc_flow flow = {.ipv4 = true};
	adv_icrc_state s = adv_icrc_begin(&flow, 0, 20 + ADV_ICRC_LEN);
	uint8_t transport[20] = {4, 1, 2, 3};
	uint32_t expected = adv_icrc_finish(s, transport, sizeof(transport));

	for (unsigned value = 0; value <= UINT8_MAX; value++) {
		transport[4] = (uint8_t)value;
		assert_int_equal(adv_icrc_finish(s, transport, sizeof(transport)), expected);
	}
}

static uint32_t icrc_with_id(const struct adv_icrc_flow *flow, uint16_t id, size_t udp_payload,
			     const uint8_t *transport)
{
	return adv_icrc_finish(adv_icrc_begin(flow, id, udp_payload), transport,
			       udp_payload - ADV_ICRC_LEN);
}

static void test_solve_every_id(void **state)
{
	struct adv_icrc_flow flow = {.ipv4 = true, .sport = 0xc123, .dport = ADV_ROCE_UDP_PORT};
	uint8_t transport[64] = {4, 1, 2, 3};
	size_t udp_payload = sizeof(transport) + ADV_ICRC_LEN;
	uint32_t zero = icrc_with_id(&flow, 0, udp_payload, transport);
	uint32_t id;

	for (id = 0; id < 0x10000; id++) {
		uint16_t solved = 0;

		assert_true(
			adv_icrc_solve_id(icrc_with_id(&flow, (uint16_t)id, udp_payload, transport),
					  zero, udp_payload, &solved));
		assert_int_equal(solved, id);
	}
}

/* The state before the BTH is the sum of the parts that flow, length and Identification add. */
static void test_parts_of_the_state(void **state)
{
	struct adv_icrc_flow flow;
	struct adv_rng rng;

	adv_rng_seed(&rng, 7);
	for (unsigned round = 0; round < 100; round++) {
		size_t len = adv_rng_below(&rng, PAYLOAD_MAX);
		uint32_t parts;

		random_flow(&rng, &flow);
		parts = adv_icrc_begin(&flow, 0, 0) ^ adv_icrc_length_effect(flow.ipv4, len);
		assert_int_equal(parts, adv_icrc_begin(&flow, 0, len));
		for (unsigned id = 0; flow.ipv4 && id <= UINT16_MAX; id++)
			assert_int_equal(parts ^ adv_icrc_id_effect_of((uint16_t)id),
					 adv_icrc_begin(&flow, (uint16_t)id, len));
	}
}

/* The Identification is found for all lengths. They use every row of the table of powers. */
static void test_solve_every_length(void **state)
{
	struct adv_icrc_flow flow = {.ipv4 = true};
	uint8_t *transport = calloc(1, PAYLOAD_MAX);
	size_t udp_payload = ADV_BTH_LEN + ADV_ICRC_LEN;
	struct adv_rng rng;

	assert_non_null(transport);
	adv_rng_seed(&rng, 5);
	fill_random(&rng, transport, PAYLOAD_MAX);
	while (udp_payload <= PAYLOAD_MAX) {
		uint16_t id = (uint16_t)adv_rng_next(&rng), solved = 0;
		uint32_t zero;

		random_flow(&rng, &flow);
		flow.ipv4 = true;
		zero = icrc_with_id(&flow, 0, udp_payload, transport);
		assert_true(adv_icrc_solve_id(icrc_with_id(&flow, id, udp_payload, transport), zero,
					      udp_payload, &solved));
		assert_int_equal(solved, id);
		udp_payload += udp_payload < 9000 || udp_payload >= PAYLOAD_MAX - 20 ? 1 : 61;
	}
	free(transport);
}

/*
 * Of 2^20 ICRCs unrelated to the packet, about 16 (one in 2^16) fit some Identification. The limit
 * is 4 standard deviations.
 */
static void test_random_icrc_is_refused(void **state)
{
	struct adv_rng rng;
	int i, accepted = 0;

	adv_rng_seed(&rng, 6);
	for (i = 0; i < 1 << 20; i++) {
		uint64_t r = adv_rng_next(&rng);
		size_t udp_payload = 16 + adv_rng_below(&rng, 4096);
		uint16_t id;

		accepted += adv_icrc_solve_id((uint32_t)r, (uint32_t)(r >> 32), udp_payload, &id);
	}
	print_message("random ICRCs accepted: %d of %d, 16 are to be expected\n", accepted, i);
	assert_in_range(accepted, 1, 32);
}

/*
 * Errors of a single byte are less random. Whether such an error fits another Identification
 * depends on its distance from the Identification, and only some distances have such errors. This
 * test tries all of them in a packet of path MTU 4096.
 */
static void test_errors_of_one_byte(void **state)
{
	const uint8_t zero = 0;
	size_t udp_payload = 4112, after;
	unsigned accepted = 0;
	uint16_t id;

	for (unsigned flip = 1; flip < 256; flip++) {
		const uint8_t byte = (uint8_t)flip;
		uint32_t error = adv_crc32(0, &byte, 1) ^ adv_crc32(0, &zero, 1);

		for (after = 0; after < udp_payload - ADV_ICRC_LEN; after++) {
			accepted += adv_icrc_solve_id(error, 0, udp_payload, &id);
			error = adv_crc32(error, &zero, 1) ^ adv_crc32(0, &zero, 1);
		}
	}
	print_message("errors of one byte accepted: %u of %zu\n", accepted, 255 * after);
	assert_int_equal(accepted, 21); /* 15 of them in byte 93 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_the_definition),
		cmocka_unit_test(test_v1_against_the_definition),
		cmocka_unit_test(test_reserved_bits),
		cmocka_unit_test(test_solve_every_id),
		cmocka_unit_test(test_parts_of_the_state),
		cmocka_unit_test(test_solve_every_length),
		cmocka_unit_test(test_random_icrc_is_refused),
		cmocka_unit_test(test_errors_of_one_byte),
	};

	return cmocka_run_group_tests_name("wire icrc", tests, NULL, NULL);
}
