/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greedy address victim-address qpn rkey reads length repeats
 *
 * A peer without a queue pair. It sends `reads` READ requests of `length` bytes each to the
 * victim's queue pair, from address 0 and PSN 0 on, and receives the responses. It then repeats the
 * first request `repeats` times, each time after a pause without responses. It acknowledges
 * nothing. It ends when no more responses arrive, or on a signal.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nic/wire/headers.h"
#include "nic/wire/icrc.h"
#include "nic/wire/opcode.h"

#define MTU	 4096
#define QUIET_MS 300

struct greedy {
	struct sockaddr_in own, victim;
	struct adv_icrc_flow flow;
	struct adv_headers request;
	int hears, sends;
};

static int bind_udp(const struct sockaddr_in *own, uint16_t port, uint16_t *bound)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), discover = IP_PMTUDISC_DO;
	struct sockaddr_in at = *own;
	socklen_t len = sizeof(at);

	at.sin_port = htons(port);
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
	if (fd < 0 || bind(fd, (void *)&at, sizeof(at)) || getsockname(fd, (void *)&at, &len)) {
		perror("bind");
		exit(1);
	}
	*bound = ntohs(at.sin_port);
	return fd;
}

static void ask(struct greedy *g, uint32_t psn)
{
	uint8_t p[ADV_HEADERS_MAX + ADV_ICRC_LEN];
	size_t n;
	uint32_t icrc;

	g->request.bth.psn = psn & ADV_PSN_MASK;
	n = adv_headers_encode(&g->request, p);
	icrc = adv_icrc_finish(adv_icrc_begin(&g->flow, 0, n + ADV_ICRC_LEN), p, n);
	for (unsigned i = 0; i < ADV_ICRC_LEN; i++)
		p[n + i] = (uint8_t)(icrc >> 8 * i);
	if (sendto(g->sends, p, n + ADV_ICRC_LEN, 0, (void *)&g->victim, sizeof(g->victim)) < 0) {
		perror("sendto");
		exit(1);
	}
}

/* Receives until no more packets arrive. */
static void hear(const struct greedy *g)
{
	static uint8_t bytes[65536];
	struct pollfd fd = {.fd = g->hears, .events = POLLIN};

	while (poll(&fd, 1, QUIET_MS) > 0)
		while (recv(g->hears, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
}

int main(int argc, char **argv)
{
	struct greedy g = {.own = {.sin_family = AF_INET}, .victim = {.sin_family = AF_INET}};
	uint16_t port;

	if (argc != 8 || inet_pton(AF_INET, argv[1], &g.own.sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[2], &g.victim.sin_addr) != 1)
		return 1;
	g.victim.sin_port = htons(ADV_ROCE_UDP_PORT);
	g.request.bth.opcode = ADV_SERVICE_RC | ADV_OP_READ_REQUEST;
	g.request.bth.pkey = ADV_PKEY_DEFAULT;
	g.request.bth.dest_qpn = (uint32_t)strtoul(argv[3], NULL, 16);
	g.request.reth.rkey = (uint32_t)strtoul(argv[4], NULL, 16);
	g.request.reth.length = (uint32_t)strtoul(argv[6], NULL, 0);
	g.hears = bind_udp(&g.own, ADV_ROCE_UDP_PORT, &port);
	g.sends = bind_udp(&g.own, 0, &port);
	g.flow = (struct adv_icrc_flow){.ipv4 = true, .sport = port, .dport = ADV_ROCE_UDP_PORT};
	memcpy(g.flow.saddr, &g.own.sin_addr, 4);
	memcpy(g.flow.daddr, &g.victim.sin_addr, 4);
	for (uint32_t i = 0; i < strtoul(argv[5], NULL, 0); i++)
		ask(&g, i * (g.request.reth.length / MTU));
	hear(&g);
	for (unsigned long i = 0; i < strtoul(argv[7], NULL, 0); i++) {
		ask(&g, 0);
		hear(&g);
	}
	return 0;
}
