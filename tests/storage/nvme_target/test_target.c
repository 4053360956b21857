/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The target: from the connection request to I/O, refused commands, events, lost queues. */
#include "harness.h"

#include "base/bytes.h"

static void test_bring_up(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_identify_controller id;
	struct adv_nvme_identify_namespace ns;
	struct adv_nvme_command c;
	uint32_t nsids[ADV_NVME_LIST_MAX];

	lab_ready(lab, &admin, &io, 0);
	assert_int_equal(lab_get(&admin, ADV_NVME_CAP, true) & 0xffff, 127);
	assert_int_equal(lab_get(&admin, ADV_NVME_VS, false), 0x10400);
	c = lab_identify(ADV_NVME_CNS_CONTROLLER, 0);
	assert_int_equal(lab_do(&admin, &c), 0);
	adv_nvme_identify_controller_decode(lab->memory, &id);
	assert_string_equal(id.subnqn, LAB_NQN);
	assert_int_equal(id.ioccsz, 260);
	c = lab_identify(ADV_NVME_CNS_ACTIVE_LIST, 0);
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_int_equal(adv_nvme_identify_list_decode(lab->memory, nsids), 1);
	c = lab_identify(ADV_NVME_CNS_NAMESPACE, nsids[0]);
	c.sgl.id = ADV_NVME_SGL_KEYED_INVALIDATE;
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_true(admin.invalidated);
	adv_nvme_identify_namespace_decode(lab->memory, &ns);
	assert_int_equal(ns.nsze, LAB_BLOCKS);
	assert_int_equal(ns.block_shift, LAB_SHIFT);
	lab_close(&io);
	lab_close(&admin);
	assert_true(io.freed && admin.freed);
}

static void test_data(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c;
	char text[512] = "in the capsule";

	lab_ready(lab, &admin, &io, 0);
	strcpy((char *)lab->memory, "by READ");
	c = lab_io(ADV_NVME_WRITE, 8, 16);
	assert_int_equal(lab_do(&io, &c), 0);
	assert_string_equal((char *)lab->disk + 8 * 512, "by READ");
	c = lab_io(ADV_NVME_WRITE, 0, 1);
	c.sgl.id = ADV_NVME_SGL_OFFSET;
	lab_send_with(&io, &c, text, sizeof(text));
	assert_int_equal(io.last.status, 0);
	assert_string_equal((char *)lab->disk, "in the capsule");
	memset(lab->memory, 0, 512);
	c = lab_io(ADV_NVME_READ, 0, 1);
	assert_int_equal(lab_do(&io, &c), 0);
	assert_string_equal((char *)lab->memory, "in the capsule");
	c = lab_io(ADV_NVME_COMPARE, 0, 1);
	assert_int_equal(lab_do(&io, &c), 0);
	lab->memory[0]++;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_COMPARE_FAILURE);
	c = lab_io(ADV_NVME_WRITE_ZEROES, 0, 1);
	assert_int_equal(lab_do(&io, &c), 0);
	assert_int_equal(lab->disk[0], 0);
	c = lab_io(ADV_NVME_FLUSH, 0, 0);
	assert_int_equal(lab_do(&io, &c), 0);
	assert_int_equal(lab->flushes, 1);
	c = lab_io(ADV_NVME_WRITE, 0, 1);
	ADV_NVME_CDW(&c, 12) |= ADV_NVME_FUA;
	assert_int_equal(lab_do(&io, &c), 0);
	assert_int_equal(lab->fuas, 1);
	lab->backend_status = ADV_NVME_WRITE_FAULT;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_WRITE_FAULT);
	/* A Read that fails sends no data. */
	lab->backend_status = ADV_NVME_READ_ERROR;
	lab->memory[0] = 0x77;
	c = lab_io(ADV_NVME_READ, 0, 1);
	assert_int_equal(lab_do(&io, &c), ADV_NVME_READ_ERROR);
	assert_int_equal(lab->memory[0], 0x77);
	lab_close(&io);
	lab_close(&admin);
}

static void test_dataset_management(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_range ranges[3] = {
		{.blocks = 2, .slba = 1}, {.slba = 7}, {.blocks = 1, .slba = 9}};
	struct adv_nvme_command c = lab_command(ADV_NVME_DATASET_MANAGEMENT, 1, 48);

	lab_ready(lab, &admin, &io, 0);
	memset(lab->disk, 1, 20 * 512);
	for (unsigned i = 0; i < 3; i++)
		adv_nvme_range_encode(&ranges[i], lab->memory + 16 * i);
	ADV_NVME_CDW(&c, 10) = 2;
	assert_int_equal(lab_do(&io, &c), 0); /* a hint about use only */
	assert_int_equal(lab->disk[512], 1);
	ADV_NVME_CDW(&c, 11) = ADV_NVME_DEALLOCATE;
	assert_int_equal(lab_do(&io, &c), 0);
	assert_int_equal(lab->disk[511], 1);
	assert_int_equal(lab->disk[512], 0);
	assert_int_equal(lab->disk[3 * 512], 1);
	assert_int_equal(lab->disk[7 * 512], 1);
	assert_int_equal(lab->disk[9 * 512], 0);
	ranges[2].slba = LAB_BLOCKS; /* beyond the end: nothing is executed */
	adv_nvme_range_encode(&ranges[2], lab->memory + 32);
	lab->disk[512] = 1;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_LBA_RANGE | ADV_NVME_DNR);
	assert_int_equal(lab->disk[512], 1);
	lab_close(&io);
	lab_close(&admin);
}

/* Linux always has room for 256 ranges, of which the command names the first. */
static void test_ranges_in_page(void **state)
{
	enum { PAGE = 256 * ADV_NVME_RANGE_LEN };
	static uint8_t page[PAGE];
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_range range = {.blocks = 2, .slba = 1};
	struct adv_nvme_command c = lab_command(ADV_NVME_DATASET_MANAGEMENT, 1, PAGE);

	lab_ready(lab, &admin, &io, 0);
	memset(page, 0xff, PAGE);
	adv_nvme_range_encode(&range, page);
	memcpy(lab->memory, page, PAGE);
	ADV_NVME_CDW(&c, 11) = ADV_NVME_DEALLOCATE;
	memset(lab->disk, 1, 4 * 512);
	assert_int_equal(lab_do(&io, &c), 0);
	assert_int_equal(lab->disk[511], 1);
	assert_int_equal(lab->disk[512], 0);
	assert_int_equal(lab->disk[3 * 512], 1);
	lab->disk[512] = 1;
	c.sgl = (struct adv_nvme_sgl){.id = ADV_NVME_SGL_OFFSET, .length = PAGE};
	lab_send_with(&io, &c, page, PAGE);
	assert_int_equal(io.last.status, 0);
	assert_int_equal(lab->disk[512], 0);
	c = lab_command(ADV_NVME_DATASET_MANAGEMENT, 1, ADV_NVME_RANGE_LEN);
	ADV_NVME_CDW(&c, 10) = 1;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR);
	lab_close(&io);
	lab_close(&admin);
}

static void test_refused_io(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c;
	uint8_t data[1024] = {0};

	lab_ready(lab, &admin, &io, 0);
	c = lab_io(ADV_NVME_READ, LAB_BLOCKS - 1, 2);
	assert_int_equal(lab_do(&io, &c), ADV_NVME_LBA_RANGE | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_READ, UINT64_MAX, 2);
	assert_int_equal(lab_do(&io, &c), ADV_NVME_LBA_RANGE | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_READ, 0, 2);
	c.nsid = 2;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_NAMESPACE | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_READ, 0, 2);
	c.sgl.length = 512;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR);
	c.sgl.length = 2048;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_READ, 0, 2);
	c.sgl.id = ADV_NVME_SGL_OFFSET;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_SGL_TYPE | ADV_NVME_DNR);
	c.sgl.id = ADV_NVME_SGL_ADDRESS;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_SGL_TYPE | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_READ, 0, 4096);
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_READ, 0, 2);
	c.fuse = 1;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	c = lab_io(0x0d, 0, 1); /* Reservation Register */
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_OPCODE | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_WRITE, 0, 2);
	c.sgl.id = ADV_NVME_SGL_OFFSET;
	lab_send_with(&io, &c, data, 1023);
	assert_int_equal(io.last.status, ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR);
	c.sgl.address = 1;
	lab_send_with(&io, &c, data, 1024);
	assert_int_equal(io.last.status, ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR);
	c.sgl.address = 1025;
	lab_send_with(&io, &c, data, 1024);
	assert_int_equal(io.last.status, ADV_NVME_INVALID_SGL_OFFSET | ADV_NVME_DNR);
	c = lab_io(ADV_NVME_WRITE, 0, 2);
	c.sgl.key++;
	assert_int_equal(lab_do(&io, &c), ADV_NVME_DATA_TRANSFER_ERROR);
	lab_close(&io);
	lab_close(&admin);
}

static void test_refused_connects(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io, other;
	struct adv_nvme_command c = lab_identify(ADV_NVME_CNS_CONTROLLER, 0);
	uint16_t cntlid;

	assert_int_equal(lab_open(lab, &admin, 129, 32), ADV_NVME_CM_INVALID_QID);
	assert_int_equal(lab_open(lab, &admin, 1, 129), ADV_NVME_CM_INVALID_HSQSIZE);
	assert_int_equal(lab_open(lab, &admin, 1, 1), ADV_NVME_CM_INVALID_HSQSIZE);
	assert_int_equal(lab_open(lab, &admin, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR);
	assert_int_equal(lab_connect(&admin, "nqn.2026-01.test:none", 0xffff, 0),
			 ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
	assert_int_equal(admin.last.result, ADV_NVME_CONNECT_WHERE(1, 256));
	assert_int_equal(lab_connect(&admin, LAB_NQN, 5, 0),
			 ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
	assert_int_equal(lab_connect(&admin, LAB_NQN, 0xffff, 0), 0);
	cntlid = (uint16_t)admin.last.result;
	assert_int_equal(lab_connect(&admin, LAB_NQN, 0xffff, 0),
			 ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR);
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR);
	assert_int_equal(lab_open(lab, &io, 1, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&io, LAB_NQN, cntlid, 0),
			 ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR);
	lab_set_cc(&admin, ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE);
	assert_int_equal(lab_connect(&io, LAB_NQN, (uint16_t)(cntlid + 1), 0),
			 ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
	assert_int_equal(lab_connect_as(&io, "nqn.2026-01.test:other", LAB_NQN, cntlid, 0),
			 ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
	assert_int_equal(io.last.result, ADV_NVME_CONNECT_WHERE(1, ADV_NVME_CONNECT_AT_HOSTNQN));
	lab->other_host = 1;
	assert_int_equal(lab_connect(&io, LAB_NQN, cntlid, 0),
			 ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
	assert_int_equal(io.last.result, ADV_NVME_CONNECT_WHERE(1, ADV_NVME_CONNECT_AT_HOSTID));
	lab->other_host = 0;
	assert_int_equal(lab_connect(&io, LAB_NQN, cntlid, 0), 0);
	assert_int_equal(lab_open(lab, &other, 1, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&other, LAB_NQN, cntlid, 0), ADV_NVME_SEQUENCE_ERROR);
	lab_close(&io);
	assert_int_equal(lab_connect(&other, LAB_NQN, cntlid, 0), 0);
	assert_int_equal(adv_nvme_subsystem_allow(lab->subsystem, "nqn.2026-01.test:other"), 0);
	assert_int_equal(lab_open(lab, &io, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&io, LAB_NQN, 0xffff, 0),
			 ADV_NVME_CONNECT_HOST | ADV_NVME_DNR);
	lab_close(&io);
	lab_close(&admin);
	assert_true(other.closed && other.freed);
}

static void test_refused_size(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_connect connect = {.sqsize = 32};
	struct adv_nvme_command c = lab_command(0, 0, ADV_NVME_CONNECT_LEN);
	struct lab_queue admin;

	assert_int_equal(lab_open(lab, &admin, 0, 32), ADV_NVME_CM_OK);
	for (unsigned i = 0; i < 2; i++) {
		adv_nvme_connect_encode(&connect, &c);
		assert_int_equal(lab_do(&admin, &c), ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR);
		assert_int_equal(admin.last.result,
				 ADV_NVME_CONNECT_WHERE(0, ADV_NVME_CONNECT_AT_SQSIZE));
		connect.sqsize = 0;
	}
	lab_close(&admin);
}

/* A host that needs no flow control is not told the head of its queue. */
static void test_flow_control(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_connect connect = {.sqsize = 31};
	struct adv_nvme_connect_data data = {
		.cntlid = ADV_NVME_ANY_CNTLID, .subsystem_nqn = LAB_NQN, .host_nqn = LAB_HOST};
	struct adv_nvme_command c = lab_command(0, 0, ADV_NVME_CONNECT_LEN);
	struct lab_queue admin;

	for (unsigned i = 0; i < 2; i++) {
		connect.cattr = i ? ADV_NVME_NO_FLOW_CONTROL : 0;
		adv_nvme_connect_encode(&connect, &c);
		adv_nvme_connect_data_encode(&data, lab->memory);
		assert_int_equal(lab_open(lab, &admin, 0, 32), ADV_NVME_CM_OK);
		assert_int_equal(lab_do(&admin, &c), 0);
		for (unsigned k = 1; k <= 40; k++) {
			lab_get(&admin, ADV_NVME_CSTS, false);
			assert_int_equal(admin.last.sq_head, i ? 0xffff : (k + 1) % 32);
		}
		lab_close(&admin);
	}
}

/* SPDK's tools leave the name of the host empty, unless they are given one. */
static void test_host_without_name(void **state)
{
	struct lab *lab = *state;
	struct lab_queue q;

	assert_int_equal(lab_open(lab, &q, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect_as(&q, "", LAB_NQN, 0xffff, 0), 0);
	lab_close(&q);
	assert_int_equal(adv_nvme_subsystem_allow(lab->subsystem, LAB_HOST), 0);
	assert_int_equal(lab_open(lab, &q, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect_as(&q, "", LAB_NQN, 0xffff, 0),
			 ADV_NVME_CONNECT_HOST | ADV_NVME_DNR);
	lab_close(&q);
}

static void test_discovery(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_discovery_header header;
	struct adv_nvme_discovery_entry e;
	struct lab_queue admin;
	struct adv_nvme_command c;

	adv_nvme_target_add_referral(lab->target, ADV_NVME_IPV6, "2001:db8::1", "8009");
	assert_int_equal(lab_open(lab, &admin, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&admin, ADV_NVME_DISCOVERY_NQN, 0xffff, 0), 0);
	lab_set_cc(&admin, ADV_NVME_CC_ENABLE);
	c = lab_log(ADV_NVME_LOG_DISCOVERY, 0, 4096);
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_true(adv_nvme_discovery_header_decode(lab->memory, &header));
	assert_int_equal(header.records, 2);
	adv_nvme_discovery_entry_decode(lab->memory + 1024, &e);
	assert_string_equal(e.subnqn, LAB_NQN);
	assert_string_equal(e.traddr, "192.0.2.1"); /* of the connection, not the wildcard */
	assert_string_equal(e.trsvcid, "4420");
	c = lab_log(ADV_NVME_LOG_DISCOVERY, 2048, 1024);
	assert_int_equal(lab_do(&admin, &c), 0);
	adv_nvme_discovery_entry_decode(lab->memory, &e);
	assert_int_equal(e.subtype, ADV_NVME_SUBTYPE_REFERRAL);
	assert_string_equal(e.traddr, "2001:db8::1");
	c = lab_log(ADV_NVME_LOG_SMART, 0, 512);
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_INVALID_LOG_PAGE | ADV_NVME_DNR);
	c = lab_identify(ADV_NVME_CNS_ACTIVE_LIST, 0);
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	adv_nvme_subsystem_allow(lab->subsystem, "nqn.2026-01.test:other");
	c = lab_log(ADV_NVME_LOG_DISCOVERY, 0, 4096);
	assert_int_equal(lab_do(&admin, &c), 0);
	adv_nvme_discovery_header_decode(lab->memory, &header);
	assert_int_equal(header.records, 1); /* this host may not see the subsystem */
	lab_close(&admin);
}

static void test_features(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c;

	lab_ready(lab, &admin, &io, 0);
	c = lab_feature(true, ADV_NVME_FEATURE_QUEUES, 0x00030003);
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR);
	lab_close(&io);
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_int_equal(admin.last.result, 0x00030003);
	for (unsigned i = 0; i < 2; i++) {
		c = lab_feature(true, ADV_NVME_FEATURE_QUEUES, i ? 0x00030009 : 0x00090003);
		assert_int_equal(lab_do(&admin, &c), 0);
		assert_int_equal(admin.last.result, 0x00030003);
	}
	ADV_NVME_CDW(&c, 10) |= 1u << 31; /* save */
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_FEATURE_NOT_SAVEABLE | ADV_NVME_DNR);
	c = lab_feature(true, ADV_NVME_FEATURE_QUEUES, 0xfffefffe);
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_int_equal(admin.last.result, 0x007f007f);
	c = lab_feature(true, ADV_NVME_FEATURE_WRITE_CACHE, 0);
	assert_int_equal(lab_do(&admin, &c), 0);
	c = lab_feature(false, ADV_NVME_FEATURE_WRITE_CACHE, 0);
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_int_equal(admin.last.result, 0);
	c = lab_feature(false, ADV_NVME_FEATURE_HOST_ID, 1);
	c.sgl.length = 16;
	assert_int_equal(lab_do(&admin, &c), 0);
	assert_int_equal(lab->memory[2], 3);
	c = lab_feature(true, 0x82, 1); /* reservation notification mask */
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	lab_close(&admin);
}

static void test_events(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command aer = {.opcode = ADV_NVME_ASYNC_EVENT_REQUEST}, c;
	struct adv_nvme_namespace_config ns = {.blocks = 10, .block_shift = 12};
	uint32_t nsid, nsids[ADV_NVME_LIST_MAX];
	unsigned before;

	ns.backend = lab->disk;
	lab_ready(lab, &admin, &io, 0);
	c = lab_feature(true, ADV_NVME_FEATURE_ASYNC_EVENTS, ADV_NVME_OAES_NAMESPACE);
	assert_int_equal(lab_do(&admin, &c), 0);
	before = admin.responses;
	for (unsigned i = 0; i < 4; i++)
		lab_send(&admin, &aer);
	assert_int_equal(admin.responses, before);
	assert_int_equal(lab_do(&admin, &aer), ADV_NVME_AER_LIMIT | ADV_NVME_DNR);
	before = admin.responses;
	assert_int_equal(adv_nvme_subsystem_add_namespace(lab->subsystem, lab->now, &ns, &nsid), 0);
	assert_int_equal(nsid, 2);
	lab_run(lab);
	assert_int_equal(admin.responses, before + 1);
	assert_int_equal(admin.last.result, ADV_NVME_EVENT_NAMESPACE);
	assert_int_equal(adv_nvme_subsystem_remove_namespace(lab->subsystem, lab->now, nsid), 0);
	lab_run(lab);
	assert_int_equal(admin.responses, before + 1); /* until the host reads the log page */
	c = lab_log(ADV_NVME_LOG_CHANGED_NAMESPACES, 0, 4096);
	before = admin.responses;
	lab_send(&admin, &c);
	assert_int_equal(adv_nvme_identify_list_decode(lab->memory, nsids), 1);
	assert_int_equal(nsids[0], 2);
	assert_int_equal(admin.responses, before + 2); /* the second event, and the page */
	c = (struct adv_nvme_command){.opcode = ADV_NVME_ABORT};
	ADV_NVME_CDW(&c, 10) = (uint32_t)(aer.id - 1) << 16; /* the last one that is parked */
	before = admin.responses;
	lab_send(&admin, &c);
	assert_int_equal(admin.responses, before + 2);
	assert_int_equal(admin.last.result, 0);
	assert_ptr_equal(adv_nvme_target_next_released(lab->target), lab->disk);
	assert_null(adv_nvme_target_next_released(lab->target));
	lab_close(&io);
	lab_close(&admin);
}

static void test_error_log(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c = lab_io(ADV_NVME_READ, LAB_BLOCKS, 1);
	struct adv_nvme_error e;
	uint16_t id;

	lab_ready(lab, &admin, &io, 0);
	for (unsigned i = 0; i < 100; i++)
		lab_do(&io, &c);
	id = c.id;
	c = lab_log(ADV_NVME_LOG_ERROR, 0, 64 * 64);
	assert_int_equal(lab_do(&admin, &c), 0);
	adv_nvme_error_decode(lab->memory, &e);
	assert_int_equal(e.count, 100);
	assert_int_equal(e.qid, 1);
	assert_int_equal(e.cid, id);
	assert_int_equal(e.lba, LAB_BLOCKS);
	adv_nvme_error_decode(lab->memory + 63 * 64, &e);
	assert_int_equal(e.count, 37);
	c = lab_log(ADV_NVME_LOG_ERROR, 64 * 64 + 4, 64);
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
	lab_close(&io);
	lab_close(&admin);
}

static void test_too_many_commands(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c = lab_io(ADV_NVME_READ, 0, 1);

	lab_ready(lab, &admin, &io, 0);
	lab->hold_backend = true;
	for (unsigned i = 0; i < 128; i++)
		lab_send(&io, &c);
	assert_false(io.closed);
	lab_send(&io, &c);
	assert_true(io.closed);
	assert_false(io.freed); /* the backend still works on 128 requests */
	while (lab->held_count) {
		assert_false(io.freed);
		lab_continue(lab, 0);
	}
	assert_true(io.freed);
	lab_close(&admin);
}

/* A write of a lost connection is in execution when the host repeats it on a new one. */
static void test_stale_write(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io, again;
	struct adv_nvme_command c = lab_io(ADV_NVME_WRITE, 4, 2),
				other = lab_io(ADV_NVME_WRITE, 6, 1);
	uint16_t cntlid = lab_ready(lab, &admin, &io, 0);

	lab->hold_backend = true;
	lab->memory[0] = 'a';
	lab_send(&io, &c);
	lab_close(&io);
	assert_int_equal(lab_open(lab, &again, 1, 128), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&again, LAB_NQN, cntlid, 0), 0);
	lab->memory[0] = 'b';
	adv_nvme_command_set_blocks(&c, 5, 2);
	lab_send(&again, &c);
	assert_int_equal(lab->held_count, 1); /* it waits for the first one */
	lab_send(&again, &other);
	assert_int_equal(lab->held_count, 1); /* which overlaps the one that waits */
	lab_continue(lab, 0);
	assert_true(io.freed);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(lab->disk[5 * 512], 'b');
	assert_int_equal(again.responses, 2);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(again.responses, 3);
	lab_close(&again);
	lab_close(&admin);
}

static void test_loss_at_each_step(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c;

	for (unsigned step = 0; step < 4; step++) {
		lab_ready(lab, &admin, &io, 0);
		lab->hold_buffers = step == 0;
		lab->hold_fetches = step == 1;
		lab->hold_backend = step == 2;
		for (unsigned i = 0; i < 8; i++) {
			c = lab_io(ADV_NVME_WRITE, i / 2, 2);
			lab_send(&io, &c);
			c = lab_io(ADV_NVME_READ, i, 2);
			lab_send(&io, &c);
		}
		lab_close(&admin);
		assert_true(io.closed);
		while (lab->held_count)
			lab_continue(lab, lab->held_count / 2);
		assert_true(io.freed && admin.freed);
		lab->hold_buffers = lab->hold_fetches = lab->hold_backend = false;
	}
}

static void test_shutdown_and_reset(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	uint16_t cntlid = lab_ready(lab, &admin, &io, 0);

	lab_set_cc(&admin, ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE | ADV_NVME_CC_SHUTDOWN_NORMAL);
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false),
			 ADV_NVME_CSTS_READY | ADV_NVME_CSTS_SHUT_DOWN);
	lab_set_cc(&admin, ADV_NVME_CC_DEFAULT);
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false), 0);
	assert_true(io.freed);
	lab_set_cc(&admin, ADV_NVME_CC_ENABLE); /* sizes of entries are wrong */
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false), ADV_NVME_CSTS_FATAL);
	lab_set_cc(&admin, 0);
	lab_set_cc(&admin, ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE | 1u << 7); /* pages of 8 KiB */
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false), ADV_NVME_CSTS_FATAL);
	lab_set_cc(&admin, 0);
	lab_set_cc(&admin, ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE);
	assert_int_equal(lab_open(lab, &io, 1, 16), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&io, LAB_NQN, cntlid, 0), 0);
	lab_close(&io);
	lab_close(&admin);
}

/* A shutdown flushes each namespace before it is complete; if that fails, it stays incomplete. */
static void test_shutdown_flushes(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_namespace_config ns = {.nsid = 9, .blocks = 8, .block_shift = 12};
	uint32_t on = ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE, nsid;
	struct adv_nvme_property_access access = {.offset = ADV_NVME_CC,
						  .value = on | ADV_NVME_CC_SHUTDOWN_NORMAL};
	struct adv_nvme_command c = {.psdt = 1};
	unsigned before;

	ns.backend = lab->disk;
	lab_ready(lab, &admin, &io, 0);
	assert_int_equal(adv_nvme_subsystem_add_namespace(lab->subsystem, 0, &ns, &nsid), 0);
	adv_nvme_property_encode(&access, true, &c);
	lab->hold_backend = true;
	before = admin.responses;
	lab_send(&admin, &c);
	assert_int_equal(admin.responses, before);
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false),
			 ADV_NVME_CSTS_READY | ADV_NVME_CSTS_SHUTTING_DOWN);
	assert_int_equal(adv_nvme_subsystem_remove_namespace(lab->subsystem, 0, 1), 0);
	assert_null(adv_nvme_target_next_released(lab->target));
	lab_continue(lab, 0);
	assert_ptr_equal(adv_nvme_target_next_released(lab->target), lab->disk);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(lab->flushes, 2);
	assert_int_equal(admin.last.status, 0);
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false),
			 ADV_NVME_CSTS_READY | ADV_NVME_CSTS_SHUT_DOWN);
	lab->hold_backend = false;
	lab_set_cc(&admin, on);
	lab->backend_status = ADV_NVME_WRITE_FAULT;
	assert_int_equal(lab_do(&admin, &c), ADV_NVME_WRITE_FAULT);
	assert_int_equal(lab_get(&admin, ADV_NVME_CSTS, false),
			 ADV_NVME_CSTS_READY | ADV_NVME_CSTS_SHUTTING_DOWN);
	lab_close(&io);
	lab_close(&admin);
}

static void test_namespaces(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_namespace_config ns = {
		.nsid = 1024, .blocks = 8, .block_shift = 12, .read_only = true};
	struct adv_nvme_command c = lab_command(ADV_NVME_WRITE, 1024, 4096), list;
	uint32_t nsid, nsids[ADV_NVME_LIST_MAX];

	ns.backend = lab->disk;
	lab_ready(lab, &admin, &io, 0);
	assert_int_equal(adv_nvme_subsystem_add_namespace(lab->subsystem, 0, &ns, &nsid), 0);
	assert_int_equal(adv_nvme_subsystem_add_namespace(lab->subsystem, 0, &ns, &nsid),
			 17); /* EEXIST */
	assert_int_equal(lab_do(&io, &c), ADV_NVME_WRITE_PROTECTED | ADV_NVME_DNR);
	list = lab_identify(ADV_NVME_CNS_ACTIVE_LIST, 1);
	assert_int_equal(lab_do(&admin, &list), 0);
	assert_int_equal(adv_nvme_identify_list_decode(lab->memory, nsids), 1);
	assert_int_equal(nsids[0], 1024);
	c.opcode = ADV_NVME_READ;
	assert_int_equal(lab_do(&io, &c), 0);
	lab->hold_backend = true;
	lab_send(&io, &c);
	assert_int_equal(adv_nvme_subsystem_remove_namespace(lab->subsystem, 0, 1024), 0);
	assert_null(adv_nvme_target_next_released(lab->target));
	assert_int_equal(lab_do(&io, &c), ADV_NVME_INVALID_NAMESPACE | ADV_NVME_DNR);
	lab_continue(lab, 0);
	assert_int_equal(io.last.status, 0);
	assert_ptr_equal(adv_nvme_target_next_released(lab->target), lab->disk);
	lab_close(&io);
	lab_close(&admin);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bring_up),
		TEST(test_data),
		TEST(test_refused_size),
		TEST(test_flow_control),
		TEST(test_dataset_management),
		TEST(test_ranges_in_page),
		TEST(test_refused_io),
		TEST(test_refused_connects),
		TEST(test_discovery),
		TEST(test_host_without_name),
		TEST(test_discovery),
		TEST(test_features),
		TEST(test_events),
		TEST(test_error_log),
		TEST(test_too_many_commands),
		TEST(test_stale_write),
		TEST(test_loss_at_each_step),
		TEST(test_shutdown_and_reset),
		TEST(test_shutdown_flushes),
		TEST(test_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
