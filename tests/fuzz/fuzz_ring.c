/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring whose other side writes any bytes: into the records that the reader reads, and into the
 * reader's line that the writer reads. Checks that:
 * - the reader stays inside the memory, delivers only complete packets, and returns;
 * - the reader never reads the ring again once it has found it broken;
 * - the writer never overwrites records that may be unread;
 * - payload that is away is read with sane lengths only.
 *
 * Input: steps with their arguments: bytes to write into the memory, packets to write or read.
 */
#include <string.h>

#include "fuzz.h"
#include "runtime/link/ring.h"

#define SIZE ADV_RING_SIZE_MIN

struct input {
	const uint8_t *data;
	size_t left;
};

static _Alignas(64) uint8_t space[sizeof(struct adv_ring_memory) + SIZE];
static struct adv_ring_memory *const memory = (struct adv_ring_memory *)space;
static struct adv_ring_reader reader;
static struct adv_ring_writer writer;
static const struct adv_pull_peer writer_process;
static struct adv_link_counters counters;
static struct {
	uint64_t from, to; /* positions of the writer */
} record[SIZE / 64];	   /* the newest records, oldest at records % (SIZE / 64) */
static unsigned records;
static uint32_t taken;
static uint32_t checksum; /* uses the bytes, so that the compiler keeps the reads */

static uint32_t take_bytes(struct input *in, unsigned bytes)
{
	uint32_t value = 0;

	while (bytes-- && in->left) {
		value = value << 8 | *in->data++;
		in->left--;
	}
	return value;
}

static bool check_meta(void *user, struct adv_rx_meta *meta)
{
	return (meta->sgid.raw[0] & 0x80) == 0;
}

/* In place of runtime/link/pull.c: checks what the ring passes. Some addresses cannot be read. */
bool adv_pull_read(const struct adv_pull_peer *peer, const struct adv_pull_piece *from,
		   unsigned pieces, const struct iovec *to, unsigned count)
{
	uint64_t sum = 0;

	FUZZ_CHECK(pieces >= 1 && pieces <= ADV_PULL_PIECES && count == 1);
	for (unsigned i = 0; i < pieces; i++)
		sum += from[i].length;
	FUZZ_CHECK(sum == to->iov_len && sum <= ADV_LONG_MAX);
	return from[0].address & 1;
}

/* Reads payload that is away, once, or not at all. */
static void take_away(const struct adv_rx_packet *pkt)
{
	struct iovec to = {NULL, pkt->source->length};

	FUZZ_CHECK(pkt->source->length && pkt->source->length <= ADV_LONG_MAX);
	FUZZ_CHECK(pkt->len - pkt->source->length >= ADV_BTH_LEN &&
		   pkt->len - pkt->source->length <= ADV_HEADERS_MAX + 3);
	if (checksum & 1 && !pkt->source->pull(pkt->source, &to, 1))
		checksum++;
}

static void take_packet(void *user, const struct adv_rx_packet *pkt)
{
	FUZZ_CHECK(pkt->len >= ADV_BTH_LEN && pkt->more < ADV_LONG_PACKETS);
	FUZZ_CHECK((pkt->meta->sgid.raw[0] & 0x80) == 0);
	for (uint32_t i = 0; i < pkt->len && i < ADV_HEADERS_MAX; i++)
		checksum += pkt->data[i];
	taken++;
	if (pkt->source) {
		take_away(pkt);
		return;
	}
	FUZZ_CHECK(pkt->len <= ADV_HEADERS_MAX + ADV_RING_COPY_MAX);
	for (uint32_t i = 0; i < pkt->len; i++)
		checksum += adv_rx_payload(pkt, 0)[i];
}

/* Writes bytes anywhere into the memory, mostly where the reader reads next. */
static void write_any_bytes(struct input *in)
{
	uint32_t where = take_bytes(in, 1), n = 1 + take_bytes(in, 1) % 64;
	size_t at = where & 1 ? take_bytes(in, 2) % sizeof(space)
			      : offsetof(struct adv_ring_memory, bytes) +
					((reader.tail + (where >> 1) % 8 * 64) & (SIZE - 1));

	for (uint32_t i = 0; i < n && at + i < sizeof(space); i++)
		space[at + i] = (uint8_t)take_bytes(in, 1);
}

/* Checks that the new record, with at least `bytes` bytes, is on nothing that may be unread. */
static void check_record(uint32_t bytes)
{
	uint64_t from = writer.head - ((bytes + 63) & ~63u);

	for (unsigned i = 0; i < SIZE / 64; i++) {
		uint64_t unread = record[i].from > writer.tail ? record[i].from : writer.tail;
		uint64_t at = (from - unread) & (SIZE - 1);

		FUZZ_CHECK(record[i].to <= unread ||
			   (at >= record[i].to - unread && at + (writer.head - from) <= SIZE));
	}
	record[records % (SIZE / 64)].from = from;
	record[records++ % (SIZE / 64)].to = writer.head;
}

static void write_packet(struct input *in)
{
	static uint8_t payload[ADV_RING_COPY_MAX];
	struct adv_path path = {.sport = (uint16_t)take_bytes(in, 1)};
	struct iovec iov = {payload, take_bytes(in, 2) % (sizeof(payload) + 1)};
	struct adv_tx_packet pkt = {.path = &path, .iov = &iov, .iov_count = 1, .header_len = 12};
	struct adv_tx_packet lead = {.path = &path, .header_len = ADV_RING_LEAD_LEN};
	bool led;
	uint64_t head = writer.head;
	adv_bell_name bell;

	pkt.payload_len = (uint32_t)iov.iov_len;
	pkt.pad = (uint8_t)(-pkt.payload_len & 3);
	pkt.more = (pkt.payload_len + 4095) / 4096;
	pkt.more -= pkt.more > 0;
	pkt.icrc_flip = take_bytes(in, 1) % 16 == 0;
	led = adv_ring_may_lead(&lead, &pkt) && take_bytes(in, 1) % 2;
	if (led ? adv_ring_put_led(&writer, &lead, &pkt) : adv_ring_put(&writer, &pkt)) {
		FUZZ_CHECK(writer.head > head);
		check_record(4 + 12 + (led ? ADV_RING_LEAD_LEN : 0) +
			     (pkt.payload_len < ADV_RING_AWAY_MIN ? pkt.payload_len : 0));
	} else {
		FUZZ_CHECK(writer.head == head);
	}
	(void)adv_ring_must_wake(&writer, &bell);
	if (take_bytes(in, 1) % 4 == 0)
		(void)adv_ring_recall(&writer, NULL, 0, UINTPTR_MAX);
}

static void read_packets(struct input *in)
{
	unsigned budget = 1 + take_bytes(in, 1) % 8;
	bool was_broken = reader.broken;
	uint32_t before = taken;
	unsigned n = adv_ring_get(&reader, budget, take_packet, NULL, &counters);

	/* The last record may hold two packets. */
	FUZZ_CHECK(n <= budget + 1 && taken - before <= n);
	FUZZ_CHECK(!was_broken || (n == 0 && reader.broken && !adv_ring_has(&reader)));
	adv_ring_sleep(&reader, budget & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	memset(space, 0, sizeof(space));
	memset(&counters, 0, sizeof(counters));
	memset(record, 0, sizeof(record));
	adv_ring_writer_init(&writer, memory, SIZE);
	adv_ring_reader_init(&reader, memory, SIZE, 0, check_meta, NULL);
	adv_ring_set_peer(&reader, &writer_process);
	adv_ring_accept(&reader, true);
	while (in.left)
		switch (take_bytes(&in, 1) % 4) {
		case 0:
			write_any_bytes(&in);
			break;
		case 1:
			write_packet(&in);
			break;
		default:
			read_packets(&in);
		}
	return 0;
}
