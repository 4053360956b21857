/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The codecs: encoding and decoding are inverse, and fields are at their places. */
#include "../nvme_target/harness.h"

#include "base/array.h"
#include "base/rng.h"
#include "base/bytes.h"

static void fill(struct adv_rng *rng, void *out, size_t len)
{
	uint8_t *p = out;

	while (len--)
		*p++ = (uint8_t)adv_rng_next(rng);
}

static void test_command(void **state)
{
	uint8_t in[ADV_NVME_COMMAND_LEN], out[ADV_NVME_COMMAND_LEN];
	struct adv_nvme_command c;
	struct adv_rng rng;

	adv_rng_seed(&rng, 1);
	for (unsigned i = 0; i < 1000; i++) {
		fill(&rng, in, sizeof(in));
		in[1] &= 0xc3;	       /* reserved bits */
		memset(in + 16, 0, 8); /* the metadata pointer */
		if (in[39] >> 4 != 4)
			memset(in + 36, 0, 3); /* reserved bytes of a data block */
		assert_false(adv_nvme_command_decode(in, sizeof(in) - 1, &c));
		assert_true(adv_nvme_command_decode(in, sizeof(in), &c));
		adv_nvme_command_encode(&c, out);
		assert_memory_equal(in, out, sizeof(in));
	}
	memset(in, 0, sizeof(in));
	in[39] = ADV_NVME_SGL_KEYED_INVALIDATE;
	in[32] = 0x01, in[33] = 0x02, in[34] = 0x03; /* length */
	in[35] = 0x04, in[38] = 0x05;		     /* key */
	adv_nvme_command_decode(in, sizeof(in), &c);
	assert_int_equal(c.sgl.length, 0x030201);
	assert_int_equal(c.sgl.key, 0x05000004);
}

static void test_completion(void **state)
{
	uint8_t in[ADV_NVME_COMPLETION_LEN], out[ADV_NVME_COMPLETION_LEN];
	struct adv_nvme_completion c;
	struct adv_rng rng;

	adv_rng_seed(&rng, 2);
	for (unsigned i = 0; i < 1000; i++) {
		fill(&rng, in, sizeof(in));
		in[14] &= 0xfe; /* the phase */
		assert_false(adv_nvme_completion_decode(in, 15, &c));
		assert_true(adv_nvme_completion_decode(in, 16, &c));
		adv_nvme_completion_encode(&c, out);
		assert_memory_equal(in, out, sizeof(in));
	}
}

static void test_cm(void **state)
{
	static struct adv_nvme_cm_request a = {.qid = 7,
					       .hrqsize = 128,
					       .hsqsize = 127,
					       .cntlid = 9},
					  b;
	uint8_t data[56] = {0};
	uint16_t value;

	adv_nvme_cm_request_encode(&a, data);
	assert_int_equal(adv_nvme_cm_request_decode(data, 31, &b), ADV_NVME_CM_INVALID_LENGTH);
	assert_int_equal(adv_nvme_cm_request_decode(data, 56, &b), ADV_NVME_CM_OK);
	assert_memory_equal(&a, &b, sizeof(a));
	data[0] = 1;
	assert_int_equal(adv_nvme_cm_request_decode(data, 56, &b), ADV_NVME_CM_INVALID_RECFMT);
	adv_nvme_cm_accept_encode(32, data);
	assert_true(adv_nvme_cm_accept_decode(data, 32, &value) && value == 32);
	assert_false(adv_nvme_cm_accept_decode(data, 31, &value));
	adv_nvme_cm_reject_encode(ADV_NVME_CM_NO_RESOURCES, data);
	assert_true(adv_nvme_cm_reject_decode(data, 4, &value) && value == 6);
	assert_false(adv_nvme_cm_reject_decode(data, 3, &value));
	assert_string_equal(adv_nvme_cm_status_name(6), "no resources");
	assert_string_equal(adv_nvme_cm_status_name(4711), "unknown reason");
}

static void test_connect(void **state)
{
	static struct adv_nvme_connect_data a = {.cntlid = 0xffff,
						 .host_id = {1},
						 .subsystem_nqn = LAB_NQN,
						 .host_nqn = LAB_HOST},
					    b;
	static struct adv_nvme_connect x = {.qid = 3, .sqsize = 127, .cattr = 4, .kato = 5000}, y;
	uint8_t data[ADV_NVME_CONNECT_LEN];
	struct adv_nvme_command command = {0};

	adv_nvme_connect_data_encode(&a, data);
	assert_int_equal(adv_nvme_connect_data_decode(data, &b), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	memset(data + 256, 'x', 256); /* the NQN has no end */
	assert_int_equal(adv_nvme_connect_data_decode(data, &b), ADV_NVME_CONNECT_AT_SUBNQN);
	adv_nvme_connect_encode(&x, &command);
	adv_nvme_connect_decode(&command, &y);
	assert_memory_equal(&x, &y, sizeof(x));
}

static void test_nqn(void **state)
{
	char nqn[300] = "nqn.2014-08.org:";

	assert_true(adv_nvme_nqn_valid(ADV_NVME_DISCOVERY_NQN));
	assert_true(adv_nvme_nqn_valid(LAB_NQN));
	assert_false(adv_nvme_nqn_valid(""));
	assert_false(adv_nvme_nqn_valid("nqn.2014-08"));
	assert_false(adv_nvme_nqn_valid("nqn.2014-08."));
	assert_false(adv_nvme_nqn_valid("nqn.14-08.org"));
	assert_false(adv_nvme_nqn_valid("iqn.2014-08.org"));
	assert_false(adv_nvme_nqn_valid("nqn.2014-08.a b"));
	memset(nqn + 16, 'a', 223 - 16);
	assert_true(adv_nvme_nqn_valid(nqn));
	nqn[223] = 'a';
	assert_false(adv_nvme_nqn_valid(nqn));
}

static void test_identify(void **state)
{
	static struct adv_nvme_identify_controller a = {.vid = 1,
							.serial = "S 1",
							.model = "M",
							.firmware = "12345678",
							.mdts = 8,
							.cntlid = 77,
							.kas = 10,
							.sqes = 0x66,
							.nn = 1024,
							.oncs = 13,
							.vwc = 5,
							.sgls = 0x100005,
							.subnqn = LAB_NQN,
							.ioccsz = 260,
							.iorcsz = 1,
							.msdbd = 1};
	static struct adv_nvme_identify_namespace n = {.nsze = 99,
						       .ncap = 98,
						       .nuse = 97,
						       .nsfeat = 1,
						       .nguid = {5},
						       .block_shift = 12,
						       .nsattr = 1},
						  m;
	static struct adv_nvme_identify_controller b;
	uint8_t page[ADV_NVME_IDENTIFY_LEN];

	adv_nvme_identify_controller_encode(&a, page);
	assert_memory_equal(page + 4, "S 1                 ", 20);
	adv_nvme_identify_controller_decode(page, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	adv_nvme_identify_namespace_encode(&n, page);
	adv_nvme_identify_namespace_decode(page, &m);
	assert_memory_equal(&n, &m, sizeof(n));
}

static void test_lists(void **state)
{
	uint32_t in[3] = {1, 5, 1024}, out[ADV_NVME_LIST_MAX];
	static struct adv_nvme_descriptors d = {
		.has_nguid = true, .has_uuid = true, .nguid = {1}, .uuid = {2}};
	uint8_t page[ADV_NVME_IDENTIFY_LEN];

	adv_nvme_identify_list_encode(in, 3, page);
	assert_int_equal(adv_nvme_identify_list_decode(page, out), 3);
	assert_memory_equal(in, out, sizeof(in));
	adv_put_le32(page + 4, 1); /* not in rising order */
	assert_int_equal(adv_nvme_identify_list_decode(page, out), 1);
	adv_nvme_descriptors_encode(&d, page);
	assert_memory_equal(page, "\2\20\0\0\1", 5);
	assert_memory_equal(page + 20, "\3\20\0\0\2", 5);
	assert_int_equal(page[40], 0);
}

static void test_logs(void **state)
{
	static struct adv_nvme_error e = {.count = 3,
					  .qid = 1,
					  .cid = 2,
					  .status = 0x4281,
					  .location = 0xffff,
					  .lba = 1ull << 40,
					  .nsid = 9},
				     f;
	static struct adv_nvme_smart s = {.temperature = 300, .units_read = 7, .media_errors = 8},
				     t;
	struct adv_nvme_get_log g = {.id = 0x70,
				     .retain = true,
				     .length = 1u << 20,
				     .offset = 1ull << 33},
				h;
	uint8_t page[ADV_NVME_SMART_LEN];
	struct adv_nvme_command command = {0};

	adv_nvme_error_encode(&e, page);
	adv_nvme_error_decode(page, &f);
	assert_memory_equal(&e, &f, sizeof(e));
	adv_nvme_smart_encode(&s, page);
	adv_nvme_smart_decode(page, &t);
	assert_memory_equal(&s, &t, sizeof(s));
	adv_nvme_get_log_encode(&g, &command);
	assert_true(adv_nvme_get_log_decode(&command, &h));
	assert_int_equal(g.length, h.length);
	assert_true(g.offset == h.offset && h.retain && h.id == 0x70);
	ADV_NVME_CDW(&command, 10) = 0xffff0000;
	ADV_NVME_CDW(&command, 11) = 0xffff;
	assert_false(adv_nvme_get_log_decode(&command, &h));
}

static void test_discovery(void **state)
{
	static struct adv_nvme_discovery_entry a = {.trtype = 1,
						    .adrfam = 2,
						    .subtype = 2,
						    .treq = 2,
						    .portid = 1,
						    .cntlid = 0xffff,
						    .asqsz = 32,
						    .trsvcid = "4420",
						    .subnqn = LAB_NQN,
						    .traddr = "fe80::1",
						    .rdma_qptype = 1,
						    .rdma_prtype = 1,
						    .rdma_cms = 1};
	static struct adv_nvme_discovery_header h = {.generation = 5, .records = 6}, i;
	uint8_t page[ADV_NVME_DISCOVERY_LEN];
	static struct adv_nvme_discovery_entry b;

	adv_nvme_discovery_entry_encode(&a, page);
	adv_nvme_discovery_entry_decode(page, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	adv_nvme_discovery_header_encode(&h, page);
	assert_true(adv_nvme_discovery_header_decode(page, &i));
	assert_memory_equal(&h, &i, sizeof(h));
	page[16] = 1;
	assert_false(adv_nvme_discovery_header_decode(page, &i));
}

static void test_names(void **state)
{
	struct adv_nvme_command c = {.opcode = ADV_NVME_READ};

	assert_string_equal(adv_nvme_command_name(&c, false), "Read");
	assert_string_equal(adv_nvme_command_name(&c, true), "Get Log Page");
	c.opcode = 0xff;
	assert_string_equal(adv_nvme_command_name(&c, false), "unknown command");
	assert_string_equal(adv_nvme_status_name(ADV_NVME_LBA_RANGE | ADV_NVME_DNR),
			    "LBA out of range");
	assert_string_equal(adv_nvme_status_name(0x7ff), "unknown status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command),	  cmocka_unit_test(test_completion),
		cmocka_unit_test(test_cm),	  cmocka_unit_test(test_connect),
		cmocka_unit_test(test_nqn),	  cmocka_unit_test(test_identify),
		cmocka_unit_test(test_lists),	  cmocka_unit_test(test_logs),
		cmocka_unit_test(test_discovery), cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
