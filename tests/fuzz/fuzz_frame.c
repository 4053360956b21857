/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is read as the words of a frame, as its bytes and as a capture. Checks that accepted
 * input can be built as bytes, and that these bytes give the same words and bytes again.
 */
#include <string.h>

#include "cli/frame/pcap.h"
#include "cli/frame/text.h"
#include "cli/command/json.h"
#include "fuzz.h"

static struct adv_frame_text text, again;
static uint8_t first[ADV_FRAME_BYTES_MAX + ADV_FRAME_TRAILER_MAX];
static uint8_t second[sizeof(first)];
static char why[ADV_FRAME_WHY], line[4 * ADV_FRAME_BYTES_MAX];

static void check_why(void)
{
	FUZZ_CHECK(why[0] && strlen(why) < sizeof(why));
	for (const char *p = why; *p; p++)
		FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

/* Prints into line[]. Returns the length without the end of line. */
static size_t print_words(const struct adv_frame_text *t)
{
	FILE *f = fmemopen(line, sizeof(line), "w");
	long n;

	FUZZ_CHECK(f != NULL);
	adv_frame_text_print(t, f);
	n = ftell(f);
	FUZZ_CHECK(fclose(f) == 0 && n > 0 && line[n - 1] == '\n');
	return (size_t)n - 1;
}

static void print_tree_and_json(const struct adv_frame_text *t)
{
	FILE *f = fmemopen(line, sizeof(line), "w");
	struct json_object *o = adv_json_object();

	FUZZ_CHECK(f != NULL);
	adv_frame_text_print_tree(t, true, f);
	adv_frame_text_add_json(t, false, o);
	adv_json_print_line(f, o);
	FUZZ_CHECK(fclose(f) == 0);
}

/* Converts bytes to fields, to words, to fields and to bytes. The bytes must be the same. */
static void check_bytes(const uint8_t *data, size_t size)
{
	bool good_icrc;
	size_t n;

	if (adv_frame_text_read(&text, data, size, &good_icrc))
		return;
	print_tree_and_json(&text);
	n = print_words(&text);
	FUZZ_CHECK(adv_frame_text_parse(&again, line, n, why));
	FUZZ_CHECK(adv_frame_text_build(&again, second, sizeof(second), why) == size);
	FUZZ_CHECK(memcmp(second, data, size) == 0);
}

static void check_words(const char *data, size_t size)
{
	size_t n;

	if (!adv_frame_text_parse(&text, data, size, why)) {
		check_why();
		return;
	}
	n = adv_frame_text_build(&text, first, sizeof(first), why);
	if (n == 0) {
		check_why();
		return;
	}
	/* Bytes that the words overwrite may make another frame, but the frame always has bytes. */
	check_bytes(first, n);
}

static void check_capture(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1); /* adv_pcap_next() writes to it */
	const uint8_t *frame;
	struct adv_pcap p;
	bool whole;
	size_t len;

	if (!copy)
		return;
	memcpy(copy, data, size);
	if (adv_pcap_open(&p, copy, size, why))
		while (adv_pcap_next(&p, &frame, &len, &whole, why)) {
			FUZZ_CHECK(frame >= copy && len <= (size_t)(copy + size - frame));
			check_bytes(frame, len);
		}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_words((const char *)data, size);
	check_bytes(data, size);
	check_capture(data, size);
	return 0;
}
