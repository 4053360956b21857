/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rank 0 tells the other ranks to do, and how they do it. */
#include "base/fnv.h"
#include "fabric/parts/part.h"

uint64_t adv_ranks_layout(void)
{
	static const uint64_t of[] = {0x0102030405060708u, /* differs by byte order */
				      sizeof(struct adv_crossing),
				      sizeof(struct adv_crossing_failure),
				      sizeof(struct adv_packet_telemetry),
				      sizeof(struct adv_part_report),
				      sizeof(struct adv_switch_counters),
				      sizeof(struct adv_engine_counters),
				      sizeof(struct adv_fabric_host_counters),
				      sizeof(struct adv_rank_command)};

	return adv_fnv_add_bytes(ADV_FNV_BASIS, of, sizeof(of));
}

void adv_fabric_gather(struct adv_fabric *f)
{
	if (!f->parts || !f->parts->ranks)
		return;
	adv_ranks_command(f->parts, &(struct adv_rank_command){.what = ADV_RANKS_GATHER});
	adv_ranks_gather(f->parts, ADV_GATHER_RESULTS);
}

/* Only rank 0 tells reports. A watcher makes the parts note them. */
static void ignore_event(void *user, const struct adv_fabric_event *event)
{
}

static void run_as_told(struct adv_fabric *f, const struct adv_rank_command *c)
{
	if (c->watch && !f->watch)
		adv_fabric_watch(f, ignore_event, NULL);
	f->count_received |= c->count_received != 0;
	if (c->sample && !f->sample && adv_fabric_sample(f, c->sample))
		adv_ranks_fail(f->parts, "no memory");
	adv_parts_run(f, c->until, c->events);
}

void adv_fabric_follow(struct adv_fabric *f)
{
	struct adv_rank_command c = {.what = ADV_RANKS_RUN};

	while (f->parts && c.what != ADV_RANKS_END) {
		adv_ranks_receive_command(f->parts, &c);
		if (c.what == ADV_RANKS_RUN)
			run_as_told(f, &c);
		if (c.what == ADV_RANKS_GATHER)
			adv_ranks_gather(f->parts, ADV_GATHER_RESULTS);
	}
}
