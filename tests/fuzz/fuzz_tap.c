/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of a capture whose writer writes any bytes, read as `adverb capture` reads it. Checks
 * that:
 * - the reader stays inside the memory and returns, and a broken ring stays broken;
 * - each record that it passes becomes frames that fit their buffer, or no frames;
 * - a frame that is captured whole, and not damaged on purpose, has a right ICRC.
 * And a writer whose reader writes any tail: it stays inside the memory.
 *
 * Input: steps with their arguments: bytes to write into the memory, a head, a tail, packets.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/capture/segment.h"
#include "fuzz.h"
#include "runtime/link/tap_ring.h"
#include "nic/wire/frame.h"

#define SIZE   ADV_TAP_SIZE_MIN
#define ROUNDS 64 /* records read in a step */

struct input {
	const uint8_t *data;
	size_t left;
};

static struct adv_tap_memory *memory;
static struct adv_tap_reader reader;
static struct adv_tap_writer writer;
static struct adv_capture_frame frame;
static uint8_t data[ADV_TAP_DATA_MAX];
static uint8_t payload[ADV_LONG_MAX];

static uint64_t take_bytes(struct input *in, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- && in->left) {
		value = value << 8 | *in->data++;
		in->left--;
	}
	return value;
}

/* The segments of a TCP connection. */
static void check_segments(const struct adv_tap_record *r)
{
	struct adv_segment_place place = {.skip = r->payload_len / 2};
	FILE *sink = fopen("/dev/null", "w");

	adv_segment_make(r, data, &place, 262144, &frame);
	FUZZ_CHECK(frame.captured <= frame.len && frame.len <= sizeof(frame.bytes));
	for (unsigned i = 0; i < ADV_SEGMENT_STARTS; i++) {
		adv_segment_start(r, data, i, &place, &frame);
		FUZZ_CHECK(frame.captured == frame.len && frame.len < 120);
	}
	FUZZ_CHECK(sink != NULL);
	adv_segment_print(r, data, sink);
	fclose(sink);
}

static void check_frames(const struct adv_tap_record *r)
{
	if (r->flags & ADV_TAP_STREAM)
		check_segments(r);
	for (unsigned i = 0; i <= r->more; i++) {
		struct adv_frame f;

		if (!adv_capture_frame_make(r, data, i, 262144, &frame))
			continue;
		FUZZ_CHECK(frame.captured <= frame.len && frame.len <= sizeof(frame.bytes));
		if (frame.captured < frame.len || r->icrc_flip)
			continue;
		FUZZ_CHECK(adv_frame_parse(frame.bytes, frame.len, &f) == ADV_FRAME_OK);
		FUZZ_CHECK(f.icrc == adv_frame_icrc(&f));
	}
}

static void read_records(void)
{
	struct adv_tap_record r;

	for (unsigned i = 0; i < ROUNDS && adv_tap_peek(&reader, &r); i++) {
		FUZZ_CHECK(r.header_len <= ADV_HEADERS_MAX && r.kept <= ADV_LONG_MAX);
		adv_tap_take(&reader, &r, data);
		check_frames(&r);
	}
	if (reader.broken)
		FUZZ_CHECK(!adv_tap_peek(&reader, &r));
}

/* Writes bytes of the input somewhere: at the reader's tail, or anywhere. */
static void write_bytes(struct input *in, uint64_t at)
{
	size_t n = take_bytes(in, 1);

	for (; n && in->left; n--)
		memory->bytes[at++ & (SIZE - 1)] = (uint8_t)take_bytes(in, 1);
}

/* Writes a record as a program would, with fields of the input. */
static void put_packet(struct input *in)
{
	uint8_t header[ADV_HEADERS_MAX];
	struct iovec iov[2];
	struct adv_tap_packet p = {.header = header, .iov = iov, .iov_count = 2};

	for (unsigned i = 0; i < sizeof(header); i++)
		header[i] = i < 12 ? (uint8_t)take_bytes(in, 1) : (uint8_t)i;
	p.record.header_len = (uint8_t)(take_bytes(in, 1) % (ADV_HEADERS_MAX + 1));
	p.record.more = (uint8_t)take_bytes(in, 1);
	p.record.payload_len = (uint32_t)(take_bytes(in, 3) % (ADV_LONG_MAX + 1));
	p.record.pad = (uint8_t)(take_bytes(in, 1) & 3);
	p.unsure = take_bytes(in, 1) & 1;
	iov[0] = (struct iovec){payload, p.record.payload_len / 3};
	iov[1] = (struct iovec){payload, p.record.payload_len - iov[0].iov_len};
	adv_tap_put(&writer, &p);
	FUZZ_CHECK(writer.head - writer.tail <= SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input in = {bytes, size};

	free(memory);
	memory = aligned_alloc(64, adv_tap_memory_len(SIZE));
	FUZZ_CHECK(memory != NULL);
	memset(memory, 0, adv_tap_memory_len(SIZE));
	adv_tap_writer_init(&writer, memory, SIZE, (uint32_t)take_bytes(&in, 3));
	adv_tap_reader_init(&reader, memory, SIZE);
	while (in.left) {
		switch (take_bytes(&in, 1) % 6) {
		case 0:
			put_packet(&in);
			break;
		case 1:
			write_bytes(&in, reader.tail);
			break;
		case 2:
			write_bytes(&in, take_bytes(&in, 3));
			break;
		case 3:
			atomic_store(&memory->head, take_bytes(&in, 8));
			break;
		case 4:
			atomic_store(&memory->tail, take_bytes(&in, 8));
			break;
		default:
			read_records();
		}
	}
	read_records();
	return 0;
}
