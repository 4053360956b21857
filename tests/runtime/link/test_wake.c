/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * No reader of shared memory sleeps while a packet is queued: src/runtime/link/shm.c and ring.c in
 * all interleavings (explore.h), with variables in place of sockets and bells.
 */
#include "explore_atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/link/ring.h"
#include "runtime/link/shm.h"
#include "runtime/link/udp.h"
#include "nic/wire/slot.h"

#define LINKS	  3
#define RING_SIZE ADV_RING_SIZE_MIN
#define SEEN	  1024 /* bytes of each ring that a few short packets change */
#define SLOT(i)	  (uint16_t)((i) + 1)

/* The objects of one execution. */
static struct {
	struct adv_link udp[LINKS];
	struct adv_link *link[LINKS];
	unsigned received[LINKS];
	unsigned wanted[LINKS];
	unsigned by_udp; /* number of packets sent by UDP */
	uint64_t now;	 /* time, ns */
	bool asleep;	 /* link 1 sleeps until its bell is rung */
} all;

static _Alignas(8) uint64_t rung[LINKS]; /* indexed by bell: 1 to LINKS */
static struct adv_tx_batch batch[LINKS];
static struct adv_path path;
static unsigned opened;
static struct explore *explored; /* the exploration whose links are in use; or NULL */

/* ---- sockets and bells ---- */

bool adv_udp_is_own_address(const struct adv_link *link, const struct adv_gid *gid)
{
	return true;
}

int adv_bell_open(adv_bell_name *name)
{
	*name = ++opened;
	return dup(0);
}

void adv_bell_ring(int own, adv_bell_name name)
{
	explore_system_call();
	if (name)
		rung[name - 1] = 1;
}

static unsigned udp_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	return 0;
}

static bool udp_send(struct adv_link *link, struct adv_tx_batch *b)
{
	all.by_udp += b->count;
	return true;
}

static void udp_destroy(struct adv_link *link)
{
}

static const struct adv_link_ops udp_ops = {
	.send = udp_send, .receive = udp_receive, .destroy = udp_destroy};

static uint64_t clock_of_test(void)
{
	return all.now;
}

/* ---- the actors' steps ---- */

static void count_packet(void *user, const struct adv_rx_packet *pkt)
{
	++*(unsigned *)user;
}

/* Returns a packet to the link that consists of a BTH only. */
static struct adv_tx_packet packet_to(unsigned link)
{
	return (struct adv_tx_packet){.path = &path,
				      .dest_qpn = (uint32_t)SLOT(link) << ADV_SLOT_QPN_BITS | 7,
				      .header_len = ADV_BTH_LEN};
}

static void send_to(unsigned from, unsigned to)
{
	struct adv_tx_batch *b = &batch[from];

	b->count = 1;
	b->packet[0] = packet_to(to);
	all.link[from]->ops->send(all.link[from], b);
}

static bool is_rung(void *user)
{
	return *(uint64_t *)user != 0;
}

/* Sleeps on the bell of the link. False: no actor will ring the bell. A packet that arrives between
 * waking and adv_bell_still() is not lost, because the reader polls afterwards. */
static bool sleep_on_bell(unsigned link)
{
	if (!explore_wait(is_rung, &rung[link]))
		return false;
	explore_system_call();
	rung[link] = 0;
	return true;
}

/* Receives `count` packets like a link's owner (link.h): it sleeps on the bell if sleep() reports
 * that no packet is queued. */
static void receive_packets(unsigned link, unsigned count)
{
	struct adv_link *l = all.link[link];

	while (all.received[link] < count) {
		if (l->ops->receive(l, 8, count_packet, &all.received[link]))
			continue;
		if (l->ops->sleep(l, true) && !sleep_on_bell(link))
			return;
	}
	(void)l->ops->sleep(l, false);
}

/* ---- links and their shared memory ---- */

/* Replaces mmap() for the memory of a pair: the beginnings of both rings become part of the state.
 */
void *__real_mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	char *memory = __real_mmap64(at, len, protection, flags, fd, offset);

	if (explored && len == 2 * adv_ring_memory_len(RING_SIZE) && memory != MAP_FAILED)
		for (unsigned i = 0; i < 2; i++)
			explored->shared[explored->regions++] =
				(struct explore_region){memory + i * len / 2, SEEN};
	return memory;
}

static void share(unsigned a, unsigned b)
{
	int fd = adv_shm_pair_make(RING_SIZE);
	struct adv_shm_pair of_a = {dup(fd), RING_SIZE, 0, 0}, of_b = {fd, RING_SIZE, 1, 0};

	assert_int_equal(adv_shm_attach(all.link[a], SLOT(b), &of_a), 0);
	assert_int_equal(adv_shm_attach(all.link[b], SLOT(a), &of_b), 0);
}

static void open_link(unsigned i)
{
	all.udp[i].ops = &udp_ops;
	all.link[i] = adv_shm_create(&all.udp[i], clock_of_test);
	assert_non_null(all.link[i]);
}

/* Opens `count` links, each with memory shared with link 1. */
static void open_links(struct explore *e, unsigned count)
{
	memset(&all, 0, sizeof(all));
	all.now = 1;
	memset(rung, 0, sizeof(rung));
	opened = 0;
	explored = e;
	e->regions = 0;
	e->shared[e->regions++] = (struct explore_region){rung, sizeof(rung)};
	for (unsigned i = 0; i < count; i++)
		open_link(i);
	for (unsigned i = 0; i < count; i++)
		if (i != 1)
			share(i, 1);
}

static const char *close_links(struct explore *e)
{
	bool right = true;

	for (unsigned i = 0; i < LINKS && all.link[i]; i++) {
		right = right && all.received[i] == all.wanted[i];
		all.link[i]->ops->destroy(all.link[i]);
	}
	explored = NULL;
	return right ? NULL : "a packet was not received";
}

typedef void actor_fn(void *user);

static void expect_none_wrong(struct explore *e)
{
	struct explore_result r = explore_all(e);

	print_message("%llu states, %llu executions\n", (unsigned long long)r.states,
		      (unsigned long long)r.executions);
	if (r.wrong)
		fail_msg("%s", r.wrong);
	assert_true(r.states > 50);
}

/* Explores two actors; if c is not NULL, three. Asserts that no execution fails. */
static void expect_all_well(void (*begin)(struct explore *e), actor_fn *a, actor_fn *b, actor_fn *c)
{
	struct explore e = {
		.begin = begin,
		.end = close_links,
		.actor = {a, b, c},
		.actors = c ? 3 : 2,
	};

	expect_none_wrong(&e);
}

/* ---- two packets, and a reader that sleeps in between ---- */

static void begin_one_way(struct explore *e)
{
	open_links(e, 2);
	all.wanted[1] = 2;
}

static void send_two(void *user)
{
	send_to(0, 1);
	send_to(0, 1);
}

static void receive_all_of_1(void *user)
{
	receive_packets(1, all.wanted[1]);
}

static void test_one_way(void **state)
{
	expect_all_well(begin_one_way, send_two, receive_all_of_1, NULL);
}

/* ---- each link answers the other ---- */

static void begin_both_ways(struct explore *e)
{
	open_links(e, 2);
	all.wanted[0] = 1;
	all.wanted[1] = 2;
}

static void ask_twice(void *user)
{
	send_to(0, 1);
	receive_packets(0, 1);
	send_to(0, 1);
}

static void answer_once(void *user)
{
	receive_packets(1, 1);
	send_to(1, 0);
	receive_packets(1, 2);
}

static void test_both_ways(void **state)
{
	expect_all_well(begin_both_ways, ask_twice, answer_once, NULL);
}

/* ---- two links send to one ---- */

static void begin_two_to_one(struct explore *e)
{
	open_links(e, 3);
	all.wanted[1] = 2;
}

static void send_once(void *user)
{
	send_to(0, 1);
}

static void send_from_2(void *user)
{
	send_to(2, 1);
}

static void test_two_to_one(void **state)
{
	expect_all_well(begin_two_to_one, send_once, receive_all_of_1, send_from_2);
}

/* ---- the reader attaches after the packet is written, or meanwhile ---- */

static struct adv_shm_pair of_late;

static void begin_late(struct explore *e)
{
	struct adv_shm_pair of_0 = {adv_shm_pair_make(RING_SIZE), RING_SIZE, 0, 0};

	open_links(e, 0);
	open_link(0);
	open_link(1);
	of_late = (struct adv_shm_pair){dup(of_0.memory_fd), RING_SIZE, 1, 0};
	assert_int_equal(adv_shm_attach(all.link[0], SLOT(1), &of_0), 0);
	all.wanted[1] = 1;
}

static void come_and_receive(void *user)
{
	(void)adv_shm_attach(all.link[1], SLOT(0), &of_late);
	receive_packets(1, 1);
}

static void test_late(void **state)
{
	expect_all_well(begin_late, send_once, come_and_receive, NULL);
}

/* ---- the reader comes while the writer withdraws a packet that has waited for it ---- */

static void send_and_withdraw(void *user)
{
	send_to(0, 1);
	all.now += 1000000000;
	send_to(0, 1);
}

static void come_and_sleep(void *user)
{
	struct adv_link *l;

	(void)adv_shm_attach(all.link[1], SLOT(0), &of_late);
	l = all.link[1];
	while (l->ops->receive(l, 8, count_packet, &all.received[1]))
		;
	all.asleep = l->ops->sleep(l, true);
}

/* Either both packets are in the memory, or the first was lost and the second went by UDP. */
static const char *check_withdrawal(struct explore *e)
{
	struct adv_link *l = all.link[1];
	unsigned before = all.received[1];
	bool asleep = all.asleep && !rung[1], right;

	while (l->ops->receive(l, 8, count_packet, &all.received[1]))
		;
	right = all.by_udp ? all.by_udp == 1 && all.received[1] == 0
			   : all.received[1] == 2 && !(asleep && before < 2);
	all.wanted[1] = right ? all.received[1] : UINT32_MAX;
	return close_links(e);
}

static void test_withdrawal(void **state)
{
	struct explore e = {
		.begin = begin_late,
		.end = check_withdrawal,
		.actor = {send_and_withdraw, come_and_sleep},
		.actors = 2,
	};

	expect_none_wrong(&e);
}

/* ---- a program attaches memory while its background thread sleeps ---- */

static void begin_sleeper(struct explore *e)
{
	begin_late(e);
	all.wanted[1] = 2;
}

static void come_for_a_sleeper(void *user)
{
	(void)adv_shm_attach(all.link[1], SLOT(0), &of_late);
	(void)all.link[1]->ops->receive(all.link[1], 8, count_packet, &all.received[1]);
	if (all.received[1] < 2 && sleep_on_bell(1))
		receive_packets(1, 2);
}

static void test_sleeper(void **state)
{
	expect_all_well(begin_sleeper, send_two, come_for_a_sleeper, NULL);
}

/* ---- one batch to two links ---- */

static void begin_one_to_two(struct explore *e)
{
	open_links(e, 3);
	all.wanted[0] = all.wanted[2] = 1;
}

static void send_to_both(void *user)
{
	batch[1].count = 2;
	batch[1].packet[0] = packet_to(0);
	batch[1].packet[1] = packet_to(2);
	all.link[1]->ops->send(all.link[1], &batch[1]);
}

static void receive_at_0(void *user)
{
	receive_packets(0, 1);
}

static void receive_at_2(void *user)
{
	receive_packets(2, 1);
}

static void test_one_to_two(void **state)
{
	expect_all_well(begin_one_to_two, receive_at_0, send_to_both, receive_at_2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_way),	   cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_two_to_one), cmocka_unit_test(test_late),
		cmocka_unit_test(test_withdrawal), cmocka_unit_test(test_sleeper),
		cmocka_unit_test(test_one_to_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
