/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * udp_pingpong [-b] [-s bytes] [-n rounds]: half round trip between two processes that spin in
 * recv(MSG_DONTWAIT) on connected UDP sockets: the floor of a latency over sockets. -b: that
 * sleep in recv() instead, the floor of a latency with events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "floor.h"

#define LIMIT_NS 5000000000u /* a datagram that does not come within this is lost */

static size_t bytes = 64;
static unsigned rounds = 20000;
static int blocking;
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

	if (send(sock, buffer, bytes, 0) != (ssize_t)bytes)
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

static void open_sockets(void)
{
	struct timeval limit = {LIMIT_NS / 1000000000, 0};
	uint16_t port[2];

	for (int i = 0; i < 2; i++)
		fd[i] = floor_udp(&port[i]);
	for (int i = 0; i < 2; i++) {
		floor_udp_connect(fd[i], port[1 - i]);
		setsockopt(fd[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	}
}

int main(int argc, char **argv)
{
	uint64_t *took;
	pid_t child;
	int option;

	while ((option = getopt(argc, argv, "bs:n:")) != -1) {
		if (option == 'b')
			blocking = 1;
		else if (option == 's')
			bytes = (size_t)atoi(optarg);
		else if (option == 'n')
			rounds = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (bytes < 1 || bytes > 65000 || rounds < 1)
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
