/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "nic/wire/dcbx.h"

static const struct adv_dcbx_ets ets = {
	.present = true,
	.willing = true,
	.cbs = true,
	.max_classes = 3,
	.class_of = {0, 0, 0, 1, 0, 0, 2, 15},
	.percent = {40, 60},
	.algorithm = {ADV_DCBX_ETS, ADV_DCBX_ETS, ADV_DCBX_STRICT, ADV_DCBX_VENDOR},
};

static struct adv_dcbx full(void)
{
	struct adv_dcbx d = {.mac = {2, 0, 0, 0, 0, 7}, .configuration = ets, .apps = 2};

	d.recommendation = ets;
	d.recommendation.willing = d.recommendation.cbs = false;
	d.recommendation.max_classes = 0;
	d.pfc.present = d.pfc.willing = d.pfc.mbc = true;
	d.pfc.classes = 4;
	d.pfc.enabled = 0x88;
	d.app[0] = (struct adv_dcbx_app){3, ADV_DCBX_UDP, 4791};
	d.app[1] = (struct adv_dcbx_app){7, ADV_DCBX_DSCP, 26};
	return d;
}

static void test_there_and_back(void **state)
{
	struct adv_dcbx d = full(), back;
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len = adv_dcbx_encode(&d, frame, sizeof(frame));

	assert_true(len > 0);
	assert_null(adv_dcbx_decode(frame, len, &back));
	assert_memory_equal(&back, &d, sizeof(d));

	memset(&d, 0, sizeof(d));
	len = adv_dcbx_encode(&d, frame, sizeof(frame));
	assert_null(adv_dcbx_decode(frame, len, &back));
	assert_memory_equal(&back, &d, sizeof(d));
}

/* The bytes of the TLVs, from 802.1Q D.2. */
static void test_bytes(void **state)
{
	static const uint8_t configuration[] = {0xfe, 25,   0x00, 0x80, 0xc2, 9, 0xc3, 0x00, 0x01,
						0x00, 0x2f, 40,	  60,	0,    0, 0,    0,    0,
						0,    2,    2,	  0,	255,  0, 0,    0,    0};
	static const uint8_t pfc[] = {0xfe, 6, 0x00, 0x80, 0xc2, 11, 0xc4, 0x88};
	static const uint8_t apps[] = {0xfe, 11,   0x00, 0x80, 0xc2, 12,  0,
				       0x63, 0x12, 0xb7, 0xe5, 0x00, 0x1a};
	struct adv_dcbx d = full();
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len = adv_dcbx_encode(&d, frame, sizeof(frame));
	const uint8_t *at = frame + 14 + 9 + 9 + 4;

	assert_memory_equal(at, configuration, sizeof(configuration));
	at += 2 * sizeof(configuration); /* the recommendation */
	assert_memory_equal(at, pfc, sizeof(pfc));
	assert_memory_equal(at + sizeof(pfc), apps, sizeof(apps));
	assert_int_equal(at + sizeof(pfc) + sizeof(apps) + 2 - frame, len);
}

static void test_eight_classes(void **state)
{
	struct adv_dcbx d = full(), back;
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len;

	d.configuration.max_classes = 8;
	len = adv_dcbx_encode(&d, frame, sizeof(frame));
	assert_null(adv_dcbx_decode(frame, len, &back));
	assert_int_equal(back.configuration.max_classes, 8);
}

/* Every frame that is cut short, and every TLV that is one byte too short, is an error. */
static void test_cut(void **state)
{
	struct adv_dcbx d = full(), back;
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len = adv_dcbx_encode(&d, frame, sizeof(frame));

	for (size_t n = 0; n < len; n++)
		assert_non_null(adv_dcbx_decode(frame, n, &back));
	for (size_t at = 14; at + 2 < len; at += 2u + frame[at + 1]) {
		if (frame[at] != 0xfe)
			continue;
		frame[at + 1] -= frame[at + 5] == 12 ? 7 : 1;
		assert_non_null(adv_dcbx_decode(frame, len, &back));
		frame[at + 1] += frame[at + 5] == 12 ? 7 : 1;
	}
}

static void test_vlan_others_and_old(void **state)
{
	static const uint8_t frame[] = {
		0x01, 0x80, 0xc2, 0,	0,    0x0e, 2,	  0, 0,	   0,	 0,    9,
		0x81, 0x00, 0x00, 0x05, 0x88, 0xcc, 0xfe, 4, 0x00, 0x1b, 0x21, 2, /* CEE */
		0xfe, 6,    0x00, 0x80, 0xc2, 1,    0,	  5, /* 802.1: port VLAN */
		0xfe, 6,    0x00, 0x12, 0x0f, 1,    0,	  0, /* 802.3 */
		0x00, 0x00,
	};
	struct adv_dcbx d;

	assert_null(adv_dcbx_decode(frame, sizeof(frame), &d));
	assert_true(d.old);
	assert_int_equal(d.mac[5], 9);
	assert_false(d.pfc.present || d.configuration.present || d.apps);
	assert_non_null(adv_dcbx_decode(frame, 17, &d));
}

static void test_many_apps(void **state)
{
	struct adv_dcbx d = full(), back;
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len;

	d.apps = ADV_DCBX_APPS;
	len = adv_dcbx_encode(&d, frame, sizeof(frame));
	assert_null(adv_dcbx_decode(frame, len, &back));
	assert_int_equal(back.apps, ADV_DCBX_APPS);
	assert_false(back.more_apps);
	d.apps++;
	assert_int_equal(adv_dcbx_encode(&d, frame, sizeof(frame)), 0);
	assert_int_equal(adv_dcbx_encode(&back, frame, ADV_DCBX_FRAME_MAX - 1), 0);

	/* another TLV with applications, in place of the end */
	frame[len - 2] = 0xfe;
	frame[len - 1] = 8;
	memcpy(frame + len, (uint8_t[]){0, 0x80, 0xc2, 12, 0, 0x65, 0, 1, 0, 0}, 10);
	assert_null(adv_dcbx_decode(frame, len + 10, &back));
	assert_int_equal(back.apps, ADV_DCBX_APPS);
	assert_true(back.more_apps);
}

/* A second TLV of the same kind does not change what the first said. */
static void test_twice(void **state)
{
	struct adv_dcbx d = full(), back;
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len = adv_dcbx_encode(&d, frame, sizeof(frame));

	frame[len - 2] = 0xfe;
	frame[len - 1] = 6;
	memcpy(frame + len, (uint8_t[]){0, 0x80, 0xc2, 11, 0, 0xff, 0, 0}, 8);
	assert_null(adv_dcbx_decode(frame, len + 8, &back));
	assert_int_equal(back.pfc.enabled, 0x88);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_eight_classes),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_vlan_others_and_old),
		cmocka_unit_test(test_many_apps),
		cmocka_unit_test(test_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
