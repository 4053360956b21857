/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fused Compare and Write: both or nothing, in every order of their data, and ends in the middle.
 */
#include "harness.h"

struct pair {
	struct lab lab;
	struct lab_queue admin, io;
};

static int setup(void **state)
{
	static struct pair p;
	struct adv_nvme_target_config config = {0};

	lab_create(&p.lab, &config);
	lab_ready(&p.lab, &p.admin, &p.io, 0);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	if (!p->io.closed)
		lab_close(&p->io);
	lab_close(&p->admin);
	lab_destroy(&p->lab);
	return 0;
}

static struct adv_nvme_command fused(uint8_t opcode, uint64_t slba, uint32_t offset)
{
	struct adv_nvme_command c = lab_io(opcode, slba, 1);

	c.fuse = opcode == ADV_NVME_COMPARE ? ADV_NVME_FUSED_FIRST : ADV_NVME_FUSED_SECOND;
	c.sgl.address = offset;
	return c;
}

/* Sends a pair for block 3: it compares with `old` and writes `new`. */
static void send_pair(struct pair *p, uint8_t old, uint8_t new)
{
	struct adv_nvme_command compare = fused(ADV_NVME_COMPARE, 3, 0);
	struct adv_nvme_command write = fused(ADV_NVME_WRITE, 3, 512);

	memset(p->lab.memory, old, 512);
	memset(p->lab.memory + 512, new, 512);
	lab_send(&p->io, &compare);
	lab_send(&p->io, &write);
}

static uint8_t block(const struct pair *p)
{
	return p->lab.disk[3 * 512];
}

static void test_success(void **state)
{
	struct pair *p = *state;
	unsigned before = p->io.responses;

	send_pair(p, 0, 7);
	assert_int_equal(p->io.responses, before + 2);
	assert_int_equal(p->io.last.status, 0);
	assert_int_equal(block(p), 7);
	send_pair(p, 0, 9);
	assert_int_equal(p->io.last.status, ADV_NVME_FAILED_FUSED);
	assert_int_equal(block(p), 7);
}

static void test_alone(void **state)
{
	struct pair *p = *state;
	struct adv_nvme_command first = fused(ADV_NVME_COMPARE, 3, 0),
				read = lab_io(ADV_NVME_READ, 0, 1);
	struct adv_nvme_command second = fused(ADV_NVME_WRITE, 3, 0);
	unsigned before = p->io.responses;

	assert_int_equal(lab_do(&p->io, &second), ADV_NVME_MISSING_FUSED | ADV_NVME_DNR);
	lab_send(&p->io, &first);
	assert_int_equal(p->io.responses, before + 1);
	lab_send(&p->io, &read); /* the response to the first one comes before */
	assert_int_equal(p->io.responses, before + 3);
	assert_int_equal(p->io.last.status, 0);
	lab_send(&p->io, &first);
	lab_send(&p->io, &first);
	assert_int_equal(p->io.last.status, ADV_NVME_MISSING_FUSED | ADV_NVME_DNR);
	lab_close(&p->io); /* the second of them still waits */
}

static void test_refused(void **state)
{
	struct pair *p = *state;
	struct adv_nvme_command c = fused(ADV_NVME_WRITE, 3, 0), first, second;
	unsigned before;

	c.fuse = ADV_NVME_FUSED_FIRST;
	assert_int_equal(lab_do(&p->io, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	c.fuse = 3;
	assert_int_equal(lab_do(&p->io, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	c = lab_command(ADV_NVME_KEEP_ALIVE, 0, 0);
	c.fuse = ADV_NVME_FUSED_FIRST;
	assert_int_equal(lab_do(&p->admin, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	/* Different ranges, and a range that is not there. */
	for (unsigned i = 0; i < 2; i++) {
		before = p->io.responses;
		first = fused(ADV_NVME_COMPARE, i ? LAB_BLOCKS : 3, 0);
		second = fused(ADV_NVME_WRITE, i ? 3 : 4, 0);
		lab_send(&p->io, &first);
		lab_send(&p->io, &second);
		assert_int_equal(p->io.responses, before + 2);
		assert_int_equal(p->io.last.status,
				 i ? ADV_NVME_FAILED_FUSED : ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	}
}

/* The data comes in any order; another write to the block waits until the pair has ended. */
static void test_atomic(void **state)
{
	struct pair *p = *state;
	struct adv_nvme_command other = lab_io(ADV_NVME_WRITE, 3, 1);

	p->lab.hold_fetches = p->lab.hold_backend = true;
	send_pair(p, 0, 7);
	other.sgl.address = 1024;
	p->lab.memory[1024] = 5;
	assert_int_equal(p->lab.held_count, 2);
	lab_continue(&p->lab, 1); /* the data of the write */
	assert_int_equal(p->lab.held_count, 1);
	lab_continue(&p->lab, 0);
	assert_int_equal(p->lab.held_count, 1); /* the compare, in the backend */
	lab_send(&p->io, &other);
	lab_continue(&p->lab, 1);
	assert_int_equal(p->lab.held_count, 1);
	lab_continue(&p->lab, 0);
	assert_int_equal(p->lab.held_count, 1); /* the write of the pair, not the other one */
	assert_int_equal(p->lab.held[0]->io.data[0], 7);
	lab_continue(&p->lab, 0);
	assert_int_equal(block(p), 7);
	lab_continue(&p->lab, 0);
	assert_int_equal(block(p), 5);
	p->lab.hold_fetches = p->lab.hold_backend = false;
}

/* The data of one of the commands cannot be read. */
static void test_failed_fetch(void **state)
{
	struct pair *p = *state;

	for (unsigned which = 0; which < 4; which++) {
		struct adv_nvme_command compare = fused(ADV_NVME_COMPARE, 3, 0);
		struct adv_nvme_command write = fused(ADV_NVME_WRITE, 3, 512);
		unsigned before = p->io.responses;

		memset(p->lab.memory, 0, 512);
		*(which & 1 ? &write.sgl.key : &compare.sgl.key) = LAB_KEY + 1;
		p->lab.hold_fetches = true;
		lab_send(&p->io, &compare);
		lab_send(&p->io, &write);
		lab_continue(&p->lab, which >> 1);
		lab_continue(&p->lab, 0);
		assert_int_equal(p->io.responses, before + 2);
		assert_true(p->io.last.status == ADV_NVME_FAILED_FUSED ||
			    p->io.last.status == ADV_NVME_DATA_TRANSFER_ERROR);
		assert_int_equal(block(p), 0);
		p->lab.hold_fetches = false;
	}
}

/* The connection ends at each step of a pair, and the requests return in either order. */
static void test_loss(void **state)
{
	struct pair *p = *state;

	for (unsigned step = 0; step < 10; step++) {
		struct lab_queue admin, io;
		struct lab *lab = &p->lab;
		struct adv_nvme_command compare = fused(ADV_NVME_COMPARE, 3, 0);
		struct adv_nvme_command write = fused(ADV_NVME_WRITE, 3, 512);

		memset(lab->disk, 0, 4096);
		memset(lab->memory, 0, 512);
		lab_ready(lab, &admin, &io, 0);
		lab->hold_buffers = step < 2;
		lab->hold_fetches = step < 6;
		lab->hold_backend = true;
		lab_send(&io, &compare);
		if (step != 9)
			lab_send(&io, &write);
		if (step == 4 || step == 5) /* one of them has its data */
			lab_continue(lab, step - 4);
		if (step == 8) /* the write executes */
			lab_continue(lab, 0);
		lab_close(&io);
		while (lab->held_count)
			lab_continue(lab, step & 1 ? lab->held_count - 1 : 0);
		assert_true(io.freed);
		lab->hold_buffers = lab->hold_fetches = lab->hold_backend = false;
		lab_close(&admin);
	}
	send_pair(p, 0, 3); /* nothing holds the range */
	assert_int_equal(p->io.last.status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_success), TEST(test_alone),	     TEST(test_refused),
		TEST(test_atomic),  TEST(test_failed_fetch), TEST(test_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
