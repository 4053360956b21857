/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * udp_rate [-s bytes] [-t seconds]: one datagram a system call, a spinning receiver, and a
 * window of 64, kept by a 28-byte answer to every eighth: the floor of the rate of small messages.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

#define WINDOW	  64u
#define ACK_EVERY 8u
#define ACK_BYTES 28

static size_t bytes = 64;
static int fd[2];
static _Atomic int *stop;

static void receiver(void *arg)
{
	static char buffer[65536];
	uint64_t count = 0;

	(void)arg;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		if (recv(fd[1], buffer, sizeof(buffer), MSG_DONTWAIT) < 0)
			continue;
		if (++count % ACK_EVERY == 0 && send(fd[1], &count, ACK_BYTES, 0) < 0)
			floor_die("send of an answer");
	}
}

static uint64_t take_acks(uint64_t acked)
{
	uint64_t ack[64];

	while (recv(fd[0], ack, sizeof(ack), MSG_DONTWAIT) > 0)
		acked = ack[0];
	return acked;
}

int main(int argc, char **argv)
{
	static char buffer[65536];
	double seconds = 0.5;
	uint16_t port[2];
	uint64_t sent = 0;
	uint64_t acked = 0;
	uint64_t start;
	uint64_t took;
	pid_t child;
	int option;

	while ((option = getopt(argc, argv, "s:t:")) != -1) {
		if (option == 's')
			bytes = (size_t)atoi(optarg);
		else if (option == 't')
			seconds = atof(optarg);
		else
			return 2;
	}
	stop = floor_shared(sizeof(*stop));
	for (int i = 0; i < 2; i++)
		fd[i] = floor_udp(&port[i]);
	for (int i = 0; i < 2; i++)
		floor_udp_connect(fd[i], port[1 - i]);
	child = floor_child(receiver, NULL);
	start = floor_now();
	do {
		if (sent - acked < WINDOW && send(fd[0], buffer, bytes, 0) == (ssize_t)bytes)
			sent++;
		if (sent % ACK_EVERY == 0 || sent - acked >= WINDOW)
			acked = take_acks(acked);
		took = floor_now() - start;
	} while ((double)took < seconds * 1e9);
	atomic_store(stop, 1);
	floor_join(child);
	printf("udp_rate bytes=%zu kpps=%.1f gbps=%.3f\n", bytes,
	       (double)acked * 1e6 / (double)took,
	       (double)acked * (double)bytes * 8 / (double)took);
	return 0;
}
