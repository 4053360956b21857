/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iWARP's formats against captures of the Linux kernel's siw: each stream is decoded, and encoded
 * again to the same bytes. */
#include "../wire/test_util.h"
#include "base/array.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/mpa.h"
#include "nic/iwarp/rdmap.h"
#include "tcp_streams.h"

/* The messages of each opcode are those that tshark counts. */
static const struct file {
	const char *name;
	bool crc;
	unsigned connections, rejected;
	unsigned segments[ADV_RDMAP_ATOMIC_RESPONSE + 1];
} files[] = {
	{"siw-verbs", false, 3, 1, {63, 12, 67, 74}},
	{"siw-crc", true, 3, 1, {63, 12, 67, 74}},
	{"siw-p2p", false, 3, 1, {65, 12, 67, 74}},
	{"siw-errors", false, 3, 0, {3, 1, 0, 3, 0, 0, 0, 3}},
	{"nvme-siw", false, 3, 0, {134, 3, 71, 90, 24}},
};

/* Checks a Terminate of siw-errors: one connection each had a wrong STag in a WRITE and in a READ,
 * and a WRITE past the end of its region. */
static void check_terminate(const uint8_t *p, size_t len)
{
	struct adv_rdmap_terminate t;

	assert_int_not_equal(adv_rdmap_decode_terminate(p, len, &t), 0);
	assert_int_equal(t.type, 1); /* tagged buffer, or protection */
	assert_true(t.has_ddp);
	if (t.layer == ADV_TERMINATE_RDMAP) {
		assert_int_equal(t.code, 0);
		assert_int_equal(t.ddp.opcode, ADV_RDMAP_READ_REQUEST);
		assert_true(t.has_rdmap);
		assert_int_equal(t.read.length, 64);
	} else {
		assert_int_equal(t.layer, ADV_TERMINATE_DDP);
		assert_in_range(t.code, 0, 1);
		assert_int_equal(t.ddp.opcode, ADV_RDMAP_WRITE);
		assert_false(t.has_rdmap);
	}
}

/* Checks that a segment in two pieces is framed to the same bytes again. siw does not clear its
 * padding: then the trailer may differ. */
static void check_framing(struct adv_fpdu_tx *tx, const uint8_t *fpdu, size_t fpdu_len,
			  const struct iovec *pieces)
{
	size_t segment_len = pieces[0].iov_len + pieces[1].iov_len, at = 0, n, i;
	size_t padding = fpdu_len - ADV_FPDU_LENGTH_LEN - segment_len - ADV_FPDU_CRC_LEN;
	static const uint8_t zeros[3];
	uint8_t again[STREAM_MAX / 16];
	struct adv_fpdu_added added;
	struct iovec out[4];

	n = adv_fpdu_tx_frame(tx, pieces, 2, &added, out);
	for (i = 0; i < n; i++) {
		assert_in_range(at + out[i].iov_len, 0, sizeof(again));
		memcpy(again + at, out[i].iov_base, out[i].iov_len);
		at += out[i].iov_len;
	}
	assert_int_equal(at, fpdu_len);
	assert_in_range(padding, 0, sizeof(zeros));
	if (memcmp(fpdu + ADV_FPDU_LENGTH_LEN + segment_len, zeros, padding) != 0)
		fpdu_len -= padding + ADV_FPDU_CRC_LEN;
	assert_memory_equal(again, fpdu, fpdu_len);
}

static void check_segment(const struct iovec *pieces)
{
	uint8_t again[ADV_RDMAP_READ_REQUEST_LEN], encoded[ADV_DDP_HEADER_MAX];
	const uint8_t *header = pieces[0].iov_base, *payload = pieces[1].iov_base;
	size_t len = pieces[0].iov_len, payload_len = pieces[1].iov_len;
	struct adv_rdmap_read_request r;
	struct adv_ddp_header h;

	assert_int_equal(adv_ddp_decode(header, len, &h), len);
	assert_int_equal(h.ddp_version, ADV_DDP_VERSION);
	assert_int_equal(h.rdmap_version, ADV_RDMAP_VERSION);
	assert_int_equal(adv_ddp_encode(&h, encoded), len);
	assert_memory_equal(encoded, header, len);
	if (h.opcode == ADV_RDMAP_READ_REQUEST) {
		assert_int_equal(adv_rdmap_decode_read_request(payload, payload_len, &r),
				 payload_len);
		adv_rdmap_encode_read_request(&r, again);
		assert_memory_equal(again, payload, payload_len);
	}
	if (h.opcode == ADV_RDMAP_TERMINATE)
		check_terminate(payload, payload_len);
}

/* Reads the FPDUs of a stream, and counts them. */
static void check_fpdus(const uint8_t *p, size_t len, bool crc, unsigned *segments)
{
	struct iovec pieces[2];
	const uint8_t *fpdu = p;
	struct adv_fpdu_rx rx;
	struct adv_fpdu_tx tx;
	size_t used;

	adv_fpdu_rx_init(&rx, crc, false);
	adv_fpdu_tx_init(&tx, crc, false);
	while (len) {
		enum adv_fpdu_event event = adv_fpdu_rx_take(&rx, p, len, &used);

		p += used;
		len -= used;
		if (event == ADV_FPDU_HEADER) {
			pieces[0] = (struct iovec){rx.header, adv_ddp_header_len(rx.header[0])};
			pieces[1] = (struct iovec){(void *)p, rx.payload_left};
		} else if (event == ADV_FPDU_END) {
			check_segment(pieces);
			check_framing(&tx, fpdu, (size_t)(p - fpdu), pieces);
			segments[rx.header[1] & 0xf]++;
			fpdu = p;
		} else {
			assert_int_equal(event, ADV_FPDU_PAYLOAD);
		}
	}
	if (!adv_fpdu_rx_idle(&rx)) /* an FPDU may end after the last byte */
		assert_int_equal(adv_fpdu_rx_take(&rx, p, 0, &used), ADV_FPDU_END);
}

/* Checks a start-up frame. Returns its length. */
static size_t check_start(const struct stream *s, enum adv_mpa_kind kind, struct adv_mpa_frame *f)
{
	uint8_t out[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];
	size_t used;

	assert_int_equal(adv_mpa_decode(s->bytes, s->len, kind, f, &used), ADV_MPA_OK);
	assert_int_equal(f->revision, 2);
	assert_true(f->enhanced);
	assert_int_equal(adv_mpa_encode(f, out), used);
	assert_memory_equal(out, s->bytes, used);
	return used;
}

static void check_file(const struct file *file)
{
	unsigned segments[16] = {0}, rejected = 0, i;
	struct streams streams;

	streams_read(file->name, &streams);
	assert_int_equal(streams.count, 2 * file->connections);
	for (i = 0; i < streams.count; i += 2) {
		struct stream *a = &streams.all[i], *b = a + 1;
		struct adv_mpa_frame request, reply;
		size_t a_len = check_start(a, ADV_MPA_REQUEST, &request);
		size_t b_len = check_start(b, ADV_MPA_REPLY, &reply);

		assert_int_equal(request.crc || reply.crc, file->crc);
		rejected += reply.reject;
		check_fpdus(a->bytes + a_len, a->len - a_len, file->crc, segments);
		check_fpdus(b->bytes + b_len, b->len - b_len, file->crc, segments);
	}
	streams_free(&streams);
	assert_int_equal(rejected, file->rejected);
	for (i = 0; i < ADV_ARRAY_SIZE(file->segments); i++)
		assert_int_equal(segments[i], file->segments[i]);
}

static void test_files(void **state)
{
	size_t i;

	for (i = 0; i < ADV_ARRAY_SIZE(files); i++) {
		print_message("%s\n", files[i].name);
		check_file(&files[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("iwarp captures", tests, NULL, NULL);
}
