/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan headroom */
#include "cli/plan.h"

#include <inttypes.h>

#include "fabric/plan_headroom.h"

#define FIBRE_FS_PER_MM	 5000 /* 5 ns/m */
#define COPPER_FS_PER_MM 5556 /* 5.556 ns/m: 5,556 bit times for 100 m at 10 Gb/s */

#define ANNEX_O		 "IEEE 802.1Q annex O (802.1Qbb), as in Linux wangxun/libwx, WX_DV()"
#define SOURCE_RESPONSE	 "IEEE 802.3 31B.3.7, limit from connector to connector"
#define SOURCE_INTERFACE "the limit above less the higher layer delay of IEEE 802.1Q 36.1.3.3"
#define SOURCE_XOFF	 "two frames between XON and XOFF: DCQCN, SIGCOMM 2015, section 4"
#define SOURCE_MLX5	 "Linux mlx5/core/en/port_buffer.c, calculate_xoff()"

struct options {
	struct adv_plan_link link;
	bool json;
	bool has_length;
	bool has_delay;
	bool has_response;
	bool has_interface;
	bool copper;
	uint64_t length;
	uint64_t mtu;
	uint64_t lossless_mtu; /* 0: as mtu */
	uint64_t response;     /* ps */
	uint64_t interface;    /* ps */
	uint64_t size;	       /* 0: not given */
	unsigned priorities;
};

enum {
	KEY_MTU = 256,
	KEY_LOSSLESS_MTU,
	KEY_RESPONSE,
	KEY_INTERFACE,
	KEY_CELL,
	KEY_SMALL,
	KEY_WHOLE,
	KEY_SIZE
};

static const struct argp_option argp_options[] = {
	{"speed", 's', "RATE", 0, "Speed of the link, such as 100Gb/s (needed)", 0},
	{"cable", 'c', "LENGTH", 0, "Length of the cable, such as 100m (or --delay)", 0},
	{"copper", 'C', NULL, 0, "A copper cable: 5.556 ns/m, not 5 ns/m as fibre", 0},
	{"delay", 'd', "TIME", 0, "One-way delay of the cable, instead of its length", 0},
	{"mtu", KEY_MTU, "BYTES", 0, "Largest MTU of any priority of the port (default 9216B)", 0},
	{"lossless-mtu", KEY_LOSSLESS_MTU, "BYTES", 0,
	 "MTU of the lossless priority (default: as --mtu)", 0},
	{"priorities", 'p', "N", 0, "Lossless priorities of the port (default 1)", 0},
	{"response", KEY_RESPONSE, "TIME", 0,
	 "What the other end takes from PFC frame to silence (default: IEEE 802.3's limit)", 0},
	{"interface", KEY_INTERFACE, "TIME", 0,
	 "What MAC and PHY of this end take, both ways (default: from the same limit)", 0},
	{"cell", KEY_CELL, "BYTES", 0, "Packets are stored in cells of this size", 0},
	{"small-packets", KEY_SMALL, "RATIO", 0,
	 "Share of 64-byte packets, where --cell is given (default 100%)", 0},
	{"size", KEY_SIZE, "BYTES", 0,
	 "Buffer that a priority has: thresholds from that, not the least size", 0},
	{"whole-frames", KEY_WHOLE, NULL, 0,
	 "The switch counts frames when they have come in whole: one more", 0},
	{"json", 'j', NULL, 0, "Write JSON", 0},
	{0},
};

static uint64_t at_most(struct argp_state *state, const char *option, enum adv_unit unit,
			const char *arg, uint64_t most)
{
	uint64_t value = adv_plan_quantity(state, option, unit, arg);
	char text[ADV_UNITS_TEXT];

	if (value > most)
		argp_error(state, "%s: %s is more than %s", option, arg,
			   adv_units_print(unit, most, text));
	return value;
}

static bool parse_sizes(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_MTU:
		o->mtu = adv_plan_quantity(state, "--mtu", ADV_UNIT_BYTES, arg);
		return true;
	case KEY_LOSSLESS_MTU:
		o->lossless_mtu = adv_plan_quantity(state, "--lossless-mtu", ADV_UNIT_BYTES, arg);
		return true;
	case KEY_CELL:
		o->link.cell =
			(uint32_t)at_most(state, "--cell", ADV_UNIT_BYTES, arg, ADV_PLAN_CELL_MAX);
		return true;
	case KEY_SMALL:
		o->link.small_packets = (uint32_t)at_most(state, "--small-packets", ADV_UNIT_RATIO,
							  arg, ADV_RATIO_ONE);
		return true;
	case KEY_WHOLE:
		o->link.whole_frames = true;
		return true;
	case KEY_SIZE:
		o->size = adv_plan_quantity(state, "--size", ADV_UNIT_BYTES, arg);
		return true;
	default:
		return false;
	}
}

static void finish(struct options *o, struct argp_state *state)
{
	struct adv_plan_link *l = &o->link;
	uint64_t fs = o->copper ? COPPER_FS_PER_MM : FIBRE_FS_PER_MM;

	if (l->speed == 0)
		argp_error(state, "--speed is needed");
	if (o->has_length == o->has_delay)
		argp_error(state, "one of --cable and --delay is needed");
	if (o->has_length)
		l->delay = (o->length * fs + 999) / 1000;
	if (!adv_plan_response_bits(l->speed) && (!o->has_response || !o->has_interface))
		argp_error(state, ADV_PLAN_NO_LIMITS "--response and --interface");
	l->max_frame = o->mtu + ADV_PLAN_FRAME_OVERHEAD;
	l->lossless_frame = (o->lossless_mtu ? o->lossless_mtu : o->mtu) + ADV_PLAN_FRAME_OVERHEAD;
	l->response_bits = o->has_response ? adv_plan_bits(l->speed, o->response)
					   : adv_plan_response_bits(l->speed);
	l->interface_bits = o->has_interface ? adv_plan_bits(l->speed, o->interface)
					     : adv_plan_interface_bits(l->speed);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's':
		o->link.speed = adv_plan_quantity(state, "--speed", ADV_UNIT_RATE, arg);
		return 0;
	case 'c':
		o->length = adv_plan_quantity(state, "--cable", ADV_UNIT_LENGTH, arg);
		if (o->length > ADV_PLAN_LENGTH_MAX)
			argp_error(state, "--cable: %s is more than 1000 km", arg);
		o->has_length = true;
		return 0;
	case 'C':
		o->copper = true;
		return 0;
	case 'd':
		o->link.delay = adv_plan_quantity(state, "--delay", ADV_UNIT_TIME, arg);
		o->has_delay = true;
		return 0;
	case 'p':
		o->priorities = (unsigned)adv_plan_count(state, "--priorities", arg, 1, 8);
		return 0;
	case KEY_RESPONSE:
		o->response = adv_plan_quantity(state, "--response", ADV_UNIT_TIME, arg);
		o->has_response = true;
		return 0;
	case KEY_INTERFACE:
		o->interface = adv_plan_quantity(state, "--interface", ADV_UNIT_TIME, arg);
		o->has_interface = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		finish(o, state);
		return 0;
	default:
		return parse_sizes(key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	NULL,
	"Says how much buffer a lossless priority needs behind its xoff threshold, so that nothing "
	"is lost after a PFC frame was sent, and where xoff and xon are to be.",
	NULL,
	NULL,
	NULL};

static void print_delays(struct adv_plan_out *out, const struct options *o,
			 const struct adv_plan_headroom *h)
{
	const struct adv_plan_link *l = &o->link;
	char delay[ADV_UNITS_TEXT], speed[ADV_UNITS_TEXT];

	adv_units_print(ADV_UNIT_TIME, l->delay, delay);
	adv_units_print(ADV_UNIT_RATE, l->speed, speed);
	adv_plan_head(out, "What happens between the decision to pause and silence, in bit times:");
	adv_plan_value(out, "frame_ahead_bits", "largest frame, just begun", ADV_UNIT_COUNT,
		       h->frame_ahead, NULL, "(%" PRIu64 " B frame + 20 B preamble and gap) x 8",
		       l->max_frame);
	adv_plan_value(out, "pfc_frame_bits", "PFC frame", ADV_UNIT_COUNT, h->pfc_frame, NULL,
		       "(64 B + 20 B) x 8");
	adv_plan_value(out, "cable_bits", "cable, one way", ADV_UNIT_COUNT, h->cable, NULL,
		       o->has_length ? "%s x %s (%s)" : "%s x %s", delay, speed,
		       o->copper ? "copper, 5.556 ns/m" : "fibre, 5 ns/m");
	adv_plan_value(out, "response_bits", "response of the other end", ADV_UNIT_COUNT,
		       l->response_bits, o->has_response ? NULL : SOURCE_RESPONSE,
		       o->has_response ? "--response x speed" : "%" PRIu64 " quanta x 512",
		       l->response_bits / 512);
	adv_plan_value(out, "interface_bits", "own MAC and PHY, out and in", ADV_UNIT_COUNT,
		       l->interface_bits, o->has_interface ? NULL : SOURCE_INTERFACE,
		       o->has_interface ? "--interface x speed" : "%" PRIu64 " - 614.4 ns x speed",
		       l->response_bits);
	adv_plan_value(out, "frame_begun_bits", "other end's last frame", ADV_UNIT_COUNT,
		       h->frame_begun, NULL, "(%" PRIu64 " B frame + 20 B) x 8", l->lossless_frame);
}

static void print_headroom(struct adv_plan_out *out, const struct options *o,
			   const struct adv_plan_headroom *h)
{
	const struct adv_plan_link *l = &o->link;
	char small[ADV_UNITS_TEXT];

	adv_plan_head(out, "Headroom:");
	adv_plan_value(out, "reaction_bytes", "arrives before the last frame", ADV_UNIT_BYTES,
		       h->reaction, ANNEX_O,
		       "(%" PRIu64 " + %" PRIu64 " + 2 x %" PRIu64 " + %" PRIu64 " + %" PRIu64
		       ") / 8",
		       h->frame_ahead, h->pfc_frame, h->cable, l->response_bits, l->interface_bits);
	if (l->cell)
		adv_plan_value(out, "occupied_bytes", "as it is stored in cells", ADV_UNIT_BYTES,
			       h->occupied, "SONiC cfgmgr/buffer_headroom_*.lua, cell_occupancy",
			       "%" PRIu64 " x (1 - s + s x w), s = %s of 64 B packets, w = %s, "
			       "cells of %" PRIu32 " B",
			       h->reaction,
			       adv_units_print(ADV_UNIT_RATIO, l->small_packets, small),
			       l->cell > 128 ? "cell / 64" : "2 cell / (1 + cell)", l->cell);
	adv_plan_value(out, "headroom", "headroom of a priority", ADV_UNIT_BYTES, h->headroom,
		       ANNEX_O, "%" PRIu64 " + %" PRIu64 " + %" PRIu64 "%s", h->occupied,
		       h->frame_begun / 8, l->whole_frames ? l->lossless_frame : 0,
		       l->cell ? ", rounded up to cells" : "");
	adv_plan_value(out, "headroom_port", "headroom of the port", ADV_UNIT_BYTES,
		       h->headroom * o->priorities, NULL, "%u x %" PRIu64, o->priorities,
		       h->headroom);
}

/* Thresholds of the least buffer that loses nothing and never runs dry. */
static void print_least(struct adv_plan_out *out, const struct options *o,
			const struct adv_plan_headroom *h)
{
	adv_plan_head(out, "Thresholds of the smallest buffer that neither loses nor runs dry:");
	adv_plan_value(out, "xon", "xon", ADV_UNIT_BYTES, h->xon, NULL,
		       "%" PRIu64 ": XON takes the same way, and the queue drains meanwhile",
		       h->occupied);
	adv_plan_value(out, "xoff", "xoff", ADV_UNIT_BYTES, h->xoff, SOURCE_XOFF,
		       "%" PRIu64 " + 2 x %" PRIu64, h->xon, o->link.lossless_frame);
	adv_plan_value(out, "size", "buffer of a priority", ADV_UNIT_BYTES, h->size, NULL,
		       "%" PRIu64 " + %" PRIu64, h->xoff, h->headroom);
}

static bool print_of_size(struct adv_plan_out *out, const struct options *o,
			  const struct adv_plan_headroom *h)
{
	uint64_t between = 2 * o->link.lossless_frame, xoff, xon;

	if (o->size < h->headroom + between) {
		adv_plan_note(out,
			      "Does not fit: %" PRIu64 " B hold no headroom (%" PRIu64
			      " B) and two frames (%" PRIu64 " B). A shorter cable, a smaller "
			      "MTU or a larger buffer is needed.",
			      o->size, h->headroom, between);
		return false;
	}
	xoff = o->size - h->headroom;
	xon = xoff - between;
	adv_plan_head(out, "Thresholds of the buffer that there is:");
	adv_plan_value(out, "xoff", "xoff", ADV_UNIT_BYTES, xoff, NULL, "%" PRIu64 " - %" PRIu64,
		       o->size, h->headroom);
	adv_plan_value(out, "xon", "xon", ADV_UNIT_BYTES, xon, SOURCE_XOFF,
		       "%" PRIu64 " - 2 x %" PRIu64, xoff, o->link.lossless_frame);
	if (xon < h->xon)
		adv_plan_note(out,
			      "Nothing is lost, but the queue runs dry after each pause: XON takes "
			      "%" PRIu64 " B to have an effect, and xon is %" PRIu64 " B.",
			      h->xon, xon);
	return true;
}

static void print_mlx5(struct adv_plan_out *out, const struct options *o)
{
	struct adv_plan_mlx5 m;

	if (!o->has_length)
		return;
	adv_plan_headroom_mlx5(o->link.speed, o->length, o->mtu, o->link.cell, &m);
	adv_plan_head(out, "By NVIDIA's formula, for the receive buffers of its NICs:");
	adv_plan_value(out, "mlx5_headroom", "headroom (xoff) of a buffer", ADV_UNIT_BYTES,
		       m.headroom, SOURCE_MLX5,
		       "(301 + 216 x %" PRIu64 " m / 100) x %" PRIu64
		       " Mb/s / 1000 + 272 x %" PRIu64 " B MTU / 100",
		       (o->length + 999) / 1000, m.speed, o->mtu);
	adv_plan_value(out, "mlx5_size", "least size of a buffer", ADV_UNIT_BYTES, m.size,
		       "the same file, update_xoff_threshold()",
		       "%" PRIu64 " + %" PRIu64 " B max MTU (xoff to xon) + %" PRIu32 " B cell",
		       m.headroom, m.max_mtu, o->link.cell);
}

int adv_plan_headroom_main(int argc, char **argv)
{
	struct options o = {.mtu = 9216, .priorities = 1, .link.small_packets = ADV_RATIO_ONE};
	struct adv_plan_headroom h;
	struct adv_plan_out out;
	const char *wrong;
	bool fits = true;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return ADV_EXIT_USAGE;
	wrong = adv_plan_headroom(&o.link, &h);
	if (wrong) {
		fprintf(stderr, "adverb plan headroom: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	adv_plan_begin(&out, "headroom", o.json);
	print_delays(&out, &o, &h);
	print_headroom(&out, &o, &h);
	if (o.size)
		fits = print_of_size(&out, &o, &h);
	else
		print_least(&out, &o, &h);
	print_mlx5(&out, &o);
	return adv_plan_end(&out, fits);
}
