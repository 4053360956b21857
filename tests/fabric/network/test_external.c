/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts whose frames come from programs. A program is an engine outside of the simulation. */
#include <stdlib.h>
#include <string.h>

#include "fabric/network/external.h"
#include "net.h"

#define HOSTS	 5
#define MEMORY	 (1u << 20)
#define DSCP	 26 /* priority 3: lossless */
#define PRIORITY (DSCP / 8)
#define QPN	 0x8000u

struct program {
	struct adv_engine *engine;
	struct adv_cq *cq;
	struct adv_pd *pd;
	struct adv_mr *mr;
	struct adv_qp *qp[HOSTS]; /* by peer */
	struct adv_tx_batch batch;
	uint8_t bytes[ADV_FABRIC_EXTERNAL_MAX]; /* the frame of the last pull */
	uint8_t memory[MEMORY];
	uint64_t completed_at; /* time of the last completion, ps */
	unsigned completed;
	uint64_t received; /* payload bytes */
};

static struct world {
	struct net net;
	struct program *program[HOSTS];
	unsigned forbidden; /* pulled frames of a priority that is paused or not wanted */
} world;

/* ---- a program ---- */

static uint32_t host_of(const struct adv_gid *gid)
{
	return gid->raw[15];
}

static struct adv_gid gid_of(uint32_t host)
{
	return (struct adv_gid){.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)host}};
}

static uint64_t now_ns(void)
{
	return adv_fabric_now(world.net.f) / NS;
}

/* Writes the bytes of a packet. */
static uint32_t flatten(const struct adv_tx_packet *pkt, uint8_t *to)
{
	uint8_t *at = to;

	memcpy(at, pkt->header, pkt->header_len);
	at += pkt->header_len;
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		memcpy(at, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		at += pkt->iov[i].iov_len;
	}
	memset(at, 0, pkt->pad);
	return (uint32_t)(at + pkt->pad - to);
}

static bool pull(void *user, uint32_t host, uint8_t wanted, struct adv_fabric_frame *frame)
{
	struct program *p = world.program[host];
	const struct adv_tx_packet *pkt = &p->batch.packet[0];

	if (wanted & adv_fabric_egress(world.net.f, host)->paused)
		world.forbidden++;
	if (!(wanted & (1u << PRIORITY)))
		return false;
	if (adv_engine_tx_some(p->engine, now_ns(), &p->batch, 1) == 0)
		return false;
	*frame = (struct adv_fabric_frame){.to = host_of(&pkt->path->dgid),
					   .sport = pkt->path->sport,
					   .tclass = (uint8_t)(pkt->path->tclass | pkt->ecn),
					   .hop_limit = pkt->path->hop_limit,
					   .length = flatten(pkt, p->bytes),
					   .bytes = p->bytes};
	if (!(wanted & (1u << adv_fabric_priority(world.net.f, frame->tclass))))
		world.forbidden++;
	return true;
}

static void deliver(void *user, uint32_t host, const struct adv_fabric_frame *frame)
{
	struct program *p = world.program[host];
	struct adv_rx_meta meta = {.sgid = gid_of(frame->from),
				   .dgid = gid_of(frame->to),
				   .sport = frame->sport,
				   .tclass = frame->tclass,
				   .hop_limit = frame->hop_limit};
	struct adv_rx_packet pkt = {.meta = &meta, .data = frame->bytes, .len = frame->length};
	struct ibv_wc wc;

	assert_int_equal(frame->to, host);
	p->received += frame->length;
	adv_engine_rx(p->engine, now_ns(), &pkt);
	while (adv_cq_poll(p->cq, 1, &wc) == 1) {
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		p->completed++;
		p->completed_at = adv_fabric_now(world.net.f);
	}
}

/* Frames that taps have seen: by the end of the cable, direction and kind. */
static unsigned seen[2][2][ADV_PACKET_LOST];

static void note_seen(void *user, uint32_t link, unsigned end, bool out,
		      const struct adv_packet *packet)
{
	seen[end][out][packet->kind]++;
}

static const struct adv_fabric_external_ops ops = {pull, deliver, note_seen};

static void start_program(uint32_t host)
{
	struct program *p = world.program[host] = calloc(1, sizeof(*p));
	struct adv_engine_config config = world.net.config.engine;
	struct adv_engine_gid gid = {.gid = gid_of(host), .mtu = 4096};

	assert_non_null(p);
	config.seed[0] = host + 1;
	config.qpn_first = QPN;
	config.qpn_count = 64;
	p->engine = adv_engine_create(&config);
	assert_non_null(p->engine);
	adv_engine_set_line_rate(p->engine, 100000);
	assert_int_equal(adv_engine_set_gids(p->engine, &gid, 1), 0);
	p->pd = adv_pd_create(p->engine);
	p->cq = adv_cq_create(p->engine, 64, NULL);
	p->mr = adv_mr_register(p->pd, p->memory, MEMORY, (uintptr_t)p->memory,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(p->mr);
	adv_fabric_attach(world.net.f, host);
}

static void make_qp(uint32_t host, uint32_t peer)
{
	struct program *p = world.program[host];
	struct adv_qp_config c = {
		.type = IBV_QPT_RC,
		.pd = p->pd,
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = true,
	};

	p->qp[peer] = adv_qp_create(p->engine, &c);
	assert_non_null(p->qp[peer]);
}

static void modify(struct adv_qp *qp, struct ibv_qp_attr *a, enum ibv_qp_state state, int mask)
{
	a->qp_state = state;
	assert_int_equal(adv_qp_modify(qp, now_ns(), a, IBV_QP_STATE | mask), 0);
}

static void bring_up(uint32_t host, uint32_t peer)
{
	struct adv_qp *qp = world.program[host]->qp[peer];
	struct ibv_qp_attr a = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = adv_qp_num(world.program[peer]->qp[host]),
		.max_dest_rd_atomic = 16,
		.max_rd_atomic = 16,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.hop_limit = 64, .traffic_class = DSCP << 2}},
	};
	struct adv_gid gid = gid_of(peer);

	memcpy(a.ah_attr.grh.dgid.raw, gid.raw, sizeof(gid.raw));
	modify(qp, &a, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(qp, &a, IBV_QPS_RTR,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(qp, &a, IBV_QPS_RTS,
	       IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_programs(uint32_t from, uint32_t to)
{
	make_qp(from, to);
	make_qp(to, from);
	bring_up(from, to);
	bring_up(to, from);
}

/* Posts a WRITE of the first `length` bytes of memory to those of the peer. */
static void post_write(uint32_t from, uint32_t to, uint32_t length)
{
	struct program *p = world.program[from], *peer = world.program[to];
	struct ibv_sge sge = {(uintptr_t)p->memory, length, adv_mr_lkey(p->mr)};
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_RDMA_WRITE,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .wr.rdma = {(uintptr_t)peer->memory, adv_mr_rkey(peer->mr)}};

	assert_int_equal(adv_qp_post_send(p->qp[to], now_ns(), &wr, &bad), 0);
	adv_fabric_ready(world.net.f, from);
}

/* ---- the world ---- */

/* Sets the configuration of a switch with HOSTS hosts. */
static void open_world(void)
{
	memset(&world, 0, sizeof(world));
	assert_int_equal(adv_topology_incast(&world.net.t, HOSTS - 1, cable_of(20)), 0);
	net_open(&world.net);
}

static void start_world(void)
{
	net_start(&world.net);
	adv_fabric_set_external(world.net.f, &ops, NULL);
}

static void close_world(void)
{
	assert_int_equal(world.forbidden, 0);
	for (uint32_t h = 0; h < HOSTS; h++)
		if (world.program[h]) {
			adv_engine_destroy(world.program[h]->engine);
			free(world.program[h]);
		}
	net_close(&world.net);
}

static uint64_t next_timer(void)
{
	uint64_t next = ADV_NEVER;

	for (uint32_t h = 0; h < HOSTS; h++)
		if (world.program[h] && adv_engine_deadline(world.program[h]->engine) < next)
			next = adv_engine_deadline(world.program[h]->engine);
	return next == ADV_NEVER ? ADV_CALENDAR_NEVER : next * NS;
}

static void run_timers(void)
{
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct program *p = world.program[h];

		if (p && adv_engine_deadline(p->engine) <= now_ns()) {
			adv_engine_expire(p->engine, now_ns());
			adv_fabric_ready(world.net.f, h);
		}
	}
}

/* Runs the fabric and the programs' timers until `until`, ps. A transfer's end or a deadlock does
 * not stop the run. */
static void run_world(uint64_t until)
{
	while (adv_fabric_now(world.net.f) < until) {
		uint64_t timer = next_timer();

		adv_fabric_run_some(world.net.f, timer < until ? timer : until, 1);
		run_timers();
	}
}

/* ---- tests ---- */

/* A WRITE of a program takes as long as one of a simulated host. */
static void test_as_simulated_hosts(void **state)
{
	static const uint32_t sizes[] = {1, 4096, 4097, 65536, MEMORY};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t simulated;

		open_world();
		start_world();
		net_write(&world.net, 0, 1, DSCP, sizes[i]);
		run_world(1 * MS);
		net_all_done(&world.net, 1);
		simulated = adv_fabric_get_transfer(world.net.f, 0)->end;
		close_world();

		open_world();
		start_world();
		start_program(0);
		start_program(1);
		connect_programs(0, 1);
		post_write(0, 1, sizes[i]);
		run_world(1 * MS);
		assert_int_equal(world.program[0]->completed, 1);
		assert_int_equal(world.program[0]->completed_at, simulated);
		close_world();
	}
}

/* Programs that send to one host are paused, nothing is lost, and the bytes are right. */
static void test_incast(void **state)
{
	uint64_t pauses = 0;

	open_world();
	world.net.config.buffer = 4u << 20;
	start_world();
	for (uint32_t h = 0; h < HOSTS; h++)
		start_program(h);
	for (uint32_t h = 1; h < HOSTS; h++) {
		connect_programs(h, 0);
		memset(world.program[h]->memory, 0x5a, MEMORY);
		post_write(h, 0, MEMORY);
	}
	run_world(2 * MS);
	for (uint32_t h = 1; h < HOSTS; h++) {
		assert_int_equal(world.program[h]->completed, 1);
		pauses += adv_fabric_host_counters(world.net.f, h)->rx_pause;
	}
	assert_true(pauses > 0);
	assert_int_equal(net_all_drops(&world.net), 0);
	assert_memory_equal(world.program[0]->memory, world.program[1]->memory, MEMORY);
	/* all data passed through one cable of 100 Gb/s */
	assert_true(world.program[1]->completed_at >= (HOSTS - 1) * (uint64_t)MEMORY * GBPS_100);
	close_world();
}

/* Taps at both ends of a cable see its frames, and the pauses. */
static void test_tap(void **state)
{
	const struct adv_topology *t;
	unsigned host_end = 0;
	uint32_t link = 0;

	open_world();
	world.net.config.buffer = 4u << 20;
	start_world();
	t = world.net.config.topology;
	while (t->link[link].end[0].node != 1 && t->link[link].end[1].node != 1)
		link++;
	host_end = t->link[link].end[1].node == 1;
	memset(seen, 0, sizeof(seen));
	adv_fabric_tap(world.net.f, link, 0, true);
	adv_fabric_tap(world.net.f, link, 1, true);
	for (uint32_t h = 0; h < HOSTS; h++)
		start_program(h);
	for (uint32_t h = 1; h < HOSTS; h++) {
		connect_programs(h, 0);
		post_write(h, 0, MEMORY);
	}
	run_world(2 * MS);
	assert_int_equal(world.program[1]->completed, 1);
	assert_int_equal(seen[host_end][1][ADV_PACKET_DATA],
			 adv_fabric_host_counters(world.net.f, 1)->tx_frames);
	assert_int_equal(seen[host_end][1][ADV_PACKET_DATA],
			 seen[1 - host_end][0][ADV_PACKET_DATA]);
	assert_true(seen[1 - host_end][1][ADV_PACKET_DATA] > 0);
	assert_int_equal(seen[1 - host_end][1][ADV_PACKET_DATA],
			 seen[host_end][0][ADV_PACKET_DATA]);
	assert_true(seen[1 - host_end][1][ADV_PACKET_PAUSE] > 0);
	assert_int_equal(seen[host_end][0][ADV_PACKET_PAUSE],
			 adv_fabric_host_counters(world.net.f, 1)->rx_pause);
	/* Nothing is seen without a tap. */
	memset(seen, 0, sizeof(seen));
	adv_fabric_tap(world.net.f, link, 0, false);
	adv_fabric_tap(world.net.f, link, 1, false);
	post_write(1, 0, MEMORY);
	run_world(4 * MS);
	assert_int_equal(world.program[1]->completed, 2);
	assert_int_equal(seen[host_end][1][ADV_PACKET_DATA], 0);
	close_world();
}

/* A program and a simulated flow of the same host and priority share its cable. */
static void test_shares_the_nic(void **state)
{
	uint64_t simulated, programs;

	open_world();
	start_world();
	start_program(0);
	start_program(1);
	connect_programs(0, 1);
	net_write(&world.net, 0, 2, DSCP, UINT64_MAX);
	for (unsigned i = 0; i < 8; i++)
		post_write(0, 1, MEMORY);
	run_world(1 * MS);
	simulated = adv_fabric_host_counters(world.net.f, 2)->rx_bytes;
	programs = adv_fabric_host_counters(world.net.f, 1)->rx_bytes;
	assert_in_range(simulated + programs, 12000000, 12500000); /* of 1 ms at 100 Gb/s */
	assert_in_range(100 * programs / (simulated + programs), 45, 55);
	close_world();
}

/* A host without a program, also one whose program has left, drops what arrives. */
static void test_detached(void **state)
{
	const struct adv_fabric_external_counters *c;
	uint64_t received;

	open_world();
	start_world();
	start_program(0);
	start_program(1);
	connect_programs(0, 1);
	c = adv_fabric_external_counters(world.net.f, 1);
	post_write(0, 1, MEMORY);
	run_world(20 * US);
	received = c->rx_frames;
	assert_true(received > 0);
	adv_fabric_detach(world.net.f, 1);
	run_world(100 * US);
	assert_true(c->rx_detached > 0);
	assert_int_equal(c->rx_frames, received);
	assert_int_equal(world.program[0]->completed, 0);

	adv_fabric_attach(world.net.f, 1);
	run_world(1000 * MS);
	assert_int_equal(world.program[0]->completed, 1);
	close_world();
}

/* ---- hostile programs ---- */

static struct adv_fabric_frame nonsense;
static uint64_t nonsense_left, delivered;

static bool pull_nonsense(void *user, uint32_t host, uint8_t wanted, struct adv_fabric_frame *frame)
{
	if (nonsense_left == 0)
		return false;
	nonsense_left--;
	*frame = nonsense;
	return true;
}

static void count_delivered(void *user, uint32_t host, const struct adv_fabric_frame *frame)
{
	delivered++;
}

static void send_nonsense(uint32_t to, uint32_t length, uint64_t count)
{
	static const uint8_t bytes[ADV_FABRIC_EXTERNAL_MAX];

	nonsense = (struct adv_fabric_frame){
		.to = to, .length = length, .bytes = bytes, .hop_limit = 64};
	nonsense_left = count;
	delivered = 0;
	adv_fabric_ready(world.net.f, 0);
}

/* The priority of a RoCE v1 frame is its service level, whatever its traffic class; its headers are
 * longer than those of RoCE v2. */
static void test_rocev1(void **state)
{
	static const struct adv_fabric_external_ops sender = {.pull = pull_nonsense,
							      .deliver = count_delivered};
	static const uint8_t bytes[1012];
	const struct adv_egress *egress;

	open_world();
	net_start(&world.net);
	adv_fabric_set_external(world.net.f, &sender, NULL);
	adv_fabric_attach(world.net.f, 0);
	adv_fabric_attach(world.net.f, 1);
	egress = adv_fabric_egress(world.net.f, 0);
	nonsense = (struct adv_fabric_frame){.to = 1,
					     .v1 = true,
					     .sl = 5,
					     .tclass = DSCP << 2,
					     .length = sizeof(bytes),
					     .bytes = bytes,
					     .hop_limit = 64};
	assert_int_equal(adv_fabric_frame_priority(world.net.f, &nonsense), 5);
	delivered = 0;
	nonsense_left = 10;
	adv_fabric_ready(world.net.f, 0);
	run_world(1 * MS);
	assert_int_equal(delivered, 10);
	assert_int_equal(egress->queue[5].sent, 10);
	/* Ethernet 14, VLAN tag 4, GRH 40, ICRC 4, FCS 4 */
	assert_int_equal(egress->queue[5].sent_bytes, 10 * (sizeof(bytes) + 66));
	nonsense.v1 = false;
	assert_int_equal(adv_fabric_frame_priority(world.net.f, &nonsense), PRIORITY);
	nonsense_left = 10;
	adv_fabric_ready(world.net.f, 0);
	run_world(2 * MS);
	assert_int_equal(egress->queue[PRIORITY].sent_bytes, 10 * (sizeof(bytes) + 50));
	close_world();
}

static void test_refused(void **state)
{
	static const struct adv_fabric_external_ops hostile = {.pull = pull_nonsense,
							       .deliver = count_delivered};
	const struct adv_fabric_external_counters *c;

	open_world();
	world.net.config.mtu = 1024;
	net_start(&world.net);
	adv_fabric_set_external(world.net.f, &hostile, NULL);
	adv_fabric_attach(world.net.f, 0);
	adv_fabric_attach(world.net.f, 1);
	c = adv_fabric_external_counters(world.net.f, 0);

	send_nonsense(HOSTS, 100, 1);
	send_nonsense(UINT32_MAX, 100, 1);
	send_nonsense(1, ADV_BTH_LEN - 1, 1);
	send_nonsense(1, ADV_HEADERS_MAX + 1024 + 1, 1);
	send_nonsense(1, UINT32_MAX, 1);
	assert_int_equal(c->tx_refused, 5);
	assert_int_equal(c->tx_frames, 0);

	send_nonsense(1, ADV_HEADERS_MAX + 1024, 1);
	run_world(adv_fabric_now(world.net.f) + 10 * US);
	assert_int_equal(delivered, 1);

	/* One call looks at a bounded number of them. */
	send_nonsense(HOSTS, 100, 1000000);
	assert_true(nonsense_left > 999000);
	close_world();
}

/* A fabric that is destroyed frees the frames that are on their way (checked by ASan). */
static void test_destroyed_early(void **state)
{
	open_world();
	start_world();
	start_program(0);
	start_program(1);
	connect_programs(0, 1);
	post_write(0, 1, MEMORY);
	run_world(5 * US);
	assert_true(world.program[1]->received > 0);
	assert_int_equal(world.program[0]->completed, 0);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_simulated_hosts),
		cmocka_unit_test(test_incast),
		cmocka_unit_test(test_tap),
		cmocka_unit_test(test_shares_the_nic),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_rocev1),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_destroyed_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
