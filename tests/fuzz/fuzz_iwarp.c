/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first byte of the input selects CRC, markers and the length of pieces; the rest is a stream
 * of iWARP: a start-up frame, or FPDUs. Checks that decoding stays within the bytes, and that
 * encoding restores them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/mpa.h"
#include "nic/iwarp/rdmap.h"

#define SELECT_CRC     0x01
#define SELECT_MARKERS 0x02
#define SELECT_PIECES  0x1c /* the length of pieces is 2 to the power of this, less 1 */
#define PIECES_SHIFT   2

static void fuzz_start(const uint8_t *data, size_t size, enum adv_mpa_kind kind)
{
	uint8_t out[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];
	struct adv_mpa_frame f;
	size_t used;

	if (adv_mpa_decode(data, size, kind, &f, &used) != ADV_MPA_OK)
		return;
	FUZZ_CHECK(used <= size && f.private_data + f.private_len == data + used);
	FUZZ_CHECK(adv_mpa_encode(&f, out) == used);
	FUZZ_CHECK(memcmp(out, data, 16) == 0);
	FUZZ_CHECK((out[16] | 0x1f) == (data[16] | 0x1f)); /* reserved bits, and S of revision 1 */
	FUZZ_CHECK(memcmp(out + 17, data + 17, used - 17) == 0);
}

static void fuzz_terminate(const uint8_t *data, size_t size)
{
	uint8_t out[ADV_RDMAP_TERMINATE_MAX];
	struct adv_rdmap_terminate t, again;
	size_t len = adv_rdmap_decode_terminate(data, size, &t);

	if (len == 0)
		return;
	FUZZ_CHECK(len <= size && len <= sizeof(out));
	len = adv_rdmap_encode_terminate(&t, out);
	FUZZ_CHECK(adv_rdmap_decode_terminate(out, len, &again) == len);
	FUZZ_CHECK(again.layer == t.layer && again.type == t.type && again.code == t.code);
	FUZZ_CHECK(again.has_ddp == t.has_ddp && again.has_rdmap == t.has_rdmap);
}

/* What the receiver of a stream has given so far. */
struct received {
	uint8_t *segment; /* the present one */
	size_t len;
	size_t segments;
};

static void take_event(struct received *r, const struct adv_fpdu_rx *rx, enum adv_fpdu_event event,
		       const uint8_t *p, const uint8_t *end)
{
	if (event == ADV_FPDU_HEADER) {
		r->len = adv_ddp_header_len(rx->header[0]);
		memcpy(r->segment, rx->header, r->len);
	} else if (event == ADV_FPDU_PAYLOAD) {
		FUZZ_CHECK(rx->payload >= p && rx->payload_len > 0);
		FUZZ_CHECK(rx->payload_len <= (size_t)(end - rx->payload));
		FUZZ_CHECK(r->len + rx->payload_len <= ADV_FPDU_ULPDU_MAX);
		memcpy(r->segment + r->len, rx->payload, rx->payload_len);
		r->len += rx->payload_len;
	} else if (event == ADV_FPDU_END) {
		struct adv_ddp_header h;

		r->segments++;
		FUZZ_CHECK(rx->payload_left == 0);
		if (adv_ddp_decode(r->segment, r->len, &h) && h.opcode == ADV_RDMAP_TERMINATE)
			fuzz_terminate(r->segment + adv_ddp_header_len(r->segment[0]),
				       r->len - adv_ddp_header_len(r->segment[0]));
		r->len = 0;
	}
}

/* Receives the stream in pieces. Returns the number of segments before its end or first error. */
static size_t receive(const uint8_t *data, size_t size, bool crc, bool markers, size_t piece)
{
	const uint8_t *p = data, *end = data;
	struct received r = {.segment = malloc(ADV_FPDU_ULPDU_MAX)};
	struct adv_fpdu_rx rx;
	enum adv_fpdu_event event = ADV_FPDU_MORE;
	size_t used;

	FUZZ_CHECK(r.segment != NULL);
	adv_fpdu_rx_init(&rx, crc, markers);
	while (event < ADV_FPDU_BAD_LENGTH && (event != ADV_FPDU_MORE || end < data + size)) {
		if (event == ADV_FPDU_MORE) {
			FUZZ_CHECK(p == end);
			end = (size_t)(data + size - end) < piece ? data + size : end + piece;
		}
		event = adv_fpdu_rx_take(&rx, p, (size_t)(end - p), &used);
		FUZZ_CHECK(used <= (size_t)(end - p));
		take_event(&r, &rx, event, p, end);
		p += used;
	}
	free(r.segment);
	return r.segments;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool crc, markers;
	size_t piece;

	if (size == 0)
		return 0;
	crc = data[0] & SELECT_CRC;
	markers = data[0] & SELECT_MARKERS;
	piece = (size_t)1 << ((data[0] & SELECT_PIECES) >> PIECES_SHIFT);
	data++;
	size--;
	fuzz_start(data, size, ADV_MPA_REQUEST);
	fuzz_start(data, size, ADV_MPA_REPLY);
	FUZZ_CHECK(receive(data, size, crc, markers, piece) ==
		   receive(data, size, crc, markers, size + 1));
	return 0;
}
