/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the CM's messages: compares them with those of the Linux kernel, and checks each field. */
#include <stdio.h>

#include <pcap/pcap.h>

#include "base/array.h"
#include "test_util.h"
#include "base/bytes.h"
#include "nic/wire/cm_message.h"
#include "nic/wire/cm_message_ip.h"
#include "nic/wire/frame.h"

/* The number of CM MADs that tshark finds in each capture. */
static const struct {
	const char *name;
	unsigned mads;
} files[] = {
	{"cm-reject", 4},
	{"ib-perftest", 11},
	{"mtu4096-rc", 5},
	{"mw-sendinv", 5},
	{"nvme-rdma", 15},
	{"rc-access-errors", 25},
	{"rc-batch", 5},
	{"rc-ipv6", 5},
	{"rc-loss-responses", 5},
	{"rc-loss", 5},
	{"rc-pingpong", 0},
	{"rc-recv-too-short", 5},
	{"rc-reorder-dup", 5},
	{"rc-rnr", 10},
	{"rc-verbs", 5},
	{"rping", 5},
	{"uc", 0},
	{"ud-multicast", 0},
	{"ud", 2},
};
#define FILES ADV_ARRAY_SIZE(files)

typedef void mad_fn(void *arg, const struct adv_frame *f, const uint8_t *mad);

/* Called for each CM MAD of a capture. Returns their number. */
static unsigned for_each_mad(const char *name, mad_fn *fn, void *arg)
{
	char path[512], error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const u_char *data;
	unsigned mads = 0;
	pcap_t *pcap;

	snprintf(path, sizeof(path), "%s/%s.pcap", CAPTURES, name);
	pcap = pcap_open_offline(path, error);
	if (!pcap)
		fail_msg("%s", error);
	while (pcap_next_ex(pcap, &header, &data) == 1) {
		struct adv_headers h;
		struct adv_frame f;
		uint8_t *mad;
		size_t n;

		if (adv_frame_parse(data, header->caplen, &f) != ADV_FRAME_OK)
			continue;
		n = adv_headers_decode(f.transport, f.transport_len, &h);
		if (h.bth.dest_qpn != ADV_GSI_QPN || f.transport_len - n != ADV_MAD_LEN)
			continue;
		assert_int_equal(h.deth.qkey, ADV_GSI_QKEY);
		mad = exact_copy(f.transport + n, ADV_MAD_LEN);
		fn(arg, &f, mad);
		free(mad);
		mads++;
	}
	pcap_close(pcap);
	return mads;
}

static void both_ways(void *arg, const struct adv_frame *f, const uint8_t *mad)
{
	struct adv_cm_packet packet;
	unsigned *kinds = arg;
	uint8_t out[ADV_MAD_LEN];

	assert_true(adv_cm_packet_decode(mad, ADV_MAD_LEN, &packet));
	memset(out, 0xa5, sizeof(out));
	assert_true(adv_cm_packet_encode(&packet, out));
	assert_memory_equal(out, mad, ADV_MAD_LEN);
	kinds[packet.attribute]++;
}

static void test_captures_both_ways(void **state)
{
	unsigned kinds[ADV_CM_APR + 1] = {0}, total = 0, i;

	for (i = 0; i < FILES; i++) {
		unsigned mads = for_each_mad(files[i].name, both_ways, kinds);

		assert_int_equal(mads, files[i].mads);
		total += mads;
	}
	for (i = ADV_CM_REQ; i <= ADV_CM_APR; i++)
		if (kinds[i])
			print_message("attribute %#x: %u\n", i, kinds[i]);
	assert_int_equal(total, 117);
}

/* Checks that the addresses are where annex A11 and the primary path require them, and that the
 * service ID is that of a port. */
static void ip_addresses(void *arg, const struct adv_frame *f, const uint8_t *mad)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t version = f->kind == ADV_FRAME_V2_IPV4 ? 4 : 6, again[ADV_CM_IP_HEADER_LEN];
	struct adv_gid source, destination;
	struct adv_cm_ip_header ip;
	struct adv_cm_packet m;
	const uint8_t *data;
	unsigned *seen = arg;
	uint32_t label;

	assert_true(adv_cm_packet_decode(mad, ADV_MAD_LEN, &m));
	if (m.attribute != ADV_CM_REQ && m.attribute != ADV_CM_SIDR_REQ)
		return;
	data = m.attribute == ADV_CM_REQ ? m.req.private_data : m.sidr_req.private_data;
	assert_true(adv_cm_ip_header_decode(data, ADV_CM_REQ_PRIVATE_LEN, &ip));
	assert_int_equal(ip.ip_version, version);
	memcpy(source.raw, f->saddr, 16);
	memcpy(destination.raw, f->daddr, 16);
	if (version == 4) {
		memcpy(source.raw, mapped, 12);
		memcpy(source.raw + 12, f->saddr, 4);
		memcpy(destination.raw, mapped, 12);
		memcpy(destination.raw + 12, f->daddr, 4);
	}
	assert_memory_equal(ip.source.raw, source.raw, 16);
	assert_memory_equal(ip.destination.raw, destination.raw, 16);
	adv_cm_ip_header_encode(&ip, again);
	assert_memory_equal(again, data, sizeof(again));
	(*seen)++;
	if (m.attribute == ADV_CM_SIDR_REQ) {
		assert_true(m.sidr_req.service_id >> 16 == 0x0111);
		return;
	}
	assert_memory_equal(m.req.primary.local_gid.raw, source.raw, 16);
	assert_memory_equal(m.req.primary.remote_gid.raw, destination.raw, 16);
	assert_true(m.req.service_id == adv_cm_service_id(0x0106, (uint16_t)m.req.service_id));
	/* Linux derives the flow label from the two ports. */
	label = (ip.source_port * 31u + (uint16_t)m.req.service_id) & 0xfffff;
	assert_int_equal(m.req.primary.flow_label, label);
}

static void test_captures_addresses(void **state)
{
	unsigned seen = 0, i;

	for (i = 0; i < FILES; i++)
		for_each_mad(files[i].name, ip_addresses, &seen);
	assert_int_equal(seen, 25);
}

/* ---- comparison of some messages with tshark's output ---- */

struct collected {
	struct adv_cm_packet packet[32];
	unsigned count;
};

static void collect(void *arg, const struct adv_frame *f, const uint8_t *mad)
{
	struct collected *c = arg;

	assert_true(c->count < 32);
	assert_true(adv_cm_packet_decode(mad, ADV_MAD_LEN, &c->packet[c->count++]));
}

static void test_tshark_req(void **state)
{
	struct collected c = {.count = 0};
	const struct adv_cm_req *r = &c.packet[0].req;

	for_each_mad("rc-verbs", collect, &c);
	assert_int_equal(c.packet[0].attribute, ADV_CM_REQ);
	assert_true(c.packet[0].tid == 0x000000026e6fda1c);
	assert_int_equal(c.packet[0].modifier, 0);
	assert_int_equal(r->local_comm_id, 0x1cda6f6e);
	assert_true(r->service_id == 0x0000000001061d2f);
	assert_true(r->local_ca_guid == 0x505400fffe770002);
	assert_int_equal(r->local_qpn, 0x11);
	assert_int_equal(r->responder_resources, 4);
	assert_int_equal(r->initiator_depth, 4);
	assert_int_equal(r->remote_response_timeout, 0x14);
	assert_int_equal(r->local_response_timeout, 0x14);
	assert_int_equal(r->transport, ADV_CM_TRANSPORT_RC);
	assert_int_equal(r->starting_psn, 0xbc92ff);
	assert_int_equal(r->retry_count, 7);
	assert_int_equal(r->pkey, 0xffff);
	assert_int_equal(r->path_mtu, 3);
	assert_int_equal(r->rnr_retry_count, 7);
	assert_int_equal(r->max_cm_retries, 15);
	assert_false(r->srq);
	assert_int_equal(r->primary.local_lid, 0xffff);
	assert_int_equal(r->primary.hop_limit, 0x40);
	assert_int_equal(r->primary.local_ack_timeout, 0x13);
	assert_int_equal(r->primary.flow_label,
			 0x65cd4); /* from the bytes: tshark 4.0 is off by one */
	assert_int_equal(adv_get_be16(r->private_data + 2), 0xb7bb);
	assert_string_equal((const char *)r->private_data + ADV_CM_IP_HEADER_LEN, "verbgen hello");
}

static void test_tshark_others(void **state)
{
	struct collected c = {.count = 0};
	const struct adv_cm_packet *p = c.packet;

	for_each_mad("rc-verbs", collect, &c);
	assert_int_equal(p[1].attribute, ADV_CM_REP);
	assert_true(p[1].tid == p[0].tid);
	assert_int_equal(p[1].rep.local_comm_id, 0x65336656);
	assert_int_equal(p[1].rep.remote_comm_id, 0x1cda6f6e);
	assert_int_equal(p[1].rep.local_qpn, 0x11);
	assert_int_equal(p[1].rep.starting_psn, 0x31729f);
	assert_int_equal(p[1].rep.responder_resources, 4);
	assert_int_equal(p[1].rep.initiator_depth, 4);
	assert_int_equal(p[1].rep.target_ack_delay, 15);
	assert_int_equal(p[1].rep.failover, 0);
	assert_int_equal(p[1].rep.rnr_retry_count, 7);
	assert_false(p[1].rep.srq);
	assert_true(p[1].rep.local_ca_guid == 0x505400fffe770001);
	assert_int_equal(p[2].attribute, ADV_CM_RTU);
	assert_int_equal(p[2].rtu.local_comm_id, 0x1cda6f6e);
	assert_int_equal(p[2].rtu.remote_comm_id, 0x65336656);
	assert_int_equal(p[3].attribute, ADV_CM_DREQ);
	assert_int_equal(p[3].dreq.local_comm_id, 0x1cda6f6e);
	assert_int_equal(p[3].dreq.remote_comm_id, 0x65336656);
	assert_int_equal(p[3].dreq.remote_qpn, 0x11);
	assert_int_equal(p[4].attribute, ADV_CM_DREP);
	assert_int_equal(p[4].drep.local_comm_id, 0x65336656);
	assert_int_equal(p[4].drep.remote_comm_id, 0x1cda6f6e);
}

static void test_tshark_rej_and_sidr(void **state)
{
	struct collected c = {.count = 0}, ud = {.count = 0};

	for_each_mad("cm-reject", collect, &c);
	assert_int_equal(c.packet[1].attribute, ADV_CM_REJ);
	assert_int_equal(c.packet[1].rej.local_comm_id, 0x63336656);
	assert_int_equal(c.packet[1].rej.remote_comm_id, 0x1fda6f6e);
	assert_int_equal(c.packet[1].rej.about, ADV_CM_ABOUT_REQ);
	assert_int_equal(c.packet[1].rej.info_len, 0);
	assert_int_equal(c.packet[1].rej.reason, ADV_CM_REJ_CONSUMER_DEFINED);
	assert_string_equal((const char *)c.packet[1].rej.private_data, "no thank you");
	assert_int_equal(c.packet[3].rej.local_comm_id, 0);
	assert_int_equal(c.packet[3].rej.reason, ADV_CM_REJ_INVALID_SERVICE_ID);
	/* tshark 4.0 has no dissector for these two: the values are from the bytes. */
	for_each_mad("ud", collect, &ud);
	assert_int_equal(ud.packet[0].sidr_req.request_id, 0x0dda6f6e);
	assert_int_equal(ud.packet[0].sidr_req.pkey, 0xffff);
	assert_true(ud.packet[0].sidr_req.service_id == 0x01111c06);
	assert_int_equal(ud.packet[1].sidr_rep.request_id, 0x0dda6f6e);
	assert_int_equal(ud.packet[1].sidr_rep.status, ADV_CM_SIDR_SUCCESS);
	assert_int_equal(ud.packet[1].sidr_rep.qpn, 0x26);
	assert_true(ud.packet[1].sidr_rep.service_id == 0x01111c06);
	assert_int_equal(ud.packet[1].sidr_rep.qkey, 0x01234567);
}

/* ---- every bit ---- */

/* Bits behind the MAD header that have a meaning. All bits of private data have one. */
struct span {
	uint8_t from;
	uint8_t to; /* inclusive */
	uint8_t mask;
};

static const struct layout {
	uint16_t attribute;
	struct span span[24];
} layouts[] = {
	{ADV_CM_REQ,
	 {{0, 3, 0xff},
	  {5, 23, 0xff},
	  {28, 90, 0xff},
	  {91, 91, 0x3f},
	  {92, 93, 0xff},
	  {94, 94, 0xf8},
	  {95, 95, 0xf8},
	  {96, 134, 0xff},
	  {135, 135, 0x3f},
	  {136, 137, 0xff},
	  {138, 138, 0xf8},
	  {139, 139, 0xfc},
	  {140, 231, 0xff}}},
	{ADV_CM_MRA, {{0, 7, 0xff}, {8, 8, 0xc0}, {9, 9, 0xf8}, {10, 231, 0xff}}},
	{ADV_CM_REJ, {{0, 7, 0xff}, {8, 8, 0xc0}, {9, 9, 0xfe}, {10, 231, 0xff}}},
	{ADV_CM_REP, {{0, 26, 0xff}, {27, 27, 0xf0}, {28, 231, 0xff}}},
	{ADV_CM_RTU, {{0, 231, 0xff}}},
	{ADV_CM_DREQ, {{0, 10, 0xff}, {12, 231, 0xff}}},
	{ADV_CM_DREP, {{0, 231, 0xff}}},
	{ADV_CM_SIDR_REQ, {{0, 5, 0xff}, {8, 231, 0xff}}},
	{ADV_CM_SIDR_REP, {{0, 231, 0xff}}},
	{ADV_CM_LAP,
	 {{0, 7, 0xff},
	  {12, 14, 0xff},
	  {15, 15, 0xf8},
	  {20, 57, 0xff},
	  {58, 58, 0xf0},
	  {59, 60, 0xff},
	  {61, 61, 0x3f},
	  {62, 63, 0xf8},
	  {64, 231, 0xff}}},
	{ADV_CM_APR, {{0, 9, 0xff}, {12, 231, 0xff}}},
};
#define LAYOUTS ADV_ARRAY_SIZE(layouts)

static void meaningful(const struct layout *l, uint8_t mask[ADV_MAD_LEN])
{
	unsigned i, at;

	memset(mask, 0, ADV_MAD_LEN);
	for (i = 0; i < 24 && l->span[i].mask; i++)
		for (at = l->span[i].from; at <= l->span[i].to; at++)
			mask[ADV_MAD_HEADER_LEN + at] = l->span[i].mask;
	/* 20 bits of a flow label, 6 reserved ones. */
	if (l->attribute == ADV_CM_REQ) {
		mask[ADV_MAD_HEADER_LEN + 90] = 0xf0;
		mask[ADV_MAD_HEADER_LEN + 134] = 0xf0;
	}
}

static size_t info_len_at(uint16_t attribute)
{
	switch (attribute) {
	case ADV_CM_REJ:
		return ADV_MAD_HEADER_LEN + 9;
	case ADV_CM_APR:
		return ADV_MAD_HEADER_LEN + 8;
	case ADV_CM_SIDR_REP:
		return ADV_MAD_HEADER_LEN + 5;
	default:
		return 0;
	}
}

static void header_of(uint16_t attribute, uint8_t *mad)
{
	const uint8_t front[] = {1, 7, 2, 3};

	memcpy(mad, front, sizeof(front));
	memset(mad + 4, 0, 4);
	adv_put_be16(mad + 16, attribute);
	adv_put_be16(mad + 18, 0);
}

/* Random bytes: bits with a meaning survive decoding and encoding, the others become 0. */
static void test_every_bit(void **state)
{
	uint8_t mad[ADV_MAD_LEN], out[ADV_MAD_LEN], mask[ADV_MAD_LEN];
	struct adv_cm_packet packet;
	struct adv_rng rng;
	unsigned i, k, at;

	adv_rng_seed(&rng, 5);
	for (i = 0; i < LAYOUTS; i++) {
		size_t info = info_len_at(layouts[i].attribute);

		meaningful(&layouts[i], mask);
		for (k = 0; k < 1000; k++) {
			fill_random(&rng, mad, sizeof(mad));
			header_of(layouts[i].attribute, mad);
			if (info)
				mad[info] = layouts[i].attribute == ADV_CM_REJ ? 72 << 1 | 1 : 72;
			assert_true(adv_cm_packet_decode(mad, sizeof(mad), &packet));
			assert_true(adv_cm_packet_encode(&packet, out));
			assert_memory_equal(out, mad, ADV_MAD_HEADER_LEN);
			for (at = ADV_MAD_HEADER_LEN; at < ADV_MAD_LEN; at++)
				assert_int_equal(out[at], mad[at] & mask[at]);
		}
	}
}

/* The vendor of ECE is in three separate fields. The numbers of XRC replace those of EE contexts.
 */
static void test_extensions(void **state)
{
	struct adv_cm_packet m = {.attribute = ADV_CM_REQ, .modifier = 0x01020304}, again;
	uint8_t mad[ADV_MAD_LEN];

	m.req.ece_vendor = 0x15b3ab;
	m.req.transport = ADV_CM_TRANSPORT_EXTENDED;
	m.req.extended_transport = ADV_CM_EXTENDED_XRC;
	assert_true(adv_cm_packet_encode(&m, mad));
	assert_int_equal(adv_get_be32(mad + 20), 0x01020304);
	assert_int_equal(adv_get_be32(mad + 24 + 4), 0x15b3ab);
	assert_int_equal(mad[24 + 43], 3 << 1);
	assert_int_equal(mad[24 + 51], 1);

	m = (struct adv_cm_packet){.attribute = ADV_CM_REP};
	m.rep.ece_vendor = 0x15b3ab;
	m.rep.local_eecn = 0x123456;
	m.rep.srq = true;
	assert_true(adv_cm_packet_encode(&m, mad));
	assert_int_equal(mad[24 + 15], 0x15);
	assert_int_equal(adv_get_be32(mad + 24 + 16), 0x123456b3);
	assert_int_equal(mad[24 + 23], 0xab);
	assert_int_equal(mad[24 + 27], 0x10);
	assert_true(adv_cm_packet_decode(mad, sizeof(mad), &again));
	assert_int_equal(again.rep.ece_vendor, 0x15b3ab);

	m = (struct adv_cm_packet){.attribute = ADV_CM_SIDR_REP};
	m.sidr_rep.ece_vendor = 0x15b3ab;
	assert_true(adv_cm_packet_encode(&m, mad));
	assert_int_equal(adv_get_be16(mad + 24 + 6), 0x15b3);
	assert_int_equal(mad[24 + 11], 0xab);
}

static void test_refused(void **state)
{
	static const struct {
		uint8_t at;
		uint8_t value;
	} wrong[] = {{0, 2}, {1, 6}, {2, 1}, {3, 0x83}, {17, 0x0f}, {17, 0x1b}, {16, 1}};
	struct adv_cm_packet packet;
	uint8_t mad[ADV_MAD_LEN + 1] = {0};
	unsigned i;
	size_t len;

	for (i = 0; i < LAYOUTS; i++) {
		size_t info = info_len_at(layouts[i].attribute);

		memset(mad, 0, sizeof(mad));
		header_of(layouts[i].attribute, mad);
		assert_true(adv_cm_packet_decode(mad, ADV_MAD_LEN, &packet));
		for (len = 0; len < ADV_MAD_LEN; len++) {
			uint8_t *copy = exact_copy(mad, len);

			assert_false(adv_cm_packet_decode(copy, len, &packet));
			free(copy);
		}
		assert_false(adv_cm_packet_decode(mad, ADV_MAD_LEN + 1, &packet));
		if (info) {
			mad[info] = layouts[i].attribute == ADV_CM_REJ ? 73 << 1 : 73;
			assert_false(adv_cm_packet_decode(mad, ADV_MAD_LEN, &packet));
			packet.attribute = layouts[i].attribute;
			assert_false(adv_cm_packet_encode(&packet, mad));
		}
	}
	for (i = 0; i < ADV_ARRAY_SIZE(wrong); i++) {
		memset(mad, 0, sizeof(mad));
		header_of(ADV_CM_REQ, mad);
		mad[wrong[i].at] = wrong[i].value;
		assert_false(adv_cm_packet_decode(mad, ADV_MAD_LEN, &packet));
	}
	packet.attribute = 0x1b;
	assert_false(adv_cm_packet_encode(&packet, mad));
}

/* ---- annex A11 ---- */

static void test_ip_header(void **state)
{
	struct adv_cm_ip_header h = {.ip_version = 6, .source_port = 0x1234}, again;
	uint8_t bytes[ADV_CM_IP_HEADER_LEN], *copy;
	unsigned i;

	for (i = 0; i < 16; i++) {
		h.source.raw[i] = (uint8_t)(0x20 + i);
		h.destination.raw[i] = (uint8_t)(0x40 + i);
	}
	adv_cm_ip_header_encode(&h, bytes);
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[1], 0x60);
	assert_int_equal(bytes[2], 0x12);
	assert_memory_equal(bytes + 4, h.source.raw, 16);
	assert_memory_equal(bytes + 20, h.destination.raw, 16);
	copy = exact_copy(bytes, sizeof(bytes));
	assert_true(adv_cm_ip_header_decode(copy, sizeof(bytes), &again));
	assert_int_equal(again.ip_version, 6);
	assert_int_equal(again.source_port, 0x1234);
	assert_true(adv_gid_equal(&again.source, &h.source));
	assert_true(adv_gid_equal(&again.destination, &h.destination));
	free(copy);
	copy = exact_copy(bytes, sizeof(bytes) - 1);
	assert_false(adv_cm_ip_header_decode(copy, sizeof(bytes) - 1, &again));
	free(copy);

	/* IPv4: mapped in the structure, behind zeros on the wire. */
	h.ip_version = 4;
	adv_cm_ip_header_encode(&h, bytes);
	assert_int_equal(bytes[1], 0x40);
	assert_int_equal(bytes[4], 0);
	assert_int_equal(bytes[15], 0);
	assert_int_equal(bytes[16], 0x20 + 12);
	assert_true(adv_cm_ip_header_decode(bytes, sizeof(bytes), &again));
	assert_true(adv_gid_is_ipv4(&again.source) && adv_gid_is_ipv4(&again.destination));
	assert_int_equal(again.destination.raw[15], 0x40 + 15);

	bytes[0] = 0x01; /* the minor version is ignored */
	assert_true(adv_cm_ip_header_decode(bytes, sizeof(bytes), &again));
	assert_int_equal(again.minor, 1);
	bytes[0] = 0x10;
	assert_false(adv_cm_ip_header_decode(bytes, sizeof(bytes), &again));
	bytes[0] = 0;
	bytes[1] = 0x50;
	assert_false(adv_cm_ip_header_decode(bytes, sizeof(bytes), &again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures_both_ways),
		cmocka_unit_test(test_captures_addresses),
		cmocka_unit_test(test_tshark_req),
		cmocka_unit_test(test_tshark_others),
		cmocka_unit_test(test_tshark_rej_and_sidr),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_ip_header),
	};

	return cmocka_run_group_tests_name("wire cm_message", tests, NULL, NULL);
}
