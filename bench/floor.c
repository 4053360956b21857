/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "floor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Noreturn void floor_die(const char *what)
{
	perror(what);
	exit(1);
}

uint64_t floor_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void floor_pin(int n)
{
	cpu_set_t allowed;
	cpu_set_t one;

	if (getenv("FLOOR_NO_PIN"))
		return;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		floor_die("sched_getaffinity");
	n %= CPU_COUNT(&allowed);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && n-- == 0)
			CPU_SET(cpu, &one);
	}
	if (sched_setaffinity(0, sizeof(one), &one))
		floor_die("sched_setaffinity");
}

pid_t floor_child(void (*fn)(void *arg), void *arg)
{
	pid_t child = fork();

	if (child < 0)
		floor_die("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		floor_pin(1);
		fn(arg);
		_exit(0);
	}
	floor_pin(0);
	return child;
}

void floor_join(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "the second process failed\n");
		exit(1);
	}
}

int floor_udp(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int bytes = 4 << 20;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		floor_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    getsockname(fd, (struct sockaddr *)&a, &len))
		floor_die("bind");
	*port = ntohs(a.sin_port);
	return fd;
}

void floor_udp_connect(int fd, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		floor_die("connect");
}

void *floor_shared(size_t length)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		floor_die("mmap");
	return p;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t floor_quantile(uint64_t *values, size_t n, double q)
{
	size_t at = (size_t)(q * (double)n);

	qsort(values, n, sizeof(*values), compare);
	return values[at < n ? at : n - 1];
}
