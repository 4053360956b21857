/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rings of programs: what the emulator takes from them, and whom it gives frames. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/network/calendar.h"
#include "world.h"

#define QPN	 (WORLD_QPN(WORLD_PREFIX) + 1)
#define LONG_RUN (10 * ADV_PS_PER_MS)
#define ALL	 0xff
#define DSCP(p)	 ((uint8_t)((p) << 5)) /* traffic class of priority p: the DSCP is 8 p */
#define KEPT	 64

static void put(struct world *w, const struct adv_path *path, uint8_t tclass, uint32_t payload)
{
	const struct world_frame f = {0, QPN, tclass, payload};

	assert_true(world_put(&w->program[0], path, &f));
}

/* The NIC of host 0 fetches a frame. Returns its priority, or -1. */
static int pull(struct world *w, uint8_t wanted)
{
	struct adv_fabric_frame frame;

	if (!adv_emulator_ops.pull(&w->emulator, 0, wanted, &frame))
		return -1;
	return adv_fabric_frame_priority(w->emulator.config.fabric, &frame);
}

/* ---- what is taken ---- */

/* Frames with the address of another host, to no host of the fabric, or between addresses of two
 * kinds are refused and counted; the frame behind them passes. */
static void test_refused(void **state)
{
	struct world *w = *state;
	struct adv_path good, path;

	world_path(w, 0, 1, &good);
	world_path(w, 1, 0, &path);
	put(w, &path, 0, 100);
	path = good;
	adv_port_gid(&w->emulator.place, WORLD_HOSTS, false, &path.dgid);
	put(w, &path, 0, 100);
	path = good;
	adv_port_gid(&w->emulator.place, 1, true, &path.dgid);
	put(w, &path, 0, 100);
	path = good;
	memset(&path.sgid, 0xff, sizeof(path.sgid));
	put(w, &path, 0, 100);
	put(w, &good, 0, 100);
	world_run(w, LONG_RUN);
	assert_int_equal(w->emulator.host[0].tx_refused, 4);
	assert_int_equal(w->program[0].received, 0);
	assert_int_equal(w->program[1].received, 1);
	assert_int_equal(w->program[1].last.sgid.raw[15], good.sgid.raw[15]);
}

/* A record that is no packet ends the connection of its program. The other program goes on. */
static void test_broken(void **state)
{
	struct world *w = *state;
	struct world_program other;
	const struct world_frame f = {0, QPN, 0, 100};
	struct adv_path path;
	int pair[2];
	char byte;

	world_path(w, 0, 1, &path);
	world_start(w, &other, 0, WORLD_PREFIX + 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	close(w->program[0].p->sock);
	w->program[0].p->sock = pair[0];
	memset(w->program[0].writer.memory->bytes, 0xff, 64);
	assert_true(world_put(&other, &path, &f));
	world_run(w, LONG_RUN);
	world_run(w, LONG_RUN);
	assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
	assert_true(w->program[0].p->closing);
	assert_false(other.p->closing);
	assert_int_equal(w->program[1].received, 1);
	close(pair[1]);
	world_stop(w, &other);
}

/* A record of RoCE v1 has a service level for a port; it has no ECN, whatever the program wrote. */
static void test_v1(void **state)
{
	struct world *w = *state;
	struct adv_fabric_frame frame;
	struct adv_path path;

	world_path(w, 0, 1, &path);
	path.sport = adv_port_v1_sport(5);
	put(w, &path, DSCP(3) | ADV_ECN_CE, 100);
	assert_true(adv_emulator_ops.pull(&w->emulator, 0, ALL, &frame));
	assert_true(frame.v1);
	assert_int_equal(frame.sl, 5);
	assert_int_equal(frame.sport, 0);
	assert_int_equal(frame.tclass & ADV_ECN_MASK, 0);
	assert_int_equal(adv_fabric_frame_priority(w->emulator.config.fabric, &frame), 5);
}

/* ---- priorities ---- */

/* Frames of a priority that is not wanted wait, in order, and others pass them. */
static void test_priorities(void **state)
{
	struct world *w = *state;
	struct adv_path path;

	world_path(w, 0, 1, &path);
	put(w, &path, DSCP(3), 100);
	put(w, &path, DSCP(3), 200);
	put(w, &path, DSCP(0), 100);
	put(w, &path, DSCP(6), 100);
	assert_int_equal(pull(w, 1u << 0), 0);
	assert_int_equal(w->program[0].p->kept_count, 2);
	assert_int_equal(pull(w, 1u << 0), -1); /* reads the frame of priority 6 and keeps it */
	assert_int_equal(w->program[0].p->kept_count, 3);
	assert_int_equal(pull(w, ALL), 6);
	assert_int_equal(pull(w, ALL), 3);
	assert_int_equal(w->emulator.lent->frame.length, ADV_BTH_LEN + 100);
	assert_int_equal(pull(w, ALL), 3);
	assert_int_equal(w->emulator.lent->frame.length, ADV_BTH_LEN + 200);
	assert_int_equal(pull(w, ALL), -1);
	assert_int_equal(w->program[0].p->kept_count, 0);
}

/* The number of frames that wait is bounded: the program's other frames wait behind them. */
static void test_bounded(void **state)
{
	struct world *w = *state;
	struct adv_path path;

	world_path(w, 0, 1, &path);
	for (unsigned i = 0; i < KEPT; i++)
		put(w, &path, DSCP(3), 100);
	put(w, &path, DSCP(0), 100);
	assert_int_equal(pull(w, 1u << 0), -1);
	assert_int_equal(w->program[0].p->kept_count, KEPT);
	assert_int_equal(pull(w, 1u << 0), -1);
	assert_true(adv_emulator_sleep(&w->emulator, false)); /* nothing to do for the emulator */
	for (unsigned i = 0; i < KEPT; i++)
		assert_int_equal(pull(w, 1u << 3), 3);
	assert_int_equal(pull(w, 1u << 0), 0);
}

/* Two programs of a host take turns, so a program that floods its host does not starve the other
 * one. */
static void test_turns(void **state)
{
	struct world *w = *state;
	const struct world_frame f = {0, QPN, 0, 100}, f1 = {0, QPN, 0, 104};
	struct world_program other;
	struct adv_path path;
	unsigned of_other = 0;

	world_start(w, &other, 0, WORLD_PREFIX + 1);
	world_path(w, 0, 1, &path);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(world_put(&w->program[0], &path, &f));
		assert_true(world_put(&other, &path, &f1));
	}
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(pull(w, ALL), 0);
		of_other += w->emulator.lent->frame.length == ADV_BTH_LEN + 104;
	}
	assert_int_equal(of_other, 5);
	world_stop(w, &other);
}

/* ---- room ---- */

static bool has_room(const struct world_program *g)
{
	struct pollfd p = {.fd = g->room, .events = POLLOUT};

	return poll(&p, 1, 0) == 1;
}

/* A program that waits for room gets it when half of its ring is free. */
static void test_room(void **state)
{
	struct world *w = *state;
	struct world_program *g = &w->program[0];
	const struct world_frame f = {0, QPN, 0, 1000};
	unsigned frames = 0, pulled = 0;
	struct adv_path path;

	world_path(w, 0, 1, &path);
	while (world_put(g, &path, &f))
		frames++;
	while (has_room(g))
		assert_int_equal(send(g->room, "", 1, MSG_DONTWAIT), 1);
	atomic_store(&g->p->flag->full, 1);
	while (pulled < frames && !has_room(g)) {
		assert_int_equal(pull(w, ALL), 0);
		pulled++;
	}
	assert_in_range(pulled, frames / 3, frames * 2 / 3);
	assert_int_equal(atomic_load(&g->p->flag->full), 0);
	assert_true(world_put(g, &path, &f));
}

/* A program whose ring is empty gets room, however few bytes were read. */
static void test_room_of_empty_ring(void **state)
{
	struct world *w = *state;
	struct world_program *g = &w->program[0];
	struct adv_path path;

	world_path(w, 0, 1, &path);
	put(w, &path, 0, 100);
	while (has_room(g))
		assert_int_equal(send(g->room, "", 1, MSG_DONTWAIT), 1);
	atomic_store(&g->p->flag->full, 1);
	assert_int_equal(pull(w, ALL), 0);
	assert_true(has_room(g));
}

/* ---- who gets frames ---- */

/* A frame goes to the program that owns its queue pair. One that nobody owns is counted. */
static void test_owner(void **state)
{
	struct world *w = *state;
	struct world_program other;
	const struct world_frame f[] = {{0, QPN, 0, 100},
					{0, WORLD_QPN(WORLD_PREFIX + 1), 0, 100},
					{0, WORLD_QPN(WORLD_PREFIX + 2), 0, 100},
					{0, WORLD_QPN(WORLD_PREFIX + 1) + 7, 0, 100}};

	world_start(w, &other, 1, WORLD_PREFIX + 1);
	other.received = 0;
	for (unsigned i = 0; i < 4; i++)
		world_send(w, &f[i]);
	world_run(w, LONG_RUN);
	world_read(&other);
	assert_int_equal(w->program[1].received, 1);
	assert_int_equal(other.received, 2);
	assert_int_equal(w->emulator.host[1].rx_unclaimed, 1);
	world_stop(w, &other);
	world_send(w, &f[1]);
	world_run(w, LONG_RUN);
	assert_int_equal(w->program[1].received, 1);
	assert_int_equal(w->emulator.host[1].rx_unclaimed, 2);
}

/* Prefixes that do not exist are not claimed. */
static void test_claim(void **state)
{
	struct world *w = *state;
	struct emulator_program *p = w->program[0].p;

	assert_int_equal(adv_emulator_claim(&w->emulator, p, ADV_PREFIXES - 1, 1), 0);
	assert_int_equal(adv_emulator_claim(&w->emulator, p, ADV_PREFIXES - 1, 2), EINVAL);
	assert_int_equal(adv_emulator_claim(&w->emulator, p, ADV_PREFIXES, 0), EINVAL);
	assert_int_equal(adv_emulator_claim(&w->emulator, p, 1, UINT32_MAX), EINVAL);
}

/* A program that does not read loses frames. They are counted, and those of others arrive. */
static void test_overrun(void **state)
{
	struct world *w = *state;
	struct world_program other;
	const struct world_frame lost = {0, WORLD_QPN(WORLD_PREFIX + 1), 0, 1000};
	const struct world_frame f = {0, QPN, 0, 1000};
	unsigned sent = 0;

	world_start(w, &other, 1, WORLD_PREFIX + 1);
	other.received = 0;
	while (!w->emulator.host[1].rx_overrun && sent++ < 1000) {
		world_send(w, &lost);
		world_run(w, ADV_PS_PER_MS);
	}
	assert_int_equal(w->emulator.host[1].rx_overrun, 1);
	world_send(w, &f);
	world_run(w, ADV_PS_PER_MS);
	assert_int_equal(w->program[1].received, 1);
	world_read(&other);
	assert_int_equal(other.received, sent - 1);
	world_stop(w, &other);
}

/* When a program leaves, its frames that the NIC has fetched go on, and the others are lost. */
static void test_leaves(void **state)
{
	struct world *w = *state;
	struct adv_path path;

	world_path(w, 0, 1, &path);
	put(w, &path, DSCP(0), 100);
	put(w, &path, DSCP(3), 100);
	(void)adv_emulator_look(&w->emulator);
	put(w, &path, DSCP(3), 100);
	assert_int_equal(pull(w, 1u << 0), -1);
	assert_int_equal(w->program[0].p->kept_count, 1);
	world_stop(w, &w->program[0]);
	assert_int_equal(pull(w, ALL), -1);
	world_run(w, LONG_RUN);
	assert_int_equal(w->program[1].received, 2);
	assert_int_equal(w->emulator.attached, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_refused), TEST(test_broken),
		TEST(test_v1),	    TEST(test_priorities),
		TEST(test_bounded), TEST(test_turns),
		TEST(test_room),    TEST(test_owner),
		TEST(test_claim),   TEST(test_room_of_empty_ring),
		TEST(test_overrun), TEST(test_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
