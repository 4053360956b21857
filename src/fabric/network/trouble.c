/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cables that lose, damage or delay frames. */
#include "fabric/network/trouble.h"

#include <assert.h>
#include <stdlib.h>

#include "fabric/network/settle.h"

#define MILLION 1000000u

/* Makes a random number generator for each wire, so that the frames of one wire have no influence
 * on the losses of another. */
static void make_wire_rngs(struct adv_fabric *f)
{
	f->wire_rng = calloc(f->wires, sizeof(*f->wire_rng));
	f->no_memory |= !f->wire_rng;
	for (uint32_t i = 0; f->wire_rng && i < f->wires; i++)
		adv_rng_seed(&f->wire_rng[i], f->config.seed ^ (i + 1) * 0xd1b54a32d192ed03u);
}

/* True if the random number generators exist. */
static bool has_wire_rngs(struct adv_fabric *f)
{
	if (!f->wire_rng)
		make_wire_rngs(f);
	return f->wire_rng;
}

bool adv_fabric_loses(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_wire *w = &f->wire[wire];
	uint64_t drawn = adv_rng_below(&f->wire_rng[wire], MILLION);

	if (drawn >= w->lose_per_million)
		return false;
	/* The lower part of the range are the damaged ones. */
	w->fcs_errors += drawn < w->corrupt_per_million;
	f->lost += p->kind == ADV_PACKET_DATA;
	adv_packet_give_back(&f->pool, p);
	return true;
}

void adv_fabric_lose(struct adv_fabric *f, uint32_t link, uint32_t per_million)
{
	assert(link < f->config.topology->links);
	if (!has_wire_rngs(f))
		return;
	for (uint32_t wire = 2 * link; wire < 2 * link + 2; wire++) {
		f->wire[wire].lose_per_million = per_million;
		f->wire[wire].corrupt_per_million = 0;
	}
}

static void set_delay(struct adv_wire *w, uint64_t delay)
{
	if (w->flying.head && delay < w->delay) {
		w->not_before = w->flying.tail->at;
		w->shortened = true;
	}
	w->delay = delay;
}

void adv_fabric_disturb(struct adv_fabric *f, uint32_t link,
			const struct adv_fabric_trouble *trouble)
{
	uint64_t delay = f->config.topology->link[link].cable.delay + trouble->delay;
	uint32_t all = trouble->lose + trouble->corrupt;

	assert(link < f->config.topology->links && !f->parts);
	if (!has_wire_rngs(f))
		return;
	for (uint32_t wire = 2 * link; wire < 2 * link + 2; wire++) {
		f->wire[wire].lose_per_million = all < MILLION ? all : MILLION;
		f->wire[wire].corrupt_per_million = trouble->lose < MILLION - trouble->corrupt
							    ? trouble->corrupt
							    : MILLION - trouble->lose;
		set_delay(&f->wire[wire], delay);
	}
	for (unsigned end = 0; end < 2; end++) {
		uint32_t node = f->wire[2 * link + end].from.node;

		if (node >= f->config.topology->hosts)
			adv_fabric_set_slack(f, &f->node[node - f->config.topology->hosts]);
	}
}

struct adv_fabric_trouble adv_fabric_trouble_of(const struct adv_fabric *f, uint32_t link)
{
	const struct adv_wire *w = &f->wire[2 * link];

	return (struct adv_fabric_trouble){.lose = w->lose_per_million - w->corrupt_per_million,
					   .corrupt = w->corrupt_per_million,
					   .delay = w->delay -
						    f->config.topology->link[link].cable.delay};
}

uint64_t adv_fabric_fcs_errors(const struct adv_fabric *f, uint32_t link, unsigned end)
{
	/* Wire 2 link leads from end 0 to end 1. */
	return f->wire[2 * link + 1 - end].fcs_errors;
}
