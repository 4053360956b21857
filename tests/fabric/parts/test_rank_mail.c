/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ranks send each other: a reader gets what was written, and refuses what is malformed. */
#include <stdlib.h>

#include "fabric/parts/part.h"
#include "fabric/switch/copy.h"
#include "../network/net.h"

/* Two ranks of the same network in one thread, which exchange nothing by themselves. */
struct two {
	struct adv_ranks ranks[2];
	struct net net[2];
	struct adv_parts *all[2];
	uint32_t wire; /* from rank 1 to rank 0 */
};

static void exchange_nothing(void *user, const struct adv_mail *out, struct adv_mail *in)
{
}

static void fail_test(void *user, const char *why)
{
	fail_msg("%s", why);
}

static void open_two(struct two *two)
{
	for (uint32_t r = 0; r < 2; r++) {
		struct net *n = &two->net[r];

		two->ranks[r] = (struct adv_ranks){
			.rank = r, .count = 2, .exchange = exchange_nothing, .fail = fail_test};
		assert_int_equal(adv_topology_fat_tree(&n->t, 4, cable_of(2), cable_of(200)), 0);
		net_open(n);
		net_start(n);
		net_write(n, 15, 0, 26, 1000000);
		assert_int_equal(adv_fabric_divide_ranks(n->f, 1, &two->ranks[r]), 2);
		two->all[r] = n->f->parts;
	}
	while (!two->net[0].f->wire[two->wire].crosses ||
	       two->all[0]->of_node[two->net[0].f->wire[two->wire].to.node] != 0)
		two->wire++;
}

static void close_two(struct two *two)
{
	for (uint32_t r = 0; r < 2; r++) {
		adv_fabric_destroy(two->net[r].f);
		adv_topology_free(&two->net[r].t);
	}
}

/* Sends a frame from rank 1. */
static void cross(struct two *two, enum adv_packet_kind kind, bool telemetry)
{
	struct adv_fabric *f = &two->all[1]->part[1]->fabric;
	struct adv_packet *p = adv_packet_take(&f->pool);

	assert_non_null(p);
	p->kind = (uint8_t)kind;
	p->at = 1000000;
	p->bytes = 100;
	p->to = 0;
	p->from = 15;
	p->pad = 0;
	p->header_len = 12;
	p->payload_len = 30;
	p->payload = f->memory + 500;
	p->priority = 3;
	if (kind == ADV_PACKET_PAUSE) {
		/* Nobody sets these of a pause frame. */
		p->priority = p->header_len = 0xff;
		p->pad = 3;
		p->to = p->from = UINT32_MAX;
	}
	if (telemetry)
		assert_true(adv_packet_take_telemetry(&f->pool, p, NULL));
	adv_part_cross(f, two->wire, p);
}

/* Writes a step of rank 1 with frames and a failed transfer. */
static void write_step(struct two *two, struct adv_mail *m)
{
	struct adv_part *p = two->all[1]->part[1];

	adv_part_clear(p, 0);
	cross(two, ADV_PACKET_DATA, true);
	cross(two, ADV_PACKET_PAUSE, false);
	cross(two, ADV_PACKET_DATA, false);
	two->net[1].f->job[0].state.status = IBV_WC_RETRY_EXC_ERR;
	adv_part_cross_failure(&p->fabric, 0);
	p->fabric.events = 77;
	p->fabric.lost = 5;
	adv_part_publish(p, 0);
	adv_ranks_write_step(two->all[1], 0, 0, m);
}

/* Reads all beginnings of a mail, and one that is too long. All are refused. */
static void refuse_lengths(struct adv_parts *all, adv_ranks_read_fn *read, unsigned what,
			   struct adv_mail *m)
{
	for (size_t len = 0; len < m->len; len++) {
		/* In memory of its own, so that AddressSanitizer sees its end. */
		uint8_t *part = malloc(len ? len : 1);

		assert_non_null(part);
		memcpy(part, m->data, len);
		assert_false(read(all, 1, what, (struct adv_mail_reader){part, len}));
		free(part);
	}
	adv_mail_add(m, "", 1);
	assert_false(read(all, 1, what, adv_mail_read(m)));
	m->len--;
	assert_true(read(all, 1, what, adv_mail_read(m)));
}

/* Reads a mail with each of its bytes changed. It may be refused. */
static void change_bytes(struct adv_parts *all, adv_ranks_read_fn *read, unsigned what,
			 struct adv_mail *m)
{
	for (size_t i = 0; i < m->len; i++) {
		uint8_t before = m->data[i];

		m->data[i] ^= 0x80;
		read(all, 1, what, adv_mail_read(m));
		m->data[i] = 0xff;
		read(all, 1, what, adv_mail_read(m));
		m->data[i] = before;
	}
	assert_true(read(all, 1, what, adv_mail_read(m)));
}

/* ---- steps ---- */

static void test_step(void **state)
{
	struct two two = {.wire = 0};
	const struct adv_outbox *box;
	struct adv_mail m = {.data = NULL};
	const struct adv_part *p;

	open_two(&two);
	write_step(&two, &m);
	assert_true(adv_ranks_read_step(two.all[0], 1, 0, adv_mail_read(&m)));
	p = two.all[0]->part[1];
	box = &p->out[0][0];
	assert_int_equal(box->frames, 3);
	assert_int_equal(box->telemetries, 1);
	assert_int_equal(box->failures, 1);
	assert_int_equal(box->frame[2].offset, 500);
	assert_int_equal(box->frame[2].wire, two.wire);
	assert_int_equal(p->fabric.events, 77);
	assert_int_equal(p->fabric.lost, 5);
	assert_int_equal(p->state[0].first[0], 1000000);
	assert_int_equal(two.net[0].f->job[0].state.status, IBV_WC_RETRY_EXC_ERR);
	refuse_lengths(two.all[0], adv_ranks_read_step, 0, &m);
	change_bytes(two.all[0], adv_ranks_read_step, 0, &m);
	adv_mail_free(&m);
	close_two(&two);
}

/* Finds the frames in a mail: they are one after the other. */
static struct adv_crossing *frames_of(struct two *two, struct adv_mail *m)
{
	const struct adv_crossing *first = two->all[1]->part[1]->out[0][0].frame;

	for (size_t i = 0; i + sizeof(*first) <= m->len; i++)
		if (memcmp(m->data + i, first, sizeof(*first)) == 0)
			return (void *)(m->data + i);
	fail_msg("no frame");
	return NULL;
}

enum wrong {
	WIRE,
	OTHER_WIRE,
	KIND,
	PRIORITY,
	HEADER,
	PAYLOAD,
	OFFSET,
	EXTERNAL,
	HOST,
	PAST,
	TELEMETRY,
	SHORT,
	WRONGS
};

static void spoil(struct two *two, struct adv_crossing *c, enum wrong what)
{
	struct adv_packet p;

	memcpy(&p, c->packet, sizeof(p));
	c->wire = what == WIRE	       ? two->net[0].f->wires
		  : what == OTHER_WIRE ? two->wire ^ 1 /* leads to rank 1 */
				       : c->wire;
	p.kind = what == KIND ? ADV_PACKET_LOST : p.kind;
	p.priority = what == PRIORITY ? ADV_PRIORITIES : p.priority;
	p.header_len = what == HEADER ? ADV_HEADERS_MAX + 1 : p.header_len;
	c->offset = what == OFFSET    ? UINT64_MAX - 10
		    : what == PAYLOAD ? ADV_FABRIC_MESSAGE_MAX + 1 - p.payload_len
				      : c->offset;
	p.to = what == HOST ? 16 : p.to;
	p.at = what == PAST ? 0 : p.at;
	p.bytes = what == SHORT ? ADV_FRAME_MIN - 1 : p.bytes;
	p.has_telemetry = what != TELEMETRY && p.has_telemetry;
	p.external = what == EXTERNAL;
	memcpy(c->packet, &p, sizeof(p));
}

static void test_wrong_frames(void **state)
{
	struct two two = {.wire = 0};
	struct adv_mail m = {.data = NULL};
	struct adv_crossing good, *c;

	open_two(&two);
	write_step(&two, &m);
	c = frames_of(&two, &m);
	memcpy(&good, c, sizeof(good));
	two.all[0]->part[0]->fabric.now = 500;
	for (enum wrong what = WIRE; what < WRONGS; what++) {
		struct adv_crossing bad = good;

		spoil(&two, &bad, what);
		memcpy(c, &bad, sizeof(bad));
		if (adv_ranks_read_step(two.all[0], 1, 0, adv_mail_read(&m)))
			fail_msg("wrong frame %u was taken", what);
	}
	memcpy(c, &good, sizeof(good));
	assert_true(adv_ranks_read_step(two.all[0], 1, 0, adv_mail_read(&m)));
	assert_false(two.net[0].f->no_memory);
	adv_mail_free(&m);
	close_two(&two);
}

/* ---- results ---- */

/* Fills a queue of a switch of rank 1 that is paused: from two ports, three frames. */
static uint32_t fill_queue(struct two *two)
{
	const struct net *n = &two->net[1];
	struct adv_packet pause = {.pause_mask = 1u << 3};
	uint32_t s = 0;

	while (two->all[1]->of_node[n->t.hosts + s] != 1)
		s++;
	pause.quanta[3] = 65535;
	for (unsigned port = 0; port < 4; port++)
		adv_switch_pause(n->f->node[s].sw, 10, port, &pause);
	for (unsigned i = 0; i < 3; i++) {
		struct adv_packet *p = adv_packet_take(&two->all[1]->part[1]->fabric.pool);

		assert_non_null(p);
		p->kind = ADV_PACKET_DATA;
		p->bytes = 40000;
		p->to = 0;
		p->from = 15;
		p->flow = 7;
		p->priority = 3;
		p->tclass = 0;
		p->hop_limit = 64;
		adv_switch_rx(n->f->node[s].sw, 20, i & 1, p);
	}
	return s;
}

/* A rank says that a queue has more stuck bytes than its switch. */
static void refuse_stuck(struct adv_parts *all, struct adv_mail *m)
{
	const uint32_t said[2] = {0, 80000}, wrong = 120001; /* port, bytes */

	for (size_t i = 0; i + sizeof(said) <= m->len; i++)
		if (memcmp(m->data + i, said, sizeof(said)) == 0) {
			memcpy(m->data + i + 4, &wrong, 4);
			assert_false(
				adv_ranks_read_results(all, 1, ADV_GATHER_WAITS, adv_mail_read(m)));
			memcpy(m->data + i + 4, &said[1], 4);
			return;
		}
	fail_msg("no stuck frames");
}

static void test_results(void **state)
{
	static const enum adv_gather kinds[] = {ADV_GATHER_RESULTS, ADV_GATHER_SAMPLE,
						ADV_GATHER_WAITS};
	struct two two = {.wire = 0};
	struct adv_mail m = {.data = NULL};
	uint32_t s, stuck[2] = {0, 0};
	struct adv_switch *sw;

	open_two(&two);
	s = fill_queue(&two);
	for (unsigned i = 0; i < 3; i++) {
		adv_mail_clear(&m);
		adv_ranks_write_results(two.all[1], kinds[i], &m);
		assert_false(m.failed);
		refuse_lengths(two.all[0], adv_ranks_read_results, kinds[i], &m);
		change_bytes(two.all[0], adv_ranks_read_results, kinds[i], &m);
	}
	refuse_stuck(two.all[0], &m);
	assert_true(adv_ranks_read_results(two.all[0], 1, ADV_GATHER_WAITS, adv_mail_read(&m)));
	sw = two.net[0].f->node[s].sw;
	assert_int_equal(adv_switch_used(sw), 120000);
	assert_int_equal(adv_switch_counters(sw)->rx_frames, 3);
	assert_int_equal(adv_switch_ingress(sw, 0, 3)->used, 80000);
	for (unsigned port = 0; port < 4; port++) {
		const struct adv_egress *e = adv_switch_egress(sw, port);

		assert_int_equal(adv_egress_paused_for(e, 3, 110), 100);
		for (const struct adv_packet *p = e->queue[3].packets.head; p; p = p->next)
			stuck[p->in_port] += p->bytes;
	}
	assert_int_equal(stuck[0], 80000);
	assert_int_equal(stuck[1], 40000);
	adv_mail_free(&m);
	close_two(&two);
}

/* ---- reports ---- */

/* Reads one report. */
static bool take_report(struct two *two, struct adv_fabric_event event)
{
	struct adv_part_report report = {.event = event, .level = 1};
	struct adv_mail m = {.data = NULL};
	uint32_t count = 1;
	bool good;

	adv_mail_add(&m, &count, sizeof(count));
	adv_mail_add(&m, &report, sizeof(report));
	good = adv_ranks_read_reports(two->all[0], 1, 0, adv_mail_read(&m));
	assert_false(adv_ranks_read_reports(two->all[0], 1, 0,
					    (struct adv_mail_reader){m.data, m.len - 1}));
	adv_mail_free(&m);
	return good;
}

static void test_reports(void **state)
{
	const struct adv_fabric_event good = {
		.kind = ADV_FABRIC_SWITCH, .what = ADV_SWITCH_UP, .node = 19, .port = 3};
	struct two two = {.wire = 0};
	struct adv_fabric_event e = good;
	const struct adv_part *p;

	open_two(&two);
	p = two.all[0]->part[1];
	assert_true(take_report(&two, good));
	assert_int_equal(p->reports, 1);
	e.node = 20;
	assert_false(take_report(&two, e));
	e = good;
	e.port = 4;
	assert_false(take_report(&two, e));
	e = good;
	e.what = ADV_SWITCH_UP + 1;
	assert_false(take_report(&two, e));
	e = good;
	e.priority = 8;
	assert_false(take_report(&two, e));
	e = (struct adv_fabric_event){.kind = ADV_FABRIC_HOST_PAUSED, .node = 16};
	assert_false(take_report(&two, e));
	e = (struct adv_fabric_event){.kind = ADV_FABRIC_TRANSFER, .value = 1};
	assert_false(take_report(&two, e));
	e.value = 0;
	assert_true(take_report(&two, e));
	e.kind = ADV_FABRIC_SAMPLE;
	assert_false(take_report(&two, e));
	assert_int_equal(p->reports, 2);
	close_two(&two);
}

/* ---- mails ---- */

static void test_mail(void **state)
{
	struct adv_mail m = {.data = NULL};
	struct adv_mail_reader r = adv_mail_read(&m);
	uint64_t value = 7;

	assert_false(adv_mail_take(&r, &value, sizeof(value)));
	assert_int_equal(value, 0);
	for (uint64_t i = 0; i < 5000; i++)
		adv_mail_add(&m, &i, sizeof(i));
	assert_int_equal(m.len, 40000);
	r = adv_mail_read(&m);
	for (uint64_t i = 0; i < 4000; i++) {
		assert_true(adv_mail_take(&r, &value, sizeof(value)));
		assert_int_equal(value, i);
	}
	assert_null(adv_mail_take_many(&r, 1001, 8));
	assert_null(adv_mail_take_many(&r, SIZE_MAX / 4, 8));
	assert_non_null(adv_mail_take_many(&r, 0, 8));
	assert_non_null(adv_mail_take_many(&r, 1000, 8));
	assert_int_equal(r.left, 0);
	adv_mail_clear(&m);
	assert_int_equal(adv_mail_read(&m).left, 0);
	assert_false(adv_mail_reserve(&m, SIZE_MAX / 2 + 2));
	assert_true(m.failed);
	adv_mail_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step),	cmocka_unit_test(test_wrong_frames),
		cmocka_unit_test(test_results), cmocka_unit_test(test_reports),
		cmocka_unit_test(test_mail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
