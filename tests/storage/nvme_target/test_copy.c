/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copy: ranges to one place, limits, failures in the middle, order with writes. */
#include "harness.h"

struct copying {
	struct lab lab;
	struct lab_queue admin, io;
};

static int setup(void **state)
{
	static struct copying s;
	struct adv_nvme_target_config config = {0};

	lab_create(&s.lab, &config);
	lab_ready(&s.lab, &s.admin, &s.io, 0);
	for (unsigned i = 0; i < LAB_BLOCKS; i++)
		memset(s.lab.disk + ((size_t)i << LAB_SHIFT), (int)(i % 251), 1 << LAB_SHIFT);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct copying *s = *state;

	lab_close(&s->io);
	lab_close(&s->admin);
	lab_destroy(&s->lab);
	return 0;
}

/* Makes a Copy of ranges, which are put into the host's memory. */
static struct adv_nvme_command make_copy(struct copying *s, uint64_t to,
					 const struct adv_nvme_source *sources, uint32_t count)
{
	struct adv_nvme_command c = lab_command(ADV_NVME_COPY, 1, count * ADV_NVME_SOURCE_LEN);

	ADV_NVME_CDW(&c, 10) = (uint32_t)to;
	ADV_NVME_CDW(&c, 11) = (uint32_t)(to >> 32);
	ADV_NVME_CDW(&c, 12) = count - 1;
	for (uint32_t i = 0; i < count; i++)
		adv_nvme_source_encode(&sources[i], s->lab.memory + i * ADV_NVME_SOURCE_LEN);
	return c;
}

static void expect_block(const struct copying *s, uint64_t block, uint64_t from)
{
	const uint8_t *at = s->lab.disk + (block << LAB_SHIFT);

	assert_int_equal(at[0], from % 251);
	assert_int_equal(at[(1 << LAB_SHIFT) - 1], from % 251);
}

static void test_ranges(void **state)
{
	struct copying *s = *state;
	const struct adv_nvme_source sources[] = {{100, 3}, {7, 1}, {2000, 2}};
	struct adv_nvme_command c = make_copy(s, 500, sources, 3);
	struct adv_nvme_command identify = lab_identify(ADV_NVME_CNS_CONTROLLER, 0);
	struct adv_nvme_identify_controller id;
	struct adv_nvme_identify_namespace ns;

	assert_int_equal(lab_do(&s->io, &c), 0);
	for (unsigned i = 0; i < 3; i++)
		expect_block(s, 500 + i, 100 + i);
	expect_block(s, 503, 7);
	expect_block(s, 504, 2000);
	expect_block(s, 505, 2001);
	expect_block(s, 506, 506);
	assert_int_equal(s->io.last.result, 3);
	assert_int_equal(lab_do(&s->admin, &identify), 0);
	adv_nvme_identify_controller_decode(s->lab.memory, &id);
	assert_true(id.oncs & ADV_NVME_ONCS_COPY);
	assert_int_equal(id.ocfs, ADV_NVME_OCFS_FORMAT_0);
	identify = lab_identify(ADV_NVME_CNS_NAMESPACE, 1);
	assert_int_equal(lab_do(&s->admin, &identify), 0);
	adv_nvme_identify_namespace_decode(s->lab.memory, &ns);
	assert_int_equal(ns.mssrl, 2048);
	assert_int_equal(ns.mcl, 2048 * 128);
	assert_int_equal(ns.msrc, 127);
}

/* In the capsule, as Linux sends a few ranges; durable before it completes. */
static void test_in_capsule(void **state)
{
	struct copying *s = *state;
	const struct adv_nvme_source source = {9, 1};
	struct adv_nvme_command c = make_copy(s, 20, &source, 1);

	c.sgl = (struct adv_nvme_sgl){.id = ADV_NVME_SGL_OFFSET, .length = ADV_NVME_SOURCE_LEN};
	ADV_NVME_CDW(&c, 12) |= ADV_NVME_FUA;
	lab_send_with(&s->io, &c, s->lab.memory, ADV_NVME_SOURCE_LEN);
	assert_int_equal(s->io.last.status, 0);
	assert_int_equal(s->lab.fuas, 1);
	expect_block(s, 20, 9);
}

/* Nothing is copied if a range is wrong. */
static void test_refused(void **state)
{
	struct copying *s = *state;
	struct adv_nvme_source many[ADV_NVME_SOURCES_MAX + 1];
	const struct {
		uint64_t to;
		struct adv_nvme_source sources[2];
		uint16_t status;
	} cases[] = {
		{10, {{1, 1}, {LAB_BLOCKS, 1}}, ADV_NVME_LBA_RANGE},
		{10, {{1, 1}, {UINT64_MAX, 1}}, ADV_NVME_LBA_RANGE},
		{LAB_BLOCKS - 1, {{1, 1}, {2, 1}}, ADV_NVME_LBA_RANGE},
		{UINT64_MAX, {{1, 1}, {2, 1}}, ADV_NVME_LBA_RANGE},
		{10, {{1, 1}, {0, 2049}}, ADV_NVME_COPY_LIMIT},
	};
	struct adv_nvme_command c;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = make_copy(s, cases[i].to, cases[i].sources, 2);
		assert_int_equal(lab_do(&s->io, &c), cases[i].status | ADV_NVME_DNR);
		assert_int_equal(s->io.last.result, 0);
	}
	for (unsigned i = 0; i <= ADV_NVME_SOURCES_MAX; i++)
		many[i] = (struct adv_nvme_source){i, 1};
	c = make_copy(s, 2000, many, ADV_NVME_SOURCES_MAX + 1);
	assert_int_equal(lab_do(&s->io, &c), ADV_NVME_COPY_LIMIT | ADV_NVME_DNR);
	c = make_copy(s, 10, many, 1);
	ADV_NVME_CDW(&c, 12) |= 1 << 8;
	assert_int_equal(lab_do(&s->io, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	for (unsigned i = 0; i < LAB_BLOCKS; i++)
		expect_block(s, i, i);
	c = make_copy(s, 2000, many, ADV_NVME_SOURCES_MAX);
	assert_int_equal(lab_do(&s->io, &c), 0);
	expect_block(s, 2127, 127);
}

/* The result names the first range that was not copied. Other writes wait for the destination. */
static void test_failure_and_order(void **state)
{
	struct copying *s = *state;
	const struct adv_nvme_source sources[] = {{100, 1}, {101, 1}, {102, 1}};
	struct adv_nvme_command c = make_copy(s, 30, sources, 3), write;

	s->lab.hold_backend = true;
	lab_send(&s->io, &c);
	write = lab_io(ADV_NVME_WRITE_ZEROES, 30, 1);
	lab_send(&s->io, &write);
	assert_int_equal(s->lab.held_count, 1); /* the Copy's first range */
	lab_continue(&s->lab, 0);
	assert_int_equal(s->lab.held_count, 2); /* the write, and the second range */
	s->lab.backend_status = ADV_NVME_READ_ERROR;
	for (unsigned i = 0; i < 2; i++) {
		if (s->lab.held[i]->io.kind == ADV_NVME_IO_COPY)
			lab_continue(&s->lab, i);
	}
	assert_int_equal(s->io.last.status, ADV_NVME_READ_ERROR);
	assert_int_equal(s->io.last.result, 1);
	s->lab.backend_status = 0;
	lab_continue(&s->lab, 0);
	expect_block(s, 31, 31);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ranges),
		TEST(test_in_capsule),
		TEST(test_refused),
		TEST(test_failure_and_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
