/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The start-up of a connection: what both ends then know, and what they send first. */
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/negotiation.h"
#include "stream_bed.h"

static const struct adv_mpa_wish wish = {.ird = 8, .ord = 6};
static const struct adv_mpa_wish wish_peer = {.ird = 8, .ord = 6, .peer_to_peer = true};

struct agreed {
	struct adv_mpa_frame request, reply;
	struct adv_rdmap_config initiator, responder;
	enum adv_mpa_verdict verdict;
};

/* Passes a frame over the connection. */
static struct adv_mpa_frame carry(const struct adv_mpa_frame *f)
{
	static uint8_t bytes[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];
	size_t len = adv_mpa_encode(f, bytes), used;
	struct adv_mpa_frame again;

	assert_int_not_equal(len, 0);
	assert_int_equal(adv_mpa_decode(bytes, len, f->kind, &again, &used), ADV_MPA_OK);
	return again;
}

static struct agreed negotiate(const struct adv_mpa_wish *a, const struct adv_mpa_wish *b)
{
	struct agreed r;
	struct adv_mpa_frame f;

	adv_mpa_make_request(a, (const uint8_t *)"private", 7, &f);
	r.request = carry(&f);
	if (adv_mpa_check_request(b, &r.request) == ADV_MPA_AGREED)
		adv_mpa_answer(b, &r.request, NULL, 0, &f, &r.responder);
	else
		adv_mpa_refuse(&r.request, NULL, 0, &f);
	r.reply = carry(&f);
	r.verdict = adv_mpa_take_reply(a, &r.reply, &r.initiator);
	return r;
}

static void check_markers(const struct agreed *r, bool a, bool b)
{
	assert_int_equal(r->initiator.rx_markers, a);
	assert_int_equal(r->responder.tx_markers, a);
	assert_int_equal(r->initiator.tx_markers, b);
	assert_int_equal(r->responder.rx_markers, b);
}

/* Every combination of what the ends want. They agree if none requires what the other refuses. */
static void test_crc_and_markers(void **state)
{
	unsigned i;

	for (i = 0; i < ADV_MPA_CRC_WISHES * ADV_MPA_CRC_WISHES * 4; i++) {
		struct adv_mpa_wish a = wish, b = wish;
		bool crc;
		struct agreed r;

		a.markers = i & 1;
		b.markers = i & 2;
		a.crc = i / 4 % ADV_MPA_CRC_WISHES;
		b.crc = i / 4 / ADV_MPA_CRC_WISHES;
		crc = a.crc == ADV_MPA_CRC_REQUIRE || b.crc == ADV_MPA_CRC_REQUIRE;
		r = negotiate(&a, &b);
		if (crc && a.crc + b.crc == ADV_MPA_CRC_REQUIRE + ADV_MPA_CRC_REFUSE &&
		    a.crc != ADV_MPA_CRC_ACCEPT && b.crc != ADV_MPA_CRC_ACCEPT) {
			assert_int_equal(r.verdict, a.crc == ADV_MPA_CRC_REFUSE ? ADV_MPA_CRC
										: ADV_MPA_REJECTED);
			continue;
		}
		assert_int_equal(r.verdict, ADV_MPA_AGREED);
		assert_int_equal(r.initiator.crc, crc);
		assert_int_equal(r.responder.crc, crc);
		check_markers(&r, a.markers, b.markers);
	}
}

/* No end has more READs outstanding than the other one serves. */
static void test_reads(void **state)
{
	const struct adv_mpa_wish few = {.ird = 2, .ord = 3};
	struct agreed r = negotiate(&wish, &few);

	assert_int_equal(r.verdict, ADV_MPA_AGREED);
	assert_int_equal(r.initiator.ord, 2);
	assert_int_equal(r.initiator.ird, 8);
	assert_int_equal(r.responder.ord, 3);
	assert_int_equal(r.responder.ird, 2);
	r = negotiate(&few, &wish);
	assert_int_equal(r.responder.ord, 2);
	assert_int_equal(r.initiator.ord, 3);

	r.reply.ord = 3; /* a responder that does not care */
	assert_int_equal(adv_mpa_take_reply(&few, &r.reply, &r.initiator), ADV_MPA_FEW_READS);
}

static void test_first_message(void **state)
{
	struct agreed r = negotiate(&wish, &wish_peer);

	assert_int_equal(r.initiator.first, ADV_RDMAP_FIRST_ANY);
	assert_int_equal(r.responder.first, ADV_RDMAP_FIRST_HOPED);
	r = negotiate(&wish_peer, &wish);
	assert_int_equal(r.initiator.first, ADV_RDMAP_FIRST_WRITE);
	assert_int_equal(r.responder.first, ADV_RDMAP_FIRST_OF_PEER);
	assert_true(r.reply.rtr_write && !r.reply.rtr_send && !r.reply.rtr_read);

	r.reply.rtr_write = false;
	r.reply.rtr_send = true;
	assert_int_equal(adv_mpa_take_reply(&wish_peer, &r.reply, &r.initiator), ADV_MPA_AGREED);
	assert_int_equal(r.initiator.first, ADV_RDMAP_FIRST_EMPTY);
	r.reply.rtr_send = false;
	r.reply.rtr_read = true; /* was not offered */
	assert_int_equal(adv_mpa_take_reply(&wish_peer, &r.reply, &r.initiator), ADV_MPA_NO_RTR);
}

/* A responder takes revision 1 and plain revision 2, and answers in kind. An initiator, like
 * Linux's siw, wants its enhanced request answered as such. */
static void test_revisions(void **state)
{
	struct adv_mpa_frame request = {.revision = 1}, reply;
	struct adv_rdmap_config c;

	adv_mpa_answer(&wish, &request, NULL, 0, &reply, &c);
	assert_int_equal(reply.revision, 1);
	assert_false(reply.enhanced);
	assert_int_equal(c.ord, wish.ord);
	assert_int_equal(adv_mpa_take_reply(&wish, &reply, &c), ADV_MPA_REVISION);
	request.revision = 2;
	adv_mpa_answer(&wish, &request, NULL, 0, &reply, &c);
	assert_int_equal(reply.revision, 2);
	assert_int_equal(adv_mpa_take_reply(&wish, &reply, &c), ADV_MPA_REVISION);
	request.revision = 3;
	assert_int_equal(adv_mpa_check_request(&wish, &request), ADV_MPA_REVISION);
	request.revision = 0;
	assert_int_equal(adv_mpa_check_request(&wish, &request), ADV_MPA_REVISION);
}

static void test_refused(void **state)
{
	struct adv_mpa_frame request, f, reply;
	struct adv_rdmap_config c;

	adv_mpa_make_request(&wish, NULL, 0, &request);
	adv_mpa_refuse(&request, (const uint8_t *)"no", 2, &f);
	reply = carry(&f);
	assert_int_equal(adv_mpa_take_reply(&wish, &reply, &c), ADV_MPA_REJECTED);
	assert_int_equal(reply.private_len, 2);
	assert_memory_equal(reply.private_data, "no", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_and_markers), cmocka_unit_test(test_reads),
		cmocka_unit_test(test_first_message),	cmocka_unit_test(test_revisions),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("negotiation", tests, NULL, NULL);
}
