/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests devices of one machine that share memory: the peer closes, only one side requests the
 * memory, adverbd dies. */
#include "node.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/netns.h"
#include "runtime/device/internal.h"
#include "runtime/link/shm.h"

static uint16_t slot_of(const struct node *n)
{
	return (uint16_t)n->d->slot.number;
}

static bool has_peer(struct node *n, uint16_t slot)
{
	bool yes;

	adv_device_lock(n->d);
	yes = adv_shm_attached(n->d->shm, slot);
	adv_device_unlock(n->d);
	return yes;
}

/* Waits until the background thread has handled adverbd's notification of the peer. */
static void wait_for_peer(struct node *n, uint16_t slot, bool wanted)
{
	WAIT_UNTIL(has_peer(n, slot) == wanted);
}

static uint64_t sent_by_udp(struct node *n)
{
	uint64_t packets;

	adv_device_lock(n->d);
	packets = n->d->udp->counters.tx_packets;
	adv_device_unlock(n->d);
	return packets;
}

static void write_and_compare(struct node *a, struct node *b, unsigned count)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < count; i++) {
		memset(a->buffer, (int)i, 20000);
		assert_int_equal(node_write(a, b, i, 0, 30000, 20000), 0);
		node_poll(a, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		node_compare(a, 0, b, 30000, 20000);
	}
}

static void test_packets_avoid_sockets(void **state)
{
	struct node a, b;
	uint64_t before;

	node_open(&a);
	node_open(&b);
	assert_false(has_peer(&a, slot_of(&b)));
	node_connect(&a, &b);
	wait_for_peer(&a, slot_of(&b), true);
	wait_for_peer(&b, slot_of(&a), true);
	before = sent_by_udp(&a) + sent_by_udp(&b);
	write_and_compare(&a, &b, 50);
	write_and_compare(&b, &a, 50);
	assert_int_equal(sent_by_udp(&a) + sent_by_udp(&b), before);
	node_close(&a);
	node_close(&b);
}

/* Tests that a process is one peer for all of its QP numbers. */
static void test_block(void **state)
{
	struct node a, b, further;
	uint64_t before;

	node_open(&a);
	node_open(&b);
	further = a;
	further.qp = node_outgrow(&a);
	node_connect(&further, &b);
	wait_for_peer(&a, slot_of(&b), true);
	wait_for_peer(&b, slot_of(&a), true);
	assert_int_equal(slot_of(&further), slot_of(&a));
	before = sent_by_udp(&a) + sent_by_udp(&b);
	write_and_compare(&further, &b, 50);
	write_and_compare(&b, &further, 50);
	assert_int_equal(sent_by_udp(&a) + sent_by_udp(&b), before);
	node_close(&a);
	node_close(&b);
}

static void test_peer_closes(void **state)
{
	struct node a, b;
	uint16_t slot;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	slot = slot_of(&b);
	wait_for_peer(&a, slot, true);
	node_close(&b);
	wait_for_peer(&a, slot, false);
	node_close(&a);
}

/* Tests that no memory is shared and packets go by UDP if only one side requests memory. */
static void test_only_one_requests(void **state)
{
	struct adv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	struct node a, b;

	node_open(&a);
	node_open(&b);
	adv_device_lock(a.d);
	adv_device_meet(a.d, &gid, adv_qp_num(b.qp));
	adv_device_meet(a.d, &gid, adv_qp_num(a.qp));
	gid.raw[12] = 192; /* not an address of this machine */
	adv_device_meet(b.d, &gid, adv_qp_num(a.qp));
	adv_device_unlock(a.d);
	usleep(100000);
	assert_false(has_peer(&a, slot_of(&b)));
	assert_false(has_peer(&b, slot_of(&a)));
	assert_false(has_peer(&a, slot_of(&a)));
	node_close(&a);
	node_close(&b);
}

/* Tests that all shared memory is requested again from a new worker of adverbd, which does not know
 * which memory is shared. */
static void test_worker_killed(void **state)
{
	struct adv_control_status before, after;
	char why[256];
	struct adv_control *c = adv_control_connect(false, why, sizeof(why));
	struct node a, b;

	assert_non_null(c);
	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	wait_for_peer(&a, slot_of(&b), true);
	assert_int_equal(adv_control_status(c, &before), 0);
	kill((pid_t)before.worker_pid, SIGKILL);
	WAIT_UNTIL(adv_control_status(c, &after) == 0 && after.worker_pid != before.worker_pid);
	write_and_compare(&a, &b, 20);
	wait_for_peer(&a, slot_of(&b), true);
	wait_for_peer(&b, slot_of(&a), true);
	write_and_compare(&b, &a, 20);
	node_close(&a);
	node_close(&b);
	adv_control_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_avoid_sockets),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_peer_closes),
		cmocka_unit_test(test_only_one_requests),
		cmocka_unit_test(test_worker_killed),
	};
	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
