/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The input is any bytes. Checks that decoding stays within them, and that encoding restores them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "nic/wire/frame.h"
#include "nic/wire/headers.h"

/* Headers: decoding and encoding give the same bytes, except reserved bits. */
static void fuzz_headers(const uint8_t *data, size_t size)
{
	uint8_t out[ADV_HEADERS_MAX], again[ADV_HEADERS_MAX];
	struct adv_headers h, h2;
	size_t len;

	memset(&h, 0, sizeof(h));
	memset(&h2, 0, sizeof(h2));
	len = adv_headers_decode(data, size, &h);
	if (len == 0)
		return;
	FUZZ_CHECK(len <= size && len <= ADV_HEADERS_MAX);
	FUZZ_CHECK(len == adv_opcode_table[data[0]].length);
	FUZZ_CHECK(adv_headers_encode(&h, out) == len);
	FUZZ_CHECK(memcmp(out, data, 4) == 0);
	FUZZ_CHECK(memcmp(out + 5, data + 5, 3) == 0);
	FUZZ_CHECK(adv_headers_decode(out, len, &h2) == len);
	FUZZ_CHECK(memcmp(&h, &h2, sizeof(h)) == 0);
	FUZZ_CHECK(adv_headers_encode(&h2, again) == len);
	FUZZ_CHECK(memcmp(out, again, len) == 0);
}

/* Frames: parsing and building give the same bytes up to the ICRC, and the correct ICRC. */
static void fuzz_frame(const uint8_t *data, size_t size)
{
	struct adv_frame f, again;
	uint8_t *out;
	size_t len;

	if (adv_frame_parse(data, size, &f) != ADV_FRAME_OK)
		return;
	FUZZ_CHECK(f.transport > data && f.transport_len >= ADV_BTH_LEN);
	FUZZ_CHECK(f.transport + f.transport_len + ADV_ICRC_LEN <= data + size);
	out = malloc(size);
	FUZZ_CHECK(out != NULL);
	len = adv_frame_build(&f, out, size);
	FUZZ_CHECK(len == (size_t)(f.transport - data) + f.transport_len + ADV_ICRC_LEN);
	FUZZ_CHECK(memcmp(out, data, len - ADV_ICRC_LEN) == 0);
	FUZZ_CHECK(adv_frame_parse(out, len, &again) == ADV_FRAME_OK);
	FUZZ_CHECK(again.icrc == adv_frame_icrc(&f));
	FUZZ_CHECK(adv_frame_build(&f, out, len - 1) == 0);
	fuzz_headers(f.transport, f.transport_len);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_headers(data, size);
	fuzz_frame(data, size);
	return 0;
}
