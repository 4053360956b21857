/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan headroom: the PFC headroom of a lossless priority. */
#include "cli/plan/plan.h"

#include <inttypes.h>

#include "base/array.h"
#include "fabric/plan/headroom.h"

#define FIBRE_FS_PER_MM	 5000 /* 5 ns/m */
#define COPPER_FS_PER_MM 5556 /* 5.556 ns/m: 5,556 bit times for 100 m at 10 Gb/s */

#define ANNEX_O		 "IEEE 802.1Q annex O (802.1Qbb), as in Linux wangxun/libwx, WX_DV()"
#define SOURCE_RESPONSE	 "IEEE 802.3 31B.3.7, limit from connector to connector"
#define SOURCE_ASSUMED	 "assumed: the time of 400 Gb/s in IEEE 802.3 31B.3.7"
#define SOURCE_INTERFACE "the limit above less the higher layer delay of IEEE 802.1Q 36.1.3.3"
#define SOURCE_XOFF	 "two frames between XON and XOFF: DCQCN, SIGCOMM 2015, section 4"
#define SOURCE_MLX5	 "Linux mlx5/core/en/port_buffer.c, calculate_xoff()"

#define NOT_GIVEN	 UINT64_MAX

struct options {
	struct adv_plan_link link;
	bool copper;
	uint64_t length; /* this member and the next three are NOT_GIVEN if their option is missing
			  */
	uint64_t delay;
	uint64_t response;  /* ps */
	uint64_t interface; /* ps */
	uint64_t mtu;
	uint64_t lossless_mtu; /* 0: same as mtu */
	uint64_t size;	       /* 0: not given */
	uint32_t priorities;
};

static void complete_link(struct argp_state *state, void *options)
{
	struct options *o = options;
	struct adv_plan_link *l = &o->link;
	uint64_t fs = o->copper ? COPPER_FS_PER_MM : FIBRE_FS_PER_MM;
	bool has_length = o->length != NOT_GIVEN, has_response = o->response != NOT_GIVEN;
	bool has_interface = o->interface != NOT_GIVEN;

	if (has_length == (o->delay != NOT_GIVEN))
		argp_error(state, "either --cable or --delay is needed");
	l->delay = has_length ? (o->length * fs + 999) / 1000 : o->delay;
	if (!adv_plan_response_bits(l->speed) && (!has_response || !has_interface))
		argp_error(state, ADV_PLAN_NO_LIMITS "--response and --interface");
	l->max_frame = o->mtu + ADV_PLAN_FRAME_OVERHEAD;
	l->lossless_frame = (o->lossless_mtu ? o->lossless_mtu : o->mtu) + ADV_PLAN_FRAME_OVERHEAD;
	l->response_bits = has_response ? adv_plan_bits(l->speed, o->response)
					: adv_plan_response_bits(l->speed);
	l->interface_bits = has_interface ? adv_plan_bits(l->speed, o->interface)
					  : adv_plan_interface_bits(l->speed);
}

static const struct adv_option option_table[] = {
	{"speed", 's', "RATE", "Speed of the link, such as 100Gb/s (needed)", .needed = true,
	 .unit = ADV_UNIT_RATE, .least = 1, ADV_OPTION_INTO(link.speed)},
	{"cable", 'c', "LENGTH", "Length of the cable, such as 100m (or --delay)",
	 .unit = ADV_UNIT_LENGTH, .most = ADV_PLAN_LENGTH_MAX, ADV_OPTION_INTO(length)},
	{"copper", 'C', NULL, "The cable is copper: 5.556 ns/m instead of 5 ns/m (fibre)",
	 ADV_OPTION_INTO(copper)},
	{"delay", 'd', "TIME", "One-way delay of the cable, instead of its length",
	 .unit = ADV_UNIT_TIME, ADV_OPTION_INTO(delay)},
	{"mtu", 0, "BYTES", "Largest MTU of any priority of the port (default 9216B)",
	 .unit = ADV_UNIT_BYTES, ADV_OPTION_INTO(mtu)},
	{"lossless-mtu", 0, "BYTES", "MTU of the lossless priority (default: as --mtu)",
	 .unit = ADV_UNIT_BYTES, ADV_OPTION_INTO(lossless_mtu)},
	{"priorities", 'p', "N", "Lossless priorities of the port (default 1)",
	 .unit = ADV_UNIT_COUNT, .least = 1, .most = 8, ADV_OPTION_INTO(priorities)},
	{"response", 0, "TIME",
	 "Time from a PFC frame's arrival at the other end until it stops sending (default: IEEE "
	 "802.3's limit)",
	 .unit = ADV_UNIT_TIME, ADV_OPTION_INTO(response)},
	{"interface", 0, "TIME",
	 "Time of this end's MAC and PHY, both directions (default: from IEEE 802.3's limit)",
	 .unit = ADV_UNIT_TIME, ADV_OPTION_INTO(interface)},
	{"cell", 0, "BYTES", "Size of the cells in which the switch stores packets",
	 .unit = ADV_UNIT_BYTES, .most = ADV_PLAN_CELL_MAX, ADV_OPTION_INTO(link.cell)},
	{"small-packets", 0, "RATIO", "With --cell: share of 64-byte packets (default 100%)",
	 .unit = ADV_UNIT_RATIO, .most = ADV_RATIO_ONE, ADV_OPTION_INTO(link.small_packets)},
	{"size", 0, "BYTES",
	 "Compute the thresholds for this buffer of a priority, not for the smallest one",
	 .unit = ADV_UNIT_BYTES, ADV_OPTION_INTO(size)},
	{"whole-frames", 0, NULL,
	 "Add one frame: the switch counts a frame when it has received all of it",
	 ADV_OPTION_INTO(link.whole_frames)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Compute the buffer that a lossless priority needs above its xoff threshold to "
		 "lose no packet after a PFC frame, and the values of xoff and xon.",
	.check = complete_link};

static void print_delays(struct adv_plan_out *out, const struct options *o,
			 const struct adv_plan_headroom *h)
{
	const struct adv_plan_link *l = &o->link;
	char delay[ADV_UNITS_TEXT], speed[ADV_UNITS_TEXT];

	adv_units_print(ADV_UNIT_TIME, l->delay, delay);
	adv_units_print(ADV_UNIT_RATE, l->speed, speed);
	adv_planner_head(out, "From the decision to pause until the link is silent, in bit times:");
	adv_planner_value(out, "frame_ahead_bits", "largest frame, just begun", ADV_UNIT_COUNT,
			  h->frame_ahead, NULL, "(%" PRIu64 " B frame + 20 B preamble and gap) x 8",
			  l->max_frame);
	adv_planner_value(out, "pfc_frame_bits", "PFC frame", ADV_UNIT_COUNT, h->pfc_frame, NULL,
			  "(64 B + 20 B) x 8");
	adv_planner_value(out, "cable_bits", "cable, one way", ADV_UNIT_COUNT, h->cable, NULL,
			  o->length != NOT_GIVEN ? "%s x %s (%s)" : "%s x %s", delay, speed,
			  o->copper ? "copper, 5.556 ns/m" : "fibre, 5 ns/m");
	adv_planner_value(
		out, "response_bits", "response of the other end", ADV_UNIT_COUNT, l->response_bits,
		o->response != NOT_GIVEN	   ? NULL
		: l->speed > ADV_PLAN_SPEED_LIMITS ? SOURCE_ASSUMED
						   : SOURCE_RESPONSE,
		o->response != NOT_GIVEN ? "--response x speed" : "%" PRIu64 " quanta x 512",
		l->response_bits / 512);
	adv_planner_value(out, "interface_bits", "own MAC and PHY, out and in", ADV_UNIT_COUNT,
			  l->interface_bits, o->interface != NOT_GIVEN ? NULL : SOURCE_INTERFACE,
			  o->interface != NOT_GIVEN ? "--interface x speed"
						    : "%" PRIu64 " - 614.4 ns x speed",
			  l->response_bits);
	adv_planner_value(out, "frame_begun_bits", "other end's last frame", ADV_UNIT_COUNT,
			  h->frame_begun, NULL, "(%" PRIu64 " B frame + 20 B) x 8",
			  l->lossless_frame);
}

static void print_headroom(struct adv_plan_out *out, const struct options *o,
			   const struct adv_plan_headroom *h)
{
	const struct adv_plan_link *l = &o->link;
	char small[ADV_UNITS_TEXT];

	adv_planner_head(out, "Headroom:");
	adv_planner_value(
		out, "reaction_bytes", "arrives before the last frame", ADV_UNIT_BYTES, h->reaction,
		ANNEX_O,
		"(%" PRIu64 " + %" PRIu64 " + 2 x %" PRIu64 " + %" PRIu64 " + %" PRIu64 ") / 8",
		h->frame_ahead, h->pfc_frame, h->cable, l->response_bits, l->interface_bits);
	if (l->cell)
		adv_planner_value(
			out, "occupied_bytes", "as it is stored in cells", ADV_UNIT_BYTES,
			h->occupied, "SONiC cfgmgr/buffer_headroom_*.lua, cell_occupancy",
			"%" PRIu64
			" x (1 - s + s x w), s = %s of 64 B packets, w = %s, cells of %" PRIu32
			" B",
			h->reaction, adv_units_print(ADV_UNIT_RATIO, l->small_packets, small),
			l->cell > 128 ? "cell / 64" : "2 cell / (1 + cell)", l->cell);
	adv_planner_value(out, "headroom", "headroom of a priority", ADV_UNIT_BYTES, h->headroom,
			  ANNEX_O, "%" PRIu64 " + %" PRIu64 " + %" PRIu64 "%s", h->occupied,
			  h->frame_begun / 8, l->whole_frames ? l->lossless_frame : 0,
			  l->cell ? ", rounded up to cells" : "");
	adv_planner_value(out, "headroom_port", "headroom of the port", ADV_UNIT_BYTES,
			  h->headroom * o->priorities, NULL, "%u x %" PRIu64, o->priorities,
			  h->headroom);
}

/* Prints the thresholds of the smallest buffer that drops no packet and does not become empty in a
 * pause. */
static void print_least(struct adv_plan_out *out, const struct options *o,
			const struct adv_plan_headroom *h)
{
	adv_planner_head(
		out, "Thresholds of the smallest buffer that loses no packet and never runs dry:");
	adv_planner_value(out, "xon", "xon", ADV_UNIT_BYTES, h->xon, NULL,
			  "%" PRIu64 ": the queue drains by this much until XON takes effect",
			  h->occupied);
	adv_planner_value(out, "xoff", "xoff", ADV_UNIT_BYTES, h->xoff, SOURCE_XOFF,
			  "%" PRIu64 " + 2 x %" PRIu64, h->xon, o->link.lossless_frame);
	adv_planner_value(out, "size", "buffer of a priority", ADV_UNIT_BYTES, h->size, NULL,
			  "%" PRIu64 " + %" PRIu64, h->xoff, h->headroom);
}

static bool print_of_size(struct adv_plan_out *out, const struct options *o,
			  const struct adv_plan_headroom *h)
{
	uint64_t between = 2 * o->link.lossless_frame, xoff, xon;

	if (o->size < h->headroom + between) {
		adv_planner_note(out,
				 "Does not fit: %" PRIu64 " B are less than the headroom (%" PRIu64
				 " B) and two frames (%" PRIu64
				 " B). Use a shorter cable, a smaller MTU or a larger buffer.",
				 o->size, h->headroom, between);
		return false;
	}
	xoff = o->size - h->headroom;
	xon = xoff - between;
	adv_planner_head(out, "Thresholds of the given buffer:");
	adv_planner_value(out, "xoff", "xoff", ADV_UNIT_BYTES, xoff, NULL, "%" PRIu64 " - %" PRIu64,
			  o->size, h->headroom);
	adv_planner_value(out, "xon", "xon", ADV_UNIT_BYTES, xon, SOURCE_XOFF,
			  "%" PRIu64 " - 2 x %" PRIu64, xoff, o->link.lossless_frame);
	if (xon < h->xon)
		adv_planner_note(out,
				 "No packet is lost, but the queue runs dry after each pause: it "
				 "drains by %" PRIu64
				 " B until XON takes effect, and xon is %" PRIu64 " B.",
				 h->xon, xon);
	return true;
}

static void print_mlx5(struct adv_plan_out *out, const struct options *o)
{
	struct adv_plan_mlx5 m;

	if (o->length == NOT_GIVEN)
		return;
	adv_plan_headroom_mlx5(o->link.speed, o->length, o->mtu, o->link.cell, &m);
	adv_planner_head(out, "By NVIDIA's formula, for the receive buffers of its NICs:");
	adv_planner_value(out, "mlx5_headroom", "headroom (xoff) of a buffer", ADV_UNIT_BYTES,
			  m.headroom, SOURCE_MLX5,
			  "(301 + 216 x %" PRIu64 " m / 100) x %" PRIu64
			  " Mb/s / 1000 + 272 x %" PRIu64 " B MTU / 100",
			  (o->length + 999) / 1000, m.speed, o->mtu);
	adv_planner_value(out, "mlx5_size", "least size of a buffer", ADV_UNIT_BYTES, m.size,
			  "the same file, update_xoff_threshold()",
			  "%" PRIu64 " + %" PRIu64 " B max MTU (xoff to xon) + %" PRIu32 " B cell",
			  m.headroom, m.max_mtu, o->link.cell);
}

int adv_plan_headroom_main(int argc, char **argv)
{
	struct options o = {.length = NOT_GIVEN,
			    .delay = NOT_GIVEN,
			    .response = NOT_GIVEN,
			    .interface = NOT_GIVEN,
			    .mtu = 9216,
			    .priorities = 1,
			    .link.small_packets = ADV_RATIO_ONE};
	struct adv_plan_headroom h;
	struct adv_plan_out out;
	const char *wrong;
	bool fits = true, json;

	if (!adv_command_read(&syntax, argc, argv, &o, &json))
		return ADV_EXIT_USAGE;
	wrong = adv_plan_headroom(&o.link, &h);
	if (wrong) {
		fprintf(stderr, "adverb plan headroom: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	adv_planner_begin(&out, "headroom", json);
	print_delays(&out, &o, &h);
	print_headroom(&out, &o, &h);
	if (o.size)
		fits = print_of_size(&out, &o, &h);
	else
		print_least(&out, &o, &h);
	print_mlx5(&out, &o);
	return adv_planner_end(&out, fits);
}
