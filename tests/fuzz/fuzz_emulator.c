/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hostile program on a host of an emulated fabric: it writes any bytes into its rings, sends
 * frames with any addresses, and requests any QP numbers. Checks that:
 * - frames come from the host in whose namespace the program is, whatever they claim;
 * - the frames of an honest program on another host all arrive, unchanged;
 * - the emulator keeps a bounded number of frames.
 *
 * Input: steps with their arguments.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/emulator/internal.h"
#include "fabric/network/calendar.h"
#include "fuzz.h"

#define HOSTS	 4
#define HOSTILE	 0
#define HONEST	 1
#define RECEIVER 2
#define PREFIX	 2u
#define LENGTH	 256u
#define KEPT	 64u
/* Virtual time is what a run costs: a flood of small frames takes 1 ms of processor time for 100
 * us. */
#define RUN	   (100 * ADV_PS_PER_US) /* ps */
#define RUNS_MOST  20 /* after the steps, until the honest program's frames have arrived */
#define STEPS_MOST (1 * ADV_PS_PER_MS) /* ps of all steps */

struct input {
	const uint8_t *data;
	size_t left;
};

/* What a program has of its memory. */
struct side {
	struct emulator_program *p;
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
};

static struct adv_topology topology;
static struct adv_emulator emulator;
static struct side side[HOSTS];
static unsigned sent, received;
static uint64_t stepped; /* ps that steps have run */

static uint32_t take_bytes(struct input *in, unsigned bytes)
{
	uint32_t value = 0;

	while (bytes-- && in->left) {
		value = value << 8 | *in->data++;
		in->left--;
	}
	return value;
}

static void open_side(uint32_t host)
{
	struct emulator_program *p = calloc(1, sizeof(*p));
	int fd[ADV_PORT_TIME] = {-1, -1};

	FUZZ_CHECK(p);
	p->emulator = &emulator;
	p->host = host;
	p->sock = open("/dev/null", O_RDWR | O_CLOEXEC);
	p->room = -1;
	adv_list_add_tail(&emulator.host[host].programs, &p->node);
	emulator.programs++;
	FUZZ_CHECK(adv_emulator_attach(&emulator, p, fd) == 0);
	FUZZ_CHECK(adv_emulator_claim(&emulator, p, PREFIX, 1) == 0);
	close(fd[ADV_PORT_MEMORY]);
	close(fd[ADV_PORT_ROOM]);
	side[host].p = p;
	adv_ring_writer_init(&side[host].writer, p->memory, emulator.place.tx_size);
}

static void open_world(void)
{
	struct adv_fabric_config config;

	adv_fabric_defaults(&config);
	config.topology = &topology;
	config.seed = 1;
	/* A flood of a strict priority starves the others, here as behind any switch. */
	config.class[6].weight = config.class[0].weight;
	config.engine = (struct adv_engine_config){.window = 64, .total_window = 64};
	memset(&emulator, 0, sizeof(emulator));
	emulator.config.fabric = adv_fabric_create(&config);
	FUZZ_CHECK(emulator.config.fabric);
	emulator.config.topology = &topology;
	emulator.place = (struct adv_port_place){.hosts = HOSTS,
						 .network = 0x0a1f0001,
						 .speed_mbps = 1000,
						 .numerator = 1,
						 .denominator = 1,
						 .tx_size = EMULATOR_TX_MIN,
						 .rx_size = EMULATOR_TX_MIN};
	emulator.host = calloc(HOSTS, sizeof(*emulator.host));
	for (uint32_t i = 0; i < HOSTS; i++) {
		adv_list_init(&emulator.host[i].programs);
		emulator.host[i].bell = -1;
	}
	adv_fabric_set_external(emulator.config.fabric, &adv_emulator_ops, &emulator);
	for (uint32_t i = 0; i < HOSTS; i++)
		open_side(i);
	sent = received = 0;
	stepped = 0;
}

static void close_world(void)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		adv_emulator_drop(&emulator, side[i].p);
		free(emulator.host[i].owner);
	}
	adv_emulator_free_frames(&emulator);
	adv_fabric_destroy(emulator.config.fabric);
	free(emulator.host);
}

/* ---- the receiver ---- */

static bool check_meta(void *user, struct adv_rx_meta *meta)
{
	return true;
}

static void take_packet(void *user, const struct adv_rx_packet *pkt)
{
	uint32_t from = adv_port_host_of(&emulator.place, &pkt->meta->sgid);
	const uint8_t *bytes = pkt->body ? pkt->body : pkt->data;

	FUZZ_CHECK(from < HOSTS);
	FUZZ_CHECK(adv_port_host_of(&emulator.place, &pkt->meta->dgid) == RECEIVER);
	if (from != HONEST)
		return;
	FUZZ_CHECK(pkt->len == LENGTH);
	for (uint32_t i = ADV_BTH_LEN; i < LENGTH; i++)
		FUZZ_CHECK(bytes[i] == (uint8_t)i);
	received++;
}

static void run_world(struct adv_ring_reader *reader, uint64_t time)
{
	static struct adv_link_counters counters;
	struct adv_fabric *f = emulator.config.fabric;
	uint64_t until = adv_fabric_now(f) + time;

	adv_emulator_look(&emulator);
	while (adv_fabric_now(f) < until)
		FUZZ_CHECK(adv_fabric_run(f, until) != ADV_FABRIC_NO_MEMORY);
	FUZZ_CHECK(side[HOSTILE].p->kept_count <= KEPT);
	while (adv_ring_get(reader, 64, take_packet, NULL, &counters))
		;
}

/* ---- steps ---- */

static void send_frame(struct side *s, uint32_t to, uint32_t qpn, struct input *any)
{
	static uint8_t payload[8192];
	struct adv_path path = {.sport = 0xc000, .hop_limit = 64};
	struct iovec iov = {payload + ADV_BTH_LEN, LENGTH - ADV_BTH_LEN};
	struct adv_tx_packet pkt = {
		.path = &path, .iov = &iov, .iov_count = 1, .header_len = ADV_BTH_LEN};

	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)i;
	adv_port_gid(&emulator.place, s->p->host, false, &path.sgid);
	adv_port_gid(&emulator.place, to, false, &path.dgid);
	if (any) {
		path.tclass = (uint8_t)take_bytes(any, 1);
		iov.iov_len = take_bytes(any, 2) % 6000 / 4 * 4;
		path.sgid.raw[take_bytes(any, 1) % 16] ^= (uint8_t)take_bytes(any, 1);
		path.dgid.raw[take_bytes(any, 1) % 16] ^= (uint8_t)take_bytes(any, 1);
		pkt.more = take_bytes(any, 1) % 8 == 7;
	}
	pkt.payload_len = (uint32_t)iov.iov_len;
	pkt.header[5] = (uint8_t)(qpn >> 16);
	pkt.header[6] = (uint8_t)(qpn >> 8);
	pkt.header[7] = (uint8_t)qpn;
	(void)adv_ring_put(&s->writer, &pkt);
}

static void write_any_bytes(struct input *in)
{
	struct emulator_program *p = side[HOSTILE].p;
	uint32_t where = take_bytes(in, 1), n = 1 + take_bytes(in, 1) % 64;
	size_t len = adv_port_memory_len(&emulator.place);
	size_t at = where & 1 ? take_bytes(in, 3) % len
			      : offsetof(struct adv_ring_memory, bytes) +
					((p->reader.tail + (where >> 1) % 8 * 64) &
					 (emulator.place.tx_size - 1));

	for (uint32_t i = 0; i < n && at + i < len; i++)
		p->memory[at + i] = (uint8_t)take_bytes(in, 1);
}

static void change_any_cable(struct input *in)
{
	struct adv_port_message m = {.type = ADV_PORT_CABLE};

	for (unsigned i = 0; i < 20; i++)
		m.text[i] = (char)take_bytes(in, 1);
	(void)adv_emulator_change_cable(&emulator, &m);
	for (uint32_t i = 0; i < topology.links; i++)
		adv_fabric_lose(emulator.config.fabric, i, 0);
}

static void run_any_time(struct input *in, struct adv_ring_reader *reader)
{
	uint64_t time = 1 + take_bytes(in, 3) * (uint64_t)16;

	if (stepped + time > STEPS_MOST)
		return;
	stepped += time;
	run_world(reader, time);
}

static void take_step(struct input *in, struct adv_ring_reader *reader)
{
	switch (take_bytes(in, 1) % 8) {
	case 0:
	case 1:
		write_any_bytes(in);
		break;
	case 2:
	case 3:
		send_frame(&side[HOSTILE], take_bytes(in, 1) % HOSTS, PREFIX << ADV_PREFIX_SHIFT,
			   in);
		break;
	case 4:
		(void)adv_emulator_claim(&emulator, side[HOSTILE].p, take_bytes(in, 4),
					 take_bytes(in, 4));
		break;
	case 5:
		change_any_cable(in);
		break;
	case 6:
		if (sent < 32) {
			send_frame(&side[HONEST], RECEIVER, PREFIX << ADV_PREFIX_SHIFT, NULL);
			sent++;
		}
		break;
	default:
		run_any_time(in, reader);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* 1 Gb/s: a flood of small frames at a faster cable would take seconds to simulate. */
	struct adv_cable cable = {8000, 50000};
	struct input in = {data, size};
	struct adv_ring_reader reader;

	if (!topology.hosts)
		FUZZ_CHECK(adv_topology_incast(&topology, HOSTS - 1, cable) == 0);
	open_world();
	adv_ring_reader_init(&reader,
			     side[RECEIVER].p->memory + adv_ring_memory_len(emulator.place.tx_size),
			     emulator.place.rx_size, 0, check_meta, NULL);
	while (in.left)
		take_step(&in, &reader);
	run_world(&reader, RUN);
	for (unsigned i = 1; received < sent && i < RUNS_MOST; i++)
		run_world(&reader, RUN);
	FUZZ_CHECK(received == sent);
	close_world();
	return 0;
}
