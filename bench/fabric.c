/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures the simulator's speed: a fat tree of 100 Gb/s links with PFC and DCQCN, in which each
 * host sends without end to another host, by a random permutation. Prints memory, and events and
 * packets per second of processor time. Packets are those whose payload arrived in order, without
 * ACKs and CNPs.
 *
 *	fabric [K [MICROSECONDS [SEED [THREADS]]]]
 *
 * K: ports of a switch, K^3 / 4 hosts (8, 500, 1, 1).
 *
 * The last line has the same figures as key=value, for bench/fabric-speed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/rng.h"
#include "fabric/network/calendar.h"
#include "fabric/network/fabric.h"

static double processor_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double wall_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long memory_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Makes a permutation without fixed points (Sattolo's algorithm). */
static bool send_permuted(struct adv_fabric *f, uint32_t hosts, uint64_t seed)
{
	uint32_t *to = calloc(hosts, sizeof(*to));
	bool good = to != NULL;
	struct adv_rng rng;

	adv_rng_seed(&rng, seed);
	for (uint32_t i = 0; good && i < hosts; i++)
		to[i] = i;
	for (uint32_t i = hosts; good && i-- > 1;) {
		uint32_t k = (uint32_t)adv_rng_below(&rng, i), other = to[k];

		to[k] = to[i];
		to[i] = other;
	}
	for (uint32_t i = 0; good && i < hosts; i++) {
		struct adv_fabric_connection c = {.initiator = i, .target = to[i], .dscp = 26};
		int64_t peer = adv_fabric_connect(f, &c);

		good = peer >= 0 && adv_fabric_transfer(f, (uint32_t)peer, UINT64_MAX, 0) >= 0;
	}
	free(to);
	adv_fabric_count_received(f);
	return good;
}

struct run {
	uint32_t hosts;
	uint32_t mtu;
	double set_up; /* processor time, s */
	double processor;
	double wall;
	long kib;
};

/* Prints the result. Connection c is that of host c. */
static void report(const struct adv_fabric *f, const struct run *r)
{
	uint64_t events = adv_fabric_events(f), payload = 0;
	double us = (double)adv_fabric_now(f) / ADV_PS_PER_US, packets;

	for (uint32_t c = 0; c < r->hosts; c++)
		payload += adv_fabric_received(f, c);
	packets = (double)payload / r->mtu;
	printf("%u hosts, %.0f us of virtual time in %.2f s, %.2f s of processor time\n", r->hosts,
	       us, r->wall, r->processor);
	printf("  events          %10.2f M, %.2f M/s\n", (double)events * 1e-6,
	       (double)events / r->processor * 1e-6);
	printf("  packets         %10.2f k end to end, %.0f k/s\n", packets * 1e-3,
	       packets / r->processor * 1e-3);
	printf("  a host receives %10.1f Gb/s\n", (double)payload * 8 / us / r->hosts * 1e-3);
	printf("  memory          %10.1f KiB a host\n", (double)r->kib / r->hosts);
	printf("hosts=%u setup_s=%.4f cpu_s=%.4f wall_s=%.4f events=%llu packets=%.0f mbps=%.0f "
	       "kib=%ld\n",
	       r->hosts, r->set_up, r->processor, r->wall, (unsigned long long)events, packets,
	       (double)payload * 8 / us / r->hosts, r->kib);
}

int main(int argc, char **argv)
{
	uint32_t k = argc > 1 ? (uint32_t)atoi(argv[1]) : 8;
	uint64_t us = argc > 2 ? (uint64_t)atoll(argv[2]) : 500;
	uint64_t seed = argc > 3 ? (uint64_t)atoll(argv[3]) : 1;
	uint32_t threads = argc > 4 ? (uint32_t)atoi(argv[4]) : 1;
	struct adv_cable cable = {80, 10000}, trunk = {80, 500000};
	struct adv_fabric_config config;
	struct adv_topology t;
	struct adv_fabric *f;
	struct run run = {.kib = -memory_kib(), .set_up = -processor_seconds()};

	if (adv_topology_fat_tree(&t, k, cable, trunk)) {
		fprintf(stderr, "no fat tree of switches with %u ports\n", k);
		return 1;
	}
	adv_fabric_defaults(&config);
	config.topology = &t;
	config.seed = seed;
	config.class[3].ecn_min = 100000;
	config.class[3].ecn_max = 400000;
	config.class[3].ecn_ppm = 200000;
	f = adv_fabric_create(&config);
	if (!f || !send_permuted(f, t.hosts, seed) ||
	    (threads > 1 && adv_fabric_divide(f, threads, threads) < 0)) {
		perror("fabric");
		return 1;
	}
	run.hosts = t.hosts;
	run.mtu = config.mtu;
	run.set_up += processor_seconds();
	run.processor = -processor_seconds();
	run.wall = -wall_seconds();
	adv_fabric_run(f, us * ADV_PS_PER_US);
	run.wall += wall_seconds();
	run.processor += processor_seconds();
	run.kib += memory_kib();
	report(f, &run);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	return 0;
}
