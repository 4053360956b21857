/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The codecs against captures of the Linux kernel's host and target (nvme-rdma, nvmet-rdma), over
 * RoCE v2 and over iWARP. */
#include <stdio.h>

#include <pcap/pcap.h>

#include "../../nic/iwarp/tcp_streams.h"
#include "../nvme_target/harness.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/mpa.h"
#include "nic/iwarp/rdmap.h"
#include "seen.h"
#include "nic/wire/cm_message.h"
#include "nic/wire/frame.h"
#include "nic/wire/headers.h"

#define SERVER	  2  /* the last byte of the target's address */
#define CM_IP_LEN 36 /* of annex A11, in front of the private data of a REQ */

enum { SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 4, SEND_ONLY_INVALIDATE = 0x17 };

static void see_cm(struct seen *s, const uint8_t *mad, size_t len)
{
	struct adv_cm_packet packet;

	if (!adv_cm_packet_decode(mad, len, &packet))
		return;
	if (packet.attribute == ADV_CM_REQ)
		seen_request(s, packet.req.private_data + CM_IP_LEN,
			     sizeof(packet.req.private_data) - CM_IP_LEN);
	else if (packet.attribute == ADV_CM_REP)
		seen_reply(s, packet.rep.private_data, sizeof(packet.rep.private_data));
}

static void see_packet(struct seen *s, const struct adv_frame *f)
{
	struct adv_headers h;
	size_t n = adv_headers_decode(f->transport, f->transport_len, &h), len;

	assert_int_not_equal(n, 0);
	len = f->transport_len - n - h.bth.pad;
	if (h.bth.dest_qpn == 1) {
		see_cm(s, f->transport + n, len);
		return;
	}
	if (h.bth.opcode > SEND_ONLY && h.bth.opcode != SEND_ONLY_INVALIDATE)
		return;
	s->invalidated += h.bth.opcode == SEND_ONLY_INVALIDATE;
	seen_send(s, f->daddr[3] == SERVER, f->transport + n, len,
		  h.bth.opcode == SEND_FIRST || h.bth.opcode >= SEND_ONLY,
		  h.bth.opcode == SEND_LAST || h.bth.opcode >= SEND_ONLY);
}

static void test_roce(void **state)
{
	static struct seen s;
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const u_char *data;
	pcap_t *pcap = pcap_open_offline(CAPTURES "/nvme-rdma.pcap", error);

	if (!pcap)
		fail_msg("%s", error);
	while (pcap_next_ex(pcap, &header, &data) == 1) {
		struct adv_frame f;

		if (adv_frame_parse(data, header->caplen, &f) == ADV_FRAME_OK)
			see_packet(&s, &f);
	}
	pcap_close(pcap);
	seen_check(&s);
}

static bool sends(uint8_t opcode)
{
	return opcode == ADV_RDMAP_SEND || opcode == ADV_RDMAP_SEND_INVALIDATE ||
	       opcode == ADV_RDMAP_SEND_SE || opcode == ADV_RDMAP_SEND_SE_INVALIDATE;
}

/* The FPDUs of one direction. */
static void see_stream(struct seen *s, bool to_target, const uint8_t *p, size_t len, bool crc)
{
	enum adv_fpdu_event event = ADV_FPDU_MORE;
	struct adv_ddp_header h;
	struct adv_fpdu_rx rx;
	size_t used;

	adv_fpdu_rx_init(&rx, crc, false);
	while (len > 0) {
		event = adv_fpdu_rx_take(&rx, p, len, &used);
		p += used;
		len -= used;
		assert_true(event <= ADV_FPDU_END);
		if (event != ADV_FPDU_HEADER)
			continue;
		assert_int_not_equal(adv_ddp_decode(rx.header, sizeof(rx.header), &h), 0);
		if (!sends(h.opcode))
			continue;
		s->invalidated += h.last && h.invalidate_stag != 0;
		assert_true(rx.payload_left <= len);
		seen_send(s, to_target, p, rx.payload_left, h.mo == 0, h.last);
	}
}

static void test_iwarp(void **state)
{
	static struct seen s;
	struct streams streams;

	streams_read("nvme-siw", &streams);
	for (unsigned i = 0; i < streams.count; i += 2) {
		const struct stream *a = &streams.all[i], *b = a + 1;
		struct adv_mpa_frame request, reply;
		size_t a_used, b_used;

		assert_int_equal(a->dport, 4420);
		assert_int_equal(
			adv_mpa_decode(a->bytes, a->len, ADV_MPA_REQUEST, &request, &a_used),
			ADV_MPA_OK);
		assert_int_equal(adv_mpa_decode(b->bytes, b->len, ADV_MPA_REPLY, &reply, &b_used),
				 ADV_MPA_OK);
		seen_request(&s, request.private_data, request.private_len);
		seen_reply(&s, reply.private_data, reply.private_len);
		see_stream(&s, true, a->bytes + a_used, a->len - a_used, reply.crc);
		see_stream(&s, false, b->bytes + b_used, b->len - b_used, reply.crc);
	}
	streams_free(&streams);
	seen_check(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roce),
		cmocka_unit_test(test_iwarp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
