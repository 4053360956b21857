/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tcp_pingpong [-b] [-s bytes] [-n rounds]: half round trip over one TCP connection between two
 * processes that spin in recv(MSG_DONTWAIT), with -b that block: the latency of a program without
 * RDMA.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

static size_t bytes = 8;
static unsigned rounds = 20000;
static int receive_flags = MSG_DONTWAIT;
static struct sockaddr_in address = {.sin_family = AF_INET};
static int listener;

static void set_nodelay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		floor_die("TCP_NODELAY");
}

static void receive(int fd)
{
	static char buffer[65536];
	size_t have = 0;

	while (have < bytes) {
		ssize_t n = recv(fd, buffer, bytes - have, receive_flags);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			floor_die("recv");
		have += n > 0 ? (size_t)n : 0;
	}
}

static void transmit(int fd)
{
	static char buffer[65536];

	if (send(fd, buffer, bytes, 0) != (ssize_t)bytes)
		floor_die("send");
}

static void answer(void *arg)
{
	int fd = accept(listener, NULL, NULL);

	(void)arg;
	if (fd < 0)
		floor_die("accept");
	set_nodelay(fd);
	for (unsigned i = 0; i < rounds; i++) {
		receive(fd);
		transmit(fd);
	}
}

static int connect_pair(pid_t *child)
{
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &len))
		floor_die("listen");
	*child = floor_child(answer, NULL);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		floor_die("connect");
	set_nodelay(fd);
	return fd;
}

int main(int argc, char **argv)
{
	uint64_t *took;
	pid_t child;
	int option;
	int fd;

	while ((option = getopt(argc, argv, "bs:n:")) != -1) {
		if (option == 'b')
			receive_flags = 0;
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
	if (!took)
		floor_die("calloc");
	fd = connect_pair(&child);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t start = floor_now();

		transmit(fd);
		receive(fd);
		took[i] = (floor_now() - start) / 2;
	}
	floor_join(child);
	printf("tcp_pingpong bytes=%zu half_rtt_ns=%llu\n", bytes,
	       (unsigned long long)floor_quantile(took, rounds, 0.5));
	free(took);
	return 0;
}
