/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * write_capture FILE [crc] [markers]: writes a capture of a connection, from the start-up frames to
 * a Terminate, with every operation in both directions. Prints the number of FPDUs and of markers,
 * which are 512 bytes apart in each stream. dissect.py passes the capture to tshark.
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/negotiation.h"
#include "stream_bed.h"

#define IP_LEN	     20
#define TCP_LEN	     20
#define SEGMENT	     1448
#define FLAG_SYN     0x02
#define FLAG_ACK     0x10
#define LONGEST	     1200
#define REGION	     9000
#define FIRST_SEQ    1000
#define ADDRESS	     0x0a000001 /* of end 0; end 1 has the next one */
#define PORT_ACTIVE  40000
#define PORT_PASSIVE 7471

static struct {
	pcap_dumper_t *file;
	uint32_t seq[2];
	long time;
	size_t written[2]; /* bytes of the bed's pipes that are in the capture */
	unsigned fpdus;
	struct adv_fpdu_rx rx[2]; /* count FPDUs */
} w;

static uint8_t *put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	return put16(put16(p, value >> 16), value & 0xffff);
}

/* Writes a TCP segment of end i. */
static void segment(unsigned i, uint8_t flags, const uint8_t *data, size_t len)
{
	uint8_t packet[IP_LEN + TCP_LEN + SEGMENT] = {0x45}, *p = packet + 2;
	struct pcap_pkthdr h = {.caplen = (uint32_t)(IP_LEN + TCP_LEN + len)};

	p = put16(p, h.caplen);
	p = put32(p, 0);
	p = put32(p, 64u << 24 | 6u << 16);
	p = put32(p, ADDRESS + i);
	p = put32(p, ADDRESS + !i);
	p = put16(p, i ? PORT_PASSIVE : PORT_ACTIVE);
	p = put16(p, i ? PORT_ACTIVE : PORT_PASSIVE);
	p = put32(p, w.seq[i]);
	p = put32(p, flags & FLAG_ACK ? w.seq[!i] : 0);
	p = put32(p, (uint32_t)TCP_LEN / 4 << 28 | (uint32_t)flags << 16 | 0xffff);
	p = put32(p, 0);
	if (len)
		memcpy(p, data, len);
	h.len = h.caplen;
	h.ts.tv_usec = ++w.time;
	pcap_dump((u_char *)w.file, &h, packet);
	w.seq[i] += (uint32_t)len + !!(flags & FLAG_SYN);
}

/* Writes what end i has sent since the last call: a TCP segment for each FPDU, because tshark finds
 * markers only so. */
static void write_new(struct bed *b, unsigned i)
{
	const struct pipe *pipe = &b->pipe[i];
	uint8_t data[SEGMENT];
	size_t len = 0, used;

	while (w.written[i] != pipe->head) {
		assert_in_range(len, 0, sizeof(data) - 1);
		data[len++] = pipe->bytes[w.written[i]++ % sizeof(pipe->bytes)];
		for (used = 0; used == 0;)
			if (adv_fpdu_rx_take(&w.rx[i], data + len - 1, 1, &used) == ADV_FPDU_END) {
				segment(i, FLAG_ACK, data, len);
				w.fpdus++;
				len = 0;
				break;
			}
	}
}

static void frame(unsigned i, const struct adv_mpa_frame *f)
{
	uint8_t data[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];

	segment(i, FLAG_ACK, data, adv_mpa_encode(f, data));
}

/* Writes the handshake of TCP and the start-up frames; sets what the ends have agreed on. */
static void start_up(bool crc, bool markers, struct adv_rdmap_config config[2])
{
	const struct adv_mpa_wish wish = {
		.crc = crc ? ADV_MPA_CRC_REQUIRE : ADV_MPA_CRC_ACCEPT,
		.markers = markers,
		.peer_to_peer = true,
		.ird = 4,
		.ord = 4,
	};
	struct adv_mpa_frame request, reply;

	w.seq[0] = w.seq[1] = FIRST_SEQ;
	segment(0, FLAG_SYN, NULL, 0);
	segment(1, FLAG_SYN | FLAG_ACK, NULL, 0);
	segment(0, FLAG_ACK, NULL, 0);
	adv_mpa_make_request(&wish, (const uint8_t *)"request", 7, &request);
	frame(0, &request);
	adv_mpa_answer(&wish, &request, (const uint8_t *)"reply", 5, &reply, &config[1]);
	frame(1, &reply);
	assert_int_equal(adv_mpa_take_reply(&wish, &reply, &config[0]), ADV_MPA_AGREED);
}

static void run(struct bed *b)
{
	for (unsigned idle = 0, i = 0; idle < 4; i = !i) {
		idle = bed_step(b, i) ? 0 : idle + 1;
		write_new(b, i);
	}
}

/* Each operation in both directions, then a WRITE that is refused. */
static void transfer(struct bed *b)
{
	static const uint32_t lengths[] = {0, 1, 3, 16, 500, 2000, 8000};
	struct region *r[2];

	for (unsigned i = 0; i < 2; i++) {
		r[i] = region_open(&b->net->node[i], REGION, ALL_ACCESS);
		region_fill(r[i], (uint8_t)i);
	}
	for (unsigned k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		for (unsigned i = 0; i < 2; i++) {
			end_recv(b->end[!i], k, r[!i], 0, REGION);
			end_op(b->end[i], IBV_WR_SEND, k, r[i], 0, lengths[k], NULL, 0);
			end_op(b->end[i], IBV_WR_RDMA_WRITE, k, r[i], 0, lengths[k], r[!i], 8);
			end_op(b->end[i], IBV_WR_RDMA_READ, k, r[i], 0, lengths[k], r[!i], 0);
			run(b);
		}
	}
	r[1]->key ^= 0x100;
	end_op(b->end[0], IBV_WR_RDMA_WRITE, 0, r[0], 0, 1, r[1], 0);
	run(b);
	assert_int_equal(end_state(b->end[1]), IBV_QPS_ERR);
}

static size_t markers_of(unsigned i)
{
	return (w.written[i] + ADV_FPDU_MARKER_SPACING - 1) / ADV_FPDU_MARKER_SPACING;
}

int main(int argc, char **argv)
{
	pcap_t *pcap = pcap_open_dead(DLT_RAW, 65535);
	struct adv_rdmap_config config[2];
	bool crc = false, markers = false;
	struct bed *b;

	for (int i = 2; i < argc; i++) {
		crc |= strcmp(argv[i], "crc") == 0;
		markers |= strcmp(argv[i], "markers") == 0;
	}
	w.file = argc > 1 ? pcap_dump_open(pcap, argv[1]) : NULL;
	if (!w.file)
		return 1;
	start_up(crc, markers, config);
	b = bed_open(&config[0], 1);
	for (unsigned i = 0; i < 2; i++) {
		adv_rdmap_stream_destroy(b->stream[i]);
		config[i].segment = LONGEST;
		b->stream[i] = adv_rdmap_stream_create(b->end[i]->qp, &config[i]);
		adv_fpdu_rx_init(&w.rx[i], crc, markers);
	}
	transfer(b);
	bed_close(b);
	pcap_dump_close(w.file);
	pcap_close(pcap);
	printf("%u %zu\n", w.fpdus, markers ? markers_of(0) + markers_of(1) : 0);
	return 0;
}
