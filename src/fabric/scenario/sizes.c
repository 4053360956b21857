/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of transfers, and random times between them. */
#include "fabric/scenario/builder.h"

#define BYTES	  1000000 /* of a transfer, if the section does not say */

#define COUNT_MAX 1000000

/* A point of a distribution: the number of transfers, out of a million, of at most `bytes` bytes.
 * Between two points the distribution is uniform. */
struct size_point {
	uint32_t bytes;
	uint32_t share;
};

/* Alizadeh et al., DCTCP, SIGCOMM 2010; mean 1.7 MB. */
static const struct size_point websearch[] = {
	{0, 0},
	{10000, 150000},
	{20000, 200000},
	{30000, 300000},
	{50000, 400000},
	{80000, 530000},
	{200000, 600000},
	{1000000, 700000},
	{2000000, 800000},
	{5000000, 900000},
	{10000000, 970000},
	{30000000, 1000000},
};

/* Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015; mean 120 kB. */
static const struct size_point hadoop[] = {
	{0, 0},		  {100, 10000},	     {200, 20000},	{300, 50000},
	{350, 150000},	  {400, 200000},     {500, 300000},	{600, 400000},
	{700, 500000},	  {1000, 600000},    {2000, 670000},	{7000, 700000},
	{30000, 720000},  {50000, 820000},   {80000, 870000},	{120000, 900000},
	{300000, 950000}, {1000000, 975000}, {2000000, 990000}, {10000000, 1000000},
};

/* Storage of Alibaba, 2019: published with the simulator of HPCC (traffic_gen/AliStorage2019.txt);
 * mean 41 kB. */
static const struct size_point storage[] = {
	{0, 0},		 {4000, 229300},   {8000, 692100},   {16000, 806100},	 {32000, 904700},
	{64000, 935300}, {128000, 967700}, {256000, 975300}, {2000000, 1000000},
};

static const struct size_point *const tables[] = {[ADV_SCENARIO_WEBSEARCH] = websearch,
						  [ADV_SCENARIO_HADOOP] = hadoop,
						  [ADV_SCENARIO_STORAGE] = storage};

static uint64_t from_table(struct adv_rng *rng, const struct size_point *p)
{
	uint64_t u = adv_rng_below(rng, 1000000);

	while (u >= p[1].share)
		p++;
	return p[0].bytes +
	       (u - p[0].share) * (p[1].bytes - p[0].bytes) / (p[1].share - p[0].share);
}

static uint64_t mean_of_table(const struct size_point *p)
{
	uint64_t sum = 0;

	for (; p[0].share < 1000000; p++)
		sum += ((uint64_t)p[0].bytes + p[1].bytes) * (p[1].share - p[0].share) / 2;
	return sum / 1000000;
}

/* Returns -ln(u) of a random u in (0, 1], in units of 2^-16. It uses integers only, so the result
 * is the same on every machine. */
static uint64_t draw_exponential(struct adv_rng *rng)
{
	uint64_t u = (adv_rng_next(rng) >> 32) + 1; /* in units of 2^-32 */
	unsigned top = 63u - (unsigned)__builtin_clzll(u);
	uint64_t x = u << (62 - top), log2 = (uint64_t)top << 16; /* x: 1 to 2, in units of 2^-62 */

	for (int bit = 15; bit >= 0; bit--) {
		x = (uint64_t)(((unsigned __int128)x * x) >> 62);
		if (x >> 63) {
			x >>= 1;
			log2 |= 1ull << bit;
		}
	}
	/* ln 2 = 0.693147 */
	return ((32ull << 16) - log2) * 693147 / 1000000;
}

uint64_t adv_scenario_draw(struct adv_scenario_builder *b, uint64_t mean, bool random)
{
	unsigned __int128 value = mean;

	if (random)
		value = value * draw_exponential(&b->rng) >> 16;
	return value < ADV_QUANTITY_MAX ? (uint64_t)value : ADV_QUANTITY_MAX;
}

uint64_t adv_scenario_count(const struct adv_scenario_flow *flow)
{
	if (flow->count != UINT64_MAX)
		return flow->count;
	return flow->to == ADV_SCENARIO_RANDOM ? COUNT_MAX : 1;
}

uint64_t adv_scenario_bytes(const struct adv_scenario_flow *flow)
{
	return flow->bytes == UINT64_MAX ? BYTES : flow->bytes;
}

uint64_t adv_scenario_mean_size(const struct adv_scenario_flow *flow)
{
	if (flow->sizes >= ADV_SCENARIO_WEBSEARCH)
		return mean_of_table(tables[flow->sizes]);
	return adv_scenario_bytes(flow);
}

uint64_t adv_scenario_size(struct adv_scenario_builder *b, const struct adv_scenario_flow *flow)
{
	uint64_t bytes;

	if (flow->endless)
		return UINT64_MAX;
	if (flow->sizes >= ADV_SCENARIO_WEBSEARCH)
		bytes = from_table(&b->rng, tables[flow->sizes]);
	else
		bytes = adv_scenario_draw(b, adv_scenario_bytes(flow),
					  flow->sizes == ADV_SCENARIO_EXPONENTIAL);
	return bytes ? bytes : 1;
}
