/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many packets a second the emulator of `adverb fabric` carries through three hops on one
 * core: from a program's ring through two switches to another program's ring. It has the
 * processor time of the emulator's work: virtual time follows the packets, and no clock.
 * Usage: emulator [PAYLOAD [MILLISECONDS OF VIRTUAL TIME]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fabric/emulator/internal.h"
#include "fabric/network/calendar.h"

#define PREFIX 2u
#define HOSTS  2

struct program {
	struct emulator_program *p;
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
};

static struct adv_emulator emulator;
static struct program program[HOSTS];
static uint64_t received;

static bool accept_meta(void *user, struct adv_rx_meta *meta)
{
	return true;
}

static void count_packet(void *user, const struct adv_rx_packet *pkt)
{
	received++;
}

static void open_program(uint32_t host)
{
	struct program *g = &program[host];
	int fd[ADV_PORT_TIME] = {-1, -1};

	g->p = calloc(1, sizeof(*g->p));
	if (!g->p)
		exit(1);
	g->p->emulator = &emulator;
	g->p->host = host;
	g->p->sock = g->p->room = -1;
	adv_list_init(&emulator.host[host].programs);
	adv_list_add_tail(&emulator.host[host].programs, &g->p->node);
	if (adv_emulator_attach(&emulator, g->p, fd) ||
	    adv_emulator_claim(&emulator, g->p, PREFIX, 1)) {
		perror("attach");
		exit(1);
	}
	adv_ring_writer_init(&g->writer, g->p->memory, emulator.place.tx_size);
	adv_ring_reader_init(&g->reader, g->p->memory + adv_ring_memory_len(emulator.place.tx_size),
			     emulator.place.rx_size, 0, accept_meta, NULL);
}

static void open_world(struct adv_topology *t)
{
	struct adv_fabric_config config;

	if (adv_topology_dumbbell(t, 1, (struct adv_cable){80, 50000},
				  (struct adv_cable){80, 50000}))
		exit(1);
	adv_fabric_defaults(&config);
	config.topology = t;
	config.engine = (struct adv_engine_config){.window = 64, .total_window = 64};
	emulator.config.fabric = adv_fabric_create(&config);
	emulator.config.topology = t;
	emulator.place = (struct adv_port_place){.hosts = HOSTS,
						 .network = 0x0a1f0001,
						 .numerator = 1,
						 .denominator = 1,
						 .tx_size = EMULATOR_TX_MAX,
						 .rx_size = EMULATOR_RX_RING};
	emulator.host = calloc(HOSTS, sizeof(*emulator.host));
	if (!emulator.config.fabric || !emulator.host)
		exit(1);
	emulator.host[0].bell = emulator.host[1].bell = -1;
	adv_fabric_set_external(emulator.config.fabric, &adv_emulator_ops, &emulator);
	for (uint32_t i = 0; i < HOSTS; i++)
		open_program(i);
}

/* Fills the ring of the sending program. */
static void send_packets(uint32_t payload)
{
	static uint8_t bytes[4096];
	static struct adv_path path = {.sport = 0xc000, .hop_limit = 64};
	struct iovec iov = {bytes, payload};
	struct adv_tx_packet pkt = {.path = &path,
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = payload};

	adv_port_gid(&emulator.place, 0, false, &path.sgid);
	adv_port_gid(&emulator.place, 1, false, &path.dgid);
	pkt.header[6] = PREFIX << (ADV_PREFIX_SHIFT - 8);
	while (adv_ring_put(&program[0].writer, &pkt))
		;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	uint32_t payload = argc > 1 ? (uint32_t)atoi(argv[1]) & ~3u : 4096;
	uint64_t until = (argc > 2 ? (uint64_t)atoi(argv[2]) : 200) * ADV_PS_PER_MS;
	struct adv_link_counters counters;
	struct adv_topology t;
	double busy = 0;

	if (payload > 4096)
		payload = 4096;
	open_world(&t);
	for (uint64_t at = 0; at < until; at += 10 * ADV_PS_PER_US) {
		double start;

		send_packets(payload);
		start = seconds();
		adv_emulator_look(&emulator);
		adv_fabric_run(emulator.config.fabric, at);
		adv_emulator_wake(&emulator);
		busy += seconds() - start;
		while (adv_ring_get(&program[1].reader, 64, count_packet, NULL, &counters))
			;
	}
	printf("%llu packets of %u bytes in %.3f s of processor time: %.0f a second, %.0f ns "
	       "each\n",
	       (unsigned long long)received, payload, busy, (double)received / busy,
	       busy / (double)received * 1e9);
	return received == 0;
}
