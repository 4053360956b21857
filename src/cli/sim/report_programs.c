/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flows of programs in the report of an emulated fabric. */
#include "cli/sim/report_programs.h"

#include <inttypes.h>

#include "base/units.h"
#include "fabric/network/calendar.h"

#define FLOWS 60 /* rows of the table; of the flows with the most bytes */

static void write_cell(FILE *out, enum adv_unit unit, uint64_t value)
{
	char text[ADV_UNITS_TEXT];

	fprintf(out, "<td data-value=\"%" PRIu64 "\">%s</td>", value,
		adv_units_print(unit, value, text));
}

static void write_flow(FILE *out, const struct adv_emulator_flow *f)
{
	uint64_t time = f->last > f->first ? f->last - f->first : 0;

	if (f->from == UINT32_MAX)
		fprintf(out, "<tr data-program=\"others\"><th>all others</th><td></td>");
	else
		fprintf(out, "<tr data-program=\"h%u h%u %u\"><th>h%u → h%u</th><td>0x%06x</td>",
			f->from, f->to, f->qpn, f->from, f->to, f->qpn);
	write_cell(out, ADV_UNIT_COUNT, f->sent);
	write_cell(out, ADV_UNIT_BYTES, f->sent_bytes);
	write_cell(out, ADV_UNIT_COUNT, f->received);
	write_cell(out, ADV_UNIT_COUNT, f->marked);
	write_cell(out, ADV_UNIT_TIME, f->first);
	write_cell(out, ADV_UNIT_TIME, f->last);
	write_cell(out, ADV_UNIT_RATE,
		   time ? (uint64_t)((unsigned __int128)f->received_bytes * 8 * ADV_PS_PER_S / time)
			: 0);
	fprintf(out, "</tr>\n");
}

void adv_report_programs(FILE *out, const struct adv_emulator_flow *flow, uint32_t count)
{
	uint32_t shown = count < FLOWS ? count : FLOWS;

	if (!count)
		return;
	fprintf(out, "<h2>Flows of programs</h2>\n<p class=\"dim\">Frames from a host to a queue "
		     "pair of another one: requests, and the other way ACKs and responses. Bytes "
		     "are those behind the UDP header.</p>\n"
		     "<div class=\"table\"><table><tr><th></th><th>queue "
		     "pair</th><th>sent</th><th>bytes</th><th>arrived</th><th>marked</"
		     "th><th>first</th><th>last</th><th>rate</th></tr>\n");
	for (uint32_t i = 0; i < shown; i++)
		write_flow(out, &flow[i]);
	/* Flows without a place of their own are not lost among the small ones. */
	if (shown < count && flow[count - 1].from == UINT32_MAX)
		write_flow(out, &flow[count - 1]);
	fprintf(out, "</table></div>\n");
	if (shown < count)
		fprintf(out, "<p>%u more flows are not shown.</p>\n", count - shown);
}
