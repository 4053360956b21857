/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "../wire/test_util.h"
#include "nic/iwarp/rdmap.h"

/* Checks a decoder and its encoder with the bytes 1, 2, 3, ... */
#define CHECK_BOTH_WAYS(name, len)                                                                 \
	do {                                                                                       \
		uint8_t bytes_[len], out_[len], *copy_;                                            \
		struct adv_rdmap_##name value_;                                                    \
		size_t i_;                                                                         \
                                                                                                   \
		for (i_ = 0; i_ < (len); i_++)                                                     \
			bytes_[i_] = (uint8_t)(i_ + 1);                                            \
		for (i_ = 0; i_ < (len); i_++) {                                                   \
			copy_ = exact_copy(bytes_, i_);                                            \
			assert_int_equal(adv_rdmap_decode_##name(copy_, i_, &value_), 0);          \
			free(copy_);                                                               \
		}                                                                                  \
		assert_int_equal(adv_rdmap_decode_##name(bytes_, len, &value_), len);              \
		assert_int_equal(adv_rdmap_encode_##name(&value_, out_), len);                     \
		assert_memory_equal(out_, bytes_, len);                                            \
	} while (0)

static void test_read_request(void **state)
{
	static const uint8_t bytes[] = "\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\0\0\0\0\5";
	struct adv_rdmap_read_request r;

	assert_int_equal(adv_rdmap_decode_read_request(bytes, 28, &r), 28);
	assert_int_equal(r.sink_stag, 1);
	assert_int_equal(r.sink_to, 2);
	assert_int_equal(r.length, 3);
	assert_int_equal(r.source_stag, 4);
	assert_int_equal(r.source_to, 5);
	CHECK_BOTH_WAYS(read_request, ADV_RDMAP_READ_REQUEST_LEN);
}

static void test_atomics(void **state)
{
	uint8_t out[ADV_RDMAP_ATOMIC_REQUEST_LEN];
	struct adv_rdmap_atomic_request r = {.operation = ADV_RDMAP_COMPARE_SWAP,
					     .id = 1,
					     .stag = 2,
					     .to = 3,
					     .add_swap = 4,
					     .add_swap_mask = 5,
					     .compare = 6,
					     .compare_mask = 7};
	struct adv_rdmap_atomic_request again;

	assert_int_equal(adv_rdmap_encode_atomic_request(&r, out), sizeof(out));
	assert_memory_equal(out,
			    "\0\0\0\2\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4"
			    "\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\7",
			    sizeof(out));
	assert_int_equal(adv_rdmap_decode_atomic_request(out, sizeof(out) - 1, &again), 0);
	assert_int_equal(adv_rdmap_decode_atomic_request(out, sizeof(out), &again), sizeof(out));
	assert_int_equal(again.operation, r.operation);
	assert_int_equal(again.compare_mask, r.compare_mask);
	CHECK_BOTH_WAYS(atomic_response, ADV_RDMAP_ATOMIC_RESPONSE_LEN);
}

static struct adv_rdmap_terminate whole_terminate(void)
{
	struct adv_rdmap_terminate t = {.layer = ADV_TERMINATE_DDP,
					.type = ADV_TERMINATE_DDP_UNTAGGED,
					.code = 3,
					.has_ddp = true,
					.has_ddp_length = true,
					.has_rdmap = true,
					.ddp_length = 46};

	t.ddp = (struct adv_ddp_header){.last = true, .opcode = ADV_RDMAP_READ_REQUEST, .queue = 1};
	t.read.length = 77;
	return t;
}

/* What a Terminate announces may be missing at its end. */
static void test_terminate_cut_short(void **state)
{
	const struct adv_rdmap_terminate whole = whole_terminate();
	uint8_t out[ADV_RDMAP_TERMINATE_MAX];
	size_t len = adv_rdmap_encode_terminate(&whole, out), i;

	assert_int_equal(len, ADV_RDMAP_TERMINATE_MAX);
	for (i = 0; i <= len; i++) {
		uint8_t *copy = exact_copy(out, i);
		struct adv_rdmap_terminate t;
		size_t n = adv_rdmap_decode_terminate(copy, i, &t);

		free(copy);
		assert_int_equal(n, i < 4 ? 0 : i < 6 ? 4 : i < 24 ? 6 : i < len ? 24 : len);
		if (n == 0)
			continue;
		assert_int_equal(t.layer, ADV_TERMINATE_DDP);
		assert_int_equal(t.type, ADV_TERMINATE_DDP_UNTAGGED);
		assert_int_equal(t.code, 3);
		assert_int_equal(t.has_ddp_length, i >= 6);
		assert_int_equal(t.has_ddp, i >= 24);
		assert_int_equal(t.has_rdmap, i >= len);
		if (t.has_rdmap)
			assert_int_equal(t.read.length, 77);
	}
}

static void check_control(const char *bytes, unsigned layer, unsigned type, unsigned code)
{
	struct adv_rdmap_terminate t;

	assert_int_equal(adv_rdmap_decode_terminate((const uint8_t *)bytes, 4, &t), 4);
	assert_int_equal(t.layer, layer);
	assert_int_equal(t.type, type);
	assert_int_equal(t.code, code);
}

/* Linux's siw swaps layer and type, and is known by its flags; without flags RFC 5040 counts. */
static void test_terminate_layouts(void **state)
{
	check_control("\x12\x03\xc0\x00", ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 3);
	check_control("\x21\x03\x03\x00", ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 3);
	check_control("\x10\x00\x07\x00", ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_PROTECTION, 0);
	check_control("\x01\x02\x00\x00", ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_PROTECTION, 2);
	check_control("\x20\x02\x00\x00", ADV_TERMINATE_LLP, ADV_TERMINATE_LOCAL_CATASTROPHIC, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_request),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_terminate_cut_short),
		cmocka_unit_test(test_terminate_layouts),
	};

	return cmocka_run_group_tests_name("rdmap", tests, NULL, NULL);
}
