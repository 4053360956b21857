/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * udp_bulk [-p payload] [-t seconds] [-w window]: datagrams of RoCE size (a payload of at most 4096
 * bytes, and 16 bytes) in GSO bursts of the largest size, received by GRO. 28-byte answers keep a
 * window. Both sides compute CRC-32, and the receiver copies the payload to its place. These are
 * all bytes and sums of a WRITE of many packets, without a protocol.
 */
#include <isa-l/crc.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "floor.h"

#define BURST_MAX   62u /* limits of one GSO send: packets, bytes */
#define BURST_BYTES 65000u
#define ACK_EVERY   8u
#define ACK_BYTES   28
#define AREA	    (1u << 20) /* bytes of payload, used cyclically */

static unsigned payload_len = 4096;
static unsigned packet_len;
static unsigned burst;
static unsigned window;
static int fd[2];
static _Atomic int *stop;

static void take_burst(const uint8_t *data, size_t length, uint8_t *area, uint64_t *count,
		       uint64_t *wrong)
{
	for (size_t at = 0; at + packet_len <= length; at += packet_len) {
		const uint8_t *payload = data + at + FLOOR_HEADER;
		uint32_t crc = crc32_gzip_refl(0, data + at, packet_len - 4);

		if (memcmp(&crc, payload + payload_len, 4))
			(*wrong)++;
		memcpy(area + (*count * payload_len) % AREA, payload, payload_len);
		(*count)++;
	}
}

static void receiver(void *arg)
{
	static _Alignas(64) uint8_t buffer[4 + 65536];
	uint8_t *data = buffer + 4; /* payloads at multiples of 16 bytes are copied faster */
	uint8_t *area = malloc(AREA);
	uint64_t count = 0;
	uint64_t acked = 0;
	uint64_t wrong = 0;
	uint64_t ack[4] = {0};

	(void)arg;
	if (!area)
		floor_die("malloc");
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		ssize_t n = recv(fd[1], data, 65536, MSG_DONTWAIT);

		if (n <= 0)
			continue;
		take_burst(data, (size_t)n, area, &count, &wrong);
		if (count - acked < ACK_EVERY)
			continue;
		acked = ack[0] = count;
		if (send(fd[1], ack, ACK_BYTES, 0) < 0)
			floor_die("send of an answer");
	}
	free(area);
	if (wrong) {
		fprintf(stderr, "%llu packets with a wrong CRC\n", (unsigned long long)wrong);
		_exit(1);
	}
}

/* Two iovecs for each packet: the payload, and the CRC with the next packet's header. */
static void transmit_burst(uint8_t *area, uint64_t *sent)
{
	static uint8_t joint[BURST_MAX + 1][FLOOR_HEADER + 4];
	struct iovec iov[2 * BURST_MAX + 1];
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2 * burst + 1};

	iov[0] = (struct iovec){joint[0] + 4, FLOOR_HEADER};
	for (unsigned i = 0; i < burst; i++) {
		uint8_t *payload = area + ((*sent + i) * payload_len) % AREA;
		uint32_t crc = crc32_gzip_refl(0, joint[i] + 4, FLOOR_HEADER);

		crc = crc32_gzip_refl(crc, payload, payload_len);
		memcpy(joint[i + 1], &crc, 4);
		iov[2 * i + 1] = (struct iovec){payload, payload_len};
		iov[2 * i + 2] = (struct iovec){joint[i + 1], FLOOR_HEADER + 4};
	}
	iov[2 * burst].iov_len = 4;
	if (sendmsg(fd[0], &m, 0) != burst * packet_len)
		floor_die("sendmsg");
	*sent += burst;
}

static void open_sockets(void)
{
	uint16_t port[2];
	int segment = (int)packet_len;
	int one = 1;

	for (int i = 0; i < 2; i++)
		fd[i] = floor_udp(&port[i]);
	for (int i = 0; i < 2; i++)
		floor_udp_connect(fd[i], port[1 - i]);
	if (setsockopt(fd[0], IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) ||
	    setsockopt(fd[1], IPPROTO_UDP, UDP_GRO, &one, sizeof(one)))
		floor_die("UDP_SEGMENT or UDP_GRO");
}

static uint64_t stream(uint8_t *area, double seconds, uint64_t *took)
{
	uint64_t start = floor_now();
	uint64_t sent = 0;
	uint64_t acked = 0;
	uint64_t ack[8];

	do {
		while (recv(fd[0], ack, sizeof(ack), MSG_DONTWAIT) > 0)
			acked = ack[0];
		if (sent - acked + burst <= window)
			transmit_burst(area, &sent);
		*took = floor_now() - start;
	} while ((double)*took < seconds * 1e9);
	return acked;
}

int main(int argc, char **argv)
{
	double seconds = 0.5;
	uint8_t *area = calloc(1, AREA);
	uint64_t took;
	uint64_t packets;
	pid_t child;
	int option;

	while ((option = getopt(argc, argv, "p:t:w:")) != -1) {
		if (option == 'p')
			payload_len = (unsigned)atoi(optarg);
		else if (option == 't')
			seconds = atof(optarg);
		else if (option == 'w')
			window = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (payload_len < 256 || payload_len > FLOOR_PAYLOAD || AREA % payload_len || !area)
		return 2;
	packet_len = FLOOR_HEADER + payload_len + 4;
	burst = MIN(BURST_MAX, BURST_BYTES / packet_len);
	window = MAX(window ? window : 4 * burst, burst);
	stop = floor_shared(sizeof(*stop));
	open_sockets();
	child = floor_child(receiver, NULL);
	packets = stream(area, seconds, &took);
	atomic_store(stop, 1);
	floor_join(child);
	printf("udp_bulk bytes=%u gbps=%.2f kpps=%.1f\n", payload_len,
	       (double)packets * payload_len * 8 / (double)took,
	       (double)packets * 1e6 / (double)took);
	free(area);
	return 0;
}
