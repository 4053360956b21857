/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The wire layer against captures of the Linux kernel's rdma_rxe. */
#include <stdio.h>

#include <pcap/pcap.h>

#include "base/array.h"
#include "test_util.h"
#include "base/bytes.h"
#include "nic/wire/frame.h"
#include "nic/wire/headers.h"

#define FRAME_MAX     9100
#define ENDPOINTS_MAX 256

/* The contents of each file, counted by another program. */
static const struct {
	const char *name;
	unsigned frames;
	unsigned roce;
	unsigned ports_from_qpns;  /* RC and UC packets whose port follows from two QP numbers */
	unsigned ports_from_label; /* packets whose port follows from the flow label of the REQ */
} files[] = {
	{"cm-reject", 4, 4, 0, 0},
	{"ib-perftest", 351, 235, 120, 104},
	{"mtu4096-rc", 51, 51, 0, 46},
	{"mw-sendinv", 18, 18, 0, 13},
	{"nvme-rdma", 546, 546, 0, 531},
	{"rc-access-errors", 52, 52, 0, 27},
	{"rc-batch", 261, 261, 0, 256},
	{"rc-ipv6", 27, 27, 0, 22},
	{"rc-loss-responses", 1307, 1307, 0, 1302},
	{"rc-loss", 307, 307, 0, 302},
	{"rc-pingpong", 179, 102, 102, 0},
	{"rc-recv-too-short", 7, 7, 0, 2},
	{"rc-reorder-dup", 743, 743, 0, 738},
	{"rc-rnr", 52, 52, 0, 42},
	{"rc-verbs", 406, 406, 0, 401},
	{"rping", 47, 47, 0, 42},
	{"uc", 175, 100, 70, 0},
	{"ud-multicast", 10, 3, 0, 0},
	{"ud", 50, 28, 0, 0},
};
#define FILES ADV_ARRAY_SIZE(files)

/* Called for each RoCE frame. */
typedef void packet_fn(void *arg, const uint8_t *frame, size_t len, const struct adv_frame *f);

struct counts {
	unsigned frames;
	unsigned roce;
};

static struct counts for_each_packet(const char *name, packet_fn *fn, void *arg)
{
	char path[512], error[PCAP_ERRBUF_SIZE];
	struct counts counts = {0, 0};
	struct pcap_pkthdr *header;
	const u_char *data;
	pcap_t *pcap;
	int more;

	snprintf(path, sizeof(path), "%s/%s.pcap", CAPTURES, name);
	pcap = pcap_open_offline(path, error);
	if (!pcap)
		fail_msg("%s", error);
	assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
	while ((more = pcap_next_ex(pcap, &header, &data)) == 1) {
		uint8_t *frame = exact_copy(data, header->caplen);
		enum adv_frame_error err;
		struct adv_frame f;

		counts.frames++;
		err = adv_frame_parse(frame, header->caplen, &f);
		if (err == ADV_FRAME_OK) {
			counts.roce++;
			fn(arg, frame, header->caplen, &f);
		} else {
			assert_int_equal(err, ADV_FRAME_NOT_ROCE);
		}
		free(frame);
	}
	assert_int_equal(more, PCAP_ERROR_BREAK); /* the end of the file */
	pcap_close(pcap);
	return counts;
}

static void for_all_files(packet_fn *fn, void *arg)
{
	size_t i;

	for (i = 0; i < FILES; i++)
		for_each_packet(files[i].name, fn, arg);
}

/* ---- decoding and encoding ---- */

static void both_ways(void *arg, const uint8_t *frame, size_t len, const struct adv_frame *f)
{
	uint8_t out[FRAME_MAX], headers[ADV_HEADERS_MAX];
	unsigned *per_opcode = arg;
	struct adv_headers h;
	size_t n = adv_headers_decode(f->transport, f->transport_len, &h);

	assert_int_not_equal(n, 0);
	assert_true(h.bth.pad <= f->transport_len - n);
	if (!(adv_opcode_table[h.bth.opcode].flags & ADV_PKT_PAYLOAD))
		assert_int_equal(f->transport_len, n);
	assert_int_equal(adv_headers_encode(&h, headers), n);
	assert_memory_equal(headers, f->transport, n);

	assert_int_equal(f->icrc, adv_frame_icrc(f));
	assert_int_equal(adv_frame_build(f, out, sizeof(out)), len);
	assert_memory_equal(out, frame, len);
	per_opcode[h.bth.opcode]++;
}

static void test_both_ways(void **state)
{
	unsigned per_opcode[256] = {0}, total = 0, i;
	size_t file;

	for (file = 0; file < FILES; file++) {
		struct counts c = for_each_packet(files[file].name, both_ways, per_opcode);

		print_message("%-18s %4u RoCE packets of %4u frames\n", files[file].name, c.roce,
			      c.frames);
		assert_int_equal(c.frames, files[file].frames);
		assert_int_equal(c.roce, files[file].roce);
		total += c.roce;
	}
	for (i = 0; i < 256; i++)
		if (per_opcode[i])
			print_message("%-25s %4u\n", adv_opcode_table[i].name, per_opcode[i]);
	assert_int_equal(total, 4296);
}

/* ---- the Identification, which a socket does not report ---- */

static uint32_t icrc_with_id_0(const struct adv_frame *f)
{
	struct adv_frame unseen = *f;

	unseen.ip_id = 0;
	return adv_frame_icrc(&unseen);
}

static void solve_id(void *arg, const uint8_t *frame, size_t len, const struct adv_frame *f)
{
	unsigned *solved = arg;
	uint16_t id;

	if (f->kind != ADV_FRAME_V2_IPV4)
		return;
	assert_true(adv_icrc_solve_id(f->icrc, icrc_with_id_0(f), f->transport_len + ADV_ICRC_LEN,
				      &id));
	assert_int_equal(id, f->ip_id);
	*solved += id != 0;
}

static void test_solve_id(void **state)
{
	unsigned solved = 0;

	for_all_files(solve_id, &solved);
	/* All packets except the 27 of IPv6. */
	assert_int_equal(solved, 4296 - 27);
}

struct corruption {
	struct adv_rng rng;
	unsigned tries;
	unsigned accepted;
};

/* Changes eight consecutive bytes of the packet or its ICRC, 256 times. */
static void corrupt(void *arg, const uint8_t *frame, size_t len, const struct adv_frame *f)
{
	struct corruption *c = arg;
	size_t udp_payload = f->transport_len + ADV_ICRC_LEN;
	uint8_t *bytes = exact_copy(f->transport, udp_payload);
	struct adv_frame bad = *f;
	unsigned i, k;

	bad.transport = bytes;
	for (i = 0; i < 256 && f->kind == ADV_FRAME_V2_IPV4; i++) {
		size_t at = adv_rng_below(&c->rng, udp_payload - 7);
		uint32_t found;
		uint16_t id;

		for (k = 0; k < 8; k++)
			bytes[at + k] ^= (uint8_t)(1 + adv_rng_below(&c->rng, 255));
		memcpy(&found, bytes + f->transport_len, sizeof(found));
		c->accepted +=
			adv_icrc_solve_id(le32toh(found), icrc_with_id_0(&bad), udp_payload, &id);
		c->tries++;
		memcpy(bytes + at, f->transport + at, 8);
	}
	free(bytes);
}

/* Corrupted packets are refused. One in 2^16 of them fits another Identification: 16.7 packets. */
static void test_corruption_is_refused(void **state)
{
	struct corruption c = {.tries = 0};

	adv_rng_seed(&c.rng, 7);
	for_all_files(corrupt, &c);
	print_message("corrupted packets accepted: %u of %u, 16.7 are to be expected\n", c.accepted,
		      c.tries);
	assert_int_equal(c.tries, 256 * (4296 - 27));
	assert_in_range(c.accepted, 1, 33);
}

/* ---- the UDP source port ---- */

struct endpoint {
	uint8_t addr[16];
	uint32_t qpn;
	uint16_t sport; /* UDP source port of both directions */
};

/* A REQ of the CM. */
struct request {
	uint32_t comm_id;
	struct endpoint from;
};

struct connections {
	struct request requests[ENDPOINTS_MAX];
	struct endpoint endpoints[ENDPOINTS_MAX];
	unsigned request_count, endpoint_count;
	unsigned right;
};

static void add_endpoint(struct connections *c, const uint8_t *addr, uint32_t qpn, uint16_t sport)
{
	struct endpoint *e = &c->endpoints[c->endpoint_count++];

	assert_in_range(c->endpoint_count, 1, ENDPOINTS_MAX);
	memcpy(e->addr, addr, 16);
	e->qpn = qpn;
	e->sport = sport;
}

/* Reads the primary path's flow label and the QP from a REQ, and the other QP from its REP (IBTA
 * 12.6). */
static void read_cm(struct connections *c, const struct adv_frame *f, const uint8_t *mad)
{
	uint16_t attribute = adv_get_be16(mad + 16);
	struct request *r;

	if (mad[1] != 7)
		return;
	if (attribute == 0x10) {
		r = &c->requests[c->request_count++];
		assert_in_range(c->request_count, 1, ENDPOINTS_MAX);
		r->comm_id = adv_get_be32(mad + 24);
		memcpy(r->from.addr, f->saddr, 16);
		r->from.qpn = adv_get_be32(mad + 56) >> 8;
		r->from.sport = adv_frame_sport(adv_get_be32(mad + 112) >> 12, 0, 0);
	} else if (attribute == 0x13) {
		for (r = c->requests; r->comm_id != adv_get_be32(mad + 28); r++)
			assert_true(r < c->requests + c->request_count);
		add_endpoint(c, r->from.addr, r->from.qpn, r->from.sport);
		add_endpoint(c, f->saddr, adv_get_be32(mad + 36) >> 8, r->from.sport);
	}
}

/* Checks that the source port follows from the flow label. A later connection may use the same QP
 * number, so the search begins with the last connection. */
static void check_sport_from_label(void *arg, const uint8_t *frame, size_t len,
				   const struct adv_frame *f)
{
	struct connections *c = arg;
	struct adv_headers h;
	size_t n = adv_headers_decode(f->transport, f->transport_len, &h);
	unsigned i;

	if (h.bth.opcode == (ADV_SERVICE_UD | ADV_OP_SEND_ONLY) && h.bth.dest_qpn == 1) {
		assert_int_equal(f->transport_len - n, 256);
		read_cm(c, f, f->transport + n);
	}
	if ((h.bth.opcode & ADV_SERVICE_MASK) != ADV_SERVICE_RC)
		return;
	for (i = c->endpoint_count; i-- > 0;) {
		const struct endpoint *e = &c->endpoints[i];

		if (e->qpn == h.bth.dest_qpn && memcmp(e->addr, f->daddr, 16) == 0) {
			assert_int_equal(f->sport, e->sport);
			c->right++;
			return;
		}
	}
}

static void test_sport_from_flow_label(void **state)
{
	unsigned total = 0;
	size_t i;

	for (i = 0; i < FILES; i++) {
		struct connections c = {.right = 0};

		for_each_packet(files[i].name, check_sport_from_label, &c);
		assert_int_equal(c.right, files[i].ports_from_label);
		total += c.right;
	}
	assert_int_equal(total, 3828);
}

/* The two QPs of a port: the destinations at each address. */
struct pair {
	uint16_t sport;
	struct endpoint to[2];
	unsigned ends;
	unsigned packets;
};

struct pairs {
	struct pair pair[ENDPOINTS_MAX];
	unsigned count;
};

static void note_end(struct pair *pair, const uint8_t *addr, uint32_t qpn)
{
	unsigned i;

	pair->packets++;
	for (i = 0; i < pair->ends; i++)
		if (pair->to[i].qpn == qpn && memcmp(pair->to[i].addr, addr, 16) == 0)
			return;
	assert_in_range(pair->ends, 0, 1);
	memcpy(pair->to[pair->ends].addr, addr, 16);
	pair->to[pair->ends++].qpn = qpn;
}

static void note_pair(void *arg, const uint8_t *frame, size_t len, const struct adv_frame *f)
{
	struct pairs *pairs = arg;
	struct adv_headers h;
	unsigned i;

	adv_headers_decode(f->transport, f->transport_len, &h);
	if ((h.bth.opcode & ADV_SERVICE_MASK) > ADV_SERVICE_UC)
		return;
	for (i = 0; i < pairs->count && pairs->pair[i].sport != f->sport; i++)
		;
	assert_in_range(i, 0, ENDPOINTS_MAX - 1);
	if (i == pairs->count)
		pairs->pair[pairs->count++].sport = f->sport;
	note_end(&pairs->pair[i], f->daddr, h.bth.dest_qpn);
}

/* Files without rdma_cm have no flow label. The number of a QP that only received is unknown. */
static void test_sport_from_qpns(void **state)
{
	unsigned total = 0;
	size_t i;

	for (i = 0; i < FILES; i++) {
		struct pairs pairs = {.count = 0};
		unsigned right = 0, k;

		for_each_packet(files[i].name, note_pair, &pairs);
		for (k = 0; k < pairs.count; k++) {
			const struct pair *p = &pairs.pair[k];

			if (p->ends == 2 &&
			    adv_frame_sport(0, p->to[0].qpn, p->to[1].qpn) == p->sport)
				right += p->packets;
		}
		assert_int_equal(right, files[i].ports_from_qpns);
		total += right;
	}
	assert_int_equal(total, 292);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_solve_id),
		cmocka_unit_test(test_corruption_is_refused),
		cmocka_unit_test(test_sport_from_flow_label),
		cmocka_unit_test(test_sport_from_qpns),
	};

	return cmocka_run_group_tests_name("wire captures", tests, NULL, NULL);
}
