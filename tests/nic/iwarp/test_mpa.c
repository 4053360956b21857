/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "../wire/test_util.h"
#include "nic/iwarp/mpa.h"

#define FRAME_MAX (ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX)

static enum adv_mpa_status decode(const uint8_t *p, size_t len, enum adv_mpa_kind kind,
				  struct adv_mpa_frame *f, size_t *used)
{
	uint8_t *copy = exact_copy(p, len);
	enum adv_mpa_status status = adv_mpa_decode(copy, len, kind, f, used);

	if (status == ADV_MPA_OK) {
		assert_ptr_equal(f->private_data + f->private_len, copy + *used);
		f->private_data = p + *used - f->private_len;
	}
	free(copy);
	return status;
}

static void test_request_of_siw(void **state)
{
	/* The first bytes of tests/data/captures/siw-p2p.pcap: peer to peer, ready by WRITE. */
	static const char request[] = "MPA ID Req Frame\x10\x02\x00\x06\x80\x10\x80\x10hi";
	struct adv_mpa_frame f;
	uint8_t out[FRAME_MAX];
	size_t used;

	assert_int_equal(decode((const uint8_t *)request, 26, ADV_MPA_REQUEST, &f, &used),
			 ADV_MPA_OK);
	assert_int_equal(used, 26);
	assert_true(f.enhanced && f.peer_to_peer && f.rtr_write);
	assert_false(f.markers || f.crc || f.reject || f.rtr_send || f.rtr_read);
	assert_int_equal(f.revision, 2);
	assert_int_equal(f.ird, 16);
	assert_int_equal(f.ord, 16);
	assert_int_equal(f.private_len, 2);
	assert_memory_equal(f.private_data, "hi", 2);
	assert_int_equal(adv_mpa_encode(&f, out), 26);
	assert_memory_equal(out, request, 26);
}

/* Each field alone survives both ways. */
static void test_each_field(void **state)
{
	static const struct adv_mpa_frame frames[] = {
		{.kind = ADV_MPA_REQUEST, .revision = 1},
		{.kind = ADV_MPA_REPLY, .revision = 1},
		{.revision = 1, .markers = true},
		{.revision = 1, .crc = true},
		{.kind = ADV_MPA_REPLY, .revision = 1, .reject = true},
		{.revision = 2, .enhanced = true},
		{.revision = 2, .enhanced = true, .ird = ADV_MPA_IRD_MAX},
		{.revision = 2, .enhanced = true, .ord = ADV_MPA_IRD_MAX},
		{.revision = 2, .enhanced = true, .peer_to_peer = true},
		{.revision = 2, .enhanced = true, .rtr_send = true},
		{.revision = 2, .enhanced = true, .rtr_write = true},
		{.revision = 2, .enhanced = true, .rtr_read = true},
	};
	size_t i;

	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		const struct adv_mpa_frame *a = &frames[i];
		uint8_t out[FRAME_MAX];
		size_t len = adv_mpa_encode(a, out), used;
		struct adv_mpa_frame b;

		assert_int_equal(len, a->enhanced ? 24 : 20);
		assert_int_equal(decode(out, len, a->kind, &b, &used), ADV_MPA_OK);
		assert_int_equal(used, len);
		b.private_data = NULL;
		assert_memory_equal(a, &b, sizeof(b));
	}
}

/* A frame may arrive in any pieces, and more bytes may follow it. */
static void test_pieces(void **state)
{
	const struct adv_mpa_frame a = {.revision = 2,
					.enhanced = true,
					.private_data = (const uint8_t *)"private",
					.private_len = 7};
	uint8_t out[FRAME_MAX + 3] = {0};
	size_t len = adv_mpa_encode(&a, out), used, i;
	struct adv_mpa_frame b;

	for (i = 0; i < len; i++)
		assert_int_equal(decode(out, i, ADV_MPA_REQUEST, &b, &used), ADV_MPA_MORE);
	assert_int_equal(decode(out, len + 3, ADV_MPA_REQUEST, &b, &used), ADV_MPA_OK);
	assert_int_equal(used, len);
	assert_memory_equal(b.private_data, "private", 7);
}

/* Something else on the port is found with its first wrong byte. */
static void test_wrong_key(void **state)
{
	const struct adv_mpa_frame a = {.revision = 1};
	uint8_t out[FRAME_MAX];
	struct adv_mpa_frame b;
	size_t used, i;

	assert_int_equal(decode((const uint8_t *)"GET / HTTP/1.1", 1, ADV_MPA_REQUEST, &b, &used),
			 ADV_MPA_BAD_KEY);
	for (i = 0; i < 16; i++) {
		adv_mpa_encode(&a, out);
		out[i] ^= 1;
		assert_int_equal(decode(out, i, ADV_MPA_REQUEST, &b, &used), ADV_MPA_MORE);
		assert_int_equal(decode(out, i + 1, ADV_MPA_REQUEST, &b, &used), ADV_MPA_BAD_KEY);
	}
	adv_mpa_encode(&a, out);
	assert_int_equal(decode(out, 20, ADV_MPA_REPLY, &b, &used), ADV_MPA_BAD_KEY);
}

static void test_lengths(void **state)
{
	static const uint8_t data[ADV_MPA_PRIVATE_MAX + 1];
	struct adv_mpa_frame f = {.revision = 2, .private_data = data};
	uint8_t out[FRAME_MAX];
	size_t used;

	f.private_len = ADV_MPA_PRIVATE_MAX;
	assert_int_equal(adv_mpa_encode(&f, out), FRAME_MAX);
	assert_int_equal(decode(out, FRAME_MAX, ADV_MPA_REQUEST, &f, &used), ADV_MPA_OK);
	out[19]++;
	assert_int_equal(decode(out, 20, ADV_MPA_REQUEST, &f, &used), ADV_MPA_BAD_LENGTH);

	f = (struct adv_mpa_frame){.revision = 2, .private_data = data, .private_len = 513};
	assert_int_equal(adv_mpa_encode(&f, out), 0);
	f.private_len = 509;
	f.enhanced = true;
	assert_int_equal(adv_mpa_encode(&f, out), 0);
	f.private_len = 508;
	assert_int_equal(adv_mpa_encode(&f, out), FRAME_MAX);
	f.ird = ADV_MPA_IRD_MAX + 1;
	assert_int_equal(adv_mpa_encode(&f, out), 0);
	f.ird = 0;
	f.ord = ADV_MPA_IRD_MAX + 1;
	assert_int_equal(adv_mpa_encode(&f, out), 0);
}

/* Enhanced set-up has four bytes of its own. Revision 1 does not know it. */
static void test_enhanced_needs_its_bytes(void **state)
{
	const struct adv_mpa_frame a = {
		.revision = 2, .private_data = (const uint8_t *)"abc", .private_len = 3};
	uint8_t out[FRAME_MAX];
	size_t len = adv_mpa_encode(&a, out), used;
	struct adv_mpa_frame b;

	out[16] |= 0x10;
	assert_int_equal(decode(out, len, ADV_MPA_REQUEST, &b, &used), ADV_MPA_BAD_LENGTH);
	out[17] = 1;
	assert_int_equal(decode(out, len, ADV_MPA_REQUEST, &b, &used), ADV_MPA_OK);
	assert_false(b.enhanced);
	assert_int_equal(b.private_len, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_of_siw),
		cmocka_unit_test(test_each_field),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_wrong_key),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_enhanced_needs_its_bytes),
	};

	return cmocka_run_group_tests_name("mpa", tests, NULL, NULL);
}
