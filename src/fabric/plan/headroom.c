/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/headroom.h"

#include <stddef.h>

#include "base/array.h"
#include "base/units.h"

#define QUANTUM_BITS	512
#define PS_PER_SECOND	1000000000000ull
#define SMALLEST_PACKET 64

static const struct {
	uint64_t speed;
	uint16_t quanta;
} responses[] = {
	{10000000000, 60},   {25000000000, 80},	  {40000000000, 118},  {50000000000, 147},
	{100000000000, 394}, {200000000000, 453}, {400000000000, 905},
};

uint64_t adv_plan_bits(uint64_t speed, uint64_t ps)
{
	unsigned __int128 bits =
		((unsigned __int128)speed * ps + PS_PER_SECOND - 1) / PS_PER_SECOND;

	return bits < UINT64_MAX ? (uint64_t)bits : UINT64_MAX;
}

uint64_t adv_plan_response_bits(uint64_t speed)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(responses); i++)
		if (responses[i].speed == speed)
			return (uint64_t)responses[i].quanta * QUANTUM_BITS;
	if (speed > ADV_PLAN_SPEED_LIMITS && speed <= ADV_PLAN_SPEED_MAX)
		return adv_plan_bits(speed, ADV_PLAN_RESPONSE_PS);
	return 0;
}

uint64_t adv_plan_interface_bits(uint64_t speed)
{
	uint64_t response = adv_plan_response_bits(speed);

	return response ? response - adv_plan_bits(speed, ADV_PLAN_HIGHER_LAYER_PS) : 0;
}

static const char *out_of_range(const struct adv_plan_link *l)
{
	if (l->speed < ADV_PLAN_SPEED_MIN || l->speed > ADV_PLAN_SPEED_MAX)
		return "the speed must be from 1 Gb/s to 100 Tb/s";
	if (l->delay > ADV_PLAN_DELAY_MAX)
		return "the cable's delay must be 1 s at most";
	if (l->max_frame < ADV_PLAN_FRAME_MIN || l->max_frame > ADV_PLAN_FRAME_MAX)
		return "frames must be from 64 to 65600 bytes";
	if (l->lossless_frame < ADV_PLAN_FRAME_MIN || l->lossless_frame > l->max_frame)
		return "frames of the lossless priority must be from 64 bytes to the largest frame "
		       "of the port";
	if (l->response_bits > ADV_PLAN_BITS_MAX || l->interface_bits > ADV_PLAN_BITS_MAX)
		return "the response and interface delays must be 10^12 bit times at most";
	if (l->cell > ADV_PLAN_CELL_MAX)
		return "a cell must be 4096 bytes at most";
	if (l->small_packets > ADV_RATIO_ONE)
		return "the share of small packets must be 100% at most";
	return NULL;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* Returns the memory that `bytes` of packets need in a buffer of cells. */
static uint64_t in_cells(const struct adv_plan_link *l, uint64_t bytes)
{
	unsigned __int128 one = ADV_RATIO_ONE, large = one - l->small_packets;
	uint64_t above = l->cell, below = SMALLEST_PACKET;

	if (l->cell == 0)
		return bytes;
	if (l->cell <= 2 * SMALLEST_PACKET) {
		above = 2 * (uint64_t)l->cell;
		below = 1 + (uint64_t)l->cell;
	}
	return (uint64_t)((bytes * (large * below + (unsigned __int128)l->small_packets * above) +
			   one * below - 1) /
			  (one * below));
}

const char *adv_plan_headroom(const struct adv_plan_link *l, struct adv_plan_headroom *out)
{
	const char *wrong = out_of_range(l);

	if (wrong)
		return wrong;
	out->frame_ahead = (l->max_frame + ADV_PLAN_WIRE_OVERHEAD) * 8;
	out->pfc_frame = (ADV_PLAN_PFC_FRAME + ADV_PLAN_WIRE_OVERHEAD) * 8;
	out->cable = adv_plan_bits(l->speed, l->delay);
	out->frame_begun = (l->lossless_frame + ADV_PLAN_WIRE_OVERHEAD) * 8;
	out->reaction = divide_up(out->frame_ahead + out->pfc_frame + 2 * out->cable +
					  l->response_bits + l->interface_bits,
				  8);
	out->occupied = in_cells(l, out->reaction);
	out->headroom =
		out->occupied + out->frame_begun / 8 + (l->whole_frames ? l->lossless_frame : 0);
	if (l->cell)
		out->headroom = divide_up(out->headroom, l->cell) * l->cell;
	out->xon = out->occupied;
	out->xoff = out->xon + 2 * l->lossless_frame;
	out->size = out->xoff + out->headroom;
	return NULL;
}

void adv_plan_headroom_mlx5(uint64_t speed, uint64_t length, uint64_t mtu, uint32_t cell,
			    struct adv_plan_mlx5 *out)
{
	uint64_t metres = divide_up(length, 1000);

	out->speed = speed / 1000000 > 40000 ? speed / 1000000 : 40000;
	out->headroom = (301 + 216 * metres / 100) * out->speed / 1000 + 272 * mtu / 100;
	out->max_mtu = mtu > 9216 ? mtu : 9216;
	out->size = out->headroom + out->max_mtu + cell;
}
