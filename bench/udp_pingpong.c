/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * udp_pingpong [-a] [-b] [-s bytes] [-n rounds]: half round trip between two processes that spin
 * in recv(MSG_DONTWAIT) on connected UDP sockets: the floor of latency over sockets. -b: they sleep
 * in recv() instead: the floor of latency with events. -a: a datagram of ACK_LEN bytes follows each
 * message in the same GSO send, like the ACK that the program at the other end of a reliable
 * connection waits for.
 */
#include <errno.h>
#include <netinet/in.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "floor.h"

#define ACK_LEN	 20u	     /* BTH, AETH, ICRC */
#define LIMIT_NS 5000000000u /* a datagram that takes longer is lost */

static size_t bytes = 64;
static unsigned rounds = 20000;
static int blocking;
static int acknowledging;
static int fd[2];

static void receive(int sock)
{
	static char buffer[65536];
	uint64_t spins = 0;
	uint64_t end = 0;

	if (blocking) {
		if (recv(sock, buffer, sizeof(buffer), 0) < 0)
			floor_die("recv");
		return;
	}
	while (recv(sock, buffer, sizeof(buffer), MSG_DONTWAIT) < 0) {
		if (errno != EAGAIN)
			floor_die("recv");
		if ((++spins & 0xffff) == 0 && end == 0)
			end = floor_now() + LIMIT_NS;
		if ((spins & 0xffff) == 0 && floor_now() > end)
			floor_die("no answer");
	}
}

static void transmit(int sock)
{
	static char buffer[65536];
	ssize_t len = (ssize_t)(acknowledging ? bytes + ACK_LEN : bytes);

	if (send(sock, buffer, (size_t)len, 0) != len)
		floor_die("send");
}

static void answer(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < rounds; i++) {
		receive(fd[1]);
		transmit(fd[1]);
	}
}

/* Sets the segment size of sends to `bytes`, and receives the segments of one send together. */
static void segment(int sock)
{
	static const int on = 1;
	int size = (int)bytes;

	if (setsockopt(sock, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)) < 0 ||
	    setsockopt(sock, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) < 0)
		floor_die("UDP_SEGMENT");
}

static void open_sockets(void)
{
	struct timeval limit = {LIMIT_NS / 1000000000, 0};
	uint16_t port[2];

	for (int i = 0; i < 2; i++)
		fd[i] = floor_udp(&port[i]);
	for (int i = 0; i < 2; i++) {
		floor_udp_connect(fd[i], port[1 - i]);
		setsockopt(fd[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (acknowledging)
			segment(fd[i]);
	}
}

int main(int argc, char **argv)
{
	uint64_t *took;
	pid_t child;
	int option;

	while ((option = getopt(argc, argv, "abs:n:")) != -1) {
		if (option == 'a')
			acknowledging = 1;
		else if (option == 'b')
			blocking = 1;
		else if (option == 's')
			bytes = (size_t)atoi(optarg);
		else if (option == 'n')
			rounds = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (bytes < (acknowledging ? ACK_LEN : 1) || bytes > 65000 || rounds < 1)
		return 2;
	took = calloc(rounds, sizeof(*took));
	open_sockets();
	child = floor_child(answer, NULL);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t start = floor_now();

		transmit(fd[0]);
		receive(fd[0]);
		took[i] = (floor_now() - start) / 2;
	}
	floor_join(child);
	printf("udp_pingpong bytes=%zu half_rtt_ns=%llu p99_ns=%llu\n", bytes,
	       (unsigned long long)floor_quantile(took, rounds, 0.5),
	       (unsigned long long)floor_quantile(took, rounds, 0.99));
	free(took);
	return 0;
}
