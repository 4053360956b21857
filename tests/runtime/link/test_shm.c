/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two links of one machine, with and without shared memory. */
#include "shm_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/link/ring.h"
#include "../../common/netns.h"

static struct adv_tx_batch batch;

static int memory_of(size_t len, int seals)
{
	int fd = memfd_create("pair", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void send_one(struct adv_link *link, struct adv_path *path, uint32_t qpn, uint32_t psn)
{
	batch.count = batch.iov_used = 0;
	add_packet(&batch, path, qpn, psn, 100);
	assert_true(link->ops->send(link, &batch));
}

/* Asserts that the store holds packets 0 to n - 1 in their order. */
static void check_all(const struct store *store, uint32_t qpn, unsigned n)
{
	assert_int_equal(store->count, n);
	for (unsigned i = 0; i < n; i++)
		check_packet(&store->packet[i], qpn, i, 100);
}

static unsigned receive_once(struct adv_link *link, struct store *store)
{
	return link->ops->receive(link, 64, keep_packet, store);
}

static void test_both_ways(void **state)
{
	struct pair *p = *state;
	struct store *store;

	assert_false(adv_shm_attached(p->a, SLOT_B));
	shm_pair_attach(p);
	assert_true(adv_shm_attached(p->a, SLOT_B));
	for (unsigned i = 0; i < 20; i++)
		send_one(p->a, &p->to_b, QPN_B, i);
	for (unsigned i = 0; i < 10; i++)
		send_one(p->b, &p->to_a, QPN_A, i);
	store = fresh_store();
	assert_int_equal(receive_once(p->b, store), 20);
	check_all(store, QPN_B, 20);
	assert_int_equal(store->packet[19].meta.slot, 1 + SLOT_A);
	store = fresh_store();
	assert_int_equal(receive_once(p->a, store), 10);
	check_all(store, QPN_A, 10);
	assert_int_equal(store->packet[0].meta.slot, 1 + SLOT_B);
	assert_int_equal(adv_link_count(p->a).tx_packets, 20);
	assert_int_equal(adv_link_count(p->a).rx_packets, 10);
	assert_int_equal(adv_link_count(p->a).tx_bytes, 20 * (12 + 100 + 4));
}

/* In a batch for several receivers, packets by UDP keep their order. */
static void test_mixed_batch(void **state)
{
	struct pair *p = *state;
	struct store *store;

	shm_pair_attach(p);
	batch.count = batch.iov_used = 0;
	for (unsigned i = 0; i < 30; i++)
		add_packet(&batch, i % 3 ? &p->to_b : &p->to_a, i % 3 ? QPN_B : QPN_A, i, 100);
	assert_true(p->a->ops->send(p->a, &batch));
	store = fresh_store();
	assert_int_equal(receive_once(p->b, store), 20);
	for (unsigned i = 0; i < 20; i++)
		check_packet(&store->packet[i], QPN_B, i / 2 * 3 + i % 2 + 1, 100);
	store = fresh_store();
	receive_all(p->a, store, 10); /* packets of A to itself, by UDP */
	assert_int_equal(store->count, 10);
	for (unsigned i = 0; i < 10; i++)
		check_packet(&store->packet[i], QPN_A, i * 3, 100);
	assert_int_equal(adv_link_count(p->a).tx_packets, 30);
	assert_int_equal(adv_link_count(p->a).rx_packets, 10);
}

/* True if a packet of A to B would go through memory. */
static bool goes_through_memory(struct pair *p)
{
	const struct adv_tx_packet packet = {.path = &p->to_b, .dest_qpn = QPN_B};
	struct adv_link_way way;

	adv_link_find_way(p->a, &packet, &way);
	return way.memory;
}

/* Packets through memory do not overtake packets by UDP. */
static void test_settling(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();

	for (unsigned i = 0; i < 5; i++)
		send_one(p->a, &p->to_b, QPN_B, i);
	shm_pair_attach(p);
	shm_pair_now += 1999999;
	assert_false(goes_through_memory(p));
	send_one(p->a, &p->to_b, QPN_B, 5);
	shm_pair_now += 1999999;
	assert_false(goes_through_memory(p));
	send_one(p->a, &p->to_b, QPN_B, 6);
	receive_all(p->b, store, 7);
	check_all(store, QPN_B, 7);
	shm_pair_now += 2000000;
	assert_true(goes_through_memory(p));
	send_one(p->a, &p->to_b, QPN_B, 7);
	assert_int_equal(receive_once(p->b, store), 1);
	check_all(store, QPN_B, 8);
}

/* Nor if the receiver reads nothing for a long time. */
static void test_settling_late(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();

	for (unsigned i = 0; i < 5; i++)
		send_one(p->a, &p->to_b, QPN_B, i);
	shm_pair_attach(p);
	shm_pair_now += 3000000000;
	send_one(p->a, &p->to_b, QPN_B, 5);
	receive_all(p->b, store, 6);
	check_all(store, QPN_B, 6);
}

static void attach(struct adv_link *link, unsigned slot, int memory_fd, unsigned side)
{
	struct adv_shm_pair pair = {dup(memory_fd), RING_SIZE, side, 0};

	assert_int_equal(adv_shm_attach(link, (uint16_t)slot, &pair), 0);
}

/* Packets wait in memory for a peer that maps it soon. */
static void test_reader_comes_soon(void **state)
{
	int fd = adv_shm_pair_make(RING_SIZE);
	struct store *store = fresh_store();
	struct pair *p = *state;

	attach(p->a, SLOT_B, fd, 0);
	send_one(p->a, &p->to_b, QPN_B, 0);
	shm_pair_now += 99999999;
	send_one(p->a, &p->to_b, QPN_B, 1);
	assert_false(adv_shm_has_readers(p->a));
	assert_int_equal(receive_once(p->b, store), 0);
	attach(p->b, SLOT_A, fd, 1);
	close(fd);
	assert_true(adv_shm_has_readers(p->a));
	shm_pair_now += 1000000000;
	send_one(p->a, &p->to_b, QPN_B, 2);
	assert_int_equal(receive_once(p->b, store), 3);
	check_all(store, QPN_B, 3);
}

/* If the peer maps the memory late, packets go by UDP. The peer finds none of the packets that
 * waited in memory. */
static void test_reader_comes_late(void **state)
{
	int fd = adv_shm_pair_make(RING_SIZE);
	struct store *store = fresh_store();
	struct pair *p = *state;

	attach(p->a, SLOT_B, fd, 0);
	for (unsigned i = 0; i < 3; i++)
		send_one(p->a, &p->to_b, QPN_B, 1000);
	shm_pair_now += 100000000;
	assert_true(adv_shm_has_readers(p->a));
	send_one(p->a, &p->to_b, QPN_B, 0);
	shm_pair_now += 100000000;
	send_one(p->a, &p->to_b, QPN_B, 1);
	receive_all(p->b, store, 2);
	attach(p->b, SLOT_A, fd, 1);
	close(fd);
	shm_pair_now += 1999999;
	send_one(p->a, &p->to_b, QPN_B, 2);
	receive_all(p->b, store, 3);
	shm_pair_now += 2000000;
	send_one(p->a, &p->to_b, QPN_B, 3);
	assert_int_equal(receive_once(p->b, store), 1);
	check_all(store, QPN_B, 4);
}

static void test_peer_leaves(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();
	unsigned descriptors = open_descriptors();

	shm_pair_attach(p);
	for (unsigned i = 0; i < 3; i++)
		send_one(p->a, &p->to_b, QPN_B, i);
	close_link(p->a);
	p->a = NULL;
	adv_shm_detach(p->b, SLOT_A);
	assert_false(adv_shm_attached(p->b, SLOT_A));
	assert_int_equal(receive_once(p->b, store), 3);
	check_all(store, QPN_B, 3);
	receive_once(p->b, store);
	assert_true(open_descriptors() < descriptors);
	send_one(p->b, &p->to_a, QPN_A, 0); /* goes by UDP and has no receiver */
}

/* A peer's packets arrive after its exit, also those behind a part of the memory without records.
 * B is behind at first, so A goes back to the first part of the memory and leaves a hole. */
static void test_peer_leaves_hole(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();
	unsigned sent = 0, n = 0;

	shm_pair_attach(p);
	while (sent < 40)
		send_one(p->a, &p->to_b, QPN_B, sent++);
	assert_int_equal(p->b->ops->receive(p->b, 24, keep_packet, store), 24);
	while (!adv_link_count(p->a).tx_dropped && sent < 1000)
		send_one(p->a, &p->to_b, QPN_B, sent++);
	assert_int_equal(adv_link_count(p->a).tx_dropped, 1);
	adv_shm_detach(p->b, SLOT_A);
	while (receive_once(p->b, store) && n++ < 1000)
		;
	check_all(store, QPN_B, sent - 1);
}

/* Fills the whole ring from A to B with copies of a packet, so that the records never end. A writer
 * that violates the format could do this. */
static void make_endless(struct pair *p, int memory_fd)
{
	const size_t before = offsetof(struct adv_ring_memory, bytes);
	uint8_t *m = mmap(NULL, adv_ring_memory_len(RING_SIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			  memory_fd, 0);

	assert_true(m != MAP_FAILED);
	batch.count = batch.iov_used = 0;
	add_packet(&batch, &p->to_b, QPN_B, 77, 180);
	assert_true(p->a->ops->send(p->a, &batch));
	for (size_t offset = 256; offset < RING_SIZE; offset += 256)
		memcpy(m + before + offset, m + before, 256);
	munmap(m, adv_ring_memory_len(RING_SIZE));
}

static void count_psn_77(void *user, const struct adv_rx_packet *pkt)
{
	struct adv_headers h;

	assert_true(adv_headers_decode(pkt->data, pkt->len, &h) > 0);
	*(unsigned *)user += h.bth.psn == 77;
}

static void attach_endless(struct pair *p)
{
	int fd = shm_pair_share(p);

	make_endless(p, fd);
	close(fd);
}

/* Packets of an exited peer are read, but at most as many as fit into the memory twice. */
static void test_endless_heritage(void **state)
{
	struct pair *p = *state;
	unsigned descriptors = open_descriptors(), packets = 0;

	attach_endless(p);
	adv_shm_detach(p->b, SLOT_A);
	for (int i = 0; i < 100; i++)
		p->b->ops->receive(p->b, 64, count_psn_77, &packets);
	assert_in_range(packets, 1, 2 * RING_SIZE / 256 + 64);
	assert_true(p->b->ops->sleep(p->b, true));
	adv_shm_detach(p->a, SLOT_B);
	receive_once(p->a, fresh_store());
	assert_int_equal(open_descriptors(), descriptors);
}

/* Packets that the slot's previous owner wrote are not delivered as packets of the new owner. */
static void test_no_heritage(void **state)
{
	struct pair *p = *state;
	unsigned packets = 0;

	attach_endless(p);
	adv_shm_detach(p->b, SLOT_A);
	shm_pair_attach(p);
	send_one(p->a, &p->to_b, QPN_B, 0);
	for (int i = 0; i < 100; i++)
		p->b->ops->receive(p->b, 64, count_psn_77, &packets);
	assert_int_equal(packets, 0);
	assert_int_equal(adv_link_count(p->b).rx_packets, 1);
}

/* A full ring loses packets and counts them; the others arrive in order. */
static void test_full(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();
	unsigned n;

	shm_pair_attach(p);
	for (unsigned i = 0; i < 1000; i++)
		send_one(p->a, &p->to_b, QPN_B, i);
	n = (unsigned)adv_link_count(p->a).tx_packets;
	assert_int_equal(n + adv_link_count(p->a).tx_dropped, 1000);
	assert_true(n > 100 && n < 1000);
	while (receive_once(p->b, store))
		;
	check_all(store, QPN_B, n);
}

static bool has_rung(struct adv_link *link)
{
	return recv(link->bell_fd, NULL, 0, MSG_DONTWAIT) == 0;
}

/* At first a link counts as asleep: peers wake it, also a peer that attached in the meantime. */
static void test_asleep_at_first(void **state)
{
	struct pair *p = *state;

	shm_pair_attach(p);
	send_one(p->a, &p->to_b, QPN_B, 0);
	assert_true(has_rung(p->b));
}

static void test_bell(void **state)
{
	struct pair *p = *state;

	shm_pair_attach(p);
	p->b->ops->sleep(p->b, false);
	send_one(p->a, &p->to_b, QPN_B, 0);
	assert_false(has_rung(p->b));
	assert_false(p->b->ops->sleep(p->b, true)); /* a packet is queued */
	assert_int_equal(receive_once(p->b, fresh_store()), 1);
	assert_true(p->b->ops->sleep(p->b, true));
	send_one(p->a, &p->to_b, QPN_B, 1);
	send_one(p->a, &p->to_b, QPN_B, 2);
	assert_true(has_rung(p->b));
	assert_false(p->b->ops->sleep(p->b, false));
	send_one(p->a, &p->to_b, QPN_B, 3);
	assert_false(has_rung(p->b));
}

/* B receives a packet through memory and one by UDP, the latter within a number of calls. */
static void receive_both(struct pair *p, bool spaced, unsigned calls)
{
	struct store *store = fresh_store();
	struct adv_path own;

	path_between(&own, "127.0.0.2", "127.0.0.2", 0xc002);
	p->b->busy_polled = true;
	p->b->spaced = spaced;
	send_one(p->a, &p->to_b, QPN_B, 0);
	assert_int_equal(receive_once(p->b, store), 1);
	send_one(p->b, &own, QPN_B, 1); /* a packet from B to itself, which goes by UDP */
	for (unsigned i = 0; i < calls; i++)
		receive_once(p->b, store);
	check_all(store, QPN_B, 2);
}

/* A busy poller whose packets all arrive through memory checks the socket rarely. */
static void test_socket_is_not_forgotten(void **state)
{
	shm_pair_attach(*state);
	receive_both(*state, false, 32);
}

/* In a quiet time there are fewer calls. */
static void test_socket_in_quiet_time(void **state)
{
	shm_pair_attach(*state);
	receive_both(*state, true, 6);
}

struct modest {
	struct adv_link *link;
	struct store *store;
};

static void keep_one(void *user, const struct adv_rx_packet *pkt)
{
	const struct modest *m = user;

	keep_packet(m->store, pkt);
	m->link->enough = true;
}

/* After `enough` the next call delivers the rest in order. */
static void test_enough(void **state)
{
	struct pair *p = *state;
	struct modest m = {p->b, fresh_store()};

	shm_pair_attach(p);
	for (unsigned i = 0; i < 3; i++)
		send_one(p->a, &p->to_b, QPN_B, i);
	for (unsigned i = 0; i < 4; i++) {
		p->b->enough = false;
		assert_int_equal(p->b->ops->receive(p->b, 64, keep_one, &m), i < 3);
	}
	check_all(m.store, QPN_B, 3);
}

static void test_unsound_memory(void **state)
{
	struct pair *p = *state;
	size_t len = 2 * adv_ring_memory_len(RING_SIZE);
	struct adv_shm_pair unsound[] = {
		{memory_of(len, 0), RING_SIZE, 0, 0},
		{memory_of(len - 1, F_SEAL_SHRINK), RING_SIZE, 0, 0},
		{memory_of(len, F_SEAL_SHRINK), RING_SIZE, 2, 0},
		{memory_of(len, F_SEAL_SHRINK), RING_SIZE - 64, 0, 0},
		{memory_of(len, F_SEAL_SHRINK), 0, 0, 0},
		{dup(p->a->bell_fd), RING_SIZE, 0, 0},
	};
	unsigned descriptors = open_descriptors();

	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(adv_shm_attach(p->b, SLOT_A, &unsound[i]), EINVAL);
	assert_int_equal(open_descriptors(), descriptors - 6);
	assert_false(adv_shm_attached(p->b, SLOT_A));
}

/* A peer that writes packets with a foreign source address is dropped. */
static void test_foreign_address(void **state)
{
	struct pair *p = *state;
	struct store *store = fresh_store();
	struct adv_path from_afar;

	path_between(&from_afar, "192.0.2.1", "127.0.0.2", 0xc001);
	shm_pair_attach(p);
	send_one(p->a, &from_afar, QPN_B, 0);
	receive_once(p->b, store);
	assert_int_equal(store->count, 0);
	assert_int_equal(adv_link_count(p->b).rx_malformed, 1);
	assert_false(adv_shm_attached(p->b, SLOT_A));
}

#define T(name) cmocka_unit_test_setup_teardown(name, shm_pair_make, shm_pair_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_both_ways),
		T(test_mixed_batch),
		T(test_settling),
		T(test_settling_late),
		T(test_reader_comes_soon),
		T(test_reader_comes_late),
		T(test_peer_leaves),
		T(test_peer_leaves_hole),
		T(test_endless_heritage),
		T(test_no_heritage),
		T(test_full),
		T(test_asleep_at_first),
		T(test_bell),
		T(test_socket_is_not_forgotten),
		T(test_socket_in_quiet_time),
		T(test_enough),
		T(test_unsound_memory),
		T(test_foreign_address),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
