/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures at the ends of cables. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/network/calendar.h"
#include "fabric/network/packet.h"
#include "nic/wire/frame.h"
#include "world.h"

#define QPN   (WORLD_QPN(WORLD_PREFIX) + 5)
#define WHOLE 65536u

/* A tool's side of a capture. */
struct capture {
	struct emulator_program tool;
	void *memory;
	size_t len;
	struct adv_tap_reader reader;
	struct adv_tap_record record; /* the last one */
	uint8_t data[ADV_TAP_DATA_MAX];
};

static int begin(struct world *w, struct capture *c, const char *where, uint32_t keep)
{
	struct adv_port_message m = {.type = ADV_PORT_CAPTURE, .first = keep};
	int fd, error;

	snprintf(m.text, sizeof(m.text), "%s", where);
	error = adv_emulator_capture(&w->emulator, &c->tool, &m, &fd);
	if (error) {
		assert_int_equal(fd, -1);
		assert_true(m.text[0]);
		return error;
	}
	c->len = adv_tap_memory_len(m.count);
	c->memory = mmap(NULL, c->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(c->memory != MAP_FAILED);
	assert_int_not_equal(ftruncate(fd, 0), 0); /* it is sealed */
	close(fd);
	adv_tap_reader_init(&c->reader, c->memory, m.count);
	return 0;
}

static void end(struct world *w, struct capture *c)
{
	adv_emulator_end_captures(&w->emulator, &c->tool);
	munmap(c->memory, c->len);
}

static bool next(struct capture *c)
{
	if (!adv_tap_peek(&c->reader, &c->record))
		return false;
	adv_tap_take(&c->reader, &c->record, c->data);
	return true;
}

static unsigned count_records(struct capture *c)
{
	unsigned n = 0;

	while (next(c))
		n++;
	return n;
}

/* hops: switches that the frame has passed. */
static void expect_frame(const struct world *w, const struct capture *c, bool out, unsigned hops)
{
	struct adv_gid gid;

	adv_port_gid(&w->emulator.place, 0, false, &gid);
	assert_true(adv_gid_equal(&gid, &c->record.sgid));
	adv_port_gid(&w->emulator.place, 1, false, &gid);
	assert_true(adv_gid_equal(&gid, &c->record.dgid));
	assert_int_equal(c->record.flags, out ? ADV_TAP_OUT : 0);
	assert_int_equal(c->record.sport, 0xc123);
	assert_int_equal(c->record.tclass, 26 << 2 | ADV_ECN_ECT0);
	assert_int_equal(c->record.hop_limit, 64 - hops);
	assert_int_equal(c->record.header_len, ADV_BTH_LEN);
	assert_int_equal(c->record.payload_len, 500);
	assert_int_equal(c->record.lost, 0);
	for (unsigned i = 0; i < c->record.kept; i++)
		assert_int_equal(c->data[ADV_BTH_LEN + i], (uint8_t)i);
}

/* A frame of a program is seen at each end of each cable, whole, in virtual time. */
static void test_path(void **state)
{
	static const struct {
		const char *where;
		bool out;
	} ends[] = {{"h0", true},    {"s0:0", false}, {"s0:1", true},
		    {"s1:1", false}, {"s1:0", true},  {"h1", false}};
	enum { ENDS = sizeof(ends) / sizeof(ends[0]) };
	static struct capture c[ENDS];
	struct world *w = *state;
	const struct world_frame frame = {0, QPN, 26 << 2 | ADV_ECN_ECT0, 500};
	uint64_t time = 0;

	for (unsigned i = 0; i < ENDS; i++)
		assert_int_equal(begin(w, &c[i], ends[i].where, WHOLE), 0);
	world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_int_equal(w->program[1].received, 1);
	for (unsigned i = 0; i < ENDS; i++) {
		assert_true(next(&c[i]));
		expect_frame(w, &c[i], ends[i].out, i / 2);
		assert_int_equal(c[i].record.kept, 500);
		assert_memory_equal(c[i].data + 5,
				    ((uint8_t[]){QPN >> 16, QPN >> 8 & 0xff, QPN & 0xff}), 3);
		/* Arrival is as much later than departure as the cable takes. */
		if (!ends[i].out)
			assert_in_range(c[i].record.time - time,
					50 + 562ull * WORLD_PS_PER_BYTE / 1000,
					51 + 600ull * WORLD_PS_PER_BYTE / 1000);
		time = c[i].record.time;
		assert_false(next(&c[i]));
		end(w, &c[i]);
	}
}

/* A capture keeps the beginning of frames, and knows their lengths. */
static void test_snaplen(void **state)
{
	static struct capture c;
	struct world *w = *state;
	const struct world_frame frame = {0, QPN, 26 << 2 | ADV_ECN_ECT0, 500};

	assert_int_equal(begin(w, &c, "s0:1", 64), 0);
	world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_true(next(&c));
	expect_frame(w, &c, true, 1);
	assert_int_equal(c.record.kept, 64 - ADV_BTH_LEN);
	end(w, &c);
}

/* Both directions of a port are captured, and nothing of other ports. */
static void test_directions(void **state)
{
	static struct capture c;
	struct world *w = *state;

	assert_int_equal(begin(w, &c, "s0:1", WHOLE), 0);
	for (unsigned i = 0; i < 3; i++)
		world_send(w, &(struct world_frame){0, QPN, 0, 100});
	for (unsigned i = 0; i < 2; i++)
		world_send(w, &(struct world_frame){1, QPN, 0, 100});
	world_run(w, 100 * ADV_PS_PER_US);
	for (unsigned out = 0, i = 0; i < 5; i++) {
		assert_true(next(&c));
		out += c.record.flags & ADV_TAP_OUT;
		assert_true(i < 4 || out == 3);
	}
	assert_false(next(&c));
	end(w, &c);
}

/* A PFC frame is a record without headers that has the whole frame. */
static void test_pause(void **state)
{
	static struct capture c;
	struct world *w = *state;
	struct adv_packet p = {
		.kind = ADV_PACKET_PAUSE, .pause_mask = 1 << 3, .quanta = {[3] = 77}};
	uint8_t wanted[ADV_FRAME_PFC_LEN];
	uint32_t link;
	unsigned side;

	assert_int_equal(begin(w, &c, "h0", WHOLE), 0);
	link = w->emulator.capture[0].link;
	side = w->emulator.capture[0].end;
	adv_emulator_seen(&w->emulator, link, side, false, &p);
	adv_emulator_seen(&w->emulator, link, 1 - side, false, &p); /* the other end */
	adv_emulator_seen(&w->emulator, link + 1, side, false, &p); /* another cable */
	adv_frame_pfc(wanted, p.pause_mask, p.quanta);
	assert_true(next(&c));
	assert_int_equal(c.record.header_len, 0);
	assert_int_equal(c.record.flags, 0);
	assert_int_equal(c.record.payload_len, sizeof(wanted));
	assert_int_equal(c.record.kept, sizeof(wanted));
	assert_memory_equal(c.data, wanted, sizeof(wanted));
	assert_false(next(&c));
	end(w, &c);
}

/* A frame of a simulated flow has its headers beside its payload. A mark is seen. */
static void test_simulated(void **state)
{
	static struct capture c;
	static const uint8_t payload[] = "simulated";
	struct world *w = *state;
	struct adv_packet p = {.kind = ADV_PACKET_DATA,
			       .from = 1,
			       .to = 0,
			       .tclass = ADV_ECN_CE,
			       .pad = 2,
			       .header_len = 16,
			       .header = {0x11, [15] = 0x99},
			       .payload_len = sizeof(payload),
			       .payload = payload};
	struct adv_gid gid;

	assert_int_equal(begin(w, &c, "h0", WHOLE), 0);
	adv_emulator_seen(&w->emulator, w->emulator.capture[0].link, w->emulator.capture[0].end,
			  false, &p);
	assert_true(next(&c));
	assert_int_equal(c.record.header_len, 16);
	assert_int_equal(c.record.pad, 2);
	assert_int_equal(c.record.tclass, ADV_ECN_CE);
	assert_int_equal(c.record.payload_len, sizeof(payload));
	assert_memory_equal(c.data, p.header, 16);
	assert_memory_equal(c.data + 16, payload, sizeof(payload));
	/* header_len is not the tag of a program's frame: the addresses are IPv4 */
	adv_port_gid(&w->emulator.place, 1, false, &gid);
	assert_true(adv_gid_equal(&gid, &c.record.sgid));
	end(w, &c);
}

/* There is a limit of captures. A capture that has ended makes room. */
static void test_too_many(void **state)
{
	static struct capture c[EMULATOR_CAPTURES + 1];
	struct world *w = *state;

	for (unsigned i = 0; i < EMULATOR_CAPTURES; i++)
		assert_int_equal(begin(w, &c[i], "s1:1", WHOLE), 0);
	assert_int_equal(begin(w, &c[EMULATOR_CAPTURES], "s1:1", WHOLE), EBUSY);
	end(w, &c[3]);
	assert_int_equal(begin(w, &c[3], "s1:1", WHOLE), 0);
	for (unsigned i = 0; i < EMULATOR_CAPTURES; i++)
		end(w, &c[i]);
}

static void test_unknown(void **state)
{
	static const char *const names[] = {"", "h2", "s2:0", "s0:2", "s0", "x", "h-1"};
	static struct capture c;
	struct world *w = *state;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)

		assert_int_equal(begin(w, &c, names[i], WHOLE), ENOENT);
	/* no place is lost */
	for (unsigned i = 0; i < EMULATOR_CAPTURES; i++)
		assert_null(w->emulator.capture[i].owner);
}

/* Of two captures at one port, one ends: the other one goes on. Then nothing is seen any more. */
static void test_end(void **state)
{
	static struct capture one, other;
	struct world *w = *state;
	const struct world_frame frame = {0, QPN, 0, 100};

	assert_int_equal(begin(w, &one, "s0:1", WHOLE), 0);
	assert_int_equal(begin(w, &other, "s0:1", WHOLE), 0);
	world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_int_equal(count_records(&one), 1);
	adv_emulator_end_captures(&w->emulator, &one.tool);
	world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_int_equal(count_records(&one), 0);
	assert_int_equal(count_records(&other), 2);
	adv_emulator_end_captures(&w->emulator, &other.tool);
	world_send(w, &frame);
	world_run(w, 100 * ADV_PS_PER_US);
	assert_int_equal(count_records(&other), 0);
	assert_int_equal(w->program[1].received, 3);
	munmap(one.memory, one.len);
	munmap(other.memory, other.len);
}

/* A tool that does not read loses frames, and learns how many. The fabric does not wait. */
static void test_full(void **state)
{
	static struct capture c;
	static const uint8_t payload[4096];
	struct world *w = *state;
	struct adv_packet p = {.kind = ADV_PACKET_DATA,
			       .to = 1,
			       .header_len = ADV_BTH_LEN,
			       .payload_len = sizeof(payload),
			       .payload = payload};
	const unsigned frames = 6000;
	unsigned kept;

	assert_int_equal(begin(w, &c, "h0", WHOLE), 0);
	for (unsigned i = 0; i < frames; i++)
		adv_emulator_seen(&w->emulator, w->emulator.capture[0].link,
				  w->emulator.capture[0].end, true, &p);
	kept = count_records(&c);
	assert_in_range(kept, 1000, frames - 1000);
	adv_emulator_seen(&w->emulator, w->emulator.capture[0].link, w->emulator.capture[0].end,
			  true, &p);
	assert_true(next(&c));
	assert_int_equal(c.record.lost, frames - kept);
	end(w, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_path, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_snaplen, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_directions, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_pause, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_simulated, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_too_many, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_unknown, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_end, world_open, world_close),
		cmocka_unit_test_setup_teardown(test_full, world_open, world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
