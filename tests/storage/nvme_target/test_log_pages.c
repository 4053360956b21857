/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Get Log Page: what each page contains, parts of pages, and pages that do not exist. */
#include "harness.h"

#include "base/version.h"
#include "base/bytes.h"

struct pages {
	struct lab lab;
	struct lab_queue admin, io;
};

static int setup(void **state)
{
	static struct pages p;
	struct adv_nvme_target_config config = {0};

	lab_create(&p.lab, &config);
	lab_ready(&p.lab, &p.admin, &p.io, 0);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct pages *p = *state;

	lab_close(&p->io);
	lab_close(&p->admin);
	lab_destroy(&p->lab);
	return 0;
}

/* Reads a page, or a part of one, to the start of the host's memory. */
static uint16_t read_page(struct pages *p, uint8_t id, uint64_t offset, uint32_t length)
{
	struct adv_nvme_command c = lab_log(id, offset, length);

	memset(p->lab.memory, 0xee, length);
	return lab_do(&p->admin, &c);
}

static void test_smart(void **state)
{
	struct pages *p = *state;
	struct adv_nvme_command write = lab_io(ADV_NVME_WRITE, 0, 1001);
	struct adv_nvme_command read = lab_io(ADV_NVME_READ, LAB_BLOCKS, 1);
	struct adv_nvme_smart smart;

	assert_int_equal(lab_do(&p->io, &write), 0);
	lab_do(&p->io, &read); /* beyond the end: an entry of the error log, and no read */
	assert_int_equal(read_page(p, ADV_NVME_LOG_SMART, 0, ADV_NVME_SMART_LEN), 0);
	adv_nvme_smart_decode(p->lab.memory, &smart);
	assert_int_equal(smart.writes, 1);
	assert_int_equal(smart.units_written, 2); /* thousands of 512 bytes, rounded up */
	assert_int_equal(smart.reads, 0);
	assert_int_equal(smart.error_entries, 1);
	assert_int_equal(smart.critical_warning, 0);
}

static void test_firmware(void **state)
{
	struct pages *p = *state;

	assert_int_equal(read_page(p, ADV_NVME_LOG_FIRMWARE, 0, 512), 0);
	assert_int_equal(p->lab.memory[0], 1);
	assert_memory_equal(p->lab.memory + 8, ADV_VERSION,
			    strnlen(ADV_VERSION, ADV_NVME_FIRMWARE_LEN));
	for (unsigned i = 16; i < 512; i++)
		assert_int_equal(p->lab.memory[i], 0);
}

static void add_namespace(struct pages *p, uint32_t nsid)
{
	struct adv_nvme_namespace_config ns = {.nsid = nsid, .blocks = 1, .block_shift = 9};

	ns.backend = p->lab.disk;
	assert_int_equal(adv_nvme_subsystem_add_namespace(p->lab.subsystem, 0, &ns, &nsid), 0);
}

/* Each change is in the list once, in rising order, until the page has been read. */
static void test_changed_namespaces(void **state)
{
	struct pages *p = *state;
	static const uint32_t order[] = {900, 3, 1024, 3, 20};
	static const uint32_t wanted[] = {3, 20, 900, 1024, 0};
	struct adv_nvme_command retained;

	for (unsigned i = 0; i < 5; i++) {
		add_namespace(p, order[i]);
		assert_int_equal(adv_nvme_subsystem_remove_namespace(p->lab.subsystem, 0, order[i]),
				 0);
		assert_ptr_equal(adv_nvme_target_next_released(p->lab.target), p->lab.disk);
	}
	/* The host may read it without an effect, and again. */
	retained = lab_log(ADV_NVME_LOG_CHANGED_NAMESPACES, 0, 4096);
	ADV_NVME_CDW(&retained, 10) |= 1u << 15;
	assert_int_equal(lab_do(&p->admin, &retained), 0);
	assert_int_equal(read_page(p, ADV_NVME_LOG_CHANGED_NAMESPACES, 0, 4096), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(adv_get_le32(p->lab.memory + 4 * i), wanted[i]);
	assert_int_equal(read_page(p, ADV_NVME_LOG_CHANGED_NAMESPACES, 0, 4096), 0);
	assert_int_equal(adv_get_le32(p->lab.memory), 0);
}

static void test_all_changed(void **state)
{
	struct pages *p = *state;

	for (uint32_t nsid = 1024; nsid >= 2; nsid--)
		add_namespace(p, nsid);
	assert_int_equal(adv_nvme_subsystem_remove_namespace(p->lab.subsystem, 0, 1), 0);
	assert_int_equal(read_page(p, ADV_NVME_LOG_CHANGED_NAMESPACES, 0, 4096), 0);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(adv_get_le32(p->lab.memory + (size_t)4 * i), i + 1);
	assert_ptr_equal(adv_nvme_target_next_released(p->lab.target), p->lab.disk);
}

/* One group, optimized, with all namespaces; Identify states the same group. */
static void test_ana(void **state)
{
	struct pages *p = *state;
	struct adv_nvme_command c = lab_identify(ADV_NVME_CNS_CONTROLLER, 0);
	struct adv_nvme_identify_namespace ns;
	struct adv_nvme_identify_controller id;
	const uint8_t *at = p->lab.memory;

	add_namespace(p, 7);
	assert_int_equal(read_page(p, ADV_NVME_LOG_ANA, 0, 64), 0);
	assert_int_equal(adv_get_le16(at + 8), 1); /* groups */
	assert_int_equal(adv_get_le32(at + 16), 1);
	assert_int_equal(adv_get_le32(at + 20), 2); /* namespaces */
	assert_int_equal(at[32], ADV_NVME_ANA_OPTIMIZED);
	assert_int_equal(adv_get_le32(at + 48), 1);
	assert_int_equal(adv_get_le32(at + 52), 7);
	assert_int_equal(adv_get_le32(at + 56), 0); /* behind the end */
	assert_int_equal(lab_do(&p->admin, &c), 0);
	adv_nvme_identify_controller_decode(at, &id);
	/* The page has room for all namespaces that there may be: hosts read it in pieces. */
	assert_int_equal(read_page(p, ADV_NVME_LOG_ANA, 4096, 48 + 4 * id.mnan - 4096), 0);
	for (uint32_t i = 0; i < (48 + 4 * id.mnan - 4096) / 4; i++)
		assert_int_equal(adv_get_le32(at + (size_t)4 * i), 0);
	assert_int_equal(read_page(p, ADV_NVME_LOG_ANA, 48 + 4 * id.mnan + 4, 4),
			 ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	assert_true(id.cmic & ADV_NVME_CMIC_ANA);
	assert_int_equal(id.nanagrpid, 1);
	assert_true(id.mnan > 0 && id.mnan <= id.nn);
	c = lab_identify(ADV_NVME_CNS_NAMESPACE, 7);
	assert_int_equal(lab_do(&p->admin, &c), 0);
	adv_nvme_identify_namespace_decode(at, &ns);
	assert_int_equal(ns.anagrpid, 1);
}

static void test_refused(void **state)
{
	struct pages *p = *state;

	assert_int_equal(read_page(p, ADV_NVME_LOG_DISCOVERY, 0, 1024),
			 ADV_NVME_INVALID_LOG_PAGE | ADV_NVME_DNR);
	assert_int_equal(read_page(p, 0xc0, 0, 512), ADV_NVME_INVALID_LOG_PAGE | ADV_NVME_DNR);
	assert_int_equal(read_page(p, ADV_NVME_LOG_SMART, 2, 4),
			 ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	assert_int_equal(read_page(p, ADV_NVME_LOG_SMART, 516, 4),
			 ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	assert_int_equal(read_page(p, ADV_NVME_LOG_SMART, 508, 8), 0); /* the rest is zeros */
	assert_int_equal(adv_get_le32(p->lab.memory + 4), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_smart),	TEST(test_firmware), TEST(test_changed_namespaces),
		TEST(test_all_changed), TEST(test_ana),	     TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
