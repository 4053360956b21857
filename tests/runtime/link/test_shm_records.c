/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets of shared-memory links whose records differ: two in one record, and long packets. */
#include "shm_pair.h"

#include <string.h>
#include <unistd.h>

#include "runtime/link/ring.h"
#include "../../common/netns.h"

static struct adv_tx_batch batch;

/* ---- an ACK and an answer ---- */

/* Fills the batch: a packet as long as an ACK to QPN_B, and behind it one to qpn. */
static void add_ack_and_answer(struct pair *p, uint32_t qpn)
{
	batch.count = batch.iov_used = 0;
	add_packet(&batch, &p->to_b, QPN_B, 1, 0)->header_len = ADV_RING_LEAD_LEN;
	add_packet(&batch, &p->to_b, qpn, 2, 8);
}

/* An ACK and an answer to one QP share a cache line of the ring. */
static void test_ack_and_answer(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();
	unsigned sent_pairs = 0;

	shm_pair_attach(p);
	while (adv_link_count(p->a).tx_dropped == 0 && sent_pairs++ < RING_SIZE / 64) {
		add_ack_and_answer(p, QPN_B);
		assert_true(p->a->ops->send(p->a, &batch));
	}
	assert_true(sent_pairs > RING_SIZE / 64 * 3 / 4);
	assert_int_equal(p->a->counters.tx_dropped, 2);
	assert_int_equal(p->a->counters.tx_packets, 2 * (sent_pairs - 1));
	assert_int_equal(p->a->counters.tx_bytes,
			 (sent_pairs - 1) * (16 + 12 + 8 + 2 * ADV_ICRC_LEN));
	(void)p->b->ops->receive(p->b, 8, keep_packet, store);
	assert_int_equal(store->count, 8);
	for (unsigned i = 0; i < store->count; i += 2) {
		assert_int_equal(store->packet[i].len, ADV_RING_LEAD_LEN);
		check_packet(&store->packet[i + 1], QPN_B, 2, 8);
	}
}

/* An answer to another process does not go with the ACK, though both have one path. */
static void test_ack_for_another(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();

	shm_pair_attach(p);
	add_ack_and_answer(p, adv_qpn_of_slot(SLOT_A + 1));
	assert_true(p->a->ops->send(p->a, &batch));
	assert_int_equal(p->a->counters.tx_packets, 1);
	(void)p->b->ops->receive(p->b, 8, keep_packet, store);
	assert_int_equal(store->count, 1);
}

/* ---- long packets ---- */

/* Attaches memory to both links, which may read each other's memory: this process's. */
static void attach_readable(struct pair *p)
{
	int fd = adv_shm_pair_make(RING_SIZE);
	struct adv_shm_pair of_a = {dup(fd), RING_SIZE, 0, getpid()};
	struct adv_shm_pair of_b = {fd, RING_SIZE, 1, getpid()};

	assert_int_equal(adv_shm_attach(p->a, SLOT_B, &of_a), 0);
	assert_int_equal(adv_shm_attach(p->b, SLOT_A, &of_b), 0);
}

static uint8_t sent[ADV_LONG_MAX], arrived[ADV_LONG_MAX];

/* What arrived: long packets, and of these the ones with their payload at the sender. */
static struct {
	unsigned count, away, unread;
	uint32_t length;
	bool leave; /* do not read payload */
} longs;

static void take_long(void *user, const struct adv_rx_packet *pkt)
{
	struct iovec to[2] = {{arrived, 1000}, {arrived + 1000, 0}};

	if (!pkt->more)
		return;
	longs.count++;
	longs.length = pkt->len - ADV_BTH_LEN;
	if (!pkt->source) {
		memcpy(arrived, adv_rx_payload(pkt, ADV_BTH_LEN), longs.length);
		return;
	}
	longs.away++;
	assert_int_equal(pkt->source->length, longs.length);
	to[1].iov_len = longs.length - 1000;
	if (!longs.leave && !pkt->source->pull(pkt->source, to, 2))
		longs.unread++;
}

static void send_long(struct pair *p, uint32_t length)
{
	batch.count = batch.iov_used = 0;
	add_packet(&batch, &p->to_b, QPN_B, 1, 100);
	batch.iov[0] = (struct iovec){sent, length / 4};
	batch.iov[1] = (struct iovec){sent + length / 4, length - length / 4};
	batch.packet[0].header_len = ADV_BTH_LEN;
	batch.packet[0].iov = batch.iov;
	batch.packet[0].iov_count = 2;
	batch.packet[0].payload_len = length;
	batch.packet[0].pad = 0;
	batch.packet[0].more = length / 4096 - 1;
	for (uint32_t i = 0; i < length; i++)
		sent[i] = (uint8_t)(sent[i] + i * 11 + 3);
	memset(arrived, 0, sizeof(arrived));
	assert_true(p->a->ops->send(p->a, &batch));
}

static uint32_t permitted(struct pair *p, uint32_t length)
{
	return p->a->ops->long_payload(p->a, &p->to_b, QPN_B, length);
}

static void receive_long(struct pair *p)
{
	p->b->ops->receive(p->b, 64, take_long, NULL);
}

/* Sends one packet, so that both links know each other. */
static void meet(struct pair *p)
{
	memset(&longs, 0, sizeof(longs));
	assert_int_equal(permitted(p, 1 << 20), 0);
	shm_pair_now += 10000000;
	batch.count = batch.iov_used = 0;
	add_packet(&batch, &p->to_b, QPN_B, 1, 100);
	assert_true(p->a->ops->send(p->a, &batch));
	receive_long(p);
}

static void test_long(void **state)
{
	struct pair *p = *state;
	uint64_t before;

	attach_readable(p);
	meet(p);
	before = adv_link_count(p->b).rx_packets;
	assert_int_equal(permitted(p, ADV_RING_AWAY_MIN), ADV_LONG_MAX);
	assert_int_equal(permitted(p, ADV_RING_AWAY_MIN - 1), RING_SIZE / 8);
	send_long(p, ADV_LONG_MAX);
	receive_long(p);
	send_long(p, 8192);
	assert_int_equal(longs.away, 1);
	assert_memory_equal(arrived, (uint8_t[64]){0}, 64);
	receive_long(p);
	assert_int_equal(longs.away, 1);
	assert_int_equal(longs.count, 2);
	assert_int_equal(longs.length, 8192);
	assert_memory_equal(arrived, sent, 8192);
	assert_int_equal(adv_link_count(p->b).rx_packets - before, 66);
	assert_int_equal(adv_link_count(p->a).tx_packets, adv_link_count(p->b).rx_packets);
	assert_int_equal(adv_link_count(p->a).tx_bytes, adv_link_count(p->b).rx_bytes);
	send_long(p, ADV_LONG_MAX);
	receive_long(p);
	assert_memory_equal(arrived, sent, ADV_LONG_MAX);
	assert_int_equal(longs.unread, 0);
}

/* Without permission to read, payload goes through the ring. */
static void test_long_copied(void **state)
{
	struct pair *p = *state;

	shm_pair_attach(p);
	meet(p);
	assert_int_equal(permitted(p, 1 << 20), RING_SIZE / 8);
	send_long(p, RING_SIZE / 8);
	receive_long(p);
	assert_int_equal(longs.count, 1);
	assert_int_equal(longs.away, 0);
	assert_memory_equal(arrived, sent, RING_SIZE / 8);
}

/* If payload cannot be read, the writer returns to the ring. */
static void test_long_unreadable(void **state)
{
	struct pair *p = *state;

	attach_readable(p);
	meet(p);
	send_long(p, 65536);
	batch.count = 1;
	batch.packet[0].iov = &(struct iovec){(void *)4096, 65536};
	batch.packet[0].iov_count = 1;
	assert_true(p->a->ops->send(p->a, &batch));
	receive_long(p);
	assert_int_equal(longs.away, 2);
	assert_int_equal(longs.unread, 1);
	assert_int_equal(permitted(p, 1 << 20), RING_SIZE / 8);
	assert_false(adv_link_count(p->b).rx_malformed);
}

static void test_long_recalled(void **state)
{
	struct pair *p = *state;

	attach_readable(p);
	meet(p);
	send_long(p, 65536);
	p->a->ops->recall(p->a, NULL, sent + 65535, 1);
	send_long(p, 65536);
	receive_long(p);
	assert_int_equal(longs.away, 2);
	assert_int_equal(longs.unread, 1);
	assert_memory_equal(arrived, sent, 65536);
	send_long(p, 65536);
	p->a->ops->recall(p->a, &p->to_b, NULL, 0);
	receive_long(p);
	assert_int_equal(longs.unread, 2);
	/* A recalled packet does not end the reading of others. */
	assert_int_equal(permitted(p, 1 << 20), ADV_LONG_MAX);
	/* Payload that the engine did not want is finished, too. */
	longs.leave = true;
	send_long(p, 65536);
	receive_long(p);
	p->a->ops->recall(p->a, &p->to_b, NULL, 0);
}

/* A fault plan decides about single packets. */
static void test_long_not_accepted(void **state)
{
	struct pair *p = *state;

	p->b->ops->accept_long(p->b, false);
	attach_readable(p);
	meet(p);
	assert_int_equal(permitted(p, 1 << 20), 0);
	p->b->ops->accept_long(p->b, true);
	assert_int_equal(permitted(p, 1 << 20), ADV_LONG_MAX);
	p->b->ops->accept_long(p->b, false);
	assert_int_equal(permitted(p, 1 << 20), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, shm_pair_make, shm_pair_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ack_and_answer),	   T(test_ack_for_another), T(test_long),
		T(test_long_copied),	   T(test_long_unreadable), T(test_long_recalled),
		T(test_long_not_accepted),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
