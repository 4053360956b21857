/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define PAYLOAD_MAX 4096

static bool accept_meta(void *user, struct adv_rx_meta *meta)
{
	return true;
}

void world_start(struct world *w, struct world_program *g, uint32_t host, uint32_t prefix)
{
	struct adv_emulator *e = &w->emulator;
	int fd[ADV_PORT_TIME] = {-1, -1};

	g->p = calloc(1, sizeof(*g->p));
	assert_non_null(g->p);
	g->p->emulator = e;
	g->p->host = host;
	g->p->sock = open("/dev/null", O_RDWR | O_CLOEXEC);
	g->p->room = -1;
	adv_list_add_tail(&e->host[host].programs, &g->p->node);
	e->programs++;
	assert_int_equal(adv_emulator_attach(e, g->p, fd), 0);
	assert_int_equal(adv_emulator_claim(e, g->p, prefix, 1), 0);
	close(fd[ADV_PORT_MEMORY]);
	g->room = fd[ADV_PORT_ROOM];
	adv_ring_writer_init(&g->writer, g->p->memory, e->place.tx_size);
	adv_ring_reader_init(&g->reader, g->p->memory + adv_ring_memory_len(e->place.tx_size),
			     e->place.rx_size, 0, accept_meta, NULL);
}

void world_stop(struct world *w, struct world_program *g)
{
	if (!g->p)
		return;
	adv_emulator_drop(&w->emulator, g->p);
	close(g->room);
	g->p = NULL;
}

int world_open(void **state)
{
	struct adv_cable cable = {WORLD_PS_PER_BYTE, 50000};
	struct adv_fabric_config config;
	struct world *w = calloc(1, sizeof(*w));
	struct adv_emulator *e = &w->emulator;

	assert_non_null(w);
	assert_int_equal(adv_topology_dumbbell(&w->topology, 1, cable, cable), 0);
	adv_fabric_defaults(&config);
	config.topology = &w->topology;
	config.engine = (struct adv_engine_config){.window = 64, .total_window = 64};
	e->config.fabric = adv_fabric_create(&config);
	assert_non_null(e->config.fabric);
	e->config.topology = &w->topology;
	e->place = (struct adv_port_place){.hosts = WORLD_HOSTS,
					   .network = 0x0a1f0001,
					   .numerator = 1,
					   .denominator = 1,
					   .tx_size = EMULATOR_TX_MIN,
					   .rx_size = EMULATOR_TX_MIN};
	e->host = calloc(WORLD_HOSTS, sizeof(*e->host));
	assert_non_null(e->host);
	assert_int_equal(adv_emulator_flows_open(&e->flows), 0);
	adv_fabric_set_external(e->config.fabric, &adv_emulator_ops, e);
	for (uint32_t i = 0; i < WORLD_HOSTS; i++) {
		adv_list_init(&e->host[i].programs);
		e->host[i].bell = -1;
		world_start(w, &w->program[i], i, WORLD_PREFIX);
	}
	*state = w;
	return 0;
}

int world_close(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < WORLD_HOSTS; i++) {
		world_stop(w, &w->program[i]);
		free(w->emulator.host[i].owner);
	}
	adv_emulator_free_frames(&w->emulator);
	adv_emulator_flows_close(&w->emulator.flows);
	adv_fabric_destroy(w->emulator.config.fabric);
	adv_topology_free(&w->topology);
	free(w->emulator.host);
	free(w);
	return 0;
}

void world_path(const struct world *w, uint32_t from, uint32_t to, struct adv_path *path)
{
	*path = (struct adv_path){.sport = 0xc123, .hop_limit = 64};
	adv_port_gid(&w->emulator.place, from, false, &path->sgid);
	adv_port_gid(&w->emulator.place, to, false, &path->dgid);
}

bool world_put(struct world_program *g, const struct adv_path *path, const struct world_frame *f)
{
	static uint8_t bytes[PAYLOAD_MAX];
	struct adv_path marked = *path;
	struct iovec iov = {bytes, f->payload};
	struct adv_tx_packet pkt = {.path = &marked,
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = f->payload,
				    .ecn = (enum adv_ecn)(f->tclass & ADV_ECN_MASK)};

	assert_true(f->payload <= sizeof(bytes));
	for (uint32_t i = 0; i < f->payload; i++)
		bytes[i] = (uint8_t)i;
	marked.tclass = f->tclass;
	pkt.header[5] = (uint8_t)(f->qpn >> 16);
	pkt.header[6] = (uint8_t)(f->qpn >> 8);
	pkt.header[7] = (uint8_t)f->qpn;
	return adv_ring_put(&g->writer, &pkt);
}

void world_send(struct world *w, const struct world_frame *f)
{
	struct adv_path path;

	world_path(w, f->from, 1 - f->from, &path);
	assert_true(world_put(&w->program[f->from], &path, f));
}

static void count_packet(void *user, const struct adv_rx_packet *pkt)
{
	struct world_program *g = user;

	g->received++;
	g->last = *pkt->meta;
}

void world_read(struct world_program *g)
{
	struct adv_link_counters counters;

	while (adv_ring_get(&g->reader, 64, count_packet, g, &counters))
		;
}

void world_run(struct world *w, uint64_t time)
{
	struct adv_fabric *f = w->emulator.config.fabric;
	uint64_t until = adv_fabric_now(f) + time;

	(void)adv_emulator_look(&w->emulator);
	while (adv_fabric_now(f) < until)
		assert_int_not_equal(adv_fabric_run(f, until), ADV_FABRIC_NO_MEMORY);
	for (uint32_t i = 0; i < WORLD_HOSTS; i++)
		if (w->program[i].p)
			world_read(&w->program[i]);
}
