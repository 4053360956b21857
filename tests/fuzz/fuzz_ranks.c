/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is what another rank of a simulation has sent: a byte for its kind, then the mail. What
 * is taken goes on: frames are put on their wires, and reports are told.
 */
#include <string.h>

#include "fabric/parts/part.h"
#include "fuzz.h"

#define PORTS 4
#define FROM  1

static void exchange_nothing(void *user, const struct adv_mail *out, struct adv_mail *in)
{
}

static void fail(void *user, const char *why)
{
	abort();
}

static void check_report(void *user, const struct adv_fabric_event *e)
{
	const struct adv_topology *t = user;

	FUZZ_CHECK(e->kind != ADV_FABRIC_SWITCH ||
		   (e->node < t->switches && e->port < t->ports[t->hosts + e->node]));
	FUZZ_CHECK(e->kind != ADV_FABRIC_HOST_PAUSED || e->node < t->hosts);
}

static struct adv_fabric *make_fabric(struct adv_topology *t, const struct adv_ranks *ranks)
{
	const struct adv_cable cable = {80, 10000}, trunk = {80, 1000000};
	struct adv_fabric_connection c = {.initiator = 15, .target = 0, .dscp = 26};
	struct adv_fabric_config config;
	struct adv_fabric *f;

	FUZZ_CHECK(adv_topology_fat_tree(t, PORTS, cable, trunk) == 0);
	adv_fabric_defaults(&config);
	config.topology = t;
	config.seed = 1;
	f = adv_fabric_create(&config);
	FUZZ_CHECK(f);
	FUZZ_CHECK(adv_fabric_connect(f, &c) == 0 && adv_fabric_transfer(f, 0, 1000000, 0) == 0);
	FUZZ_CHECK(adv_fabric_divide_ranks(f, 1, ranks) == 2);
	return f;
}

/* Takes the frames of a step. */
static void take_step(struct adv_parts *all)
{
	const struct adv_outbox *box = &all->part[FROM]->out[0][0];

	for (uint32_t i = 0; i < box->frames; i++)
		FUZZ_CHECK(box->frame[i].wire < all->whole->wires);
	adv_part_receive(all->part[0], 0);
}

static void check_copies(const struct adv_fabric *f)
{
	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		for (unsigned port = 0; port < PORTS; port++)
			for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
				const struct adv_egress *e = adv_switch_egress(f->node[s].sw, port);

				for (const struct adv_packet *k = e->queue[p].packets.head; k;
				     k = k->next)
					FUZZ_CHECK(k->in_port < PORTS);
			}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct adv_ranks ranks = {
		.rank = 0, .count = 2, .exchange = exchange_nothing, .fail = fail};
	struct adv_mail_reader r = {data + 1, size - 1};
	struct adv_topology t;
	struct adv_fabric *f;

	if (size == 0)
		return 0;
	f = make_fabric(&t, &ranks);
	adv_fabric_watch(f, check_report, &t);
	switch (data[0]) {
	case 0:
		if (adv_ranks_read_step(f->parts, FROM, 0, r))
			take_step(f->parts);
		break;
	case 1:
		adv_ranks_read_reports(f->parts, FROM, 0, r);
		break;
	default:
		if (adv_ranks_read_results(f->parts, FROM, data[0] % (ADV_GATHER_WAITS + 1), r))
			check_copies(f);
		break;
	}
	FUZZ_CHECK(!f->no_memory);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	return 0;
}
