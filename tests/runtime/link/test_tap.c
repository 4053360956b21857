/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tap over a link that records its packets: what the rings of captures contain, that a full
 * ring never blocks, and how captures begin and end. And the ring's reader against a writer that
 * writes anything.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/link/fault_link.h"
#include "runtime/link/tap.h"

#define SIZE ADV_TAP_SIZE_MIN
#define ALL  UINT32_MAX

/* ---- an inner link ---- */

static struct inner {
	struct adv_link link;
	unsigned sent;
	bool room;
	const struct adv_rx_packet *in;
	unsigned pulls;
	bool recalled;
	bool accepts;
	bool destroyed;
} inner;

static bool inner_send(struct adv_link *l, struct adv_tx_batch *b)
{
	inner.sent += b->count;
	return inner.room;
}

static bool inner_flush(struct adv_link *l)
{
	return inner.room;
}

static unsigned inner_receive(struct adv_link *l, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	if (!inner.in)
		return 0;
	fn(user, inner.in);
	inner.in = NULL;
	return 1;
}

static uint32_t inner_long(struct adv_link *l, const struct adv_path *path, uint32_t qpn,
			   uint32_t length)
{
	return length + 1;
}

static void inner_recall(struct adv_link *l, const struct adv_path *path, const void *addr,
			 uint64_t length)
{
	inner.recalled = true;
}

static void inner_accept(struct adv_link *l, bool accepts)
{
	inner.accepts = accepts;
}

static void inner_way(struct adv_link *l, const struct adv_tx_packet *pkt, struct adv_link_way *way)
{
	*way = (struct adv_link_way){.memory = pkt->dest_qpn == 7, .sport = 4242};
}

static void inner_destroy(struct adv_link *l)
{
	inner.destroyed = true;
}

static const struct adv_link_ops inner_ops = {
	.send = inner_send,
	.flush = inner_flush,
	.receive = inner_receive,
	.long_payload = inner_long,
	.recall = inner_recall,
	.accept_long = inner_accept,
	.way = inner_way,
	.destroy = inner_destroy,
};

/* ---- a capture ---- */

static struct adv_tap tap;
static struct adv_link *link_under_test;

struct capture {
	int life; /* the tool's end */
	int inside;
	struct adv_tap_memory *memory;
	uint32_t size;
	struct adv_tap_reader reader;
	struct adv_tap_record record;
	uint8_t data[ADV_TAP_DATA_MAX];
};

static struct capture capture;

static int attach(struct capture *c, uint32_t size, uint32_t limit)
{
	int pair[2], fd, error;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	error = adv_tap_attach(&tap, size, limit, pair[1], &fd);
	if (error) {
		assert_int_equal(fd, -1);
		close(pair[0]);
		close(pair[1]);
		return error;
	}
	*c = (struct capture){.life = pair[0], .inside = pair[1], .size = size};
	c->memory = mmap(NULL, adv_tap_memory_len(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(c->memory != MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), -1); /* sealed */
	close(fd);
	adv_tap_reader_init(&c->reader, c->memory, size);
	link_under_test = adv_tap_wrap(&tap, &inner.link);
	return 0;
}

static void end(struct capture *c)
{
	munmap(c->memory, adv_tap_memory_len(c->size));
	close(c->life);
}

static bool next(struct capture *c)
{
	if (!adv_tap_peek(&c->reader, &c->record))
		return false;
	adv_tap_take(&c->reader, &c->record, c->data);
	return true;
}

static int open_tap(void **state)
{
	memset(&inner, 0, sizeof(inner));
	inner.link.ops = &inner_ops;
	inner.link.receive_fd = 5;
	inner.link.send_fd = -1;
	inner.link.rx_window = 77;
	inner.room = true;
	adv_tap_init(&tap);
	link_under_test = adv_tap_wrap(&tap, &inner.link);
	return 0;
}

/* ---- packets ---- */

static struct adv_tx_batch batch;
static struct adv_path path;
static uint8_t payload[ADV_LONG_MAX];

static struct adv_tx_packet *add(uint8_t opcode, uint32_t psn, uint32_t len, uint32_t more)
{
	struct adv_tx_packet *pkt = &batch.packet[batch.count++];
	struct adv_headers h = {
		.bth = {.opcode = opcode, .psn = psn, .dest_qpn = more ? 7 : 8, .pad = -len & 3}};

	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i / 253 + i);
	*pkt = (struct adv_tx_packet){.path = &path,
				      .iov = &batch.iov[batch.iov_used],
				      .iov_count = 2,
				      .pad = (uint8_t)(-len & 3),
				      .payload_len = len,
				      .dest_qpn = more ? 7 : 8,
				      .more = more,
				      .ecn = ADV_ECN_ECT0};
	/* Two pieces, and more memory than the packet uses. */
	batch.iov[batch.iov_used++] = (struct iovec){payload, len / 3};
	batch.iov[batch.iov_used++] = (struct iovec){payload + len / 3, len};
	pkt->header_len = (uint8_t)adv_headers_encode(&h, pkt->header);
	return pkt;
}

static void fresh_batch(void)
{
	batch.count = batch.iov_used = 0;
	path_between(&path, "192.0.2.1", "192.0.2.2", 0xc123);
	path.tclass = 0x68;
	path.flow_label = 0x12345;
	path.hop_limit = 9;
}

static bool send_batch(void)
{
	return link_under_test->ops->send(link_under_test, &batch);
}

/* ---- the tap ---- */

static void test_without_a_capture_there_is_no_wrapper(void **state)
{
	assert_ptr_equal(link_under_test, &inner.link);
	assert_int_equal(adv_tap_ended(&tap), -1);
}

static void test_a_sent_packet_is_copied(void **state)
{
	struct adv_tx_packet *pkt;

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	fresh_batch();
	pkt = add(ADV_OP_SEND_ONLY, 77, 301, 0);
	pkt->icrc_flip = 0xabcd;
	inner.room = false;
	inner.link.send_fd = 9;
	assert_false(send_batch());
	assert_int_equal(link_under_test->send_fd, 9);
	assert_int_equal(inner.sent, 1);
	assert_true(next(&capture));
	assert_int_equal(capture.record.payload_len, 301);
	assert_int_equal(capture.record.kept, 301);
	assert_int_equal(capture.record.pad, 3);
	assert_int_equal(capture.record.header_len, ADV_BTH_LEN);
	assert_int_equal(capture.record.sport, 4242);
	assert_int_equal(capture.record.tclass, 0x68 | ADV_ECN_ECT0);
	assert_int_equal(capture.record.hop_limit, 9);
	assert_int_equal(capture.record.flow_label, 0x12345);
	assert_int_equal(capture.record.icrc_flip, 0xabcd);
	assert_int_equal(capture.record.flags, ADV_TAP_OUT);
	assert_true(adv_gid_equal(&capture.record.sgid, &path.sgid));
	assert_true(adv_gid_equal(&capture.record.dgid, &path.dgid));
	assert_true(capture.record.time > 1000000000ull * 1000000000);
	assert_memory_equal(capture.data, pkt->header, ADV_BTH_LEN);
	assert_memory_equal(capture.data + ADV_BTH_LEN, payload, 301);
	assert_false(next(&capture));
	end(&capture);
}

static struct adv_rx_meta meta = {.sport = 4321, .tclass = 3, .slot = 0};
static unsigned taken;

static void take(void *user, const struct adv_rx_packet *pkt)
{
	taken++;
	link_under_test->enough = true;
}

static void test_a_received_packet_is_copied(void **state)
{
	uint8_t bytes[200] = {ADV_OP_WRITE_ONLY};
	struct adv_rx_packet pkt = {.meta = &meta, .data = bytes, .len = sizeof(bytes)};

	for (unsigned i = 1; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	inner.in = &pkt;
	taken = 0;
	link_under_test->enough = false;
	link_under_test->busy_polled = true;
	assert_int_equal(link_under_test->ops->receive(link_under_test, 5, take, NULL), 1);
	assert_int_equal(taken, 1);
	assert_true(inner.link.enough);
	assert_true(inner.link.busy_polled);
	assert_true(next(&capture));
	assert_int_equal(capture.record.header_len + capture.record.payload_len, sizeof(bytes));
	assert_int_equal(capture.record.flags, 0);
	assert_int_equal(capture.record.sport, 4321);
	assert_int_equal(capture.record.tclass, 3);
	assert_memory_equal(capture.data, bytes, sizeof(bytes));
	end(&capture);
}

static void test_an_unknown_opcode_is_copied(void **state)
{
	uint8_t bytes[21] = {0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	struct adv_rx_packet pkt = {.meta = &meta, .data = bytes, .len = sizeof(bytes)};

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	for (uint32_t len = 0; len <= sizeof(bytes); len += 3) {
		pkt.len = len;
		inner.in = &pkt;
		link_under_test->ops->receive(link_under_test, 5, take, NULL);
		assert_true(next(&capture));
		assert_int_equal(capture.record.header_len + capture.record.payload_len, len);
		assert_memory_equal(capture.data, bytes, len);
	}
	end(&capture);
}

/* ---- long packets ---- */

static void test_a_limit_applies_to_each_packet(void **state)
{
	const uint32_t limit = ADV_BTH_LEN + 10;
	const uint8_t *p = capture.data + ADV_BTH_LEN;

	assert_int_equal(attach(&capture, SIZE, limit), 0);
	fresh_batch();
	add(ADV_OP_SEND_ONLY, 5, 2 * 1024 + 7, 2);
	add(ADV_OP_SEND_ONLY, 5, 300, 0);
	send_batch();
	assert_true(next(&capture));
	assert_int_equal(capture.record.more, 2);
	assert_int_equal(capture.record.flags, ADV_TAP_OUT | ADV_TAP_MEMORY);
	assert_int_equal(capture.record.kept, 10 + 10 + 7);
	assert_memory_equal(p, payload, 10);
	assert_memory_equal(p + 10, payload + 1024, 10);
	assert_memory_equal(p + 20, payload + 2048, 7);
	assert_true(next(&capture));
	assert_int_equal(capture.record.kept, 10);
	assert_memory_equal(p, payload, 10);
	end(&capture);
}

static void test_memory_that_is_unmapped_is_not_read(void **state)
{
	uint8_t *gone = mmap(NULL, ADV_LONG_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct adv_tx_packet *pkt;

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	munmap(gone, ADV_LONG_MAX);
	fresh_batch();
	pkt = add(ADV_OP_SEND_ONLY, 5, ADV_LONG_MAX, ADV_LONG_PACKETS - 1);
	batch.iov[0] = (struct iovec){gone, ADV_LONG_MAX};
	pkt->iov_count = 1;
	add(ADV_OP_SEND_ONLY, 69, ADV_LONG_MAX, ADV_LONG_PACKETS - 1);
	send_batch();
	assert_true(next(&capture));
	assert_int_equal(capture.record.flags & ADV_TAP_UNREAD, ADV_TAP_UNREAD);
	assert_int_equal(capture.record.kept, 0);
	assert_true(next(&capture));
	assert_int_equal(capture.record.kept, ADV_LONG_MAX);
	assert_memory_equal(capture.data + ADV_BTH_LEN, payload, ADV_LONG_MAX);
	end(&capture);
}

static bool inner_pull(struct adv_rx_source *source, const struct iovec *to, unsigned count)
{
	const uint8_t *from = payload;

	inner.pulls++;
	for (unsigned i = 0; i < count; i++) {
		memcpy(to[i].iov_base, from, to[i].iov_len);
		from += to[i].iov_len;
	}
	return true;
}

static bool pulls;

static void take_long(void *user, const struct adv_rx_packet *pkt)
{
	static uint8_t a[5000], b[ADV_LONG_MAX];
	const struct iovec to[] = {{a, sizeof(a)}, {b, pkt->source->length - sizeof(a)}};

	if (pulls)
		assert_true(pkt->source->pull(pkt->source, to, 2));
}

static void test_payload_that_is_away_is_copied_when_it_is_read(void **state)
{
	uint8_t bytes[ADV_BTH_LEN] = {ADV_OP_SEND_ONLY};
	struct adv_rx_source source = {inner_pull, 8 * 4096 - 1};
	struct adv_rx_packet pkt = {.meta = &meta,
				    .data = bytes,
				    .len = ADV_BTH_LEN + 8 * 4096,
				    .more = 7,
				    .source = &source};

	bytes[1] = 1 << ADV_BTH_PAD_SHIFT;
	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	for (int i = 0; i < 2; i++) {
		pulls = i == 0;
		inner.in = &pkt;
		link_under_test->ops->receive(link_under_test, 5, take_long, NULL);
		assert_true(next(&capture));
		assert_int_equal(capture.record.payload_len, 8 * 4096 - 1);
		assert_int_equal(capture.record.pad, 1);
		assert_int_equal(capture.record.more, 7);
		assert_int_equal(capture.record.flags, pulls ? 0 : ADV_TAP_UNREAD);
		assert_int_equal(capture.record.kept, pulls ? 8 * 4096 - 1 : 0);
		if (pulls)
			assert_memory_equal(capture.data + ADV_BTH_LEN, payload, 8 * 4096 - 1);
		assert_false(next(&capture));
	}
	assert_int_equal(inner.pulls, 1);
	end(&capture);
}

/* A peer may claim any number of packets for any length. */
static void test_a_wrong_number_of_packets_does_not_break_the_ring(void **state)
{
	static uint8_t bytes[ADV_BTH_LEN + 20000] = {ADV_OP_SEND_ONLY};
	struct adv_rx_source source = {inner_pull, ADV_LONG_MAX};
	struct adv_rx_packet pkt = {.meta = &meta, .data = bytes};

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	for (unsigned more = 0; more < 2 * ADV_LONG_PACKETS; more++) {
		for (uint32_t len = ADV_BTH_LEN; len <= sizeof(bytes); len += 1996) {
			pkt.more = more;
			pkt.len = len;
			bytes[1] = (uint8_t)(len << ADV_BTH_PAD_SHIFT);
			inner.in = &pkt;
			link_under_test->ops->receive(link_under_test, 5, take, NULL);
			assert_true(next(&capture));
		}
	}
	pkt.more = 1;
	pkt.source = &source;
	inner.in = &pkt;
	pulls = false;
	link_under_test->ops->receive(link_under_test, 5, take_long, NULL);
	assert_false(next(&capture));
	assert_false(capture.reader.broken);
	assert_int_equal(capture.memory->dropped, 1);
	end(&capture);
}

static void test_only_one_mtu_gives_a_number_of_packets(void **state)
{
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
		for (uint32_t n = 2; n <= ADV_LONG_PACKETS; n++)
			for (uint32_t last = 1; last <= mtu; last += mtu - 1)
				assert_int_equal(adv_tap_long_mtu((n - 1) * mtu + last, n), mtu);
	assert_int_equal(adv_tap_long_mtu(100, 5), 0);
	assert_int_equal(adv_tap_long_mtu(UINT16_MAX, 2), 0);
}

/* ---- full rings ---- */

static void test_a_full_ring_drops_and_counts(void **state)
{
	uint64_t lost = 0, records = 0;

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	for (unsigned i = 0; i < 1000; i++) {
		fresh_batch();
		add(ADV_OP_SEND_ONLY, i, 4096, 0);
		add(ADV_OP_SEND_ONLY, i, 4096 * 3, 2);
		send_batch();
	}
	assert_int_equal(inner.sent, 2000);
	assert_int_equal(capture.memory->packets + capture.memory->dropped, 4000);
	assert_true(capture.memory->dropped > 3000);
	while (next(&capture)) {
		assert_int_equal(capture.record.lost, 0);
		records += 1 + capture.record.more;
	}
	assert_int_equal(records, capture.memory->packets);
	fresh_batch();
	add(ADV_OP_SEND_ONLY, 1, 4096, 0);
	add(ADV_OP_SEND_ONLY, 1, 4096, 0);
	lost = capture.memory->dropped;
	send_batch();
	assert_true(next(&capture));
	assert_int_equal(capture.record.lost, lost);
	assert_true(next(&capture));
	assert_int_equal(capture.record.lost, 0);
	end(&capture);
}

/* Records of many lengths, past the end of the memory many times. */
static void test_records_wrap_around(void **state)
{
	uint32_t psn = 0, len = 1;

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	for (unsigned i = 0; i < 5000; i++) {
		fresh_batch();
		add(ADV_OP_SEND_ONLY, i, len, 0);
		add(ADV_OP_SEND_ONLY, i, 4096 * 9, 8);
		send_batch();
		len = len * 7 % 4093 + 1;
		if (i % 5)
			continue;
		while (next(&capture)) {
			struct adv_headers h;

			assert_true(adv_headers_decode(capture.data, ADV_BTH_LEN, &h) != 0);
			assert_int_equal(h.bth.psn, psn / 2);
			psn++;
			assert_memory_equal(capture.data + ADV_BTH_LEN, payload,
					    capture.record.kept);
		}
	}
	assert_true(psn > 9000);
	assert_false(capture.reader.broken);
	assert_int_equal(capture.memory->dropped, 0);
	end(&capture);
}

static void test_a_stopped_ring_gets_nothing(void **state)
{
	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	atomic_store(&capture.memory->stop, 1);
	fresh_batch();
	add(ADV_OP_SEND_ONLY, 1, 5, 0);
	send_batch();
	assert_int_equal(inner.sent, 1);
	assert_false(next(&capture));
	assert_int_equal(capture.memory->dropped, 0);
	end(&capture);
}

/* A tool that writes anything into its line only loses packets. */
static void test_the_writer_does_not_trust_the_tail(void **state)
{
	static const uint64_t tails[] = {UINT64_MAX, 1, 1ull << 40, UINT64_MAX / 2};

	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	for (unsigned i = 0; i < 4000; i++) {
		atomic_store(&capture.memory->tail, tails[i % ADV_ARRAY_SIZE(tails)]);
		fresh_batch();
		add(ADV_OP_SEND_ONLY, i, 4096, 0);
		send_batch();
	}
	assert_true(capture.memory->head <= SIZE);
	assert_int_equal(inner.sent, 4000);
	end(&capture);
}

/* ---- captures ---- */

static void test_captures_begin_and_end(void **state)
{
	struct capture c[ADV_TAP_CAPTURES + 1];

	for (unsigned i = 0; i < ADV_TAP_CAPTURES; i++)
		assert_int_equal(attach(&c[i], SIZE << i, ALL), 0);
	assert_int_equal(attach(&c[ADV_TAP_CAPTURES], SIZE, ALL), EBUSY);
	fresh_batch();
	add(ADV_OP_SEND_ONLY, 3, 100, 0);
	send_batch();
	for (unsigned i = 0; i < ADV_TAP_CAPTURES; i++)
		assert_true(next(&c[i]));
	assert_int_equal(adv_tap_ended(&tap), -1);
	for (unsigned i = 0; i < ADV_TAP_CAPTURES; i++) {
		assert_ptr_equal(adv_tap_wrap(&tap, &inner.link), &tap.link);
		end(&c[i]);
		assert_int_equal(adv_tap_ended(&tap), c[i].inside);
		adv_tap_detach(&tap, c[i].inside);
		assert_int_equal(adv_tap_ended(&tap), -1);
		assert_int_equal(fcntl(c[i].inside, F_GETFD), -1);
	}
	assert_ptr_equal(adv_tap_wrap(&tap, &inner.link), &inner.link);
}

static void test_a_wrong_size_is_refused(void **state)
{
	assert_int_equal(attach(&capture, 0, ALL), EINVAL);
	assert_int_equal(attach(&capture, SIZE / 2, ALL), EINVAL);
	assert_int_equal(attach(&capture, SIZE + 8, ALL), EINVAL);
	assert_int_equal(attach(&capture, 2 * ADV_TAP_SIZE_MAX, ALL), EINVAL);
}

static void test_other_calls_pass(void **state)
{
	const struct adv_link_ops *ops;

	inner.link.counters.tx_packets = 5;
	inner.link.deadline = 1234;
	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	ops = link_under_test->ops;
	assert_int_equal(link_under_test->receive_fd, 5);
	assert_int_equal(link_under_test->rx_window, 77);
	assert_int_equal(link_under_test->deadline, 1234);
	assert_int_equal(adv_link_count(link_under_test).tx_packets, 5);
	assert_int_equal(ops->long_payload(link_under_test, &path, 7, 100), 101);
	ops->recall(link_under_test, &path, payload, 4);
	assert_true(inner.recalled);
	ops->accept_long(link_under_test, true);
	assert_true(inner.accepts);
	assert_true(ops->sleep(link_under_test, true));
	assert_true(ops->flush(link_under_test));
	inner.room = false;
	assert_false(ops->flush(link_under_test));
	ops->destroy(link_under_test);
	assert_true(inner.destroyed);
	assert_int_equal(tap.count, 0);
	end(&capture);
}

static uint64_t clock_now(void)
{
	return 1000;
}

/* The tap may come and go below a fault link. */
static void test_below_a_fault_link(void **state)
{
	struct adv_fault_error error;
	struct adv_fault_plan plan;
	struct adv_link *fault;

	assert_true(adv_fault_plan_parse(&plan, "seed=1; drop nth=1", 18, &error));
	fault = adv_fault_link_create(&inner.link, clock_now, &plan);
	assert_int_equal(attach(&capture, SIZE, ALL), 0);
	adv_fault_link_set_inner(fault, link_under_test);
	fresh_batch();
	add(ADV_OP_SEND_ONLY, 1, 5, 0);
	add(ADV_OP_SEND_ONLY, 2, 5, 0);
	assert_true(fault->ops->send(fault, &batch));
	assert_true(next(&capture));
	assert_int_equal(capture.data[11], 2);
	assert_int_equal(capture.record.sport, 4242);
	assert_false(next(&capture));
	assert_int_equal(inner.sent, 1);
	assert_ptr_equal(adv_fault_link_unwrap(fault, take, NULL), &tap.link);
	end(&capture);
}

/* ---- a writer that writes anything ---- */

/* Writes a valid record, then changes each byte of its fixed part in turn. */
static void test_the_reader_checks_each_field(void **state)
{
	unsigned broken = 0;

	for (size_t at = 0; at < sizeof(struct adv_tap_record); at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			assert_int_equal(attach(&capture, SIZE, ALL), 0);
			fresh_batch();
			add(ADV_OP_SEND_ONLY, 1, 2048, 1);
			send_batch();
			capture.memory->bytes[at] ^= (uint8_t)(1u << bit);
			if (next(&capture)) {
				assert_true(capture.record.header_len <= ADV_HEADERS_MAX);
				assert_true(capture.record.kept <= ADV_LONG_MAX);
			}
			broken += capture.reader.broken;
			end(&capture);
			adv_tap_detach(&tap, capture.inside);
		}
	}
	/* length, kept, header_len, and most of payload_len and more */
	assert_true(broken > 90);
}

static void test_the_reader_checks_the_head(void **state)
{
	static const uint64_t heads[] = {1, 8, SIZE + 8, UINT64_MAX, UINT64_MAX - 7, 1ull << 63};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(heads); i++) {
		assert_int_equal(attach(&capture, SIZE, ALL), 0);
		atomic_store(&capture.memory->head, heads[i]);
		assert_false(next(&capture));
		assert_true(capture.reader.broken);
		assert_false(next(&capture));
		end(&capture);
		adv_tap_detach(&tap, capture.inside);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_without_a_capture_there_is_no_wrapper, open_tap),
		cmocka_unit_test_setup(test_a_sent_packet_is_copied, open_tap),
		cmocka_unit_test_setup(test_a_received_packet_is_copied, open_tap),
		cmocka_unit_test_setup(test_an_unknown_opcode_is_copied, open_tap),
		cmocka_unit_test_setup(test_a_limit_applies_to_each_packet, open_tap),
		cmocka_unit_test_setup(test_memory_that_is_unmapped_is_not_read, open_tap),
		cmocka_unit_test_setup(test_payload_that_is_away_is_copied_when_it_is_read,
				       open_tap),
		cmocka_unit_test_setup(test_a_wrong_number_of_packets_does_not_break_the_ring,
				       open_tap),
		cmocka_unit_test(test_only_one_mtu_gives_a_number_of_packets),
		cmocka_unit_test_setup(test_a_full_ring_drops_and_counts, open_tap),
		cmocka_unit_test_setup(test_records_wrap_around, open_tap),
		cmocka_unit_test_setup(test_a_stopped_ring_gets_nothing, open_tap),
		cmocka_unit_test_setup(test_the_writer_does_not_trust_the_tail, open_tap),
		cmocka_unit_test_setup(test_captures_begin_and_end, open_tap),
		cmocka_unit_test_setup(test_a_wrong_size_is_refused, open_tap),
		cmocka_unit_test_setup(test_other_calls_pass, open_tap),
		cmocka_unit_test_setup(test_below_a_fault_link, open_tap),
		cmocka_unit_test_setup(test_the_reader_checks_each_field, open_tap),
		cmocka_unit_test_setup(test_the_reader_checks_the_head, open_tap),
	};

	return cmocka_run_group_tests_name("tap", tests, NULL, NULL);
}
