/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tcp_bulk [-s bytes] [-t seconds]: one TCP connection over loopback, write() and read() of
 * `bytes` at a time: the bandwidth of a program without RDMA.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

static size_t bytes = 65536;
static struct sockaddr_in address = {.sin_family = AF_INET};
static int listener;

static void receiver(void *arg)
{
	uint64_t *total = arg;
	char *buffer = malloc(bytes);
	int fd = accept(listener, NULL, NULL);
	ssize_t n;

	if (fd < 0 || !buffer)
		floor_die("accept");
	while ((n = read(fd, buffer, bytes)) > 0)
		*total += (uint64_t)n;
	close(fd);
	free(buffer);
}

int main(int argc, char **argv)
{
	socklen_t len = sizeof(address);
	double seconds = 0.5;
	uint64_t *total = floor_shared(sizeof(*total));
	uint64_t start;
	double took;
	char *buffer;
	pid_t child;
	int option;
	int fd;

	while ((option = getopt(argc, argv, "s:t:")) != -1) {
		if (option == 's')
			bytes = (size_t)atoi(optarg);
		else if (option == 't')
			seconds = atof(optarg);
		else
			return 2;
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &len))
		floor_die("listen");
	child = floor_child(receiver, total);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	buffer = calloc(1, bytes);
	if (!buffer || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		floor_die("connect");
	start = floor_now();
	do {
		if (write(fd, buffer, bytes) < 0)
			floor_die("write");
	} while ((double)(floor_now() - start) < seconds * 1e9);
	close(fd);
	floor_join(child);
	took = (double)(floor_now() - start);
	printf("tcp_bulk bytes=%zu gbps=%.2f\n", bytes, (double)*total * 8 / took);
	free(buffer);
	return 0;
}
