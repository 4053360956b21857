/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The codecs against a capture of the Linux kernel's host and target (nvme-rdma, nvmet-rdma). */
#include <stdio.h>

#include <pcap/pcap.h>

#include "harness.h"
#include "nvme/bytes.h"
#include "wire/cm_message.h"
#include "wire/frame.h"
#include "wire/headers.h"

#define SERVER	    2 /* the last byte of the target's address */
#define MESSAGE_MAX (1u << 17)
#define CM_IP_LEN   36 /* of annex A11, in front of the private data of a REQ */

enum { SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 4, SEND_ONLY_INVALIDATE = 0x17 };

struct seen {
	unsigned commands, connects, identifies, properties, reads, writes, flushes, in_capsule;
	unsigned invalidated, completions, failed, requests, replies;
	uint16_t last_qid;
	uint8_t message[2][MESSAGE_MAX]; /* of each direction: SENDs of several packets */
	size_t len[2];
};

static void see_command(struct seen *s, const uint8_t *data, size_t len)
{
	uint8_t again[ADV_NVME_COMMAND_LEN];
	struct adv_nvme_command c;
	struct adv_nvme_connect connect;

	assert_true(adv_nvme_command_decode(data, len, &c));
	adv_nvme_command_encode(&c, again);
	assert_memory_equal(again, data, sizeof(again));
	assert_int_equal(c.psdt, 1);
	s->commands++;
	if (c.sgl.id == ADV_NVME_SGL_OFFSET) {
		assert_int_equal(c.sgl.length, len - ADV_NVME_COMMAND_LEN);
		s->in_capsule++;
	}
	if (c.opcode == ADV_NVME_OPCODE_FABRICS && c.fabrics_type == ADV_NVME_CONNECT) {
		adv_nvme_connect_decode(&c, &connect);
		assert_int_equal(connect.qid, s->last_qid);
		assert_int_equal(c.sgl.length, ADV_NVME_CONNECT_LEN);
		s->connects++;
	} else if (c.opcode == ADV_NVME_OPCODE_FABRICS) {
		s->properties++;
	} else if (c.opcode == ADV_NVME_IDENTIFY && c.sgl.length == ADV_NVME_IDENTIFY_LEN) {
		s->identifies++;
	} else if (c.opcode == ADV_NVME_WRITE) {
		s->writes++;
	}
}

static void see_completion(struct seen *s, const uint8_t *data, size_t len)
{
	struct adv_nvme_completion c;
	uint8_t again[ADV_NVME_COMPLETION_LEN];

	assert_true(adv_nvme_completion_decode(data, len, &c));
	adv_nvme_completion_encode(&c, again);
	assert_memory_equal(again, data, sizeof(again));
	s->completions++;
	if (c.status != ADV_NVME_SUCCESS) {
		assert_string_not_equal(adv_nvme_status_name(c.status), "unknown status");
		s->failed++;
	}
}

static void see_cm(struct seen *s, const uint8_t *mad, size_t len)
{
	struct adv_cm_packet packet;
	struct adv_nvme_cm_request request;
	uint16_t crqsize;

	if (!adv_cm_packet_decode(mad, len, &packet))
		return;
	if (packet.attribute == ADV_CM_REQ) {
		assert_int_equal(adv_nvme_cm_request_decode(
					 packet.req.private_data + CM_IP_LEN,
					 sizeof(packet.req.private_data) - CM_IP_LEN, &request),
				 ADV_NVME_CM_OK);
		assert_int_equal(request.hrqsize, request.hsqsize + 1);
		assert_int_equal(request.hrqsize, request.qid ? 16 : 32);
		s->last_qid = request.qid;
		s->requests++;
	} else if (packet.attribute == ADV_CM_REP) {
		assert_true(adv_nvme_cm_accept_decode(packet.rep.private_data,
						      sizeof(packet.rep.private_data), &crqsize));
		assert_true(crqsize >= 16);
		s->replies++;
	}
}

static void see_packet(struct seen *s, const struct adv_frame *f)
{
	bool to_target = f->daddr[3] == SERVER;
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
	if (h.bth.opcode == SEND_FIRST || h.bth.opcode >= SEND_ONLY)
		s->len[to_target] = 0;
	assert_true(s->len[to_target] + len <= MESSAGE_MAX);
	memcpy(s->message[to_target] + s->len[to_target], f->transport + n, len);
	s->len[to_target] += len;
	s->invalidated += h.bth.opcode == SEND_ONLY_INVALIDATE;
	if (h.bth.opcode != SEND_LAST && h.bth.opcode < SEND_ONLY)
		return;
	if (to_target)
		see_command(s, s->message[1], s->len[1]);
	else
		see_completion(s, s->message[0], s->len[0]);
}

static void test_kernel(void **state)
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
	/* Two admin queues (discovery, then the subsystem) and one I/O queue. */
	assert_int_equal(s.requests, 3);
	assert_int_equal(s.replies, 3);
	assert_int_equal(s.connects, 3);
	assert_int_equal(s.writes, 6);
	assert_int_equal(s.in_capsule,
			 6); /* Connect of the I/O queue, 512 bytes, four times 4,096 */
	assert_true(s.identifies > 5 && s.properties > 10 && s.invalidated > 20);
	/* The asynchronous event request is never answered. */
	assert_true(s.completions < s.commands);
	assert_true(s.completions + 3 > s.commands);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
